/*
 * node.c - the places a report talks about
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/node.h"

#include "base/cleanup.h"
#include "base/gotext.h"
#include "base/out.h"
#include "base/table.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "view/config.h"

#include <stdio.h>
#include <stdlib.h>

bool node_options_init(struct node_options *o, const struct config *cfg)
{
	struct str g = str_of(cfg->granularity);

	*o = (struct node_options){ .no_inlines = cfg->noinlines,
				    .columns = cfg->showcolumns,
				    .trim_path = str_of(cfg->trim_path),
				    .source_path = str_of(cfg->source_path) };
	if (str_is(g, "addresses"))
		o->functions = o->files = o->lines = o->addresses = true;
	else if (str_is(g, "lines"))
		o->functions = o->files = o->lines = true;
	else if (str_is(g, "files"))
		o->files = true;
	else if (str_is(g, "functions"))
		o->functions = true;
	else if (str_is(g, "filefunctions"))
		o->functions = o->files = true;
	else
		return false;
	return true;
}

/* ------------------------------------------------------------------ file names */

struct str trim_path(struct str path, struct str trim, struct str search)
{
	static const struct str always[] = { { "/proc/self/cwd/./", 17 },
					     { "/proc/self/cwd/", 15 } };
	struct str dir, rest = search;

	while (trim.n == 0 && search.n && str_split(&rest, ':', &dir)) {
		AUTO(freep) char *want = mem_printf("/%.*s/", STR_ARG(str_base(dir)));
		ptrdiff_t found = str_find(path, str_of(want));

		if (found >= 0)
			return str_skip(path, (size_t)found + strlen(want));
	}
	rest = trim;
	while (trim.n && str_split(&rest, ':', &dir)) {
		bool slash = str_ends(dir, STR("/"));

		if (str_starts(path, dir) && (slash || (path.n > dir.n && path.p[dir.n] == '/')))
			return str_skip(path, dir.n + !slash);
	}
	for (int i = 0; i < 2; i++) {
		if (str_starts(path, always[i]))
			return str_skip(path, always[i].n);
	}
	return path;
}

/* ------------------------------------------------------------------ making nodes */

struct maker {
	struct nodes *n;
	const struct node_options *o;
	struct table index;
	uint32_t *files; /* per string: as nodes show it if it is a file, NONE if not known yet */
	uint32_t *nodes; /* per function, in the same way; NULL where a node depends on more */
	struct arena scratch;
};

static uint32_t file_of(struct maker *m, uint32_t function)
{
	struct profile *p = m->n->p;
	uint32_t is = p->functions[function].file;
	struct str file = profile_str(p, is);

	if (m->files[is] != NONE)
		return m->files[is];
	if (m->o->trim)
		file = trim_path(file, m->o->trim_path, m->o->source_path);
	if (file.n)
		file = go_path_clean(&m->scratch, file);
	m->files[is] = profile_intern_copy(p, file);
	return m->files[is];
}

static struct node_info info_of(struct maker *m, const struct location *l, const struct line *ln)
{
	const struct profile *p = m->n->p;
	const struct node_options *o = m->o;
	uint32_t objfile = l->mapping == NONE ? 0 : p->mappings[l->mapping].file;
	struct node_info i = { .address = o->addresses ? l->address : 0 };

	if (!ln) {
		i.objfile = objfile;
		return i;
	}
	if (o->functions)
		i.name = p->functions[ln->function].name;
	if (o->files)
		i.file = file_of(m, ln->function);
	if (o->lines) {
		i.line = ln->line;
		i.column = o->columns ? ln->column : 0;
	}
	if (o->objfiles || i.name == 0) {
		i.objfile = objfile;
		i.start_line = p->functions[ln->function].start_line;
	}
	return i;
}

static uint64_t hash_info(const struct node_info *i)
{
	uint64_t h = hash_mix(i->address, ((uint64_t)i->name << 32) | i->file);

	h = hash_mix(h ^ (uint64_t)i->line, ((uint64_t)i->objfile << 32) ^ (uint64_t)i->start_line);
	return i->column ? hash_mix(h, (uint64_t)i->column) : h;
}

static uint64_t rehash(uint32_t i, const void *ctx)
{
	return hash_info(&((const struct nodes *)ctx)->info[i]);
}

static bool same_info(const struct node_info *a, const struct node_info *b)
{
	return a->name == b->name && a->file == b->file && a->line == b->line &&
	       a->address == b->address && a->objfile == b->objfile &&
	       a->start_line == b->start_line && a->column == b->column;
}

static uint32_t node_for(struct maker *m, struct node_info info)
{
	struct nodes *n = m->n;
	struct probe at;

	table_reserve(&m->index, rehash, n);
	at = table_probe(&m->index, hash_info(&info));
	while (table_next(&m->index, &at)) {
		if (same_info(&n->info[at.value], &info))
			return at.value;
	}
	table_put(&m->index, &at, n->n);
	n->info[n->n] = info;
	return n->n++;
}

/* The node of a line.  Where only functions count, each is looked up once. */
static uint32_t node_of(struct maker *m, const struct location *l, const struct line *ln)
{
	struct node_info info;
	uint32_t node;

	if (m->nodes && m->nodes[ln->function] != NONE)
		return m->nodes[ln->function];
	info = info_of(m, l, ln);
	node = node_for(m, info);
	if (m->nodes && info.name)
		m->nodes[ln->function] = node;
	return node;
}

static uint32_t *nothing_known(size_t n)
{
	uint32_t *map = mem_new(n + 1, sizeof(*map));

	memset(map, 0xff, n * sizeof(*map));
	return map;
}

static void add_frames(struct maker *m, const struct location *l, uint32_t *frames)
{
	struct nodes *n = m->n;
	uint32_t skip = m->o->no_inlines && l->nlines > 1 ? l->nlines - 1 : 0;

	if (n->p->hidden && n->p->hidden[l - n->p->locations])
		return;
	if (l->nlines == 0)
		n->frame[(*frames)++] = node_for(m, info_of(m, l, NULL));
	for (uint32_t i = skip; i < l->nlines; i++) {
		uint32_t node = node_of(m, l, &n->p->lines[l->line + i]);

		n->frame[(*frames)++] = node;
		if (i + 1 < l->nlines)
			n->inlined[node] = 1;
	}
}

void nodes_init(struct nodes *n, struct profile *p, const struct node_options *o)
{
	struct maker m = { .n = n, .o = o };
	size_t most = 0;
	uint32_t frames = 0;

	for (uint32_t i = 0; i < p->nlocations; i++)
		most += p->locations[i].nlines ? p->locations[i].nlines : 1;
	*n = (struct nodes){ .p = p };
	n->info = mem_new(most, sizeof(*n->info));
	n->first = mem_new((size_t)p->nlocations + 1, sizeof(*n->first));
	n->frame = mem_new(most, sizeof(*n->frame));
	n->lead = mem_new(p->nlocations, sizeof(*n->lead));
	n->inlined = mem_zeroed(most, 1);
	m.files = nothing_known(p->strings->n);
	if (!o->lines && !o->addresses && !o->objfiles)
		m.nodes = nothing_known(p->nfunctions);
	table_init(&m.index, m.nodes ? p->nfunctions : p->nlocations);
	arena_init(&m.scratch, PROFILE_BUDGET);
	for (uint32_t i = 0; i < p->nlocations; i++) {
		n->first[i] = frames;
		add_frames(&m, &p->locations[i], &frames);
		n->lead[i] = frames - n->first[i] ? n->frame[n->first[i]] : NONE;
		if (frames - n->first[i] > 1)
			n->lead[i] |= NODE_MANY;
	}
	n->first[p->nlocations] = frames;
	table_release(&m.index);
	arena_release(&m.scratch);
	free(m.files);
	free(m.nodes);
}

void nodes_release(struct nodes *n)
{
	free(n->info);
	free(n->first);
	free(n->frame);
	free(n->lead);
	free(n->inlined);
	*n = (struct nodes){ 0 };
}

/* ------------------------------------------------------------------ names and order */

static void print_number(struct out *o, int64_t n)
{
	out_char(o, ':');
	out_i64(o, n);
}

static void print_place(struct out *o, const struct profile *p, const struct node_info *i)
{
	out_str(o, profile_str(p, i->file));
	if (i->line)
		print_number(o, i->line);
	if (i->line && i->column)
		print_number(o, i->column);
}

void node_print(struct out *o, const struct profile *p, const struct node_info *i)
{
	const char *space = "";

	if (i->address) {
		out_printf(o, "%016llx", (unsigned long long)i->address);
		space = " ";
	}
	if (i->name) {
		out_text(o, space);
		out_str(o, profile_str(p, i->name));
		space = " ";
	}
	if (i->line || i->file) {
		out_text(o, space);
		print_place(o, p, i);
	} else if (!i->name && i->objfile) {
		out_printf(o, "%s[", space);
		out_str(o, str_base(profile_str(p, i->objfile)));
		out_char(o, ']');
	} else if (!i->name) {
		out_printf(o, "%s<unknown>", space);
	}
}

/* As Go prints the struct, which is how the reference compares nodes of the same name. */
static void print_parts(struct out *o, const struct profile *p, const struct node_info *i)
{
	out_char(o, '{');
	out_str(o, profile_str(p, i->name));
	out_printf(o, "  %llu ", (unsigned long long)i->address);
	out_str(o, profile_str(p, i->file));
	out_printf(o, " %lld %lld ", (long long)i->start_line, (long long)i->line);
	out_str(o, profile_str(p, i->objfile));
	out_char(o, '}');
}

int node_compare(const struct profile *p, const struct node_info *a, const struct node_info *b)
{
	struct out x, y;
	int c;

	out_init(&x, 0);
	out_init(&y, 0);
	print_parts(&x, p, a);
	print_parts(&y, p, b);
	c = str_cmp(out_view(&x), out_view(&y));
	out_release(&x);
	out_release(&y);
	return c;
}
