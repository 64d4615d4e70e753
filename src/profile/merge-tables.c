/*
 * merge-tables.c - the strings, functions, mappings and locations of several profiles become one's
 *
 * In a large program nearly every look into a table is a cache miss, and one waits for the other:
 * the slot, the entry, its lines.  So functions and locations are looked up in batches, and each
 * step for the whole batch asks for the memory that the next step will read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/merger.h"

enum { BATCH = 32 };

/* A function that is in the batch, but not in the result yet. */
#define PENDING (NONE - 1)

uint32_t map_string(struct merger *m, uint32_t s)
{
	if (!m->string_map)
		return s;
	if (m->string_map[s] == NONE)
		m->string_map[s] = profile_intern_copy(m->out, profile_str(m->src, s));
	return m->string_map[s];
}

/* ------------------------------------------------------------------ functions */

struct new_function {
	uint32_t place; /* in the source */
	uint64_t hash;
	struct function f;
};

static uint64_t hash_function(const struct function *f)
{
	uint64_t h = hash_mix(f->name, f->file);

	return hash_mix(h, hash_mix(f->system_name, (uint64_t)f->start_line));
}

static uint64_t rehash_function(uint32_t i, const void *ctx)
{
	return hash_function(&((const struct profile *)ctx)->functions[i]);
}

static bool same_function(const struct function *a, const struct function *b)
{
	return a->name == b->name && a->file == b->file && a->system_name == b->system_name &&
	       a->start_line == b->start_line;
}

static uint32_t add_function(struct merger *m, const struct new_function *new)
{
	struct profile *out = m->out;
	struct probe at;

	table_reserve(&m->functions, rehash_function, out);
	at = table_probe(&m->functions, new->hash);
	while (table_next(&m->functions, &at)) {
		if (same_function(&out->functions[at.value], &new->f))
			return at.value;
	}
	table_put(&m->functions, &at, out->nfunctions);
	out->functions[out->nfunctions] = new->f;
	out->functions[out->nfunctions].id = (uint64_t)out->nfunctions + 1;
	return out->nfunctions++;
}

static void add_functions(struct merger *m, const struct new_function *batch, size_t n)
{
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(&m->out->functions[table_guess(&m->functions, batch[i].hash)]);
	for (size_t i = 0; i < n; i++)
		m->function_map[batch[i].place] = add_function(m, &batch[i]);
}

static struct new_function look_at_function(struct merger *m, uint32_t place)
{
	const struct function *from = &m->src->functions[place];
	struct new_function new = { .place = place,
				    .f = { .start_line = from->start_line,
					   .name = map_string(m, from->name),
					   .system_name = map_string(m, from->system_name),
					   .file = map_string(m, from->file) } };

	new.hash = hash_function(&new.f);
	table_prefetch(&m->functions, new.hash);
	return new;
}

static void map_functions(struct merger *m, const uint32_t *used, size_t n)
{
	struct new_function batch[BATCH] = { 0 };
	size_t nbatch = 0;

	for (size_t i = 0; i < n; i++) {
		const struct location *l = &m->src->locations[used ? used[i] : i];

		for (uint32_t k = 0; k < l->nlines; k++) {
			uint32_t f = m->src->lines[l->line + k].function;

			if (m->function_map[f] != NONE)
				continue;
			m->function_map[f] = PENDING;
			batch[nbatch++] = look_at_function(m, f);
			if (nbatch == BATCH) {
				add_functions(m, batch, nbatch);
				nbatch = 0;
			}
		}
	}
	add_functions(m, batch, nbatch);
}

/* ------------------------------------------------------------------ mappings */

/* The address space layout differs from run to run: only sizes, in pages, are compared. */
static uint64_t mapping_size(const struct mapping *m)
{
	uint64_t size = m->limit - m->start + 0xfff;

	return size - size % 0x1000;
}

static uint32_t mapping_name(const struct mapping *m)
{
	return m->build_id ? m->build_id : m->file;
}

static uint64_t hash_mapping(uint32_t i, const void *ctx)
{
	const struct mapping *m = &((const struct profile *)ctx)->mappings[i];

	return hash_mix(mapping_size(m), hash_mix(m->offset, mapping_name(m)));
}

static bool same_mapping(const struct mapping *a, const struct mapping *b)
{
	return mapping_size(a) == mapping_size(b) && a->offset == b->offset &&
	       mapping_name(a) == mapping_name(b);
}

static uint32_t add_mapping(struct merger *m, const struct mapping *from)
{
	struct profile *out = m->out;
	struct mapping *to = &out->mappings[out->nmappings];
	struct probe at;

	*to = *from;
	to->id = (uint64_t)out->nmappings + 1;
	to->file = map_string(m, from->file);
	to->build_id = map_string(m, from->build_id);
	table_reserve(&m->mappings, hash_mapping, out);
	at = table_probe(&m->mappings, hash_mapping(out->nmappings, out));
	while (table_next(&m->mappings, &at)) {
		if (same_mapping(&out->mappings[at.value], to))
			return at.value;
	}
	table_put(&m->mappings, &at, out->nmappings);
	return out->nmappings++;
}

uint32_t map_mapping(struct merger *m, uint32_t i)
{
	if (i == NONE)
		return NONE;
	if (m->mapping_map[i] == NONE)
		m->mapping_map[i] = add_mapping(m, &m->src->mappings[i]);
	return m->mapping_map[i];
}

/* ------------------------------------------------------------------ locations */

/* A location as it will be in the result, but for its lines, which are still the source's. */
struct new_location {
	uint32_t place; /* in the source */
	uint64_t hash;
	struct location l;
};

static uint64_t hash_place(const struct profile *p, const struct location *l)
{
	uint64_t start = l->mapping == NONE ? 0 : p->mappings[l->mapping].start;

	return hash_mix(l->address - start, l->mapping + ((uint64_t)l->is_folded << 32));
}

static uint64_t hash_line(uint64_t h, uint32_t function, const struct line *ln)
{
	return hash_mix(h ^ function, (uint64_t)ln->line ^ ((uint64_t)ln->column << 32));
}

static uint64_t rehash_location(uint32_t i, const void *ctx)
{
	const struct profile *p = ctx;
	const struct location *l = &p->locations[i];
	uint64_t h = hash_place(p, l);

	for (uint32_t k = 0; k < l->nlines; k++)
		h = hash_line(h, p->lines[l->line + k].function, &p->lines[l->line + k]);
	return h;
}

static struct new_location look_at_location(struct merger *m, uint32_t place)
{
	const struct location *from = &m->src->locations[place];
	struct new_location new = { .place = place, .l = *from };

	new.l.mapping = map_mapping(m, from->mapping);
	if (new.l.mapping != NONE)
		new.l.address += m->out->mappings[new.l.mapping].start -
				 m->src->mappings[from->mapping].start;
	new.hash = hash_place(m->out, &new.l);
	for (uint32_t k = 0; k < from->nlines; k++) {
		const struct line *ln = &m->src->lines[from->line + k];

		new.hash = hash_line(new.hash, m->function_map[ln->function], ln);
	}
	table_prefetch(&m->locations, new.hash);
	return new;
}

static bool same_location(const struct merger *m, const struct location *a,
			  const struct location *new)
{
	if (a->address != new->address || a->mapping != new->mapping || a->nlines != new->nlines ||
	    a->is_folded != new->is_folded)
		return false;
	for (uint32_t i = 0; i < a->nlines; i++) {
		const struct line *x = &m->out->lines[a->line + i];
		const struct line *y = &m->src->lines[new->line + i];

		if (x->function != m->function_map[y->function] || x->line != y->line ||
		    x->column != y->column)
			return false;
	}
	return true;
}

static uint32_t append_location(struct merger *m, const struct location *new)
{
	struct profile *out = m->out;
	struct location *to = &out->locations[out->nlocations];

	*to = *new;
	to->id = (uint64_t)out->nlocations + 1;
	to->line = out->nlines;
	for (uint32_t i = 0; i < new->nlines; i++) {
		struct line *ln = &out->lines[out->nlines++];

		*ln = m->src->lines[new->line + i];
		ln->function = m->function_map[ln->function];
	}
	return out->nlocations++;
}

static uint32_t add_location(struct merger *m, const struct new_location *new)
{
	struct probe at;

	table_reserve(&m->locations, rehash_location, m->out);
	at = table_probe(&m->locations, new->hash);
	while (table_next(&m->locations, &at)) {
		if (same_location(m, &m->out->locations[at.value], &new->l))
			return at.value;
	}
	table_put(&m->locations, &at, m->out->nlocations);
	return append_location(m, &new->l);
}

static void add_locations(struct merger *m, const struct new_location *batch, size_t n)
{
	const struct profile *out = m->out;
	uint32_t guess[BATCH];

	for (size_t i = 0; i < n; i++) {
		guess[i] = table_guess(&m->locations, batch[i].hash);
		__builtin_prefetch(&out->locations[guess[i]]);
	}
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(&out->lines[out->locations[guess[i]].line]);
	for (size_t i = 0; i < n; i++)
		m->location_map[batch[i].place] = add_location(m, &batch[i]);
}

void map_locations(struct merger *m, const uint32_t *used, size_t n)
{
	struct new_location batch[BATCH];

	map_functions(m, used, n);
	for (size_t i = 0; i < n; i += BATCH) {
		size_t nbatch = n - i < BATCH ? n - i : BATCH;

		for (size_t k = 0; k < nbatch; k++)
			batch[k] = look_at_location(m, used ? used[i + k] : (uint32_t)(i + k));
		add_locations(m, batch, nbatch);
	}
}
