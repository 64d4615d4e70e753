/*
 * dwarf-scope.c - which function an address is in, and what it was inlined into
 *
 * One pass over the entries of a unit.  What holds none of the addresses is stepped over, at
 * once where the compiler says where the next sibling is (gcc does, clang does not).  In a function
 * only its own addresses are looked for: there are few.  Functions
 * of a type that is local to another function are the exception that would make us look into
 * everything, so a second, thorough pass is made for what the first one did not find.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/dwarf.h"

#include "base/xalloc.h"

#include <stdlib.h>

enum {
	DEPTH_MAX = 4096, /* entries in entries */
	FEW = 8,          /* addresses: looked at one after the other */
	HOP_ROOM = HOP_MOST + 5,
	SOON = 256,       /* bytes: what is so far away will be looked at soon, */
	NEXT_PAGE = 4096, /* and this after it, which no processor foresees */
	ALL_HOPS = 0xff & ~(1 << HOP_NONE),
};

/* One pass over one unit. */
struct pass {
	struct dwarf_reader *r;
	const struct dwarf_unit *u;
	const struct abbrevs *t;
	struct cursor c;
	const uint64_t *addresses;
	size_t n;
	struct scopes *s;
	uint32_t *innermost;
	size_t depth;
	bool thorough;
	uint32_t hops; /* bit of each enum hop_type that has nothing for us */
	struct entry e;
};

static void push(struct pass *p, struct scope_level l)
{
	vec_push(p->s->stack, p->depth, p->s->cap_stack, l);
}

/* ------------------------------------------------------------------ stepping over */

/* Goes where DW_AT_sibling says, if there is one; never backwards. */
static bool jump(struct pass *p, const uint8_t *attributes, const struct abbrev *a)
{
	struct cursor c = { attributes, p->c.end, false };
	const uint8_t *unit = p->u->dwarf->s.info.p + p->u->offset;
	uint64_t to;

	if (a->sibling < 0 || !cursor_skip(&c, (uint64_t)a->sibling))
		return false;
	to = read_u32(&c);
	if (c.bad || to > (size_t)(p->c.end - unit) || unit + to <= attributes)
		return false;
	p->c.p = unit + to;
	return true;
}

/*
 * Steps over entries whose types are in 'hops', as far as that can be done without a closer look.
 * This is where most of the time goes, and what decides it is how soon the next entry is known.
 */
static inline void hop(struct pass *p, uint32_t hops)
{
	const uint8_t *unit = p->u->dwarf->s.info.p + p->u->offset, *at = p->c.p;

	while (p->c.end - at >= HOP_ROOM && *at < HOPS) {
		struct hop h = p->t->hops[*at];
		uint32_t to;

		__builtin_prefetch(at + SOON);
		__builtin_prefetch(at + NEXT_PAGE);
		if (!(hops >> h.type & 1))
			break;
		if (h.type < HOP_OVER) {
			at += h.length;
			continue;
		}
		memcpy(&to, at + h.sibling, sizeof(to));
		to = le32toh(to);
		if (to > (size_t)(p->c.end - unit) || unit + to <= at)
			break;
		at = unit + to;
	}
	p->c.p = at;
}

/* Steps over all children, with the cursor behind their parent's attributes. */
static bool skip_children(struct pass *p)
{
	size_t depth = 1;

	while (depth > 0) {
		const struct abbrev *a;
		uint64_t code;

		hop(p, ALL_HOPS);
		code = read_uleb(&p->c);
		if (p->c.bad)
			return false;
		if (code == 0) {
			depth--;
			continue;
		}
		a = abbrev_find(p->t, code);
		if (!a)
			return false;
		if (a->has_children && jump(p, p->c.p, a))
			continue;
		if (!entry_skip(&p->c, p->t, a, p->u))
			return false;
		depth += a->has_children;
	}
	return true;
}

/* ------------------------------------------------------------------ scopes */

static uint32_t number(const struct entry *e, enum attribute a)
{
	uint64_t v = entry_has(e, a) ? value_number(&e->v[a]) : 0;

	return v > INT32_MAX ? 0 : (uint32_t)v;
}

static uint32_t new_scope(struct pass *p, uint64_t offset, uint32_t parent)
{
	struct scope s = { .unit = p->u, .entry = offset, .parent = parent };

	if (p->s->n >= UINT32_MAX - 1)
		return 0;
	/* Straight to the name: the same one for every place that the function is inlined at. */
	if (parent && entry_has(&p->e, AT_ABSTRACT_ORIGIN) &&
	    !value_reference(p->u, &p->e.v[AT_ABSTRACT_ORIGIN], &s.unit, &s.entry))
		s.unit = p->u;
	s.call_file = entry_has(&p->e, AT_CALL_FILE) ? value_number(&p->e.v[AT_CALL_FILE]) : 0;
	s.call_line = number(&p->e, AT_CALL_LINE);
	s.call_column = number(&p->e, AT_CALL_COLUMN);
	vec_push(p->s->list, p->s->n, p->s->cap, s);
	return (uint32_t)p->s->n;
}

/* The first of the level's addresses that is not below 'address'. */
static uint32_t first_in(const struct pass *p, const struct scope_level *l, uint64_t address)
{
	uint32_t at = l->from;

	if (l->to - at > FEW)
		return at + (uint32_t)first_from(p->addresses + at, l->to - at, address);
	while (at < l->to && p->addresses[at] < address)
		at++;
	return at;
}

/*
 * Leaves the level those addresses between its first and last one in the ranges, and of those the
 * ones that have an address; false: none.
 */
static bool narrow(const struct pass *p, struct scope_level *l)
{
	uint64_t first = p->addresses[l->from], last = p->addresses[l->to - 1];
	struct scope_level in = { l->scope, l->to, l->from };
	size_t kept = 0;

	for (size_t i = 0; i < p->r->nranges; i++) {
		struct dwarf_range g = p->r->ranges[i];
		struct scope_level rest = *l;
		uint32_t end;

		if (g.high <= first || g.low > last)
			continue;
		rest.from = first_in(p, &rest, g.low);
		end = first_in(p, &rest, g.high);
		if (rest.from == end)
			continue;
		in.from = rest.from < in.from ? rest.from : in.from;
		in.to = end > in.to ? end : in.to;
		p->r->ranges[kept++] = g;
	}
	p->r->nranges = kept;
	if (kept)
		*l = in;
	return kept != 0;
}

/*
 * An inlined call is the new innermost scope of its addresses.  Of two functions that claim the
 * same address (the linker folds equal ones, and leaves traces of those it dropped) the first
 * one keeps it, unless the other is the smaller one.
 */
static void claim(struct pass *p, const struct scope_level *l, bool inlined)
{
	struct scope *s = &p->s->list[l->scope - 1];

	for (size_t i = 0; i < p->r->nranges; i++) {
		const struct dwarf_range *g = &p->r->ranges[i];
		uint32_t at = first_in(p, l, g->low);

		s->size = g->high - g->low;
		for (; at < l->to && p->addresses[at] < g->high && dwarf_pay(p->r, 1); at++) {
			uint32_t *now = &p->innermost[at];

			if (*now == 0 || inlined || p->s->list[*now - 1].size > s->size)
				*now = l->scope;
		}
	}
}

/*
 * Whether an entry surely has none of the level's addresses, which most do not: its code is in one
 * piece, and the abbreviation says where to find that.
 */
static bool is_elsewhere(struct pass *p, const struct abbrev *a, const struct scope_level *l)
{
	uint64_t low, size;
	uint32_t at;

	if (a->low < 0 || a->high < 0 || a->length == LENGTH_VARIES ||
	    (size_t)a->length > cursor_left(&p->c))
		return false;
	memcpy(&low, p->c.p + a->low, sizeof(low));
	memcpy(&size, p->c.p + a->high, sizeof(size));
	low = le64toh(low);
	at = first_in(p, l, low);
	return at == l->to || p->addresses[at] - low >= le64toh(size);
}

/*
 * An entry that may hold code, with its attributes.  Makes '*l' the level of its children; false if
 * there is nothing for us in them.
 */
static bool enter(struct pass *p, uint64_t offset, struct scope_level *l)
{
	uint16_t tag = p->e.abbrev->tag;
	bool has_code = entry_has(&p->e, AT_LOW_PC) || entry_has(&p->e, AT_RANGES);
	bool inlined = tag == DW_TAG_INLINED_SUBROUTINE;
	struct scope_level in = *l;

	if (!has_code)
		return false;
	dwarf_read_ranges(p->r, p->u, &p->e);
	if (!narrow(p, &in))
		return false;
	if (tag != DW_TAG_LEXICAL_BLOCK) {
		in.scope = new_scope(p, offset, inlined ? l->scope : 0);
		if (in.scope == 0)
			return false;
		claim(p, &in, inlined);
	}
	*l = in;
	return true;
}

/* Steps over an entry and all that is in it. */
static bool skip_entry(struct pass *p, const struct abbrev *a)
{
	if (!a->has_children)
		return entry_skip(&p->c, p->t, a, p->u);
	return jump(p, p->c.p, a) || (entry_skip(&p->c, p->t, a, p->u) && skip_children(p));
}

/* A function, an inlined call or a block.  False when the pass has to end. */
static bool step_code(struct pass *p, const struct abbrev *a, uint64_t offset)
{
	const uint8_t *attributes = p->c.p;
	struct scope_level l = p->s->stack[p->depth - 1];

	if (a->tag == DW_TAG_SUBPROGRAM) {
		l.from = 0;
		l.to = (uint32_t)p->n;
	}
	if (!p->thorough && is_elsewhere(p, a, &l))
		return skip_entry(p, a);
	if (!entry_read(&p->c, p->t, a, p->u, &p->e))
		return false;
	if (!enter(p, offset, &l) && !p->thorough)
		return !a->has_children || jump(p, attributes, a) || skip_children(p);
	if (a->has_children && p->depth >= DEPTH_MAX)
		return false;
	if (a->has_children)
		push(p, l);
	return true;
}

/* Types of C and C++ name their functions; the code is elsewhere, unless they are local. */
static bool is_skipped(const struct pass *p, const struct abbrev *a)
{
	return a->kind == ENTRY_CALL ||
	       (!p->thorough &&
		(a->kind == ENTRY_NAME || (a->kind == ENTRY_TYPE && p->u->c_family)));
}

/* One entry and, where they are of no use, its children.  False when the pass has to end. */
static bool step(struct pass *p, const struct abbrev *a, uint64_t offset)
{
	if (a->kind == ENTRY_CODE || (a->kind == ENTRY_NAME && p->thorough))
		return step_code(p, a, offset);
	if (!a->has_children)
		return entry_skip(&p->c, p->t, a, p->u);
	if (is_skipped(p, a))
		return skip_entry(p, a);
	if (!entry_skip(&p->c, p->t, a, p->u) || p->depth >= DEPTH_MAX)
		return false;
	push(p, p->s->stack[p->depth - 1]);
	return true;
}

/* What is_skipped(), and what has neither code nor others in it. */
static uint32_t idle_hops(const struct pass *p)
{
	uint32_t hops = 1u << HOP_LEAF | 1u << (HOP_OVER + ENTRY_CALL);

	if (!p->thorough)
		hops |= 1u << (HOP_OVER + ENTRY_NAME);
	if (!p->thorough && p->u->c_family)
		hops |= 1u << (HOP_OVER + ENTRY_TYPE);
	return hops;
}

static void make_pass(struct pass *p)
{
	struct bytes unit = { p->u->dwarf->s.info.p, p->u->end };

	p->c = cursor_at(unit, p->u->entries);
	if (!p->t || p->n == 0 || !dwarf_pay(p->r, p->u->end - p->u->entries))
		return;
	push(p, (struct scope_level){ 0, 0, (uint32_t)p->n });
	p->hops = idle_hops(p);
	while (p->depth > 0 && !p->c.bad && cursor_left(&p->c) > 0) {
		const struct abbrev *a;
		uint64_t offset, code;

		hop(p, p->hops);
		offset = (uint64_t)(p->c.p - unit.p);
		code = read_uleb(&p->c);
		if (code == 0) {
			p->depth--;
			continue;
		}
		a = abbrev_find(p->t, code);
		if (!a || !step(p, a, offset))
			return;
	}
}

/* Looks everywhere for the addresses that have no scope yet. */
static void make_thorough_pass(struct pass *first, uint32_t *innermost)
{
	struct pass p = { .r = first->r, .u = first->u, .t = first->t, .s = first->s };
	uint64_t *addresses = mem_new(first->n + 1, sizeof(*addresses));
	size_t next = 0;

	p.innermost = mem_zeroed(first->n + 1, sizeof(*p.innermost));
	p.thorough = true;
	p.addresses = addresses;
	for (size_t i = 0; i < first->n; i++)
		if (innermost[i] == 0)
			addresses[p.n++] = first->addresses[i];
	if (p.n)
		make_pass(&p);
	for (size_t i = 0; i < first->n; i++)
		if (innermost[i] == 0)
			innermost[i] = p.innermost[next++];
	free(p.innermost);
	free(addresses);
}

void dwarf_read_scopes(struct dwarf_reader *r, const struct dwarf_unit *u,
		       const uint64_t *addresses, size_t n, struct scopes *s, uint32_t *innermost)
{
	struct pass p = { .r = r,
			  .u = u,
			  .t = dwarf_abbrevs(r, u),
			  .addresses = addresses,
			  .n = n,
			  .s = s,
			  .innermost = innermost };

	s->n = 0;
	make_pass(&p);
	make_thorough_pass(&p, innermost);
}

void scopes_release(struct scopes *s)
{
	free(s->list);
	free(s->stack);
}

/* ------------------------------------------------------------------ names */

static void learn(const struct dwarf_unit *u, const struct entry *e, struct scope_name *n)
{
	if (!n->linkage_unit && entry_has(e, AT_LINKAGE_NAME)) {
		n->linkage_unit = u;
		n->linkage = e->v[AT_LINKAGE_NAME];
	}
	if (!n->name_unit && entry_has(e, AT_NAME)) {
		n->name_unit = u;
		n->name = e->v[AT_NAME];
	}
	if (n->line == 0)
		n->line = number(e, AT_DECL_LINE);
}

/* A declaration, or what the entry is an instance of: both may know more. */
static bool next_entry(struct scope_name *n, const struct entry *e)
{
	enum attribute a = entry_has(e, AT_ABSTRACT_ORIGIN) ? AT_ABSTRACT_ORIGIN : AT_SPECIFICATION;

	return entry_has(e, a) && value_reference(n->unit, &e->v[a], &n->unit, &n->entry);
}

/* Asks for the memory that the next step reads. */
bool scope_learn(struct dwarf_reader *r, struct scope_name *n)
{
	struct entry e;

	if (n->unit && entry_read_at(r, n->unit, n->entry, &e)) {
		learn(n->unit, &e, n);
		if (!(n->linkage_unit && n->line) && next_entry(n, &e)) {
			__builtin_prefetch(n->unit->dwarf->s.info.p + n->entry);
			return true;
		}
	}
	if (n->linkage_unit)
		value_prefetch(n->linkage_unit, &n->linkage);
	else if (n->name_unit)
		value_prefetch(n->name_unit, &n->name);
	n->unit = NULL;
	return false;
}

struct str scope_text(const struct scope_name *n)
{
	struct str linkage = STR("");

	if (n->linkage_unit)
		linkage = value_text(n->linkage_unit, &n->linkage);
	if (linkage.n || !n->name_unit)
		return linkage;
	return value_text(n->name_unit, &n->name);
}
