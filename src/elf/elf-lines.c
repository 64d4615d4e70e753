/*
 * elf-lines.c - which function, file and line an address belongs to, from debug information
 *
 * Addresses are given to the units that cover them; then each unit is read once, for all of its
 * addresses.  Threads take units from one list, and keep what they find in memory of their own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/elf-lines.h"

#include "base/err.h"
#include "base/par.h"
#include "base/sort-keys.h"
#include "base/xalloc.h"
#include "elf/debug-file.h"
#include "elf/dwarf-split.h"
#include "elf/elf-file.h"
#include "elf/go-lines.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
	ALLOWANCE_FACTOR = 64,      /* how often the bytes of debug information may be looked at */
	ALLOWANCE_LEAST = 64 << 20, /* and at least this many */
	FRAMES_MAX = 256,           /* at one address: the outermost ones are left out */
	FRAMES_EACH = 1 << 12,      /* room for so many is made at a time, */
	FUNCTIONS_EACH = 1 << 10,   /* and for so many */
	BYTES_EACH = 64,            /* for the names and frames of an address, at least */
	REMEMBERED_MAX = 1 << 12,   /* functions one thread keeps at hand from unit to unit */
	BATCH = 16,                 /* names that are read side by side */
	MANY = 1 << 12,             /* addresses: most pieces of code have one */
	FEW = 64,                   /* addresses: not worth a thread */
	NAME_LONGER = 2,            /* when a symbol's name says more: by so many bytes */
};

/* A function whose name is known already. */
struct remembered {
	const struct dwarf_unit *unit;
	uint64_t entry;
	struct str name;
	uint32_t line;
	struct elf_function *function; /* in the file it was last seen in, or NULL */
};

/* A unit, and its addresses: from 'first' on in the list by unit. */
struct task {
	struct dwarf_unit *unit;
	size_t first, n;
};

/* What one thread has found.  Nothing of it moves. */
struct store {
	struct arena *arena;
	struct elf_frame *frames; /* room for so many: */
	size_t room;
	struct elf_functions last;   /* the functions that were added last; */
	struct elf_functions *parts; /* those before */
	size_t nparts, cap_parts;
};

/* One thread's part. */
struct worker {
	struct dwarf_reader r;
	struct store store;
	struct scopes scopes;
	struct line_table lines;
	uint32_t *innermost;       /* for each address of the unit */
	struct line_place *places; /* the same */
	size_t room;
	struct remembered *known;
	size_t nknown, cap_known;
	struct table index; /* into 'known' */
	struct remembered nameless;
	bool copies;     /* names, since the file they are in is going to be closed */
	size_t nmissing; /* .dwo files, */
	const struct dwarf_unit *missing; /* and the first unit that wants one */
};

struct resolver {
	struct debug_file *debug;
	struct dwarf_reader *r;    /* of who plans */
	bool apart;                /* there is a thread for that */
	const uint64_t *wanted;    /* addresses, as we were given them */
	const uint64_t *addresses; /* as in 'debug.dwarf' */
	size_t n;
	struct elf_place *at; /* of the answer: for each address */
	struct task *tasks;
	size_t ntasks;
	uint32_t *order;    /* numbers of addresses, by unit */
	uint64_t *by_unit;  /* the addresses in that order */
	atomic_size_t next; /* task that nobody has taken yet */
	struct worker workers[PAR_MOST];
	int nworkers;
	struct go_lines go;
	bool is_go;
};

/* ------------------------------------------------------------------ which unit */

/* A piece of code of a unit that one of the addresses is in, or may be. */
struct piece {
	uint64_t low, high;
	uint32_t unit;
};

struct pieces {
	struct piece *list;
	size_t n, cap;
};

/* Those that start first come first, and of those the longest. */
static int by_low(const void *x, const void *y)
{
	const struct piece *a = x, *b = y;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	if (a->high != b->high)
		return a->high > b->high ? -1 : 1;
	return (a->unit > b->unit) - (a->unit < b->unit);
}

static uint64_t low_of(const void *piece)
{
	return ((const struct piece *)piece)->low;
}

static void add_pieces(struct resolver *s, struct dwarf_reader *r, uint32_t unit, struct pieces *p)
{
	for (size_t i = 0; i < r->nranges; i++) {
		struct piece piece = { r->ranges[i].low, r->ranges[i].high, unit };
		size_t at = s->n < MANY ? first_from(s->addresses, s->n, piece.low) : 0;

		if (s->n >= MANY || (at < s->n && s->addresses[at] < piece.high))
			vec_push(p->list, p->n, p->cap, piece);
	}
}

static void find_pieces(struct resolver *s, struct dwarf_reader *r, struct pieces *p)
{
	struct dwarf *d = s->debug->dwarf;
	struct root root;

	for (size_t i = 0; i < d->nunits; i++) {
		struct dwarf_unit *u = &d->units[i];

		if (!u->has_code || !root_read(r, u, &root))
			continue;
		dwarf_read_ranges(r, u, &root.e);
		add_pieces(s, r, (uint32_t)i, p);
	}
	sort_by_key(p->list, p->n, sizeof(*p->list), low_of, by_low);
}

/* The unit of each address plus one: of the piece that started last and goes on. */
static void give_units(const struct resolver *s, const struct pieces *p, uint32_t *unit)
{
	size_t *open = mem_new(p->n + 1, sizeof(*open));
	size_t nopen = 0, next = 0;

	for (size_t i = 0; i < s->n; i++) {
		for (; next < p->n && p->list[next].low <= s->addresses[i]; next++)
			open[nopen++] = next;
		while (nopen && p->list[open[nopen - 1]].high <= s->addresses[i])
			nopen--;
		unit[i] = nopen ? p->list[open[nopen - 1]].unit + 1 : 0;
	}
	free(open);
}

/* Puts addresses of one unit side by side: counts, then places. */
static void make_tasks(struct resolver *s, const uint32_t *unit)
{
	struct dwarf *d = s->debug->dwarf;
	size_t *at = mem_zeroed(d->nunits + 1, sizeof(*at)), sum = 0;

	for (size_t i = 0; i < s->n; i++)
		at[unit[i]]++;
	s->tasks = mem_new(d->nunits + 1, sizeof(*s->tasks));
	for (size_t u = 1; u <= d->nunits; u++) {
		if (at[u])
			s->tasks[s->ntasks++] = (struct task){ &d->units[u - 1], sum, at[u] };
		sum += at[u];
		at[u] = sum - at[u];
	}
	s->order = mem_new(s->n + 1, sizeof(*s->order));
	s->by_unit = mem_new(s->n + 1, sizeof(*s->by_unit));
	for (size_t i = 0; i < s->n; i++) {
		if (unit[i] == 0)
			continue;
		s->order[at[unit[i]]] = (uint32_t)i;
		s->by_unit[at[unit[i]]++] = s->addresses[i];
	}
	free(at);
}

static void plan(struct resolver *s, struct dwarf_reader *r)
{
	struct pieces p = { 0 };
	uint32_t *unit = mem_new(s->n + 1, sizeof(*unit));

	dwarf_read_units(s->debug->dwarf, r);
	if (s->debug->dwarf->alt)
		dwarf_read_units(&s->debug->alt.dwarf, r);
	find_pieces(s, r, &p);
	give_units(s, &p, unit);
	make_tasks(s, unit);
	free(p.list);
	free(unit);
}

/* All that libelf is asked for: it wants one thread only. */
static void read_symbols(struct resolver *s)
{
	debug_read_symbols(s->debug);
	s->is_go = go_lines_init(&s->go, s->debug->main.f);
}

/* Reads symbols, and plans while that goes on, if there are two threads. */
static void prepare(int i, void *ctx)
{
	struct resolver *s = ctx;

	if (i == 0)
		read_symbols(s);
	if (i == 1 || !s->apart)
		plan(s, s->r);
}

/* ------------------------------------------------------------------ names */

static uint64_t hash_entry(const struct dwarf_unit *u, uint64_t entry)
{
	return hash_mix((uintptr_t)u, entry);
}

static uint64_t rehash(uint32_t value, const void *ctx)
{
	const struct worker *w = ctx;

	return hash_entry(w->known[value].unit, w->known[value].entry);
}

static void forget(struct worker *w)
{
	w->nknown = 0;
	table_clear(&w->index);
}

/* Finds or makes what is known of a scope's function. */
static uint32_t remember(struct worker *w, const struct scope *s)
{
	struct remembered f = { .unit = s->unit, .entry = s->entry };
	struct probe at;

	table_reserve(&w->index, rehash, w);
	at = table_probe(&w->index, hash_entry(s->unit, s->entry));
	while (table_next(&w->index, &at)) {
		const struct remembered *k = &w->known[at.value];

		if (k->unit == s->unit && k->entry == s->entry)
			return at.value;
	}
	__builtin_prefetch(s->unit->dwarf->s.info.p + s->entry);
	table_put(&w->index, &at, (uint32_t)w->nknown);
	vec_push(w->known, w->nknown, w->cap_known, f);
	return (uint32_t)w->nknown - 1;
}

/* The functions of all scopes that an address of the unit is in. */
static void remember_all(struct worker *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t scope = w->innermost[i];

		for (uint32_t k = 0; scope && k < FRAMES_MAX && dwarf_pay(&w->r, 1); k++) {
			struct scope *s = &w->scopes.list[scope - 1];

			if (s->function)
				break; /* and those it is in */
			s->function = remember(w, s) + 1;
			scope = s->parent;
		}
	}
}

/* Each step for all of the batch asks for the memory that the next one reads: entries, names. */
static void name_batch(struct worker *w, struct remembered *known, size_t n)
{
	struct scope_name names[BATCH];
	bool more = true;

	for (size_t i = 0; i < n; i++)
		names[i] = (struct scope_name){ .unit = known[i].unit, .entry = known[i].entry };
	for (int step = 0; more && step < SCOPE_STEPS_MAX; step++) {
		more = false;
		for (size_t i = 0; i < n; i++)
			more |= names[i].unit && scope_learn(&w->r, &names[i]);
	}
	for (size_t i = 0; i < n; i++) {
		struct str name = scope_text(&names[i]);

		if (!dwarf_pay(&w->r, name.n))
			name = STR("");
		known[i].name = w->copies ? xarena_str(w->store.arena, name) : name;
		known[i].line = names[i].line;
	}
}

/* Reads the names of those that are known from number 'from' on. */
static void name_all(struct worker *w, size_t from)
{
	for (; from < w->nknown; from += BATCH)
		name_batch(w, w->known + from, w->nknown - from < BATCH ? w->nknown - from : BATCH);
}

/* ------------------------------------------------------------------ frames */

/* Room for the frames of one address. */
static struct elf_frame *room_for_frames(struct store *s)
{
	if (s->room < FRAMES_MAX) {
		s->frames = xarena(s->arena, FRAMES_EACH, sizeof(*s->frames));
		s->room = FRAMES_EACH;
	}
	return s->frames;
}

/* Says that 'n' frames are there now. */
static struct elf_place keep_frames(struct store *s, uint32_t n)
{
	struct elf_place at = { s->frames, n };

	s->frames += n;
	s->room -= n;
	return at;
}

static bool is_mangled(struct str name)
{
	return name.n >= 2 && name.p[0] == '_' && (name.p[1] == 'Z' || name.p[1] == 'R');
}

static struct elf_function *add_function(struct store *s, struct elf_function f)
{
	struct elf_functions *to = &s->last;

	if (to->n == FUNCTIONS_EACH) {
		vec_push(s->parts, s->nparts, s->cap_parts, *to);
		*to = (struct elf_functions){ 0 };
	}
	if (!to->list)
		to->list = xarena(s->arena, FUNCTIONS_EACH, sizeof(f));
	f.is_mangled = is_mangled(f.name);
	to->list[to->n] = f;
	return &to->list[to->n++];
}

/* A frame of a function: from the line table, or from where the next one in was called. */
static struct elf_frame place_frame(struct worker *w, struct remembered *k,
				    const struct line_place *at)
{
	struct str file = STR("");

	if (at->known)
		file = line_file_path(&w->lines, at->file, w->store.arena);
	if (!k->function || k->function->file.p != file.p)
		k->function = add_function(
			&w->store, (struct elf_function){
					   .name = k->name, .file = file, .start_line = k->line });
	return (struct elf_frame){ k->function, at->line, at->column };
}

/* The frames of one address, innermost first. */
static struct elf_place add_frames(struct worker *w, uint32_t scope, const struct line_place *place)
{
	struct elf_frame *to = room_for_frames(&w->store);
	struct line_place at = *place;
	uint32_t n = 0;

	if (scope == 0 && place->known)
		to[n++] = place_frame(w, &w->nameless, place);
	while (scope && n < FRAMES_MAX && dwarf_pay(&w->r, 1)) {
		const struct scope *s = &w->scopes.list[scope - 1];

		if (s->function == 0)
			break;
		to[n++] = place_frame(w, &w->known[s->function - 1], &at);
		at = (struct line_place){ s->call_file, s->call_line, s->call_column, true };
		scope = s->parent;
	}
	return keep_frames(&w->store, n);
}

static void make_room(struct worker *w, size_t n)
{
	if (n > w->room) {
		w->innermost = mem_grow(w->innermost, n, sizeof(*w->innermost));
		w->places = mem_grow(w->places, n, sizeof(*w->places));
		w->room = n;
	}
	memset(w->innermost, 0, n * sizeof(*w->innermost));
	memset(w->places, 0, n * sizeof(*w->places));
}

/* Of a file that was cut short nothing is to be believed: it could as well be missing. */
static void note_missing(struct worker *w, const struct split_unit *split,
			 const struct dwarf_unit *unit)
{
	if (!split->missing && !split_is_cut(split))
		return;
	w->nmissing++;
	if (!w->missing)
		w->missing = unit; /* tasks are in the order of units */
}

static void do_task(struct resolver *s, int worker, const struct task *t)
{
	struct worker *w = &s->workers[worker];
	const uint64_t *addresses = s->by_unit + t->first;
	struct split_unit split;
	size_t known;

	make_room(w, t->n);
	w->lines.nfiles = 0;
	if (t->unit->has_lines)
		dwarf_read_lines(&w->r, t->unit, addresses, t->n, &w->lines, w->places);
	split_open(&split, t->unit, s->debug->dwarf_path, &w->r);
	w->copies = split.unit != t->unit;
	dwarf_read_scopes(&w->r, split.unit, addresses, t->n, &w->scopes, w->innermost);
	if (w->nknown > REMEMBERED_MAX)
		forget(w);
	known = w->nknown;
	remember_all(w, t->n);
	name_all(w, known);
	for (size_t i = 0; i < t->n; i++)
		s->at[s->order[t->first + i]] = add_frames(w, w->innermost[i], &w->places[i]);
	if (w->copies)
		forget(w); /* what they are known by goes with the file */
	note_missing(w, &split, t->unit);
	split_close(&split);
}

static void work(int i, void *ctx)
{
	struct resolver *s = ctx;

	for (;;) {
		size_t at = atomic_fetch_add(&s->next, 1);

		if (at >= s->ntasks)
			return;
		do_task(s, i, &s->tasks[at]);
	}
}

/* ------------------------------------------------------------------ the answer */

/* The function at an address that debug information does not know; false if there is none. */
static bool plain_function(const struct resolver *s, size_t i, struct str symbol,
			   struct elf_function *f, uint32_t *line)
{
	struct go_line at;

	*f = (struct elf_function){ .name = symbol, .file = STR("") };
	*line = 0;
	if (s->is_go && go_lines_find(&s->go, s->wanted[i], &at)) {
		f->name = at.function;
		f->file = at.file;
		*line = at.line > INT32_MAX || at.line < 0 ? 0 : (uint32_t)at.line;
	}
	return f->name.n != 0;
}

static bool is_same(struct str a, struct str b)
{
	return a.p == b.p && a.n == b.n;
}

/*
 * Names in debug information lack what the compiler has added to those of the parts it made of a
 * function (foo.cold, foo.constprop.0), and some have no linkage name.  As in the reference, the
 * symbol wins where it is longer.
 */
static bool says_more(struct str symbol, const struct elf_function *f)
{
	return symbol.n >= f->name.n + NAME_LONGER || (!f->is_mangled && is_mangled(symbol));
}

/* The function that was made last because a symbol says more, and of which other one. */
struct renamed {
	const struct elf_function *of;
	struct elf_function *function;
};

/* A function as another one, but with the name of the symbol. */
static struct elf_function *rename_function(struct store *to, struct renamed *last,
					    const struct elf_function *of, struct str symbol)
{
	struct elf_function f = *of;

	if (last->of != of || !is_same(last->function->name, symbol)) {
		f.name = symbol;
		last->of = of;
		last->function = add_function(to, f);
	}
	return last->function;
}

/* An address without debug information: one frame, if its function is known at all. */
static struct elf_place plain_place(const struct resolver *s, size_t i, struct str symbol,
				    struct store *to, struct renamed *last)
{
	struct elf_function f;
	uint32_t line;

	if (!plain_function(s, i, symbol, &f, &line))
		return (struct elf_place){ 0 };
	if (last->of || !last->function || !is_same(last->function->name, f.name) ||
	    !is_same(last->function->file, f.file))
		*last = (struct renamed){ .function = add_function(to, f) };
	*room_for_frames(to) = (struct elf_frame){ last->function, line, 0 };
	return keep_frames(to, 1);
}

/* Says that the outermost functions of addresses will be looked at soon. */
static void look_ahead(const struct resolver *s, size_t i, size_t to)
{
	const struct elf_place *at = s->at + i;

	if (2 * BATCH < to - i && at[2 * BATCH].n)
		__builtin_prefetch(&at[2 * BATCH].frames[at[2 * BATCH].n - 1]);
	if (BATCH < to - i && at[BATCH].n)
		__builtin_prefetch(at[BATCH].frames[at[BATCH].n - 1].function);
}

/* Adds what symbols say about some of the addresses. */
static void add_symbols(int i, void *ctx)
{
	struct resolver *s = ctx;
	struct store *to = &s->workers[i].store;
	size_t each = s->n / (size_t)s->nworkers + 1, from = (size_t)i * each;
	size_t end = from + each < s->n ? from + each : s->n;
	struct debug_symbols near = { 0 };
	struct renamed last = { 0 };

	for (size_t k = from; k < end; k++) {
		struct str symbol = debug_find_symbol(s->debug, s->wanted[k], &near);
		struct elf_place *at = &s->at[k];
		struct elf_frame *outermost;

		look_ahead(s, k, end);
		if (at->n == 0) {
			*at = plain_place(s, k, symbol, to, &last);
			continue;
		}
		outermost = &at->frames[at->n - 1];
		if (says_more(symbol, outermost->function))
			outermost->function =
				rename_function(to, &last, outermost->function, symbol);
	}
}

/* Tells the answer which files were not found. */
static void give_missing(const struct resolver *s, struct elf_frames *out)
{
	const struct dwarf_unit *first = NULL;

	for (int i = 0; i < s->nworkers; i++) {
		const struct worker *w = &s->workers[i];

		out->nmissing += w->nmissing;
		if (w->missing && (!first || w->missing->offset < first->offset))
			first = w->missing;
	}
	if (first)
		out->missing = first->dwo_name;
}

/* Gives the functions of all workers to the answer. */
static void give_functions(struct resolver *s, struct elf_frames *out)
{
	size_t n = 0;

	for (int i = 0; i < s->nworkers; i++)
		n += s->workers[i].store.nparts + 1;
	out->parts = xarena(&out->arena, n + 1, sizeof(*out->parts));
	for (int i = 0; i < s->nworkers; i++) {
		const struct store *from = &s->workers[i].store;

		for (size_t k = 0; k < from->nparts; k++)
			out->parts[out->nparts++] = from->parts[k];
		out->parts[out->nparts++] = from->last;
	}
}

static void start_workers(struct resolver *s, struct elf_frames *out, uint64_t allowance)
{
	s->nworkers = par_width();
	if ((size_t)s->nworkers > s->ntasks)
		s->nworkers = s->ntasks ? (int)s->ntasks : 1;
	for (int i = 0; i < s->nworkers; i++) {
		dwarf_reader_init(&s->workers[i].r, allowance, s->debug->code_start);
		table_init(&s->workers[i].index, 1024);
		s->workers[i].nameless.name = STR("");
		s->workers[i].store.arena = &out->more[i];
		arena_expect(&out->more[i], s->n / (size_t)s->nworkers * BYTES_EACH);
	}
}

static void release_workers(struct resolver *s)
{
	for (int i = 0; i < s->nworkers; i++) {
		struct worker *w = &s->workers[i];

		dwarf_reader_release(&w->r);
		scopes_release(&w->scopes);
		line_table_release(&w->lines);
		table_release(&w->index);
		free(w->store.parts);
		free(w->innermost);
		free(w->places);
		free(w->known);
	}
}

static uint64_t allowance_for(const struct debug_file *d, size_t n)
{
	uint64_t size = d->main.image.n + d->split.image.n + d->alt.image.n;

	size += d->dwarf->s.info.n + d->dwarf->s.line.n + d->dwarf->s.str.n;
	return (size + n) * ALLOWANCE_FACTOR + ALLOWANCE_LEAST;
}

/* The addresses as they are in the debug information. */
static uint64_t *shifted(const uint64_t *addresses, size_t n, uint64_t by)
{
	uint64_t *moved = mem_new(n + 1, sizeof(*moved));

	for (size_t i = 0; i < n; i++)
		moved[i] = addresses[i] + by;
	return moved;
}

int elf_resolve(struct elf_file *f, const struct elf_search *search, const uint64_t *addresses,
		size_t n, struct elf_frames *out, struct err *err)
{
	struct resolver s = { .wanted = addresses, .n = n };
	struct dwarf_reader r;
	uint64_t allowance, *moved;

	*out = (struct elf_frames){ .n = n };
	if (n > UINT32_MAX / FRAMES_MAX)
		return err_set(err, -E2BIG, "%s: too many addresses", f->path);
	arena_init(&out->arena, SIZE_MAX);
	for (int i = 0; i < PAR_MOST; i++)
		arena_init(&out->more[i], SIZE_MAX);
	out->debug = mem_new(1, sizeof(*out->debug));
	s.debug = out->debug;
	debug_open(s.debug, f, search);
	allowance = allowance_for(s.debug, n);
	moved = s.debug->shift ? shifted(addresses, n, s.debug->shift) : NULL;
	s.addresses = moved ? moved : addresses;
	out->at = xarena(&out->arena, n + 1, sizeof(*out->at));
	s.at = out->at;
	dwarf_reader_init(&r, allowance, s.debug->code_start);
	s.r = &r;
	s.apart = n >= FEW;
	par_run(1 + s.apart, prepare, &s);
	start_workers(&s, out, allowance);
	par_run(s.nworkers, work, &s);
	par_run(s.nworkers, add_symbols, &s);
	give_functions(&s, out);
	give_missing(&s, out);
	release_workers(&s);
	dwarf_reader_release(&r);
	free(s.tasks);
	free(s.order);
	free(s.by_unit);
	free(moved);
	return 0;
}

int elf_frames_check(const struct elf_frames *f, struct err *err)
{
	return f->debug ? debug_check(f->debug, err) : 0;
}

void elf_frames_release(struct elf_frames *f)
{
	arena_release(&f->arena);
	for (int i = 0; i < PAR_MOST; i++)
		arena_release(&f->more[i]);
	if (f->debug)
		debug_release(f->debug);
	free(f->debug);
	*f = (struct elf_frames){ 0 };
}
