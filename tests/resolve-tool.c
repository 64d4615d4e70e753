/*
 * resolve-tool.c - the frames of addresses, for tests and measurements
 *
 *	resolve-tool [-q] [-c FOLDER] [-d FOLDERS] FILE < ADDRESSES
 *
 * Addresses are hexadecimal, one to a line, in any order.  Each is answered by a line with the
 * address, in ascending order, and one line for each frame, the innermost first:
 *
 *	\t<function>\t<file>\t<line>\t<column>\t<start line>
 *
 * FOLDERS are where to look for debug information, with colons between them; FOLDER is the cache,
 * as the tool uses it, and without one there is none.  -q finds all that, and prints nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/digits.h"
#include "base/err.h"
#include "base/file.h"
#include "base/out.h"
#include "base/par.h"
#include "base/sort-keys.h"
#include "base/xalloc.h"
#include "elf/dwarf.h"
#include "elf/elf-file.h"
#include "elf/elf-lines.h"
#include "symbol/resolve.h"
#include "symbol/symbolize.h"

#include <limits.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	INPUT_MAX = 1 << 30,
	PRINTED = 96, /* addresses at a time */
	CACHE_LINE = 64,
	NAME_MOST = 256, /* bytes of a name that are asked for */
	AHEAD = 4,       /* frames whose names are asked for */
	DEPTH = 32,      /* frames whose text is used again */
	LINE_LEAST = 8,  /* bytes of most lines with an address */
};

struct list {
	uint64_t *v;
	size_t n, cap;
};

static void sort(struct list *l)
{
	uint64_t *other = mem_new(l->n + 1, sizeof(*other)), *was = l->v;

	l->v = sort_numbers(was, l->n, other);
	free(l->v == was ? other : was);
}

/* The value of a hexadecimal digit plus one; 0 for what is none. */
static const unsigned char digits[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Hexadecimal numbers, one to a line, with or without 0x; what else there is ends a number. */
static void parse(struct list *l, struct str text)
{
	const char *p = text.p, *end = text.p + text.n;

	l->cap = text.n / LINE_LEAST + 1;
	l->v = mem_new(l->cap, sizeof(*l->v));
	while (p < end) {
		uint64_t v = 0;
		const char *start = p;

		for (; p < end && digits[(unsigned char)*p]; p++)
			v = v << 4 | (digits[(unsigned char)*p] - 1u);
		if (p > start && (p == end || *p != 'x'))
			vec_push(l->v, l->n, l->cap, v);
		p += p < end;
	}
}

/* In ascending order, each once. */
static int read_addresses(struct list *l, struct err *err)
{
	struct file_bytes in;
	size_t n = 0;
	int rc = file_read_fd(STDIN_FILENO, "stdin", INPUT_MAX, &in, err);

	if (rc)
		return rc;
	parse(l, (struct str){ in.p, in.n });
	file_bytes_release(&in);
	sort(l);
	for (size_t i = 0; i < l->n; i++) {
		if (i == 0 || l->v[i] != l->v[i - 1])
			l->v[n++] = l->v[i];
	}
	l->n = n;
	return 0;
}

/* ------------------------------------------------------------------ printing */

/* A frame, wherever it is from. */
struct shown {
	struct str name, file;
	uint32_t line, column, start_line;
};

static char *put_number(char *p, uint32_t v)
{
	*p++ = '\t';
	return digits_decimal(p, v);
}

static char *put_text(char *p, struct str s)
{
	*p++ = '\t';
	memcpy(p, s.p, s.n);
	return p + s.n;
}

static void print_frame(struct out *o, struct shown f)
{
	char *p = out_room(o, f.name.n + f.file.n + 3 * (1 + DIGITS_MOST) + 3);

	if (!p)
		return;
	p = put_text(p, f.name);
	p = put_text(p, f.file);
	p = put_number(p, f.line);
	p = put_number(p, f.column);
	p = put_number(p, f.start_line);
	*p++ = '\n';
	out_took(o, p);
}

/* What there is to print: one of the two. */
struct answer {
	const struct list *l;
	const struct elf_frames *frames;
	const struct frame_table *table;
	struct out *o;
	atomic_size_t next; /* part that nobody has taken yet */
	pthread_mutex_t lock;
	pthread_cond_t moved;
	size_t turn; /* part that is to be written next */
	size_t nparts;
	struct out parts[2 * PAR_MOST]; /* that one and those behind it, */
	bool is_ready[2 * PAR_MOST];    /* and whether they are */
};

/* Says that a name will be printed soon. */
static void prefetch_name(struct str name)
{
	for (size_t at = 0; at < name.n && at < NAME_MOST; at += CACHE_LINE)
		__builtin_prefetch(name.p + at);
}

static void print_found(struct out *o, const struct elf_place *at)
{
	for (uint32_t k = 0; k < at->n; k++) {
		const struct elf_frame *f = &at->frames[k];
		const struct elf_function *in = f->function;

		print_frame(o, (struct shown){ in->name, in->file, f->line, f->column,
					       in->start_line });
	}
}

/* What is printed for the next addresses: the frames, then the functions, then their names. */
static void look_ahead(const struct elf_place *at, size_t left)
{
	if (left > 3 && at[3].n)
		__builtin_prefetch(at[3].frames);
	for (uint32_t k = 0; left > 2 && k < at[2].n; k++)
		__builtin_prefetch(at[2].frames[k].function);
	for (uint32_t k = 0; left > 1 && k < at[1].n; k++)
		prefetch_name(at[1].frames[k].function->name);
}

/* The same for what follows frame 'k'. */
static void look_ahead_in_table(const struct frame_table *t, size_t k)
{
	size_t left = t->first[t->n] - k;

	if (left > 3 * AHEAD)
		__builtin_prefetch(&t->functions[t->frames[k + 3 * AHEAD].function]);
	if (left > 2 * AHEAD)
		__builtin_prefetch(&t->ends[t->functions[t->frames[k + 2 * AHEAD].function].name]);
	if (left > AHEAD)
		prefetch_name(
			frame_table_text(t, t->functions[t->frames[k + AHEAD].function].name));
}

/* The text that was made last: where it ends, and how long that of the outermost frames is. */
struct made {
	const struct table_frame *frames;
	size_t n, end;
	size_t lengths[DEPTH]; /* of that many frames */
};

/* How many frames, counted from the outermost, are those of the address before. */
static size_t count_same(const struct made *m, const struct table_frame *frames, size_t n)
{
	size_t most = n < m->n ? n : m->n, same = 0;

	while (same < most && same < DEPTH - 1 &&
	       memcmp(&frames[n - 1 - same], &m->frames[m->n - 1 - same], sizeof(*frames)) == 0)
		same++;
	return same;
}

static void copy_made(struct out *o, const struct made *m, size_t n)
{
	char *p = n ? out_room(o, n) : NULL;

	if (!p)
		return;
	memcpy(p, o->p + m->end - n, n);
	out_took(o, p + n);
}

/* Neighbours are inlined into the same functions, for the most part: that text is made once. */
static void print_table(struct out *o, const struct frame_table *t, size_t at, struct made *m)
{
	const struct table_frame *frames = t->frames + t->first[at];
	size_t n = t->first[at + 1] - t->first[at], same = count_same(m, frames, n);

	for (size_t k = 0; k < n - same; k++) {
		const struct table_function *in = &t->functions[frames[k].function];

		look_ahead_in_table(t, t->first[at] + k);
		if (n - k < DEPTH)
			m->lengths[n - k] = o->n;
		print_frame(o, (struct shown){ frame_table_text(t, in->name),
					       frame_table_text(t, in->file), frames[k].line,
					       frames[k].column, in->start_line });
	}
	copy_made(o, m, m->lengths[same]);
	for (size_t k = same + 1; k <= n && k < DEPTH; k++)
		m->lengths[k] = o->n - m->lengths[k];
	m->frames = frames;
	m->n = n;
	m->end = o->n;
}

static void print_part(const struct answer *a, size_t from, struct out *o)
{
	const struct frame_table *t = a->table;
	size_t at = t ? first_from(t->addresses, t->n, a->l->v[from]) : 0;
	struct made last = { 0 };

	for (size_t i = from; i < from + PRINTED && i < a->l->n; i++) {
		out_hex(o, a->l->v[i]);
		out_char(o, '\n');
		if (!t) {
			look_ahead(&a->frames->at[i], a->l->n - i);
			print_found(o, &a->frames->at[i]);
			continue;
		}
		while (t->addresses[at] < a->l->v[i])
			at++;
		print_table(o, t, at, &last);
	}
}

/* Waits until there is room for a part.  It is moved, so that nobody else is near. */
static struct out take_part(struct answer *a, size_t which)
{
	struct out part;

	pthread_mutex_lock(&a->lock);
	while (which >= a->turn + a->nparts)
		pthread_cond_wait(&a->moved, &a->lock);
	part = a->parts[which % a->nparts];
	pthread_mutex_unlock(&a->lock);
	part.n = 0;
	return part;
}

/* Writes what is ready, in order. */
static void give_part(struct answer *a, size_t which, struct out part)
{
	pthread_mutex_lock(&a->lock);
	a->parts[which % a->nparts] = part;
	a->is_ready[which % a->nparts] = true;
	for (; a->is_ready[a->turn % a->nparts]; a->turn++) {
		out_str(a->o, out_view(&a->parts[a->turn % a->nparts]));
		a->is_ready[a->turn % a->nparts] = false;
		pthread_cond_broadcast(&a->moved);
	}
	pthread_mutex_unlock(&a->lock);
}

static void print_some(int i, void *ctx)
{
	struct answer *a = ctx;

	(void)i;
	for (;;) {
		size_t which = atomic_fetch_add(&a->next, 1);
		struct out part;

		if (which * PRINTED >= a->l->n)
			break;
		part = take_part(a, which);
		print_part(a, which * PRINTED, &part);
		give_part(a, which, part);
	}
}

/* Each processor makes parts of it. */
static void print(struct answer *a)
{
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->moved, NULL);
	a->nparts = 2 * (size_t)par_width();
	for (size_t i = 0; i < a->nparts; i++)
		out_init(&a->parts[i], 0);
	par_run(par_width(), print_some, a);
	for (size_t i = 0; i < a->nparts; i++)
		out_release(&a->parts[i]);
}

/* ------------------------------------------------------------------ resolving */

struct plan {
	struct elf_search search;
	const char *cache; /* or NULL */
	bool quiet;
};

/* From the binary. */
static int look(struct elf_file *f, const struct plan *plan, const struct list *l, struct out *o,
		struct err *err)
{
	struct elf_frames frames;
	int rc = elf_resolve(f, &plan->search, l->v, l->n, &frames, err);

	if (rc == 0 && !plan->quiet)
		print(&(struct answer){ .l = l, .o = o, .frames = &frames });
	elf_frames_release(&frames);
	return rc;
}

/* From the cache, or from the binary into the cache. */
static int look_up(struct elf_file *f, const struct plan *plan, const struct list *l, struct out *o,
		   struct err *err)
{
	struct symbolize_options options = { .debug_folders = plan->search.debug_folders,
					     .cache_folder = plan->cache };
	struct resolver r = { .options = &options };
	struct resolved found = { 0 };
	int rc = resolve(&r, f, l->v, l->n, &found, err);

	if (rc == 0 && !plan->quiet)
		print(&(struct answer){ .l = l, .o = o, .table = &found.table });
	resolved_release(&found);
	return rc;
}

static int resolve_all(const char *path, const struct plan *plan)
{
	AUTO(elf_closep) struct elf_file *f = NULL;
	struct list l = { 0 };
	struct out o;
	struct err err;
	int rc = elf_open(path, &f, &err);

	out_init_fd(&o, STDOUT_FILENO);
	if (rc == 0)
		rc = read_addresses(&l, &err);
	if (rc == 0)
		rc = (plan->cache ? look_up : look)(f, plan, &l, &o, &err);
	if (rc < 0)
		fprintf(stderr, "resolve-tool: %s\n", err.msg);
	else
		rc = out_finish(&o);
	out_release(&o);
	free(l.v);
	return rc < 0;
}

int main(int argc, char **argv)
{
	struct plan plan = { 0 };
	int c;

	/* As in the tool: what is freed is used again, and not given back. */
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	for (c = getopt(argc, argv, "c:d:q"); c != -1; c = getopt(argc, argv, "c:d:q")) {
		if (c == 'd')
			plan.search.debug_folders = optarg;
		else if (c == 'c')
			plan.cache = optarg;
		else if (c == 'q')
			plan.quiet = true;
		else
			return 2;
	}
	if (optind + 1 != argc) {
		fprintf(stderr,
			"usage: resolve-tool [-q] [-c FOLDER] [-d FOLDERS] FILE < ADDRESSES\n");
		return 2;
	}
	return resolve_all(argv[optind], &plan);
}
