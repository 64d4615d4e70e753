/*
 * dwarf-form.c - the values of attributes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/dwarf.h"

uint8_t form_size(uint64_t form, unsigned address_size, bool is64, unsigned version)
{
	switch (form) {
	case DW_FORM_FLAG_PRESENT:
	case DW_FORM_IMPLICIT_CONST:
		return 0;
	case DW_FORM_DATA1:
	case DW_FORM_FLAG:
	case DW_FORM_REF1:
	case DW_FORM_STRX1:
	case DW_FORM_ADDRX1:
		return 1;
	case DW_FORM_DATA2:
	case DW_FORM_REF2:
	case DW_FORM_STRX2:
	case DW_FORM_ADDRX2:
		return 2;
	case DW_FORM_STRX3:
	case DW_FORM_ADDRX3:
		return 3;
	case DW_FORM_DATA4:
	case DW_FORM_REF4:
	case DW_FORM_REF_SUP4:
	case DW_FORM_STRX4:
	case DW_FORM_ADDRX4:
		return 4;
	case DW_FORM_DATA8:
	case DW_FORM_REF8:
	case DW_FORM_REF_SIG8:
	case DW_FORM_REF_SUP8:
		return 8;
	case DW_FORM_DATA16:
		return 16;
	case DW_FORM_ADDR:
		return (uint8_t)address_size;
	case DW_FORM_REF_ADDR:
		return version <= 2 ? (uint8_t)address_size : is64 ? 8 : 4;
	case DW_FORM_STRP:
	case DW_FORM_LINE_STRP:
	case DW_FORM_STRP_SUP:
	case DW_FORM_SEC_OFFSET:
	case DW_FORM_GNU_REF_ALT:
	case DW_FORM_GNU_STRP_ALT:
		return is64 ? 8 : 4;
	default:
		return SIZE_VARIES;
	}
}

/* A value whose length is not known beforehand. */
static bool read_varying(struct cursor *c, const struct dwarf_unit *u, struct value *v)
{
	struct form inner;

	switch (v->form) {
	case DW_FORM_STRING:
		v->u = (uint64_t)(c->p - u->dwarf->s.info.p);
		read_text(c);
		return true;
	case DW_FORM_BLOCK1:
		v->u = read_u8(c);
		return cursor_skip(c, v->u);
	case DW_FORM_BLOCK2:
		v->u = read_u16(c);
		return cursor_skip(c, v->u);
	case DW_FORM_BLOCK4:
		v->u = read_u32(c);
		return cursor_skip(c, v->u);
	case DW_FORM_BLOCK:
	case DW_FORM_EXPRLOC:
		v->u = read_uleb(c);
		return cursor_skip(c, v->u);
	case DW_FORM_SDATA:
		v->u = (uint64_t)read_sleb(c);
		return true;
	case DW_FORM_UDATA:
	case DW_FORM_REF_UDATA:
	case DW_FORM_STRX:
	case DW_FORM_ADDRX:
	case DW_FORM_LOCLISTX:
	case DW_FORM_RNGLISTX:
	case DW_FORM_GNU_ADDR_INDEX:
	case DW_FORM_GNU_STR_INDEX:
		v->u = read_uleb(c);
		return true;
	case DW_FORM_INDIRECT:
		inner = (struct form){ .form = (uint16_t)read_uleb(c) };
		if (inner.form == DW_FORM_INDIRECT || inner.form == DW_FORM_IMPLICIT_CONST)
			return false;
		inner.size = form_size(inner.form, u->address_size, u->is64, u->version);
		inner.implicit = inner.size == 0;
		return form_read(c, &inner, u, v);
	default:
		return false;
	}
}

bool form_read(struct cursor *c, const struct form *f, const struct dwarf_unit *u, struct value *v)
{
	v->form = f->form;
	switch (f->size) {
	case 0:
		v->u = f->implicit;
		return true;
	case 16:
		v->u = 0;
		return cursor_skip(c, 16);
	case SIZE_VARIES:
		return read_varying(c, u, v) && !c->bad;
	default:
		v->u = read_sized(c, f->size);
		return !c->bad;
	}
}

/* ------------------------------------------------------------------ entries */

/* Of eight bytes, those that a value of so many has. */
static const uint64_t masks[] = {
	0,          0xff,         0xffff,         0xffffff,
	0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
	UINT64_MAX,
};

bool entry_read(struct cursor *c, const struct abbrevs *t, const struct abbrev *a,
		const struct dwarf_unit *u, struct entry *e)
{
	struct cursor at = *c;

	e->abbrev = a;
	e->has = a->has;
	for (size_t i = 0; i < a->n; i++) {
		const struct form *f = &t->forms[a->first + i];
		struct value *v = &e->v[f->attribute];

		if (f->size <= 8 && cursor_left(&at) >= (size_t)f->gap + 8) {
			uint64_t bytes;

			memcpy(&bytes, at.p + f->gap, sizeof(bytes));
			v->form = f->form;
			v->u = (le64toh(bytes) & masks[f->size]) | f->implicit;
			at.p += f->gap + f->size;
		} else {
			*c = at;
			if (!cursor_skip(c, f->gap) || !form_read(c, f, u, v))
				return false;
			at = *c;
		}
	}
	*c = at;
	return cursor_skip(c, a->rest);
}

bool entry_skip_varying(struct cursor *c, const struct abbrevs *t, const struct abbrev *a,
			const struct dwarf_unit *u)
{
	for (const struct skip *s = &t->skips[a->skip];; s++) {
		struct value ignored = { .form = s->form };

		if (!cursor_skip(c, s->fixed))
			return false;
		if (s->form == 0)
			return true;
		if (s->form == DW_FORM_EXPRLOC) {
			if (!cursor_skip(c, read_uleb(c)))
				return false;
		} else if (!read_varying(c, u, &ignored) || c->bad) {
			return false;
		}
	}
}

bool entry_read_at(struct dwarf_reader *r, const struct dwarf_unit *u, uint64_t offset,
		   struct entry *e)
{
	struct bytes unit = { u->dwarf->s.info.p, u->end };
	struct cursor c = cursor_at(unit, offset);
	const struct abbrevs *t = dwarf_abbrevs(r, u);
	const struct abbrev *a;

	if (!t || offset < u->entries || c.bad)
		return false;
	a = abbrev_find(t, read_uleb(&c));
	return a && dwarf_pay(r, 16) && entry_read(&c, t, a, u, e);
}

bool root_read(struct dwarf_reader *r, const struct dwarf_unit *u, struct root *root)
{
	struct cursor c = cursor_at((struct bytes){ u->dwarf->s.info.p, u->end }, u->entries);
	const struct abbrevs *t = dwarf_one_abbrev(r, u, read_uleb(&c), &root->abbrev);

	return t && !c.bad && entry_read(&c, t, &root->abbrev, u, &root->e);
}

/* ------------------------------------------------------------------ meaning */

static struct str text_at(struct bytes section, uint64_t offset)
{
	struct cursor c = cursor_at(section, offset);

	return c.bad ? STR("") : read_text(&c);
}

static struct str indexed_text(const struct dwarf_unit *u, uint64_t i)
{
	unsigned size = u->is64 ? 8 : 4;
	struct cursor c;

	if (i > u->dwarf->s.str_offsets.n)
		return STR("");
	c = cursor_at(u->dwarf->s.str_offsets, u->str_offsets_base + i * size);
	return c.bad ? STR("") : text_at(u->dwarf->s.str, read_sized(&c, size));
}

struct str value_text(const struct dwarf_unit *u, const struct value *v)
{
	const struct dwarf *d = u->dwarf;

	switch (v->form) {
	case DW_FORM_STRING:
		return text_at(d->s.info, v->u);
	case DW_FORM_STRP:
		return text_at(d->s.str, v->u);
	case DW_FORM_LINE_STRP:
		return text_at(d->s.line_str, v->u);
	case DW_FORM_STRP_SUP:
	case DW_FORM_GNU_STRP_ALT:
		return d->alt ? text_at(d->alt->s.str, v->u) : STR("");
	case DW_FORM_STRX:
	case DW_FORM_STRX1:
	case DW_FORM_STRX2:
	case DW_FORM_STRX3:
	case DW_FORM_STRX4:
	case DW_FORM_GNU_STR_INDEX:
		return indexed_text(u, v->u);
	default:
		return STR("");
	}
}

/* Addresses of a unit in a .dwo file are in the program. */
static bool indexed_address(const struct dwarf_unit *u, uint64_t i, uint64_t *address)
{
	const struct dwarf_unit *of = u->skeleton ? u->skeleton : u;
	struct cursor c;

	if (i > of->dwarf->s.addr.n)
		return false;
	c = cursor_at(of->dwarf->s.addr, of->addr_base + i * u->address_size);
	if (c.bad)
		return false;
	*address = read_sized(&c, u->address_size);
	return !c.bad;
}

bool value_address(const struct dwarf_unit *u, const struct value *v, uint64_t *address)
{
	switch (v->form) {
	case DW_FORM_ADDR:
		*address = v->u;
		return true;
	case DW_FORM_ADDRX:
	case DW_FORM_ADDRX1:
	case DW_FORM_ADDRX2:
	case DW_FORM_ADDRX3:
	case DW_FORM_ADDRX4:
	case DW_FORM_GNU_ADDR_INDEX:
		return indexed_address(u, v->u, address);
	default:
		return false;
	}
}

uint64_t value_number(const struct value *v)
{
	switch (v->form) {
	case DW_FORM_DATA1:
	case DW_FORM_DATA2:
	case DW_FORM_DATA4:
	case DW_FORM_DATA8:
	case DW_FORM_SDATA:
	case DW_FORM_UDATA:
	case DW_FORM_IMPLICIT_CONST:
	case DW_FORM_SEC_OFFSET:
	case DW_FORM_RNGLISTX:
		return v->u;
	default:
		return 0;
	}
}

bool value_reference(const struct dwarf_unit *u, const struct value *v,
		     const struct dwarf_unit **to, uint64_t *offset)
{
	switch (v->form) {
	case DW_FORM_REF1:
	case DW_FORM_REF2:
	case DW_FORM_REF4:
	case DW_FORM_REF8:
	case DW_FORM_REF_UDATA:
		*to = u;
		*offset = u->offset + v->u;
		return v->u < u->end - u->offset;
	case DW_FORM_REF_ADDR:
		*to = dwarf_unit_at(u->dwarf, v->u);
		break;
	case DW_FORM_GNU_REF_ALT:
	case DW_FORM_REF_SUP4:
	case DW_FORM_REF_SUP8:
		*to = u->dwarf->alt ? dwarf_unit_at(u->dwarf->alt, v->u) : NULL;
		break;
	default:
		*to = NULL;
	}
	*offset = v->u;
	return *to != NULL;
}
