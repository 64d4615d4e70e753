/*
 * dwarf-unit.c - the units of .debug_info, and the addresses of entries
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/dwarf.h"

#include "base/xalloc.h"

#include <stdlib.h>

enum {
	DW_RLE_END_OF_LIST = 0,
	DW_RLE_BASE_ADDRESSX = 1,
	DW_RLE_STARTX_ENDX = 2,
	DW_RLE_STARTX_LENGTH = 3,
	DW_RLE_OFFSET_PAIR = 4,
	DW_RLE_BASE_ADDRESS = 5,
	DW_RLE_START_END = 6,
	DW_RLE_START_LENGTH = 7,
};

/* ------------------------------------------------------------------ headers */

/* Whether types of this DW_AT_language never have code in them. */
static bool is_c_family(uint64_t language)
{
	switch (language) {
	case 0x01: /* C89 */
	case 0x02: /* C */
	case 0x04: /* C++ */
	case 0x0c: /* C99 */
	case 0x10: /* Objective C */
	case 0x11: /* Objective C++ */
	case 0x19: /* C++03 */
	case 0x1a: /* C++11 */
	case 0x1d: /* C11 */
	case 0x21: /* C++14 */
	case 0x2b: /* C++17 */
	case 0x2c: /* C17 */
		return true;
	default:
		return false;
	}
}

static bool read_header(struct cursor *c, struct dwarf_unit *u)
{
	u->version = read_u16(c);
	if (u->version < 2 || u->version > 5)
		return false;
	if (u->version == 5) {
		u->type = read_u8(c);
		u->address_size = read_u8(c);
		u->abbrev = read_sized(c, u->is64 ? 8 : 4);
		if (u->type == DW_UT_SKELETON || u->type == DW_UT_SPLIT_COMPILE)
			u->dwo_id = read_u64(c);
		if (u->type == DW_UT_TYPE || u->type == DW_UT_SPLIT_TYPE)
			cursor_skip(c, u->is64 ? 16 : 12);
	} else {
		u->type = DW_UT_COMPILE;
		u->abbrev = read_sized(c, u->is64 ? 8 : 4);
		u->address_size = read_u8(c);
	}
	return !c->bad && (u->address_size == 4 || u->address_size == 8);
}

/* Tables that units share start with a header; this is how long it is where nobody says. */
static uint64_t base_of(const struct dwarf_unit *u, const struct entry *e, enum attribute a,
			uint64_t header)
{
	if (entry_has(e, a))
		return e->v[a].u;
	return u->version == 5 ? header + (u->is64 ? 8 : 0) : 0;
}

static struct str text_of(const struct dwarf_unit *u, const struct entry *e, enum attribute a)
{
	return entry_has(e, a) ? value_text(u, &e->v[a]) : STR("");
}

/* Reads what the unit's first entry says; false if it cannot be read. */
static bool read_root(struct dwarf_unit *u, struct dwarf_reader *r)
{
	struct root first;
	const struct entry *root = &first.e;

	if (!root_read(r, u, &first))
		return false;
	u->str_offsets_base = base_of(u, root, AT_STR_OFFSETS_BASE, 8);
	u->addr_base = base_of(u, root, AT_ADDR_BASE, 8);
	u->rnglists_base = base_of(u, root, AT_RNGLISTS_BASE, 12);
	u->ranges_base = entry_has(root, AT_RANGES_BASE) ? root->v[AT_RANGES_BASE].u : 0;
	if (entry_has(root, AT_DWO_ID))
		u->dwo_id = root->v[AT_DWO_ID].u;
	if (!entry_has(root, AT_LOW_PC) || !value_address(u, &root->v[AT_LOW_PC], &u->low_pc))
		u->low_pc = 0;
	u->has_lines = entry_has(root, AT_STMT_LIST);
	u->lines = u->has_lines ? value_number(&root->v[AT_STMT_LIST]) : 0;
	u->c_family =
		entry_has(root, AT_LANGUAGE) && is_c_family(value_number(&root->v[AT_LANGUAGE]));
	u->has_code = root->abbrev->tag == DW_TAG_COMPILE_UNIT ||
		      root->abbrev->tag == DW_TAG_SKELETON_UNIT;
	u->comp_dir = text_of(u, root, AT_COMP_DIR);
	u->name = text_of(u, root, AT_NAME);
	u->dwo_name = text_of(u, root, AT_DWO_NAME);
	return true;
}

void dwarf_read_units(struct dwarf *d, struct dwarf_reader *r)
{
	struct cursor c = cursor_at(d->s.info, 0);

	while (!c.bad && cursor_left(&c) > 0) {
		struct dwarf_unit u = { .dwarf = d, .offset = (uint64_t)(c.p - d->s.info.p) };
		uint64_t length = read_length(&c, &u.is64);
		struct cursor in = c;

		if (!cursor_skip(&c, length) || !dwarf_pay(r, 64))
			return;
		in.end = c.p;
		u.end = (uint64_t)(c.p - d->s.info.p);
		if (!read_header(&in, &u))
			continue;
		u.entries = (uint64_t)(in.p - d->s.info.p);
		if (read_root(&u, r))
			vec_push(d->units, d->nunits, d->cap_units, u);
	}
}

const struct dwarf_unit *dwarf_unit_at(const struct dwarf *d, uint64_t offset)
{
	size_t low = 0, high = d->nunits;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (d->units[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < d->nunits && d->units[low].offset <= offset ? &d->units[low] : NULL;
}

/* ------------------------------------------------------------------ ranges */

/* Code that the linker threw away is at address 0, or 1, or before all code, or at the end. */
static void add_range(struct dwarf_reader *r, uint64_t low, uint64_t high)
{
	struct dwarf_range range = { low, high };

	if (low < high && low >= r->code_start)
		vec_push(r->ranges, r->nranges, r->cap_ranges, range);
}

/* DWARF 4 and before: pairs of addresses, relative to the unit's or to one in the list. */
static void read_old_list(struct dwarf_reader *r, const struct dwarf_unit *u, uint64_t offset)
{
	const struct dwarf_unit *of = u->skeleton ? u->skeleton : u;
	uint64_t most = u->address_size == 8 ? UINT64_MAX : UINT32_MAX;
	uint64_t base = of->low_pc;
	struct cursor c;

	if (u->skeleton)
		offset += of->ranges_base;
	c = cursor_at(of->dwarf->s.ranges, offset);
	while (!c.bad && dwarf_pay(r, 1)) {
		uint64_t low = read_sized(&c, u->address_size);
		uint64_t high = read_sized(&c, u->address_size);

		if (low == 0 && high == 0)
			return;
		if (low == most)
			base = high;
		else
			add_range(r, base + low, base + high);
	}
}

static uint64_t read_addrx(struct cursor *c, const struct dwarf_unit *u)
{
	struct value v = { DW_FORM_ADDRX, read_uleb(c) };
	uint64_t address;

	if (!value_address(u, &v, &address))
		cursor_fail(c);
	return c->bad ? 0 : address;
}

/* One entry of a DWARF 5 list; false at its end. */
static bool read_list_entry(struct cursor *c, struct dwarf_reader *r, const struct dwarf_unit *u,
			    uint64_t *base)
{
	uint64_t low = 0, high = 0;

	switch (read_u8(c)) {
	case DW_RLE_BASE_ADDRESSX:
		*base = read_addrx(c, u);
		return true;
	case DW_RLE_BASE_ADDRESS:
		*base = read_sized(c, u->address_size);
		return true;
	case DW_RLE_STARTX_ENDX:
		low = read_addrx(c, u);
		high = read_addrx(c, u);
		break;
	case DW_RLE_STARTX_LENGTH:
		low = read_addrx(c, u);
		high = low + read_uleb(c);
		break;
	case DW_RLE_OFFSET_PAIR:
		low = *base + read_uleb(c);
		high = *base + read_uleb(c);
		break;
	case DW_RLE_START_END:
		low = read_sized(c, u->address_size);
		high = read_sized(c, u->address_size);
		break;
	case DW_RLE_START_LENGTH:
		low = read_sized(c, u->address_size);
		high = low + read_uleb(c);
		break;
	case DW_RLE_END_OF_LIST:
	default:
		return false;
	}
	if (!c->bad)
		add_range(r, low, high);
	return true;
}

static void read_list(struct dwarf_reader *r, const struct dwarf_unit *u, const struct value *v)
{
	uint64_t base = u->skeleton ? u->skeleton->low_pc : u->low_pc;
	uint64_t offset = v->u;
	struct bytes lists = u->dwarf->s.rnglists;
	struct cursor c;

	if (v->form == DW_FORM_RNGLISTX) {
		unsigned size = u->is64 ? 8 : 4;

		if (v->u > lists.n)
			return;
		c = cursor_at(lists, u->rnglists_base + v->u * size);
		if (c.bad)
			return;
		offset = u->rnglists_base + read_sized(&c, size);
	}
	c = cursor_at(lists, offset);
	while (!c.bad && dwarf_pay(r, 1) && read_list_entry(&c, r, u, &base))
		continue;
}

/* DW_AT_high_pc is an address, or how far it is from DW_AT_low_pc. */
static void read_pair(struct dwarf_reader *r, const struct dwarf_unit *u, const struct entry *e)
{
	uint64_t low, high;

	if (!value_address(u, &e->v[AT_LOW_PC], &low))
		return;
	if (!value_address(u, &e->v[AT_HIGH_PC], &high))
		high = low + value_number(&e->v[AT_HIGH_PC]);
	add_range(r, low, high);
}

void dwarf_read_ranges(struct dwarf_reader *r, const struct dwarf_unit *u, const struct entry *e)
{
	r->nranges = 0;
	if (entry_has(e, AT_RANGES) && u->version >= 5)
		read_list(r, u, &e->v[AT_RANGES]);
	else if (entry_has(e, AT_RANGES))
		read_old_list(r, u, value_number(&e->v[AT_RANGES]));
	else if (entry_has(e, AT_LOW_PC) && entry_has(e, AT_HIGH_PC))
		read_pair(r, u, e);
}
