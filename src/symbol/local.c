/*
 * local.c - give a profile's addresses the names that binaries of this machine have for them
 *
 * First every mapping is looked at, in the profile's order, because that is the order of the
 * messages.  Then the addresses that can be named are sorted by binary and address, so that each
 * binary is read once, from its beginning to its end, and several of them at the same time.
 * Lines are made last, in the order of locations, as the reference makes them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/local.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/notify.h"
#include "base/par.h"
#include "base/sort-keys.h"
#include "base/xalloc.h"
#include "symbol/binary.h"
#include "symbol/lines.h"
#include "symbol/resolve.h"
#include "symbol/symbolize.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
	AHEAD = 8,  /* locations or functions, while memory comes near */
	BATCH = 64, /* texts */
};

/* The addresses of one binary, and what was found for them. */
struct job {
	struct binary *binary;
	struct sort_key
		*items; /* addresses as it was linked, in their order, and their locations */
	size_t nitems;
	uint64_t *addresses; /* each once */
	size_t n;
	struct resolved found;
	size_t nfound;       /* of the table's addresses: that many are wanted */
	uint32_t *functions; /* of the table: where in 'used' each is, or NONE */
	uint32_t *strings;   /* of the table: which of the profile's each is, or NONE */
	struct err why;      /* what is wrong with the binary, or "" */
};

/* A function of a job's table. */
struct used {
	uint32_t job, function;
};

struct symbolizer {
	struct profile *p;
	const struct symbolize_options *options;
	struct resolver resolver;
	struct binaries binaries;
	struct sort_key *items; /* of all jobs, and room for as many */
	size_t nitems;
	struct job *jobs; /* one per binary */
	size_t nbusy;     /* those that have addresses */
	atomic_size_t next;
	uint32_t *slots;   /* where in its table each location is, or NONE */
	struct used *used; /* functions in the order in which locations have them */
	size_t nused, used_cap;
	size_t nlines; /* of all locations */
};

/* ------------------------------------------------------------------ which addresses */

static uint32_t binary_of(const struct symbolizer *s, const struct location *l)
{
	return l->mapping == NONE ? NONE : s->binaries.of[l->mapping];
}

/* Makes places for the items of every binary. */
static void make_jobs(struct symbolizer *s)
{
	const struct profile *p = s->p;
	struct sort_key *at;

	s->jobs = mem_zeroed(s->binaries.n + 1, sizeof(*s->jobs));
	for (uint32_t i = 0; i < p->nlocations; i++) {
		uint32_t binary = binary_of(s, &p->locations[i]);

		if (binary != NONE) {
			s->jobs[binary].nitems++;
			s->nitems++;
		}
	}
	s->items = mem_new(2 * s->nitems + 1, sizeof(*s->items));
	at = s->items;
	for (size_t i = 0; i < s->binaries.n; i++) {
		s->jobs[i].binary = &s->binaries.at[i];
		s->jobs[i].items = at;
		at += s->jobs[i].nitems;
		s->nbusy += s->jobs[i].nitems > 0;
	}
}

/* The addresses of locations, which are in any order, go to their binaries. */
static void fill_jobs(struct symbolizer *s)
{
	const struct profile *p = s->p;

	for (size_t i = 0; i < s->binaries.n; i++)
		s->jobs[i].nitems = 0;
	for (uint32_t i = 0; i < p->nlocations; i++) {
		const struct location *l = &p->locations[i];
		uint32_t binary = binary_of(s, l);

		if (binary == NONE)
			continue;
		s->jobs[binary].items[s->jobs[binary].nitems++] = (struct sort_key){
			.key = l->address - s->binaries.bias[l->mapping],
			.thing = i,
		};
	}
}

static void sort_jobs(struct symbolizer *s)
{
	uint64_t *room = mem_new(s->nitems + 1, sizeof(*room));

	s->jobs[s->binaries.n].addresses = room;
	for (size_t i = 0; i < s->binaries.n; i++) {
		struct job *job = &s->jobs[i];

		job->items = sort_keys(job->items, job->nitems, job->items + s->nitems);
		job->addresses = room;
		for (size_t k = 0; k < job->nitems; k++)
			if (k == 0 || job->items[k].key != job->items[k - 1].key)
				job->addresses[job->n++] = job->items[k].key;
		room += job->n;
	}
}

/* ------------------------------------------------------------------ looking */

static void do_job(struct symbolizer *s, struct job *job)
{
	job->why.msg[0] = '\0';
	if (job->n == 0)
		return;
	if (binary_open(job->binary, &job->why) == 0)
		(void)resolve(&s->resolver, job->binary->elf, job->addresses, job->n, &job->found,
			      &job->why);
	binary_rest(&s->binaries, job->binary);
}

static void work(int i, void *ctx)
{
	struct symbolizer *s = ctx;

	(void)i;
	for (;;) {
		size_t at = atomic_fetch_add(&s->next, 1);

		if (at >= s->binaries.n)
			return;
		do_job(s, &s->jobs[at]);
	}
}

static void do_jobs(struct symbolizer *s)
{
	int width = par_width();

	par_run(s->binaries.n < (size_t)width ? (int)s->binaries.n : width, work, s);
	for (size_t i = 0; i < s->binaries.n; i++) {
		if (*s->jobs[i].why.msg)
			binary_complain(s->p, s->jobs[i].binary, s->jobs[i].why.msg,
					s->options->notify);
	}
}

/* ------------------------------------------------------------------ lines */

/* Whether the profile knows more about the location than a name. */
static bool is_known(const struct profile *p, const struct location *l)
{
	for (uint32_t i = 0; i < l->nlines; i++) {
		const struct line *line = &p->lines[l->line + i];
		const struct function *fn = &p->functions[line->function];

		if (fn->name && (fn->file || line->line))
			return true;
	}
	return false;
}

static bool knows_lines(const struct frame_table *t, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		const struct table_frame *f = &t->frames[i];

		if (f->line || frame_table_text(t, t->functions[f->function].file).n)
			return true;
	}
	return false;
}

/* Where in 'used' function 'i' of the table of job 'job' is. */
static uint32_t use_function(struct symbolizer *s, uint32_t job, uint32_t i)
{
	uint32_t *at = &s->jobs[job].functions[i];

	if (*at == NONE) {
		*at = (uint32_t)s->nused;
		vec_push(s->used, s->nused, s->used_cap, ((struct used){ job, i }));
	}
	return *at;
}

/* Once a mapping has both, there is nothing more to note. */
static void note_function(struct mapping *m, const struct frame_table *t, uint32_t function)
{
	const struct table_function *f = &t->functions[function];

	m->has_functions |= frame_table_text(t, f->name).n != 0;
	m->has_filenames |= frame_table_text(t, f->file).n != 0;
}

/* The frames of the location's table become its lines; their functions are numbers in 'used'. */
static void set_lines(struct symbolizer *s, struct line_adder *a, struct location *l, uint32_t slot)
{
	struct mapping *m = &a->p->mappings[l->mapping];
	uint32_t job = s->binaries.of[l->mapping];
	const struct frame_table *t = &s->jobs[job].found.table;
	uint32_t from = t->first[slot], to = t->first[slot + 1];
	struct line *line;

	if (from == to || (is_known(a->p, l) && !knows_lines(t, from, to)))
		return;
	line = line_adder_lines(a, l, to - from);
	l->is_folded = false;
	for (; from < to; from++) {
		const struct table_frame *f = &t->frames[from];

		if (!m->has_functions || !m->has_filenames)
			note_function(m, t, f->function);
		m->has_line_numbers |= f->line != 0;
		*line++ = (struct line){ use_function(s, job, f->function), f->line, f->column };
	}
	m->has_inline_frames = true;
}

static uint32_t *make_map(size_t n)
{
	uint32_t *map = mem_new(n + 1, sizeof(*map));

	memset(map, 0xff, n * sizeof(*map));
	return map;
}

/* Finds out where in its table each location is: a walk, since both are in ascending order. */
static void find_slots_of(struct symbolizer *s, struct job *job)
{
	const struct frame_table *t = &job->found.table;
	uint32_t at = 0;

	for (size_t i = 0; i < job->nitems; i++) {
		const struct sort_key *item = &job->items[i];

		while (at < t->n && t->addresses[at] < item->key)
			at++;
		if (at < t->n && t->addresses[at] == item->key) {
			job->nfound += i == 0 || item->key != item[-1].key;
			s->slots[item->thing] = at;
			s->nlines += t->first[at + 1] - t->first[at];
		}
	}
}

static void find_slots(struct symbolizer *s)
{
	s->slots = make_map(s->p->nlocations);
	for (size_t i = 0; i < s->binaries.n; i++)
		find_slots_of(s, &s->jobs[i]);
}

static void want_text(const struct job *job, uint32_t i)
{
	job->strings[i] = 0;
}

/* Marks texts of the functions that occur at an address of the table. */
static void want_texts(const struct job *job, uint32_t slot)
{
	const struct frame_table *t = &job->found.table;

	for (uint32_t i = t->first[slot]; i < t->first[slot + 1]; i++) {
		const struct table_function *f = &t->functions[t->frames[i].function];

		want_text(job, f->readable);
		want_text(job, f->name);
		want_text(job, f->file);
	}
}

/*
 * Gives the profile all texts that are wanted, in the order of the table: that is the fast one.
 * They stay where they are, see free_job().
 */
static void intern_texts(struct profile *p, const struct job *job)
{
	const struct frame_table *t = &job->found.table;
	struct str keys[BATCH];
	uint64_t hashes[BATCH];
	uint32_t which[BATCH], numbers[BATCH];
	size_t n = 0;

	strings_expect(p->strings, t->ntexts);
	for (uint32_t i = 0; i < t->ntexts; i++) {
		struct str text = frame_table_text(t, i);

		if (text.n == 0) {
			job->strings[i] = 0;
		} else if (job->strings[i] != NONE) {
			keys[n] = text;
			hashes[n] = t->hashes[i];
			which[n++] = i;
		}
		if (n < BATCH && i + 1 < t->ntexts)
			continue;
		strings_adopt(p->strings, keys, hashes, n, numbers);
		while (n > 0) {
			n--;
			job->strings[which[n]] = numbers[n];
		}
	}
}

static void want_all(struct symbolizer *s)
{
	for (size_t i = 0; i < s->binaries.n; i++) {
		struct job *job = &s->jobs[i];
		const struct frame_table *t = &job->found.table;

		job->strings = make_map(t->ntexts);
		if (job->nfound == t->n && t->ntexts)
			memset(job->strings, 0, t->ntexts * sizeof(*job->strings));
		for (size_t k = 0; k < job->nitems && job->nfound != t->n; k++) {
			uint32_t slot = s->slots[job->items[k].thing];

			if (slot != NONE)
				want_texts(job, slot);
		}
	}
}

static void intern_all(void *ctx)
{
	struct symbolizer *s = ctx;

	want_all(s);
	for (size_t i = 0; i < s->binaries.n; i++)
		intern_texts(s->p, &s->jobs[i]);
}

/* The table that has the frames of a location, or NULL; 'slot' is where in it they are. */
static const struct job *job_of(const struct symbolizer *s, uint32_t location, uint32_t *slot)
{
	if (location >= s->p->nlocations || s->slots[location] == NONE)
		return NULL;
	*slot = s->slots[location];
	return &s->jobs[s->binaries.of[s->p->locations[location].mapping]];
}

static void prefetch_functions(const struct job *job, uint32_t slot)
{
	const struct frame_table *t = &job->found.table;

	for (uint32_t i = t->first[slot]; i < t->first[slot + 1]; i++)
		__builtin_prefetch(&job->functions[t->frames[i].function]);
}

/*
 * Brings near what set_all_lines() will soon look at, since locations are in any order: first where
 * their frames are, then the frames, then what is known about their functions.
 */
static void prefetch_frames(const struct symbolizer *s, uint32_t location)
{
	uint32_t slot;
	const struct job *job = job_of(s, location + 3 * AHEAD, &slot);

	if (job)
		__builtin_prefetch(&job->found.table.first[slot]);
	job = job_of(s, location + 2 * AHEAD, &slot);
	if (job) {
		const struct frame_table *t = &job->found.table;

		__builtin_prefetch(&t->frames[t->first[slot]]);
		__builtin_prefetch(&t->frames[t->first[slot + 1]]);
	}
	job = job_of(s, location + AHEAD, &slot);
	if (job)
		prefetch_functions(job, slot);
}

static void set_all_lines(struct symbolizer *s, struct line_adder *a)
{
	for (size_t i = 0; i < s->binaries.n; i++)
		s->jobs[i].functions = make_map(s->jobs[i].found.table.nfunctions);
	for (uint32_t i = 0; i < s->p->nlocations; i++) {
		prefetch_frames(s, i);
		if (s->slots[i] != NONE)
			set_lines(s, a, &s->p->locations[i], s->slots[i]);
	}
}

static struct function make_function(const struct symbolizer *s, struct used u)
{
	const struct job *job = &s->jobs[u.job];
	const struct table_function *f = &job->found.table.functions[u.function];

	return (struct function){
		.name = job->strings[f->readable],
		.system_name = job->strings[f->name],
		.file = job->strings[f->file],
		.start_line = f->start_line,
	};
}

/* The same for set_functions(). */
static void prefetch_used(const struct symbolizer *s, size_t i)
{
	if (i + 2 * AHEAD < s->nused) {
		struct used u = s->used[i + 2 * AHEAD];

		__builtin_prefetch(&s->jobs[u.job].found.table.functions[u.function]);
	}
	if (i + AHEAD < s->nused) {
		const struct job *job = &s->jobs[s->used[i + AHEAD].job];
		const struct table_function *f =
			&job->found.table.functions[s->used[i + AHEAD].function];

		__builtin_prefetch(&job->strings[f->readable]);
		__builtin_prefetch(&job->strings[f->name]);
	}
}

/* Makes the functions that are used.  Those of one binary differ, but others may have the same. */
static void set_functions(struct symbolizer *s, struct line_adder *a)
{
	AUTO(freep) uint32_t *numbers = mem_new(s->nused + 1, sizeof(*numbers));

	line_adder_expect(a, s->nused);
	for (size_t i = 0; i < s->nused; i++) {
		struct function f;

		prefetch_used(s, i);
		f = make_function(s, s->used[i]);
		numbers[i] = s->nbusy > 1 ? line_adder_function(a, f) : line_adder_new(a, f);
	}
	if (s->nbusy <= 1 && a->p->nfunctions == 0)
		return; /* these are the numbers they have already */
	for (size_t i = a->p->nlines; i < a->nlines; i++)
		a->lines[i].function = numbers[a->lines[i].function];
}

static int apply(struct symbolizer *s, struct err *err)
{
	struct par_task interning;
	struct line_adder a;

	find_slots(s);
	line_adder_init(&a, s->p, s->nlines);
	par_start(&interning, intern_all, s);
	set_all_lines(s, &a);
	par_wait(&interning);
	set_functions(s, &a);
	return line_adder_finish(&a, err);
}

/* ------------------------------------------------------------------ all */

/* The profile's strings are in the bytes of the table. */
static void free_job(struct job *job, struct strings *strings)
{
	if (job->strings && job->found.table.ntexts)
		strings_keep(strings, resolved_take(&job->found));
	else
		resolved_release(&job->found);
	free(job->functions);
	free(job->strings);
}

static void release(struct symbolizer *s)
{
	for (size_t i = 0; i < s->binaries.n; i++)
		free_job(&s->jobs[i], s->p->strings);
	free(s->jobs[s->binaries.n].addresses);
	free(s->jobs);
	free(s->items);
	free(s->slots);
	free(s->used);
	binaries_release(&s->binaries);
}

int symbolize_locally(struct profile *p, const struct symbolize_options *o, bool fast, bool force,
		      struct err *err)
{
	struct symbolizer s = { .p = p, .options = o };
	int rc = 0;

	s.resolver =
		(struct resolver){ .options = o, .server = fast ? NULL : o->server, .fast = fast };
	binaries_find(&s.binaries, p, force, s.resolver.server, o->notify);
	make_jobs(&s);
	fill_jobs(&s);
	sort_jobs(&s);
	do_jobs(&s);
	if (s.nitems)
		rc = apply(&s, err);
	release(&s);
	return rc;
}
