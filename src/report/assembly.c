/*
 * assembly.c - machine code with the value of every instruction
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/assembly.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/notify.h"
#include "base/out.h"
#include "base/regex.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "code/code.h"
#include "elf/elf-file.h"
#include "graph/graph.h"
#include "profile/profile.h"
#include "report/objects.h"
#include "report/report.h"
#include "symbol/demangle.h"

#include <errno.h>
#include <stdlib.h>

/* A binary at one place in memory. */
struct placed {
	uint32_t mapping;
	uint32_t file; /* string */
	uint64_t bias;
};

/* A function that matches, and the nodes in it: by_address[first .. first + n). */
struct match {
	struct placed at;
	uint64_t start, end;
	struct str *names;
	size_t nnames;
	uint32_t *nodes;
	uint32_t n;
};

struct finder {
	struct report *r;
	struct graph *g;
	struct assembly *a;
	struct objects objects;
	bool has_address;
	uint64_t address;
	uint32_t *by_address; /* all nodes */
	struct placed *placed;
	size_t nplaced, cap_placed;
	struct match *found;
	size_t nfound, cap_found;
};

static const struct graph_node *node(const struct finder *f, uint32_t i)
{
	return &f->g->nodes[i];
}

/* ------------------------------------------------------------------ which binaries */

/* Per string: whether it is the binary of a node whose name matches. */
static uint8_t *find_files(const struct finder *f)
{
	uint8_t *wanted = mem_zeroed(f->r->v->strings->n, 1);

	for (uint32_t i = 0; i < f->g->n; i++) {
		uint32_t file = graph_at(f->g, i)->info.objfile;

		if (file && !wanted[file] &&
		    regex_match(f->r->symbol, graph_name(f->g, f->g->order[i])))
			wanted[file] = 1;
	}
	return wanted;
}

/* Pieces of one file that were moved by the same distance are looked at once. */
static void add_placed(struct finder *f, struct placed p)
{
	for (size_t i = 0; i < f->nplaced; i++) {
		if (f->placed[i].file == p.file && f->placed[i].bias == p.bias)
			return;
	}
	vec_push(f->placed, f->nplaced, f->cap_placed, p);
}

static void open_binaries(struct finder *f)
{
	const struct profile *p = f->r->v;
	uint8_t *wanted = find_files(f);

	for (uint32_t m = 0; m < p->nmappings; m++) {
		const struct mapping *map = &p->mappings[m];
		struct err why = { "" };
		struct object *o;

		if (!wanted[map->file] &&
		    !(f->has_address && map->start <= f->address && f->address <= map->limit))
			continue;
		o = objects_open(&f->objects, m, &why);
		if (o)
			add_placed(f,
				   (struct placed){ m, map->file, object_bias(&f->objects, o, m) });
		else if (why.msg[0])
			notify_warn(f->r->notify, "%s", why.msg);
	}
	free(wanted);
}

/* ------------------------------------------------------------------ which functions */

static bool is_mangled(struct str name)
{
	return str_starts(name, STR("_Z")) || str_starts(name, STR("_R"));
}

static struct str readable(struct finder *f, struct str name)
{
	return is_mangled(name) ? demangle_name(name, DEMANGLE_DEFAULT, &f->a->arena) : name;
}

/* The nodes between two addresses of the process that are in 'file' or in no file. */
static void take_nodes(struct finder *f, struct match *m)
{
	uint64_t start = m->start + m->at.bias, end = m->end + m->at.bias;
	uint32_t low = 0, high = f->g->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (node(f, f->by_address[middle])->info.address < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (high = low; high < f->g->n; high++) {
		if (node(f, f->by_address[high])->info.address >= end)
			break;
	}
	m->nodes = xarena(&f->a->arena, high - low, sizeof(*m->nodes));
	for (; low < high; low++) {
		uint32_t file = node(f, f->by_address[low])->info.objfile;

		if (file == m->at.file || file == 0)
			m->nodes[m->n++] = f->by_address[low];
	}
}

/* Versions of a symbol share their name, which is said once.  A copy: the binary is closed before
 * it is printed. */
static void add_name(struct finder *f, struct match *m, struct str name)
{
	for (size_t i = 0; i < m->nnames; i++) {
		if (str_eq(m->names[i], name))
			return;
	}
	m->names[m->nnames++] = xarena_str(&f->a->arena, name);
}

/* Aliases of one piece of code: list[from .. to).  The first name that matches comes first. */
static void add_match(struct finder *f, struct placed at, const struct elf_symbol *list,
		      size_t from, size_t to)
{
	struct match m = { .at = at, .start = list[from].start, .end = list[from].end };
	uint64_t address = f->address - at.bias;
	bool here = f->has_address && m.start <= address && address < m.end;
	size_t which = to;

	for (size_t i = from; i < to && which == to; i++) {
		if (regex_match(f->r->symbol, list[i].name) ||
		    (is_mangled(list[i].name) &&
		     regex_match(f->r->symbol, readable(f, list[i].name))))
			which = i;
	}
	if (which == to && !here)
		return;
	take_nodes(f, &m);
	if (m.n == 0)
		return;
	if (which == to)
		which = from;
	m.names = xarena(&f->a->arena, to - from + 1, sizeof(*m.names));
	add_name(f, &m, readable(f, list[which].name));
	for (size_t i = from; i < to; i++)
		add_name(f, &m, list[i].name);
	vec_push(f->found, f->nfound, f->cap_found, m);
}

static void find_functions(struct finder *f, struct placed at)
{
	const struct object *o = objects_open(&f->objects, at.mapping, NULL);
	const struct elf_symbol *list = o->functions;

	for (size_t i = 0, next; i < o->nfunctions; i = next) {
		for (next = i + 1; next < o->nfunctions; next++) {
			if (list[next].start != list[i].start || list[next].end != list[i].end)
				break;
		}
		add_match(f, at, list, i, next);
	}
}

static int by_name(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	int c = str_cmp(x->names[0], y->names[0]);

	return c ? c : (x->start > y->start) - (x->start < y->start);
}

static void find_matches(struct finder *f)
{
	uint64_t address;

	f->has_address = go_parse_uint(regex_pattern(f->r->symbol), 0, 64, &address, NULL) == 0;
	if (f->has_address)
		f->address = address;
	open_binaries(f);
	f->by_address = mem_new(f->g->n + 1, sizeof(*f->by_address));
	memcpy(f->by_address, f->g->order, f->g->n * sizeof(*f->by_address));
	graph_sort_nodes(f->g, f->by_address, f->g->n, GRAPH_BY_ADDRESS);
	for (size_t i = 0; i < f->nplaced; i++)
		find_functions(f, f->placed[i]);
	if (f->nfound)
		qsort(f->found, f->nfound, sizeof(*f->found), by_name);
}

/* ------------------------------------------------------------------ instructions */

/* What is known of where an instruction comes from. */
struct place {
	struct str function, file;
	int64_t line;
};

static void print_place(struct out *o, struct place p)
{
	if (p.function.n) {
		out_str(o, p.function);
		out_char(o, ' ');
	}
	if (p.file.n) {
		out_str(o, str_base(p.file));
		if (p.line)
			out_printf(o, ":%lld", (long long)p.line);
	}
}

/* Instructions of Go programs have no function of their own: as in the reference, it is that of
 * the samples. */
static struct place place_of(struct finder *f, const struct elf_frame *frame, bool is_go)
{
	const struct elf_function *in = frame->function;
	struct str function = STR("");

	if (!is_go && in->file.n)
		function = demangle_name(demangle_unversioned(in->name), DEMANGLE_DEFAULT,
					 &f->a->arena);
	return (struct place){ function, in->file, frame->line };
}

/* The functions that 'place' was inlined into, up to the one that has the code. */
static void print_callers(struct finder *f, struct out *o, const struct elf_place *at)
{
	for (uint32_t k = 1; k < at->n; k++) {
		out_text(o, " (inlined by) ");
		print_place(o, place_of(f, &at->frames[k], false));
	}
}

/* Adds a node to an instruction: its values, and what it knows and the binary did not. */
static void add_node(const struct finder *f, const struct graph_node *n, struct weight *w,
		     struct place *place)
{
	const struct profile *p = f->r->v;

	w->flat = wrap_add(w->flat, n->w.flat);
	w->cum = wrap_add(w->cum, n->w.cum);
	w->flat_div = wrap_add(w->flat_div, n->w.flat_div);
	w->cum_div = wrap_add(w->cum_div, n->w.cum_div);
	if (place->file.n == 0)
		place->file = profile_str(p, n->info.file);
	if (place->line == 0)
		place->line = n->info.line;
	if (place->function.n == 0)
		place->function = profile_str(p, n->info.name);
}

static int64_t mean(int64_t sum, int64_t divisor)
{
	return divisor ? wrap_div(sum, divisor) : sum;
}

static void annotate(struct finder *f, const struct match *m, const struct code *code,
		     const struct elf_frames *frames, bool is_go, struct assembly_routine *to)
{
	uint32_t next = 0;

	for (size_t i = 0; i < code->n; i++) {
		const struct code_inst *inst = &code->insts[i];
		struct place place = { 0 };
		struct weight w = { 0 };
		struct out text;

		if (frames->at[i].n)
			place = place_of(f, frames->at[i].frames, is_go);
		for (; next < m->n; next++) {
			const struct graph_node *n = node(f, m->nodes[next]);

			if (i + 1 < code->n &&
			    n->info.address - m->at.bias >= code->insts[i + 1].address)
				break;
			add_node(f, n, &w, &place);
		}
		out_init(&text, 0);
		print_place(&text, place);
		print_callers(f, &text, &frames->at[i]);
		to->lines[to->nlines++] = (struct assembly_line){
			.address = inst->address,
			.text = xarena_str(&f->a->arena, inst->text),
			.place = xarena_str(&f->a->arena, out_view(&text)),
			.flat = mean(w.flat, w.flat_div),
			.cum = mean(w.cum, w.cum_div),
		};
		out_release(&text);
	}
}

static int add_routine(struct finder *f, const struct match *m, struct err *err)
{
	struct object *o = objects_open(&f->objects, m->at.mapping, NULL);
	struct assembly_routine *to = &f->a->routines[f->a->n];
	struct elf_frames frames;
	uint64_t *addresses;
	struct code code;
	int rc = object_code(o, m->start, m->end, f->r->cfg.intel_syntax, &code, err);

	if (rc == 0) {
		*to = (struct assembly_routine){ .names = m->names, .nnames = m->nnames };
		for (uint32_t i = 0; i < m->n; i++) {
			to->flat = wrap_add(to->flat, node(f, m->nodes[i])->w.flat);
			to->cum = wrap_add(to->cum, node(f, m->nodes[i])->w.cum);
		}
		addresses = mem_new(code.n + 1, sizeof(*addresses));
		for (size_t i = 0; i < code.n; i++)
			addresses[i] = code.insts[i].address;
		object_frames(o, addresses, code.n, false, &frames);
		to->lines = xarena(&f->a->arena, code.n, sizeof(*to->lines));
		annotate(f, m, &code, &frames, o->is_go, to);
		elf_frames_release(&frames);
		free(addresses);
		f->a->n++;
	}
	code_release(&code);
	return rc;
}

int assembly_init(struct assembly *a, struct report *r, struct err *err)
{
	struct finder f = { .r = r, .a = a, .g = report_graph(r) };
	int rc = 0;

	*a = (struct assembly){ 0 };
	arena_init(&a->arena, PROFILE_BUDGET);
	objects_init(&f.objects, r);
	find_matches(&f);
	if (f.nfound == 0)
		rc = err_set(err, -ENOENT, "no matches found for regexp: %.*s",
			     STR_ARG(regex_pattern(r->symbol)));
	a->routines = xarena(&a->arena, f.nfound, sizeof(*a->routines));
	for (size_t i = 0; rc == 0 && i < f.nfound; i++)
		rc = add_routine(&f, &f.found[i], err);
	free(f.by_address);
	free(f.placed);
	free(f.found);
	objects_release(&f.objects);
	graph_free(f.g);
	return rc;
}

void assembly_release(struct assembly *a)
{
	arena_release(&a->arena);
}
