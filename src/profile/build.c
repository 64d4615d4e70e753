/*
 * build.c - put a profile together piece by piece
 *
 * While it grows, the profile's arrays come from malloc().  builder_finish() moves them into
 * the arena, where they have their final size.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/build.h"

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "profile/labels.h"

#include <stdlib.h>

void builder_init(struct builder *b)
{
	*b = (struct builder){ .p = profile_new(NULL) };
	table_init(&b->by_address, 0);
}

static uint32_t intern(struct builder *b, struct str s)
{
	return s.n ? profile_intern_copy(b->p, s) : 0;
}

void builder_type(struct builder *b, struct str type, struct str unit)
{
	struct profile *p = b->p;
	struct value_type t = { intern(b, type), intern(b, unit) };

	vec_push(p->types, p->ntypes, b->cap_types, t);
}

void builder_period(struct builder *b, struct str type, struct str unit, int64_t period)
{
	struct profile *p = b->p;

	p->period_type.type = intern(b, type);
	p->period_type.unit = intern(b, unit);
	p->period = period;
}

void builder_comment(struct builder *b, struct str text)
{
	struct profile *p = b->p;
	uint32_t s = intern(b, text);

	vec_push(p->comments, p->ncomments, b->cap_comments, s);
}

static uint32_t add_location(struct builder *b, uint64_t address)
{
	struct profile *p = b->p;
	struct location l = { .address = address, .mapping = NONE };

	vec_push(p->locations, p->nlocations, b->cap_locations, l);
	return p->nlocations - 1;
}

static uint64_t hash_address(uint64_t address)
{
	return hash_mix(address, 0);
}

static uint64_t rehash_location(uint32_t i, const void *locations)
{
	return hash_address(((const struct location *)locations)[i].address);
}

/* Where 'address' is in the table, or would be. */
static bool find(const struct builder *b, uint64_t address, struct probe *at)
{
	*at = table_probe(&b->by_address, hash_address(address));
	while (table_next(&b->by_address, at)) {
		if (b->p->locations[at->value].address == address)
			return true;
	}
	return false;
}

uint32_t builder_location(struct builder *b, uint64_t address)
{
	struct probe at;

	table_reserve(&b->by_address, rehash_location, b->p->locations);
	if (find(b, address, &at))
		return at.value;
	table_put(&b->by_address, &at, b->p->nlocations);
	return add_location(b, address);
}

uint32_t builder_find_location(const struct builder *b, uint64_t address)
{
	struct probe at;

	return find(b, address, &at) ? at.value : NONE;
}

uint32_t builder_new_location(struct builder *b)
{
	return add_location(b, 0);
}

uint32_t builder_function(struct builder *b, struct str name, struct str system_name,
			  struct str file)
{
	struct profile *p = b->p;
	struct function f = {
		.id = (uint64_t)p->nfunctions + 1,
		.name = intern(b, name),
		.system_name = intern(b, system_name),
		.file = intern(b, file),
	};

	vec_push(p->functions, p->nfunctions, b->cap_functions, f);
	return p->nfunctions - 1;
}

void builder_line(struct builder *b, uint32_t location, uint32_t function, int64_t line)
{
	struct profile *p = b->p;
	struct location *l = &p->locations[location];
	struct line item = { .function = function, .line = line };

	if (l->nlines++ == 0)
		l->line = p->nlines;
	vec_push(p->lines, p->nlines, b->cap_lines, item);
}

struct mapping *builder_mapping(struct builder *b)
{
	struct profile *p = b->p;

	vec_push(p->mappings, p->nmappings, b->cap_mappings, (struct mapping){ 0 });
	return &p->mappings[p->nmappings - 1];
}

/* Room for 'n' items in an array of '*cap'. */
static void *make_room(void *array, size_t n, size_t *cap, size_t size)
{
	if (n <= *cap)
		return array;
	*cap = n > *cap * 2 ? n : *cap * 2;
	return mem_grow(array, *cap, size);
}

void builder_sample(struct builder *b, const uint32_t *stack, size_t depth, const int64_t *values)
{
	struct profile *p = b->p;
	struct sample s = { .stack = p->nstacks, .depth = (uint32_t)depth, .label = p->nlabels };

	p->stacks = make_room(p->stacks, p->nstacks + depth, &b->cap_stacks, sizeof(*stack));
	if (depth)
		memcpy(p->stacks + p->nstacks, stack, depth * sizeof(*stack));
	p->nstacks += depth;
	p->values = make_room(p->values, b->nvalues + p->ntypes, &b->cap_values, sizeof(*values));
	if (p->ntypes)
		memcpy(p->values + b->nvalues, values, p->ntypes * sizeof(*values));
	b->nvalues += p->ntypes;
	vec_push(p->samples, p->nsamples, b->cap_samples, s);
}

static void add_label(struct builder *b, struct label l)
{
	struct profile *p = b->p;

	vec_push(p->labels, p->nlabels, b->cap_labels, l);
	p->samples[p->nsamples - 1].nlabels++;
}

void builder_str_label(struct builder *b, struct str key, struct str value)
{
	struct label l = { .unit = NONE };

	l.key = intern(b, key);
	l.str = intern(b, value);
	add_label(b, l);
}

void builder_num_label(struct builder *b, struct str key, int64_t num, struct str unit)
{
	struct label l = { .str = NONE, .num = num };

	l.key = intern(b, key);
	l.unit = unit.n ? intern(b, unit) : NONE;
	add_label(b, l);
}

void builder_renumber(struct builder *b)
{
	struct profile *p = b->p;
	AUTO(freep) uint32_t *number = mem_new(p->nlocations, sizeof(*number));
	struct location *used = mem_new(p->nlocations, sizeof(*used));
	uint32_t nused = 0;

	memset(number, 0xff, p->nlocations * sizeof(*number));
	for (size_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];

		for (uint64_t k = s->stack; k < s->stack + s->depth; k++) {
			uint32_t old = p->stacks[k];

			if (number[old] == NONE) {
				used[nused] = p->locations[old];
				number[old] = nused++;
			}
			p->stacks[k] = number[old];
		}
	}
	free(p->locations);
	p->locations = used;
	b->cap_locations = p->nlocations;
	p->nlocations = nused;
	table_release(&b->by_address);
}

/*
 * Stacks that a parser has shortened leave holes behind: every stack moves down to the end
 * of the one before it.
 */
static void close_gaps(struct profile *p)
{
	uint64_t end = 0;

	for (size_t i = 0; i < p->nsamples; i++) {
		struct sample *s = &p->samples[i];

		if (s->stack != end && s->depth)
			memmove(p->stacks + end, p->stacks + s->stack,
				s->depth * sizeof(*p->stacks));
		s->stack = end;
		end += s->depth;
	}
	p->nstacks = end;
}

static void number(struct profile *p)
{
	for (uint32_t i = 0; i < p->nlocations; i++)
		p->locations[i].id = (uint64_t)i + 1;
	for (uint32_t i = 0; i < p->nmappings; i++)
		p->mappings[i].id = (uint64_t)i + 1;
}

static void *settle(struct profile *p, void *array, size_t n, size_t size)
{
	void *mem = xarena(&p->arena, n, size); /* not NULL, not even for nothing */

	if (n)
		memcpy(mem, array, n * size);
	free(array);
	return mem;
}

static void settle_all(struct builder *b)
{
	struct profile *p = b->p;

	p->types = settle(p, p->types, p->ntypes, sizeof(*p->types));
	p->samples = settle(p, p->samples, p->nsamples, sizeof(*p->samples));
	p->values = settle(p, p->values, b->nvalues, sizeof(*p->values));
	p->stacks = settle(p, p->stacks, p->nstacks, sizeof(*p->stacks));
	p->labels = settle(p, p->labels, p->nlabels, sizeof(*p->labels));
	p->mappings = settle(p, p->mappings, p->nmappings, sizeof(*p->mappings));
	p->locations = settle(p, p->locations, p->nlocations, sizeof(*p->locations));
	p->lines = settle(p, p->lines, p->nlines, sizeof(*p->lines));
	p->functions = settle(p, p->functions, p->nfunctions, sizeof(*p->functions));
	p->comments = settle(p, p->comments, p->ncomments, sizeof(*p->comments));
}

struct profile *builder_finish(struct builder *b)
{
	struct profile *p = b->p;

	close_gaps(p);
	number(p);
	for (size_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];

		if (s->nlabels)
			labels_normalize(p, p->labels + s->label, s->nlabels);
	}
	settle_all(b);
	table_release(&b->by_address);
	*b = (struct builder){ 0 };
	return p;
}

void builder_release(struct builder *b)
{
	struct profile *p = b->p;

	if (!p)
		return;
	free(p->types);
	free(p->samples);
	free(p->values);
	free(p->stacks);
	free(p->labels);
	free(p->mappings);
	free(p->locations);
	free(p->lines);
	free(p->functions);
	free(p->comments);
	profile_free(p);
	table_release(&b->by_address);
	*b = (struct builder){ 0 };
}
