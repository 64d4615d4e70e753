/*
 * legacy-attach.c - which mapping an address of an old profile belongs to
 *
 * The reference asks all mappings in turn, for every address, and the first that contains the
 * address gets it.  If none does, the first mapping that would contain it if it began at the
 * beginning of its file is enlarged to do so.  What is left goes to a made-up mapping.
 *
 * Mappings may overlap, and even end before they begin, so sorting them is not enough to get
 * the same answers.  Instead the address space is cut wherever some mapping begins, ends, or
 * would begin, and two segment trees over the pieces answer, for an address, "the first that
 * contains it" and "the first that could be enlarged".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/xalloc.h"
#include "profile/build.h"
#include "profile/legacy-maps.h"
#include "profile/legacy-text.h"

#include <stdlib.h>

#define PROGRAM_START 0x400000

/* Two entries for what is one mapping of one file. */
static bool is_split(const struct mapping *a, const struct mapping *b)
{
	if (a->file && b->file && a->file != b->file)
		return false;
	if (a->build_id && b->build_id && a->build_id != b->build_id)
		return false;
	if (a->limit != b->start)
		return false;
	return !a->offset || !b->offset || a->offset + (a->limit - a->start) == b->offset;
}

static void join_split(struct profile *p)
{
	uint32_t last = 0;

	for (uint32_t i = 1; i < p->nmappings; i++) {
		struct mapping *to = &p->mappings[last], m = p->mappings[i];

		if (!is_split(to, &m)) {
			p->mappings[++last] = m;
			continue;
		}
		to->limit = m.limit;
		if (m.file)
			to->file = m.file;
		if (m.build_id)
			to->build_id = m.build_id;
	}
	if (p->nmappings)
		p->nmappings = last + 1;
}

/* "[.]so$|[.]so[._][0-9]+", anywhere. */
static bool is_library(struct str file)
{
	for (struct str rest = file;;) {
		ptrdiff_t at = str_find(rest, STR(".so"));

		if (at < 0)
			return false;
		rest = str_skip(rest, (size_t)at + 3);
		if (rest.n == 0)
			return true;
		if (rest.n >= 2 && (rest.p[0] == '.' || rest.p[0] == '_') &&
		    text_is_digit(rest.p[1]))
			return true;
	}
}

static bool is_program(struct str file)
{
	char *buf = mem_new(file.n + 1, 1);
	struct str name = { buf, 0 };
	bool yes;

	for (; file.n; file = str_skip(file, 1)) {
		while (str_starts(file, STR("(deleted)")))
			file = str_skip(file, 9);
		if (file.n)
			buf[name.n++] = file.p[0];
	}
	name = text_trim(name);
	yes = name.n && name.p[0] != '[' && !is_library(name);
	free(buf);
	return yes;
}

void mappings_tidy(struct builder *b)
{
	struct profile *p = b->p;

	join_split(p);
	for (uint32_t i = 0; i < p->nmappings; i++) {
		struct mapping m = p->mappings[i];

		if (!is_program(profile_str(p, m.file)))
			continue;
		p->mappings[i] = p->mappings[0];
		p->mappings[0] = m;
		return;
	}
}

/* Undoes what programs do to their own text to have it in large pages. */
static void fix_program(struct profile *p)
{
	struct mapping *m = p->mappings;

	if (p->nmappings > 1 && m[0].limit == m[1].start &&
	    str_starts(profile_str(p, m[0].file), STR("/anon_hugepage")))
		memmove(m, m + 1, --p->nmappings * sizeof(*m));
	if (p->nmappings && m[0].start - m[0].offset == PROGRAM_START) {
		m[0].start = PROGRAM_START;
		m[0].offset = 0;
	}
}

struct candidate {
	uint32_t mapping, next; /* 'next' in the list, plus one; 0 ends it */
};

struct pieces {
	uint64_t *cuts; /* piece i is from cuts[i] to cuts[i+1] */
	size_t n;
	/* Trees of 2n nodes; the parent of node i is i/2, and piece i is node n+i. */
	uint32_t *first;      /* mapping that contains the node's pieces, or NONE */
	uint32_t *candidates; /* list of mappings that could be enlarged to, plus one */
	struct candidate *pool;
	size_t npool, cap_pool;
};

static bool can_grow(const struct mapping *m)
{
	return m->offset && m->offset <= m->start;
}

static int compare_cuts(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The piece 'address' is in; n if it is below all of them. */
static size_t piece_of(const struct pieces *s, uint64_t address)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->cuts[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : s->n;
}

static void cover_node(struct pieces *s, size_t node, uint32_t mapping)
{
	if (mapping < s->first[node])
		s->first[node] = mapping;
}

static void offer_node(struct pieces *s, size_t node, uint32_t mapping)
{
	struct candidate c = { mapping, s->candidates[node] };

	vec_push(s->pool, s->npool, s->cap_pool, c);
	s->candidates[node] = (uint32_t)s->npool;
}

/* Calls 'set' for the few nodes that together are the pieces from 'start' to 'limit'. */
static void each_node(struct pieces *s, uint64_t start, uint64_t limit, uint32_t mapping,
		      void (*set)(struct pieces *s, size_t node, uint32_t mapping))
{
	size_t low, high;

	if (start >= limit)
		return;
	low = piece_of(s, start) + s->n;
	high = piece_of(s, limit) + s->n;
	for (; low < high; low /= 2, high /= 2) {
		if (low % 2)
			set(s, low++, mapping);
		if (high % 2)
			set(s, --high, mapping);
	}
}

static void cut(struct pieces *s, const struct mapping *m, uint32_t n)
{
	size_t distinct = 0;

	s->cuts = mem_new((size_t)n * 3, sizeof(*s->cuts));
	for (uint32_t i = 0; i < n; i++) {
		s->cuts[s->n++] = m[i].start;
		s->cuts[s->n++] = m[i].limit;
		if (can_grow(&m[i]))
			s->cuts[s->n++] = m[i].start - m[i].offset;
	}
	qsort(s->cuts, s->n, sizeof(*s->cuts), compare_cuts);
	for (size_t i = 0; i < s->n; i++) {
		if (i == 0 || s->cuts[i] != s->cuts[i - 1])
			s->cuts[distinct++] = s->cuts[i];
	}
	s->n = distinct;
}

static void pieces_init(struct pieces *s, const struct mapping *m, uint32_t n)
{
	*s = (struct pieces){ 0 };
	cut(s, m, n);
	s->first = mem_new(s->n * 2, sizeof(*s->first));
	memset(s->first, 0xff, s->n * 2 * sizeof(*s->first));
	s->candidates = mem_zeroed(s->n * 2, sizeof(*s->candidates));
	/* Backwards, so that every list begins with its first mapping. */
	for (uint32_t i = n; i-- > 0;) {
		each_node(s, m[i].start, m[i].limit, i, cover_node);
		if (can_grow(&m[i]))
			each_node(s, m[i].start - m[i].offset, m[i].start, i, offer_node);
	}
}

static void pieces_release(struct pieces *s)
{
	free(s->cuts);
	free(s->first);
	free(s->candidates);
	free(s->pool);
}

static uint32_t containing(const struct pieces *s, size_t piece)
{
	uint32_t best = NONE;

	for (size_t node = piece + s->n; node > 0; node /= 2) {
		if (s->first[node] < best)
			best = s->first[node];
	}
	return best;
}

/* Mappings that were enlarged have no offset any more, and leave the lists here. */
static uint32_t could_grow(struct pieces *s, size_t piece, const struct mapping *m)
{
	uint32_t best = NONE;

	if (!s->pool)
		return NONE;
	for (size_t node = piece + s->n; node > 0; node /= 2) {
		uint32_t *list = &s->candidates[node];

		while (*list && !m[s->pool[*list - 1].mapping].offset)
			*list = s->pool[*list - 1].next;
		if (*list && s->pool[*list - 1].mapping < best)
			best = s->pool[*list - 1].mapping;
	}
	return best;
}

static void grow(struct pieces *s, struct mapping *m, uint32_t i)
{
	m[i].start -= m[i].offset;
	m[i].offset = 0;
	each_node(s, m[i].start, m[i].limit, i, cover_node);
}

/*
 * Once there is a made-up mapping, it contains all addresses that no other does, and nothing
 * grows any more.
 */
static uint32_t find_mapping(struct pieces *s, struct profile *p, uint64_t address, bool may_grow)
{
	size_t piece = p->nmappings ? piece_of(s, address) : s->n;
	uint32_t found;

	if (piece == s->n || !p->mappings)
		return NONE;
	found = containing(s, piece);
	if (found != NONE || !may_grow)
		return found;
	found = could_grow(s, piece, p->mappings);
	if (found != NONE)
		grow(s, p->mappings, found);
	return found;
}

void mappings_attach(struct builder *b)
{
	struct profile *p = b->p;
	uint32_t made_up = NONE;
	struct pieces s;

	fix_program(p);
	pieces_init(&s, p->mappings, p->nmappings);
	for (uint32_t i = 0; i < p->nlocations; i++) {
		struct location *l = &p->locations[i];

		if (l->address == 0)
			continue;
		l->mapping = find_mapping(&s, p, l->address, made_up == NONE);
		if (l->mapping != NONE)
			continue;
		if (made_up == NONE) {
			made_up = p->nmappings;
			builder_mapping(b)->limit = UINT64_MAX;
		}
		l->mapping = made_up;
	}
	pieces_release(&s);
}
