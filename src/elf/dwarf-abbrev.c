/*
 * dwarf-abbrev.c - abbreviations: which attributes entries have, in which form
 *
 * They are read once, and turned into what makes stepping over an entry cheap: its length, where
 * that is the same for all, and where to find out where the next sibling is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/dwarf.h"

#include "base/xalloc.h"

#include <stdlib.h>

enum {
	CACHE_FORMS = 1 << 20, /* more than this many are not kept at a time */
	CODE_MAX = 1 << 20,    /* abbreviations in one table */
	ABBREVS_FIRST = 256,   /* room for so many at first */
	FORMS_FIRST = 2048,    /* the same */
};

static enum attribute attribute_of(uint64_t code)
{
	static const uint8_t known[] = {
		[0x01] = AT_SIBLING,      [0x03] = AT_NAME,
		[0x10] = AT_STMT_LIST,    [0x11] = AT_LOW_PC,
		[0x12] = AT_HIGH_PC,      [0x13] = AT_LANGUAGE,
		[0x1b] = AT_COMP_DIR,     [0x31] = AT_ABSTRACT_ORIGIN,
		[0x3b] = AT_DECL_LINE,    [0x47] = AT_SPECIFICATION,
		[0x55] = AT_RANGES,       [0x57] = AT_CALL_COLUMN,
		[0x58] = AT_CALL_FILE,    [0x59] = AT_CALL_LINE,
		[0x6e] = AT_LINKAGE_NAME, [0x72] = AT_STR_OFFSETS_BASE,
		[0x73] = AT_ADDR_BASE,    [0x74] = AT_RNGLISTS_BASE,
		[0x76] = AT_DWO_NAME,
	};

	switch (code) {
	case 0x2007:
		return AT_LINKAGE_NAME; /* DW_AT_MIPS_linkage_name, before DWARF 4 */
	case 0x2130:
		return AT_DWO_NAME;
	case 0x2131:
		return AT_DWO_ID;
	case 0x2132:
		return AT_RANGES_BASE;
	case 0x2133:
		return AT_ADDR_BASE;
	default:
		return code < sizeof(known) ? known[code] : AT_NONE;
	}
}

/* What an entry with this tag and these attributes is. */
static enum entry_kind kind_of(const struct abbrev *a)
{
	bool has_code = a->has & (1u << AT_LOW_PC | 1u << AT_RANGES);

	switch (a->tag) {
	case DW_TAG_SUBPROGRAM:
	case DW_TAG_INLINED_SUBROUTINE:
		return has_code ? ENTRY_CODE : ENTRY_NAME;
	case DW_TAG_LEXICAL_BLOCK:
		return has_code ? ENTRY_CODE : ENTRY_OTHER;
	case DW_TAG_CLASS_TYPE:
	case DW_TAG_STRUCTURE_TYPE:
	case DW_TAG_UNION_TYPE:
	case DW_TAG_ENUMERATION_TYPE:
	case DW_TAG_SUBROUTINE_TYPE:
		return ENTRY_TYPE;
	case DW_TAG_CALL_SITE:
	case DW_TAG_GNU_CALL_SITE:
		return ENTRY_CALL;
	default:
		return ENTRY_OTHER;
	}
}

/* Notes where an attribute is that is always at the same place. */
static void note_place(struct abbrev *a, const struct form *f)
{
	if (a->length == LENGTH_VARIES)
		return;
	if (f->attribute == AT_SIBLING && f->form == DW_FORM_REF4)
		a->sibling = a->length;
	if (f->attribute == AT_LOW_PC && f->form == DW_FORM_ADDR && f->size == sizeof(uint64_t))
		a->low = a->length;
	if (f->attribute == AT_HIGH_PC && f->form == DW_FORM_DATA8)
		a->high = a->length;
}

/*
 * Adds a form to what it takes to step over an entry: 's' are the bytes since the last one whose
 * size varies.
 */
static void add_length(struct abbrevs *t, struct abbrev *a, const struct form *f, struct skip *s)
{
	if (f->size != SIZE_VARIES) {
		s->fixed += f->size;
		if (a->length != LENGTH_VARIES)
			a->length += f->size;
		return;
	}
	a->length = LENGTH_VARIES;
	s->form = f->form ? f->form : UINT16_MAX; /* neither is one */
	vec_push(t->skips, t->nskips, t->cap_skips, *s);
	*s = (struct skip){ 0, 0 };
}

/* Keeps a form that is to be read; of the others, how far it is to the next one. */
static void keep_form(struct abbrevs *t, struct abbrev *a, struct form f)
{
	if (f.attribute == AT_SIBLING)
		f.attribute = AT_NONE;
	a->has |= 1u << f.attribute;
	if (f.attribute == AT_NONE && f.size != SIZE_VARIES) {
		a->rest += f.size;
		return;
	}
	f.gap = a->rest;
	a->rest = 0;
	vec_push(t->forms, t->nforms, t->cap_forms, f);
}

static bool read_forms(struct cursor *c, struct abbrevs *t, struct abbrev *a)
{
	struct skip s = { 0, 0 };

	a->first = (uint32_t)t->nforms;
	a->skip = (uint32_t)t->nskips;
	for (;;) {
		uint64_t name = read_uleb(c), form = read_uleb(c);
		struct form f = { .form = (uint16_t)form };

		f.implicit = form == DW_FORM_FLAG_PRESENT;
		if (form == DW_FORM_IMPLICIT_CONST)
			f.implicit = (uint64_t)read_sleb(c);
		if (c->bad || form > UINT16_MAX || s.fixed > INT32_MAX / 2)
			return false;
		if (name == 0 && form == 0)
			break;
		f.attribute = (uint8_t)attribute_of(name);
		f.size = form_size(form, t->address_size, t->is64, t->version);
		note_place(a, &f);
		add_length(t, a, &f, &s);
		keep_form(t, a, f);
	}
	a->n = (uint32_t)(t->nforms - a->first);
	if (a->length == LENGTH_VARIES)
		vec_push(t->skips, t->nskips, t->cap_skips, s);
	return true;
}

static struct hop hop_over(const struct abbrev *a)
{
	if (!a->has_children && a->length < HOP_MOST)
		return (struct hop){
			.type = a->length == LENGTH_VARIES ? HOP_NONE
				: a->kind == ENTRY_CODE    ? HOP_LEAF_CODE
							   : HOP_LEAF,
			.length = (uint8_t)(a->length + 1),
		};
	if (a->has_children && a->sibling >= 0 && a->sibling < HOP_MOST)
		return (struct hop){ .type = (uint8_t)(HOP_OVER + a->kind),
				     .sibling = (uint8_t)(a->sibling + 1) };
	return (struct hop){ 0 };
}

static int by_code(const void *x, const void *y)
{
	const struct abbrev *a = x, *b = y;

	return (a->code > b->code) - (a->code < b->code);
}

/* The next abbreviation; its code is 0 behind the last one.  False if it is damaged. */
static bool read_abbrev(struct cursor *c, struct abbrevs *t, struct abbrev *a)
{
	*a = (struct abbrev){ .code = read_uleb(c), .sibling = -1, .low = -1, .high = -1 };
	if (c->bad || a->code == 0)
		return !c->bad;
	a->tag = (uint16_t)read_uleb(c);
	a->has_children = read_u8(c) != 0;
	if (!read_forms(c, t, a))
		return false;
	a->kind = (uint8_t)kind_of(a);
	return true;
}

static bool read_table(struct cursor *c, struct abbrevs *t)
{
	bool sorted = true;

	t->cap = ABBREVS_FIRST;
	t->list = mem_new(t->cap, sizeof(*t->list));
	t->cap_forms = FORMS_FIRST;
	t->forms = mem_new(t->cap_forms, sizeof(*t->forms));
	for (;;) {
		struct abbrev a;

		if (!read_abbrev(c, t, &a) || t->n >= CODE_MAX)
			return false;
		if (a.code == 0)
			break;
		if (a.code < HOPS)
			t->hops[a.code] = hop_over(&a);
		sorted = sorted && (t->n == 0 || t->list[t->n - 1].code < a.code);
		vec_push(t->list, t->n, t->cap, a);
	}
	if (!sorted)
		qsort(t->list, t->n, sizeof(*t->list), by_code);
	return true;
}

const struct abbrev *abbrev_search(const struct abbrevs *t, uint64_t code)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->list[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->n && t->list[low].code == code ? &t->list[low] : NULL;
}

/* ------------------------------------------------------------------ tables already read */

static void free_table(struct abbrevs *t)
{
	free(t->list);
	free(t->forms);
	free(t->skips);
	free(t);
}

static void empty_cache(struct dwarf_reader *r)
{
	for (size_t i = 0; i < r->ncache; i++)
		free_table(r->cache[i]);
	r->ncache = 0;
	r->cached_forms = 0;
	r->last = NULL;
	table_release(&r->index);
	table_init(&r->index, 64);
}

static bool is_of(const struct abbrevs *t, const struct dwarf_unit *u)
{
	return t->offset == u->abbrev && t->dwarf == u->dwarf && t->version == u->version &&
	       t->address_size == u->address_size && t->is64 == u->is64;
}

static uint64_t hash_offset(uint64_t offset)
{
	return hash_mix(offset, 1);
}

static uint64_t rehash(uint32_t value, const void *ctx)
{
	const struct dwarf_reader *r = ctx;

	return hash_offset(r->cache[value]->offset);
}

static void name_table(struct abbrevs *t, const struct dwarf_unit *u)
{
	t->offset = u->abbrev;
	t->dwarf = u->dwarf;
	t->version = u->version;
	t->address_size = u->address_size;
	t->is64 = u->is64;
}

/* A table that could not be read is kept as well: an empty one. */
static struct abbrevs *read_new(struct dwarf_reader *r, const struct dwarf_unit *u)
{
	struct abbrevs *t = mem_zeroed(1, sizeof(*t));
	struct cursor c = cursor_at(u->dwarf->s.abbrev, u->abbrev);
	size_t before = cursor_left(&c);

	name_table(t, u);
	if (!read_table(&c, t))
		t->n = 0;  /* nobody looks at the rest then */
	t->cap = t->n + 1; /* there may be many small ones */
	t->list = mem_grow(t->list, t->cap, sizeof(*t->list));
	t->cap_forms = t->nforms + 1;
	t->forms = mem_grow(t->forms, t->cap_forms, sizeof(*t->forms));
	if (!dwarf_pay(r, before - cursor_left(&c)))
		t->n = 0;
	return t;
}

/* A table that has been read already; where it is to be put if there is none. */
static const struct abbrevs *find_table(const struct dwarf_reader *r, const struct dwarf_unit *u,
					struct probe *at)
{
	*at = table_probe(&r->index, hash_offset(u->abbrev));
	while (table_next(&r->index, at)) {
		if (is_of(r->cache[at->value], u))
			return r->cache[at->value];
	}
	return NULL;
}

static const struct abbrevs *add_table(struct dwarf_reader *r, const struct dwarf_unit *u,
				       const struct probe *at)
{
	struct abbrevs *t = read_new(r, u);

	table_put(&r->index, at, (uint32_t)r->ncache);
	vec_push(r->cache, r->ncache, r->cap_cache, t);
	r->cached_forms += t->nforms + t->n + HOPS / 4;
	return t;
}

const struct abbrevs *dwarf_abbrevs(struct dwarf_reader *r, const struct dwarf_unit *u)
{
	const struct abbrevs *t;
	struct probe at;

	if (r->last && is_of(r->last, u))
		return r->last->n ? r->last : NULL;
	if (r->cached_forms > CACHE_FORMS)
		empty_cache(r);
	table_reserve(&r->index, rehash, r);
	t = find_table(r, u, &at);
	if (!t)
		t = add_table(r, u, &at);
	r->last = t;
	return t->n ? t : NULL;
}

const struct abbrevs *dwarf_one_abbrev(struct dwarf_reader *r, const struct dwarf_unit *u,
				       uint64_t code, struct abbrev *a)
{
	struct cursor c = cursor_at(u->dwarf->s.abbrev, u->abbrev);
	size_t before = cursor_left(&c);
	struct abbrevs *t = &r->one;
	bool good;

	name_table(t, u);
	do {
		t->nforms = 0;
		t->nskips = 0;
		good = read_abbrev(&c, t, a);
	} while (good && a->code != 0 && a->code != code);
	good = dwarf_pay(r, before - cursor_left(&c)) && good && a->code != 0;
	return good ? t : NULL;
}

void dwarf_reader_init(struct dwarf_reader *r, uint64_t allowance, uint64_t code_start)
{
	*r = (struct dwarf_reader){ .allowance = allowance, .code_start = code_start };
	table_init(&r->index, 64);
}

void dwarf_reader_release(struct dwarf_reader *r)
{
	empty_cache(r);
	table_release(&r->index);
	free(r->one.forms);
	free(r->one.skips);
	free(r->cache);
	free(r->ranges);
}
