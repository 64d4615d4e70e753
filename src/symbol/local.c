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
#include "base/xalloc.h"
#include "symbol/binary.h"
#include "symbol/debug-server.h"
#include "symbol/lines.h"
#include "symbol/resolve.h"
#include "symbol/symbolize.h"

#include <stdatomic.h>
#include <stdlib.h>

/* An address that is in a binary we have. */
struct item {
	uint64_t address; /* as the binary was linked */
	uint32_t binary, location;
};

/* The addresses of one binary, each once, and what was found for them. */
struct job {
	struct binary *binary;
	uint64_t *addresses;
	size_t n;
	struct resolved found;
	uint32_t *functions, *strings; /* of the table: which of the profile's each is, or NONE */
	struct err why;                /* what is wrong with the binary, or "" */
};

struct symbolizer {
	struct profile *p;
	const struct symbolize_options *options;
	struct resolver resolver;
	struct binaries binaries;
	struct item *items;
	size_t nitems;
	struct job *jobs; /* one per binary */
	atomic_size_t next;
};

/* ------------------------------------------------------------------ which addresses */

static int by_binary_and_address(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->binary != y->binary)
		return x->binary < y->binary ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static void collect_items(struct symbolizer *s)
{
	const struct profile *p = s->p;

	s->items = mem_new((size_t)p->nlocations + 1, sizeof(*s->items));
	for (uint32_t i = 0; i < p->nlocations; i++) {
		const struct location *l = &p->locations[i];
		uint32_t binary = l->mapping == NONE ? NONE : s->binaries.of[l->mapping];

		if (binary == NONE)
			continue;
		s->items[s->nitems++] = (struct item){
			.address = l->address - s->binaries.bias[l->mapping],
			.binary = binary,
			.location = i,
		};
	}
	if (s->nitems)
		qsort(s->items, s->nitems, sizeof(*s->items), by_binary_and_address);
}

/* Gives each binary its addresses. */
static void make_jobs(struct symbolizer *s)
{
	uint64_t *room = mem_new(s->nitems + 1, sizeof(*room));

	s->jobs = mem_zeroed(s->binaries.n + 1, sizeof(*s->jobs));
	for (size_t i = 0; i < s->nitems; i++) {
		const struct item *item = &s->items[i];
		struct job *job = &s->jobs[item->binary];

		if (job->n && job->addresses[job->n - 1] == item->address)
			continue;
		if (job->n == 0)
			job->addresses = room + i;
		job->addresses[job->n++] = item->address;
	}
	s->jobs[s->binaries.n].addresses = room;
	for (size_t i = 0; i < s->binaries.n; i++)
		s->jobs[i].binary = &s->binaries.at[i];
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

/* The function of the profile that is function 'i' of the job's table. */
static uint32_t function_of(struct line_adder *a, const struct job *job, uint32_t i)
{
	const struct table_function *f = &job->found.table.functions[i];

	if (job->functions[i] == NONE) {
		struct function fn = {
			.name = job->strings[f->readable],
			.system_name = job->strings[f->name],
			.file = job->strings[f->file],
			.start_line = f->start_line,
		};

		job->functions[i] = line_adder_function(a, fn);
	}
	return job->functions[i];
}

/* Once a mapping has both, there is nothing more to note. */
static void note_function(struct mapping *m, const struct line_adder *a, uint32_t function)
{
	const struct function *f = line_adder_at(a, function);

	m->has_functions |= f->system_name != 0;
	m->has_filenames |= f->file != 0;
}

static void set_lines(struct line_adder *a, struct location *l, const struct job *job, size_t from,
		      size_t to)
{
	struct mapping *m = &a->p->mappings[l->mapping];

	if (from == to || (is_known(a->p, l) && !knows_lines(&job->found.table, from, to)))
		return;
	line_clear(a, l);
	l->is_folded = false;
	for (; from < to; from++) {
		const struct table_frame *f = &job->found.table.frames[from];
		struct line line = { function_of(a, job, f->function), f->line, f->column };

		if (!m->has_functions || !m->has_filenames)
			note_function(m, a, line.function);
		m->has_line_numbers |= line.line != 0;
		line_add(a, l, line);
	}
	m->has_inline_frames = true;
}

static uint32_t *make_map(size_t n)
{
	uint32_t *map = mem_new(n + 1, sizeof(*map));

	memset(map, 0xff, n * sizeof(*map));
	return map;
}

/* Where in its table each location is, or NONE: a walk, since both are in ascending order. */
static uint32_t *find_slots(const struct symbolizer *s)
{
	uint32_t *slots = make_map(s->p->nlocations);
	uint32_t at = 0, binary = NONE;

	for (size_t i = 0; i < s->nitems; i++) {
		const struct item *item = &s->items[i];
		const struct frame_table *t = &s->jobs[item->binary].found.table;

		if (item->binary != binary)
			at = 0;
		binary = item->binary;
		while (at < t->n && t->addresses[at] < item->address)
			at++;
		if (at < t->n && t->addresses[at] == item->address)
			slots[item->location] = at;
	}
	return slots;
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

/* Gives the profile all texts that are wanted, in the order of the table: that is the fast one. */
static void intern_texts(struct profile *p, const struct job *job)
{
	const struct frame_table *t = &job->found.table;
	AUTO(freep) struct str *keys = mem_new(t->ntexts + 1, sizeof(*keys));
	AUTO(freep) uint32_t *numbers = mem_new(t->ntexts + 1, sizeof(*numbers));
	size_t n = 0;

	for (uint32_t i = 0; i < t->ntexts; i++) {
		if (job->strings[i] != NONE)
			keys[n++] = frame_table_text(t, i);
	}
	strings_intern(p->strings, keys, n, numbers);
	n = 0;
	for (uint32_t i = 0; i < t->ntexts; i++) {
		if (job->strings[i] != NONE)
			job->strings[i] = numbers[n++];
	}
}

/* Returns how many functions there may be. */
static size_t prepare_jobs(struct symbolizer *s, const uint32_t *slots)
{
	size_t n = 0;

	for (size_t i = 0; i < s->binaries.n; i++) {
		s->jobs[i].functions = make_map(s->jobs[i].found.table.nfunctions);
		s->jobs[i].strings = make_map(s->jobs[i].found.table.ntexts);
		n += s->jobs[i].found.table.nfunctions;
	}
	for (size_t i = 0; i < s->nitems; i++) {
		if (slots[s->items[i].location] != NONE)
			want_texts(&s->jobs[s->items[i].binary], slots[s->items[i].location]);
	}
	for (size_t i = 0; i < s->binaries.n; i++)
		intern_texts(s->p, &s->jobs[i]);
	return n;
}

static int apply(struct symbolizer *s, struct err *err)
{
	AUTO(freep) uint32_t *slots = find_slots(s);
	struct line_adder a;

	line_adder_init(&a, s->p, prepare_jobs(s, slots));
	for (uint32_t i = 0; i < s->p->nlocations; i++) {
		struct location *l = &s->p->locations[i];
		const struct job *job;
		const uint32_t *first;

		if (slots[i] == NONE)
			continue;
		job = &s->jobs[s->binaries.of[l->mapping]];
		first = job->found.table.first + slots[i];
		set_lines(&a, l, job, first[0], first[1]);
	}
	return line_adder_finish(&a, err);
}

/* ------------------------------------------------------------------ all */

static void free_job(struct job *job)
{
	resolved_release(&job->found);
	free(job->functions);
	free(job->strings);
}

static void release(struct symbolizer *s)
{
	for (size_t i = 0; i < s->binaries.n; i++)
		free_job(&s->jobs[i]);
	free(s->jobs[s->binaries.n].addresses);
	free(s->jobs);
	free(s->items);
	binaries_release(&s->binaries);
}

int symbolize_locally(struct profile *p, const struct symbolize_options *o, bool fast, bool force,
		      struct err *err)
{
	struct symbolizer s = { .p = p, .options = o };
	struct debug_server server;
	bool has_server = o->debuginfod && *o->debuginfod && !fast;
	int rc;

	debug_server_init(&server, o->notify);
	server.wait_ms = o->debuginfod_wait_ms;
	server.total_ms = o->debuginfod_total_ms;
	s.resolver = (struct resolver){ .options = o,
					.server = has_server ? &server : NULL,
					.fast = fast };
	binaries_find(&s.binaries, p, force, s.resolver.server, o->notify);
	collect_items(&s);
	make_jobs(&s);
	do_jobs(&s);
	rc = apply(&s, err);
	release(&s);
	return rc;
}
