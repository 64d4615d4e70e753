/*
 * web-code.c - the instructions around what is looked for, with frames and values
 *
 * Steps and limits are the reference's: add up values per address, take stretches of code around
 * the addresses of interest, read the heaviest of these.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/web-code.h"

#include "base/err.h"
#include "base/go-sort.h"
#include "base/gotext.h"
#include "base/notify.h"
#include "base/regex.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "code/code.h"
#include "elf/elf-file.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "report/objects.h"
#include "report/report.h"
#include "symbol/demangle.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Stretches reach this far around their first and last address; at most so many are read; an
 * instruction without a line takes that of one at most this far before it; and code is read from
 * the start of its function on, unless that is further away than this.
 */
enum { AROUND = 500, MOST_STRETCHES = 25, NEIGHBOURS = 32, LONGEST_RUN_UP = 1 << 20 };

/* A location: its address (made up where it has none), what it is worth, when it came up. */
struct spot {
	uint64_t address;
	int64_t flat, cum;
	uint32_t location, order;
	bool seen, wanted;
};

/* Addresses to read code at; begin and end are those of the process. */
struct stretch {
	uint64_t begin, end, first;
	uint32_t mapping;
	int64_t score;
};

struct gatherer {
	struct report *r;
	struct web_code *w;
	struct objects objects;
	bool has_address;
	uint64_t address, next_address; /* next_address: for the next location without one */
	uint8_t *functions;             /* per function: 0 not asked, 1 does not match, 2 does */
	uint8_t *mappings;              /* per mapping: the same */
	struct spot *spots;             /* per location; then one per address, sorted */
	uint32_t n, nseen;
	struct stretch *stretches;
	size_t nstretches, cap_stretches;
	bool found;
};

/* ------------------------------------------------------------------ names */

bool web_code_wants(struct web_code *w, struct str function)
{
	uint32_t id = profile_lookup(w->p, function);
	struct str readable;

	if (id != NONE && w->wanted[id])
		return true;
	readable = demangle_name(function, DEMANGLE_DEFAULT, &w->arena);
	if (str_eq(readable, function))
		return false;
	id = profile_lookup(w->p, readable);
	return id != NONE && w->wanted[id];
}

struct str web_code_name(struct web_code *w, struct str function)
{
	uint32_t id = profile_lookup(w->p, function);

	if (id != NONE && w->pretty[id] != NONE)
		return profile_str(w->p, w->pretty[id]);
	return demangle_name(function, DEMANGLE_DEFAULT, &w->arena);
}

/* ------------------------------------------------------------------ what is wanted */

static bool matches(const struct gatherer *g, uint32_t string)
{
	return regex_match(g->r->symbol, profile_str(g->r->v, string));
}

static bool function_matches(struct gatherer *g, uint32_t function)
{
	const struct function *f = &g->r->v->functions[function];
	uint8_t *known = &g->functions[function];

	if (!*known)
		*known = matches(g, f->name) || matches(g, f->system_name) || matches(g, f->file)
				 ? 2
				 : 1;
	return *known == 2;
}

static bool mapping_matches(struct gatherer *g, uint32_t mapping)
{
	uint8_t *known;

	if (mapping == NONE)
		return false;
	known = &g->mappings[mapping];
	if (!*known)
		*known = matches(g, g->r->v->mappings[mapping].file) ? 2 : 1;
	return *known == 2;
}

static void want(struct gatherer *g, struct spot *s, uint32_t line)
{
	const struct function *f = &g->r->v->functions[g->r->v->lines[line].function];

	g->w->wanted[f->name] = 1;
	g->w->wanted[f->system_name] = 1;
	g->found = true;
	s->wanted = true;
}

/* Looks at a location for the first time. */
static void meet(struct gatherer *g, uint32_t location)
{
	const struct profile *p = g->r->v;
	const struct location *l = &p->locations[location];
	struct spot *s = &g->spots[location];
	bool file = mapping_matches(g, l->mapping);

	*s = (struct spot){ .address = l->address ? l->address : g->next_address++,
			    .location = location,
			    .order = g->nseen++,
			    .seen = true };
	for (uint32_t i = 0; i < l->nlines; i++) {
		const struct function *f = &p->functions[p->lines[l->line + i].function];

		g->w->pretty[f->system_name] = f->name;
	}
	if (g->has_address && s->address == g->address) {
		if (l->nlines)
			want(g, s, l->line + l->nlines - 1);
		return;
	}
	for (uint32_t i = 0; i < l->nlines; i++) {
		if ((i == 0 && file) || function_matches(g, p->lines[l->line + i].function))
			want(g, s, l->line + i);
	}
}

static void add_samples(struct gatherer *g)
{
	const struct profile *p = g->r->v;
	struct stack_reader reader;

	stack_reader_init(&reader, p);
	for (size_t i = 0; i < p->nsamples; i++) {
		struct stack_list stack = stack_read(&reader, i);
		int64_t value = selected_mean(&g->r->selection, p, i);

		for (uint32_t k = stack.n; k-- > 0;) {
			uint32_t location = stack.at[k];
			struct spot *spot = &g->spots[location];

			if (!spot->seen)
				meet(g, location);
			spot->cum = wrap_add(spot->cum, value);
			if (k == 0)
				spot->flat = wrap_add(spot->flat, value);
		}
	}
	stack_reader_release(&reader);
}

static int by_address(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	if (x->seen != y->seen)
		return x->seen ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Makes one spot of all locations with the same address; the first wanted one stands for them. */
static void merge_spots(struct gatherer *g)
{
	uint32_t n = 0;

	if (g->n)
		qsort(g->spots, g->n, sizeof(*g->spots), by_address);
	for (uint32_t i = 0; i < g->n && g->spots[i].seen; i++) {
		struct spot *last = n ? &g->spots[n - 1] : NULL, s = g->spots[i];

		if (!last || last->address != s.address) {
			g->spots[n++] = s;
			continue;
		}
		last->flat = wrap_add(last->flat, s.flat);
		last->cum = wrap_add(last->cum, s.cum);
		if (!last->wanted && s.wanted) {
			last->location = s.location;
			last->wanted = true;
		}
	}
	g->n = n;
}

/* What the addresses from 'begin' to before 'end' are worth. */
static void add_values(const struct gatherer *g, uint64_t begin, uint64_t end, struct web_inst *to)
{
	uint32_t low = 0, high = g->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (g->spots[middle].address < begin)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < g->n && g->spots[low].address < end; low++) {
		to->flat = wrap_add(to->flat, g->spots[low].flat);
		to->cum = wrap_add(to->cum, g->spots[low].cum);
	}
}

/* ------------------------------------------------------------------ without code */

/* What the profile itself says of a location. */
static void add_location(struct gatherer *g, const struct spot *s)
{
	const struct profile *p = g->r->v;
	const struct location *l = &p->locations[s->location];
	struct web_frame *frames = xarena(&g->w->arena, l->nlines, sizeof(*frames));
	struct web_inst inst = { .address = s->address,
				 .in_file = s->address,
				 .length = 1,
				 .nframes = l->nlines,
				 .frames = frames };

	for (uint32_t i = 0; i < l->nlines; i++) {
		const struct line *line = &p->lines[l->line + i];
		const struct function *f = &p->functions[line->function];

		frames[i] = (struct web_frame){ .function = profile_str(p, f->name),
						.file = profile_str(p, f->file),
						.line = line->line };
	}
	if (l->nlines) {
		inst.file = frames[0].file;
		inst.line = frames[0].line;
	}
	add_values(g, inst.address, inst.address + 1, &inst);
	vec_push(g->w->insts, g->w->n, g->w->cap, inst);
}

/* ------------------------------------------------------------------ stretches of code */

static struct object *object_of(struct gatherer *g, const struct spot *s)
{
	uint32_t mapping = g->r->v->locations[s->location].mapping;
	struct err why = { "" };
	struct object *o;

	if (mapping == NONE)
		return NULL;
	o = objects_open(&g->objects, mapping, &why);
	if (!o && why.msg[0] && g->r->v->mappings[mapping].file)
		notify_warn(g->r->notify, "%s", why.msg);
	return o;
}

/*
 * That the reference goes back by AROUND also where the mapping starts less than that before, is
 * due to a subtraction the wrong way round.  It does no harm: there is no code there.
 */
static void widen(struct stretch *s, const struct mapping *m)
{
	if (m->start - s->begin >= AROUND)
		s->begin -= AROUND;
	else
		s->begin = m->start;
	if (m->limit - s->end >= AROUND)
		s->end += AROUND;
	else
		s->end = m->limit;
}

static void find_stretches(struct gatherer *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		if (!g->spots[i].wanted)
			continue;
		if (object_of(g, &g->spots[i]))
			n++;
		else
			add_location(g, &g->spots[i]);
	}
	for (uint32_t i = 0; n && i < g->n;) {
		const struct spot *s = &g->spots[i++];
		const struct mapping *m;
		struct stretch to;

		if (!s->wanted || !object_of(g, s))
			continue;
		to = (struct stretch){ s->address, s->address, s->address,
				       g->r->v->locations[s->location].mapping, s->flat };
		m = &g->r->v->mappings[to.mapping];
		for (; i < g->n; i++) {
			s = &g->spots[i];
			if (!s->wanted || !object_of(g, s))
				continue;
			if (s->address > to.end + 2 * AROUND || s->address >= m->limit)
				break;
			to.end = s->address;
			to.score = wrap_add(to.score, s->flat);
		}
		widen(&to, m);
		vec_push(g->stretches, g->nstretches, g->cap_stretches, to);
	}
}

static bool has_more(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return x->score > y->score;
}

/* ------------------------------------------------------------------ reading code */

/* Where reading must start for instructions to come out whole at 'begin'. */
static uint64_t run_up(const struct object *o, uint64_t begin)
{
	const struct elf_symbol *s = elf_find_symbol(o->elf, begin);
	struct go_line line;
	uint64_t start = begin;

	if (o->is_go && go_lines_find(&o->go, begin, &line))
		start = line.start;
	else if (s)
		start = s->start;
	return begin - start <= LONGEST_RUN_UP ? start : begin;
}

/* Keeps a stretch inside the section that most code is in, if that is where it belongs. */
static void clip(const struct object *o, uint64_t at, uint64_t *begin, uint64_t *end)
{
	struct elf_part text;

	if (!elf_section(o->elf, ".text", &text) || at - text.address >= text.bytes.n)
		return;
	if (*begin < text.address || *begin > at)
		*begin = text.address;
	if (*end - text.address > text.bytes.n)
		*end = text.address + text.bytes.n;
}

/* Copies frames, which live as long as those of one stretch, to where they live as long as 'w'. */
static void copy_frames(struct web_code *w, const struct elf_place *from, struct web_inst *to)
{
	struct web_frame *frames = xarena(&w->arena, from->n, sizeof(*frames));

	to->nframes = from->n;
	for (uint32_t k = 0; k < to->nframes; k++) {
		const struct elf_frame *f = &from->frames[k];
		const struct elf_function *in = f->function;

		frames[k] = (struct web_frame){ .function = xarena_str(&w->arena, in->name),
						.file = xarena_str(&w->arena, in->file),
						.line = f->line };
	}
	to->frames = frames;
	if (to->nframes) {
		to->file = frames[0].file;
		to->line = frames[0].line;
	}
}

/* An instruction without a line takes the frames of 'before', the last one that had a line. */
static void borrow_frames(struct web_inst *inst, struct web_inst *before)
{
	if (inst->nframes && inst->frames[0].line != 0) {
		*before = *inst;
	} else if (before->frames && inst->address - before->address <= NEIGHBOURS) {
		inst->frames = before->frames;
		inst->nframes = before->nframes;
	}
}

static void add_code(struct gatherer *g, const struct code *code, const struct elf_frames *frames,
		     uint64_t bias, uint64_t begin)
{
	struct web_inst before = { 0 };

	for (size_t i = 0; i < code->n; i++) {
		const struct code_inst *c = &code->insts[i];
		struct web_inst inst = { .address = c->address + bias,
					 .in_file = c->address,
					 .length = i + 1 < code->n ? c->size : 1 };

		if (c->address < begin || inst.address == 0)
			continue;
		inst.text = xarena_str(&g->w->arena, c->text);
		copy_frames(g->w, &frames->at[i], &inst);
		borrow_frames(&inst, &before);
		add_values(g, inst.address, inst.address + inst.length, &inst);
		vec_push(g->w->insts, g->w->n, g->w->cap, inst);
	}
}

static int read_stretch(struct gatherer *g, const struct stretch *s, struct err *err)
{
	struct object *o = objects_open(&g->objects, s->mapping, NULL);
	uint64_t bias = object_bias(&g->objects, o, s->mapping);
	uint64_t begin = s->begin - bias, end = s->end - bias;
	struct elf_frames frames;
	uint64_t *addresses;
	struct code code;
	int rc;

	clip(o, s->first - bias, &begin, &end);
	rc = object_code(o, run_up(o, begin), end, g->r->cfg.intel_syntax, &code, err);
	if (rc == 0) {
		addresses = mem_new(code.n + 1, sizeof(*addresses));
		for (size_t i = 0; i < code.n; i++)
			addresses[i] = code.insts[i].address;
		object_frames(o, addresses, code.n, g->w->inlined, &frames);
		add_code(g, &code, &frames, bias, begin);
		elf_frames_release(&frames);
		free(addresses);
	}
	code_release(&code);
	return rc;
}

static int read_stretches(struct gatherer *g, struct err *err)
{
	int rc = 0;

	go_sort(g->stretches, g->nstretches, sizeof(*g->stretches), has_more);
	for (size_t i = 0; rc == 0 && i < g->nstretches && i < MOST_STRETCHES; i++)
		rc = read_stretch(g, &g->stretches[i], err);
	return rc;
}

/* ------------------------------------------------------------------ together */

static void begin(struct gatherer *g)
{
	const struct profile *p = g->r->v;

	*g->w = (struct web_code){ .p = p };
	arena_init(&g->w->arena, PROFILE_BUDGET);
	g->w->wanted = mem_zeroed(p->strings->n, 1);
	g->w->pretty = mem_new(p->strings->n, sizeof(*g->w->pretty));
	memset(g->w->pretty, 0xff, p->strings->n * sizeof(*g->w->pretty));
	objects_init(&g->objects, g->r);
	g->has_address = go_parse_uint(regex_pattern(g->r->symbol), 0, 64, &g->address, NULL) == 0;
	g->functions = mem_zeroed(p->nfunctions + 1, 1);
	g->mappings = mem_zeroed(p->nmappings + 1, 1);
	g->spots = mem_zeroed(p->nlocations + 1, sizeof(*g->spots));
	g->n = p->nlocations;
	g->next_address = 1;
	for (uint32_t i = 0; i < p->nmappings; i++) {
		if (g->next_address < p->mappings[i].limit)
			g->next_address = p->mappings[i].limit;
	}
}

int web_code_init(struct web_code *w, struct report *r, bool inlined, struct err *err)
{
	struct gatherer g = { .r = r, .w = w };
	int rc = 0;

	begin(&g);
	w->inlined = inlined;
	add_samples(&g);
	merge_spots(&g);
	if (!g.found)
		rc = err_set(err, -ENOENT, "no matches found for regexp: %.*s",
			     STR_ARG(regex_pattern(r->symbol)));
	if (rc == 0) {
		find_stretches(&g);
		rc = read_stretches(&g, err);
	}
	free(g.functions);
	free(g.mappings);
	free(g.spots);
	free(g.stretches);
	objects_release(&g.objects);
	return rc;
}

void web_code_release(struct web_code *w)
{
	free(w->insts);
	free(w->wanted);
	free(w->pretty);
	arena_release(&w->arena);
}
