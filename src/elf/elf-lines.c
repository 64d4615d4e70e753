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
	FRAMES_FIRST = 1 << 19,     /* room for so many at first, which costs nothing: large */
	FUNCTIONS_FIRST = 1 << 17,  /* arrays are not copied when they grow */
	FRAMES_MAX = 256,           /* at one address: the outermost ones are left out */
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
	uint32_t number;  /* of the worker's functions, plus one: this one in ... */
	const char *file; /* ... the file it was last seen in */
};

/* A unit, and its addresses: from 'first' on in the list by unit. */
struct task {
	struct dwarf_unit *unit;
	size_t first, n;
};

/* The frames of an address. */
struct found {
	uint32_t count;
	uint32_t worker;
	size_t first; /* in the worker's frames */
};

/* One thread's part. */
struct worker {
	struct dwarf_reader r;
	struct arena *arena;
	struct arena scratch; /* for frames and functions */
	struct elf_frame *frames;
	size_t nframes, cap_frames;
	struct elf_function *functions;
	size_t nfunctions, cap_functions;
	uint32_t base; /* where its functions are in the answer */
	struct scopes scopes;
	struct line_table lines;
	uint32_t *innermost;       /* for each address of the unit */
	struct line_place *places; /* the same */
	size_t room;
	struct remembered *known;
	size_t nknown, cap_known;
	struct table index; /* into 'known' */
	struct remembered nameless;
};

/* One thread's part of the answer: what it says about some of the addresses. */
struct share {
	size_t from, to;            /* addresses */
	struct elf_function *extra; /* functions that no worker has */
	size_t nextra, cap_extra;
	uint32_t *fixes; /* frames whose functions are numbers in 'extra', for now */
	size_t nfixes, cap_fixes;
	uint32_t of; /* the function that the last one of 'extra' was made from, or NONE */
};

struct resolver {
	struct debug_file *debug;
	struct dwarf_reader *r;    /* of who plans */
	bool apart;                /* there is a thread for that */
	const uint64_t *wanted;    /* addresses, as we were given them */
	const uint64_t *addresses; /* as in 'debug.dwarf' */
	size_t n;
	struct found *found; /* for each address */
	struct str *symbols; /* the same */
	struct task *tasks;
	size_t ntasks;
	uint32_t *order;    /* numbers of addresses, by unit */
	uint64_t *by_unit;  /* the addresses in that order */
	atomic_size_t next; /* task that nobody has taken yet */
	struct worker workers[PAR_MOST];
	struct share shares[PAR_MOST];
	int nworkers;
	uint32_t *first; /* of the answer, as 'frames' */
	struct elf_frame *frames;
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
	struct entry root;

	for (size_t i = 0; i < d->nunits; i++) {
		struct dwarf_unit *u = &d->units[i];

		if (!u->has_code || !entry_read_at(r, u, u->entries, &root))
			continue;
		dwarf_read_ranges(r, u, &root);
		add_pieces(s, r, (uint32_t)i, p);
	}
	if (p->n)
		qsort(p->list, p->n, sizeof(*p->list), by_low);
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

/*
 * Each step for all of the batch asks for the memory that the next one reads: entries, names. Names
 * are copied while they are near: they are few beside all that is in debug information, and will be
 * looked at again and again.
 */
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
		known[i].name = xarena_str(w->arena, name);
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

/* Makes an array of the worker's longer. */
static void *more_of(struct worker *w, void *array, size_t *cap, size_t first, size_t size)
{
	size_t had = *cap;

	*cap = had ? 2 * had : first;
	if (!had)
		return xarena_sparse(&w->scratch, *cap, size);
	return xarena_grow(&w->scratch, array, had, *cap, size);
}

static void add_frame(struct worker *w, struct elf_frame f)
{
	if (w->nframes == w->cap_frames)
		w->frames = more_of(w, w->frames, &w->cap_frames, FRAMES_FIRST, sizeof(f));
	w->frames[w->nframes++] = f;
}

static uint32_t add_function(struct worker *w, struct elf_function f)
{
	if (w->nfunctions == w->cap_functions)
		w->functions =
			more_of(w, w->functions, &w->cap_functions, FUNCTIONS_FIRST, sizeof(f));
	w->functions[w->nfunctions++] = f;
	return (uint32_t)w->nfunctions;
}

/* A frame of a function: from the line table, or from where the next one in was called. */
static void place_frame(struct worker *w, struct remembered *k, const struct line_place *at)
{
	struct str file = at->known ? line_file_path(&w->lines, at->file, w->arena) : STR("");

	if (k->number == 0 || k->file != file.p) {
		k->number = add_function(w, (struct elf_function){ k->name, file, k->line });
		k->file = file.p;
	}
	add_frame(w, (struct elf_frame){ k->number - 1, at->line, at->column });
}

/* The frames of one address, innermost first; how many there are. */
static uint32_t add_frames(struct worker *w, uint32_t scope, const struct line_place *place)
{
	struct line_place at = *place;
	uint32_t n = 0;

	if (scope == 0 && place->known) {
		place_frame(w, &w->nameless, place);
		return 1;
	}
	while (scope && n < FRAMES_MAX && dwarf_pay(&w->r, 1)) {
		const struct scope *s = &w->scopes.list[scope - 1];

		if (s->function == 0)
			break;
		place_frame(w, &w->known[s->function - 1], &at);
		n++;
		at = (struct line_place){ s->call_file, s->call_line, s->call_column, true };
		scope = s->parent;
	}
	return n;
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
	dwarf_read_scopes(&w->r, split.unit, addresses, t->n, &w->scopes, w->innermost);
	if (w->nknown > REMEMBERED_MAX)
		forget(w);
	known = w->nknown;
	remember_all(w, t->n);
	name_all(w, known);
	for (size_t i = 0; i < t->n; i++) {
		struct found *f = &s->found[s->order[t->first + i]];

		f->worker = (uint32_t)worker;
		f->first = w->nframes;
		f->count = add_frames(w, w->innermost[i], &w->places[i]);
	}
	if (split.unit != t->unit)
		forget(w); /* what they are known by goes with the file */
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

enum { NO_FUNCTION = UINT32_MAX };

/* The function at an address that debug information does not know; false if there is none. */
static bool plain_function(const struct resolver *s, size_t i, struct elf_function *f,
			   uint32_t *line)
{
	struct go_line at;

	*f = (struct elf_function){ .name = s->symbols[i], .file = STR("") };
	*line = 0;
	if (s->is_go && go_lines_find(&s->go, s->wanted[i], &at)) {
		f->name = at.function;
		f->file = at.file;
		*line = at.line > INT32_MAX || at.line < 0 ? 0 : (uint32_t)at.line;
	}
	return f->name.n != 0;
}

/* Looks for the symbols of a share's addresses, and counts the frames of each. */
static void find_symbols(int i, void *ctx)
{
	struct resolver *s = ctx;
	const struct share *h = &s->shares[i];
	struct debug_symbols at = { 0 };
	struct elf_function ignored;
	uint32_t line;

	for (size_t k = h->from; k < h->to; k++) {
		s->symbols[k] = debug_find_symbol(s->debug, s->wanted[k], &at);
		s->first[k + 1] = s->found[k].count;
		if (s->found[k].count == 0)
			s->first[k + 1] = plain_function(s, k, &ignored, &line);
	}
}

static bool is_same(struct str a, struct str b)
{
	return a.p == b.p && a.n == b.n;
}

/* Gives a frame a function of its own, or the last one, if that is the same. */
static void set_extra(struct share *h, struct elf_frame *frames, size_t frame, uint32_t of,
		      struct elf_function f)
{
	const struct elf_function *last = h->nextra ? &h->extra[h->nextra - 1] : NULL;

	if (!last || h->of != of || !is_same(last->name, f.name) || !is_same(last->file, f.file))
		vec_push(h->extra, h->nextra, h->cap_extra, f);
	h->of = of;
	frames[frame].function = (uint32_t)h->nextra - 1;
	vec_push(h->fixes, h->nfixes, h->cap_fixes, (uint32_t)frame);
}

static bool is_mangled(struct str name)
{
	return str_starts(name, STR("_Z")) || str_starts(name, STR("_R"));
}

/*
 * Names in debug information lack what the compiler has added to those of the parts it made of a
 * function (foo.cold, foo.constprop.0), and some have no linkage name.  As in the reference, the
 * symbol wins where it is longer.
 */
static bool says_more(struct str symbol, struct str name)
{
	return symbol.n >= name.n + NAME_LONGER || (is_mangled(symbol) && !is_mangled(name));
}

static void take_frames(const struct resolver *s, struct share *h, size_t i)
{
	const struct found *found = &s->found[i];
	const struct worker *w = &s->workers[found->worker];
	struct elf_frame *to = s->frames + s->first[i];
	struct elf_function outermost;

	for (uint32_t k = 0; k < found->count; k++) {
		to[k] = w->frames[found->first + k];
		to[k].function += w->base;
	}
	outermost = w->functions[to[found->count - 1].function - w->base];
	if (says_more(s->symbols[i], outermost.name)) {
		outermost.name = s->symbols[i];
		set_extra(h, s->frames, s->first[i] + found->count - 1,
			  to[found->count - 1].function, outermost);
	}
}

/* Says that the name of an address's outermost function will be looked at soon. */
static void prefetch_name(const struct resolver *s, const struct found *f)
{
	const struct worker *w = &s->workers[f->worker];

	if (f->count)
		__builtin_prefetch(
			w->functions[w->frames[f->first + f->count - 1].function].name.p);
}

/* Writes the frames of a share's addresses. */
static void take_share(int i, void *ctx)
{
	struct resolver *s = ctx;
	struct share *h = &s->shares[i];
	struct elf_function f;
	uint32_t line;

	h->of = NO_FUNCTION;
	for (size_t k = h->from; k < h->to; k++) {
		if (BATCH < h->to - k)
			prefetch_name(s, &s->found[k + BATCH]);
		if (s->found[k].count) {
			take_frames(s, h, k);
		} else if (plain_function(s, k, &f, &line)) {
			s->frames[s->first[k]].line = line;
			set_extra(h, s->frames, s->first[k], NO_FUNCTION, f);
		}
	}
}

/* Gives the functions of all workers numbers of their own. */
static void number_functions(struct resolver *s, struct elf_frames *out)
{
	for (int i = 0; i < s->nworkers; i++) {
		s->workers[i].base = (uint32_t)out->nfunctions;
		out->nfunctions += s->workers[i].nfunctions;
	}
}

static void append_functions(struct elf_frames *out, size_t *at, const struct elf_function *from,
			     size_t n)
{
	if (n)
		memcpy(out->functions + *at, from, n * sizeof(*from));
	*at += n;
}

/* Puts all functions together, those that no worker has behind the others. */
static void join_functions(struct resolver *s, struct elf_frames *out)
{
	size_t at = 0;

	for (int i = 0; i < s->nworkers; i++) {
		struct share *h = &s->shares[i];

		for (size_t k = 0; k < h->nfixes; k++)
			out->frames[h->fixes[k]].function += (uint32_t)out->nfunctions;
		out->nfunctions += h->nextra;
	}
	out->functions = xarena(&out->arena, out->nfunctions + 1, sizeof(*out->functions));
	for (int i = 0; i < s->nworkers; i++)
		append_functions(out, &at, s->workers[i].functions, s->workers[i].nfunctions);
	for (int i = 0; i < s->nworkers; i++) {
		append_functions(out, &at, s->shares[i].extra, s->shares[i].nextra);
		free(s->shares[i].extra);
		free(s->shares[i].fixes);
	}
}

static void answer(struct resolver *s, struct elf_frames *out)
{
	size_t each = s->n / (size_t)s->nworkers + 1;

	for (size_t i = 0; i < (size_t)s->nworkers; i++) {
		s->shares[i].from = i * each < s->n ? i * each : s->n;
		s->shares[i].to = (i + 1) * each < s->n ? (i + 1) * each : s->n;
	}
	out->first = xarena(&out->arena, s->n + 1, sizeof(*out->first));
	s->first = out->first;
	par_run(s->nworkers, find_symbols, s);
	for (size_t i = 0; i < s->n; i++)
		out->first[i + 1] += out->first[i];
	out->frames = xarena(&out->arena, (size_t)out->first[s->n] + 1, sizeof(*out->frames));
	s->frames = out->frames;
	number_functions(s, out);
	par_run(s->nworkers, take_share, s);
	join_functions(s, out);
}

static void start_workers(struct resolver *s, struct elf_frames *out, uint64_t allowance,
			  const struct dwarf_reader *shared)
{
	s->nworkers = par_width();
	if ((size_t)s->nworkers > s->ntasks)
		s->nworkers = s->ntasks ? (int)s->ntasks : 1;
	for (int i = 0; i < s->nworkers; i++) {
		dwarf_reader_init(&s->workers[i].r, allowance, s->debug->code_start);
		s->workers[i].r.shared = shared;
		table_init(&s->workers[i].index, 1024);
		s->workers[i].nameless.name = STR("");
		s->workers[i].arena = &out->more[i];
		arena_init(&s->workers[i].scratch, SIZE_MAX);
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
		arena_release(&w->scratch);
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
	uint64_t allowance;
	uint64_t *moved;

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
	moved = shifted(addresses, n, s.debug->shift);
	s.addresses = moved;
	s.found = mem_zeroed(n + 1, sizeof(*s.found));
	s.symbols = mem_new(n + 1, sizeof(*s.symbols));
	dwarf_reader_init(&r, allowance, s.debug->code_start);
	s.r = &r;
	s.apart = n >= FEW;
	par_run(1 + s.apart, prepare, &s);
	start_workers(&s, out, allowance, &r);
	par_run(s.nworkers, work, &s);
	answer(&s, out);
	release_workers(&s);
	dwarf_reader_release(&r);
	free(s.tasks);
	free(s.order);
	free(s.by_unit);
	free(s.found);
	free(s.symbols);
	free(moved);
	return 0;
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
