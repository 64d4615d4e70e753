/*
 * dwarf-line.c - lines of addresses
 *
 * The program of a line table is run once.  Its rows come in the order of their addresses (within
 * each sequence), as do the addresses that are looked for, so rows need not be kept.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/dwarf.h"

#include "base/gotext.h"
#include "base/xalloc.h"

#include <limits.h>
#include <stdlib.h>

enum {
	DW_LNS_COPY = 1,
	DW_LNS_ADVANCE_PC = 2,
	DW_LNS_ADVANCE_LINE = 3,
	DW_LNS_SET_FILE = 4,
	DW_LNS_SET_COLUMN = 5,
	DW_LNS_NEGATE_STMT = 6,
	DW_LNS_SET_BASIC_BLOCK = 7,
	DW_LNS_CONST_ADD_PC = 8,
	DW_LNS_FIXED_ADVANCE_PC = 9,
	DW_LNS_PROLOGUE_END = 10,
	DW_LNS_EPILOGUE_BEGIN = 11,
	DW_LNS_SET_ISA = 12,
	DW_LNE_END_SEQUENCE = 1,
	DW_LNE_SET_ADDRESS = 2,
	DW_LNE_DEFINE_FILE = 3,
	DW_LNCT_PATH = 1,
	DW_LNCT_DIRECTORY_INDEX = 2,
	FORMATS_MAX = 16, /* columns of a table of files */
};

struct header {
	uint16_t version;
	uint8_t address_size, min_length, line_range, opcode_base;
	int8_t line_base;
	bool is64;
	uint8_t lengths[256]; /* operands of standard opcodes */
	/* What special opcodes add: computed once, since dividing takes long. */
	uint16_t address_steps[256];
	int16_t line_steps[256];
};

/* ------------------------------------------------------------------ folders and files */

static void add_file(struct line_table *t, struct str name, uint64_t folder)
{
	struct line_file f = { .name = name, .folder = folder };

	vec_push(t->files, t->nfiles, t->cap_files, f);
}

static void read_old_file(struct cursor *c, struct line_table *t, struct str name)
{
	uint64_t folder = read_uleb(c);

	read_uleb(c); /* when it was changed */
	read_uleb(c); /* its size */
	add_file(t, name, folder);
}

/* DWARF 4 and before: lists that an empty name ends.  Folder 0 is that of the compiler. */
static void read_old_tables(struct cursor *c, struct line_table *t)
{
	struct str name;

	vec_push(t->folders, t->nfolders, t->cap_folders, t->unit->comp_dir);
	for (;;) {
		name = read_text(c);
		if (name.n == 0)
			break;
		vec_push(t->folders, t->nfolders, t->cap_folders, name);
	}
	for (;;) {
		name = read_text(c);
		if (name.n == 0)
			break;
		read_old_file(c, t, name);
	}
}

/* The columns of a DWARF 5 table. */
struct format {
	struct {
		uint64_t type;
		struct form form;
	} columns[FORMATS_MAX];
	unsigned n;
};

static bool read_format(struct cursor *c, const struct header *h, struct format *f)
{
	f->n = read_u8(c);
	if (f->n > FORMATS_MAX)
		return false;
	for (unsigned i = 0; i < f->n; i++) {
		uint64_t type = read_uleb(c), form = read_uleb(c);

		if (form > UINT16_MAX || form == DW_FORM_IMPLICIT_CONST)
			return false;
		f->columns[i].type = type;
		f->columns[i].form = (struct form){
			.form = (uint16_t)form,
			.size = form_size(form, h->address_size, h->is64, h->version),
		};
	}
	return !c->bad;
}

/* Text in the table itself is relative to .debug_line. */
static struct str text_of(const struct dwarf_unit *u, const struct value *v)
{
	struct cursor c;

	if (v->form != DW_FORM_STRING)
		return value_text(u, v);
	c = cursor_at(u->dwarf->s.line, v->u);
	return c.bad ? STR("") : read_text(&c);
}

static bool read_column(struct cursor *c, const struct form *f, const struct dwarf_unit *as,
			struct value *v)
{
	uint64_t at = (uint64_t)(c->p - as->dwarf->s.line.p);

	if (!form_read(c, f, as, v))
		return false;
	if (v->form == DW_FORM_STRING)
		v->u = at;
	return true;
}

static bool read_row(struct cursor *c, const struct format *f, const struct dwarf_unit *as,
		     struct line_file *row)
{
	const uint8_t *start = c->p;

	*row = (struct line_file){ .name = STR("") };
	for (unsigned i = 0; i < f->n; i++) {
		struct value v;

		if (!read_column(c, &f->columns[i].form, as, &v))
			return false;
		if (f->columns[i].type == DW_LNCT_PATH)
			row->name = text_of(as, &v);
		if (f->columns[i].type == DW_LNCT_DIRECTORY_INDEX)
			row->folder = v.u;
	}
	return c->p > start; /* rows of no size could be without end */
}

/* One DWARF 5 table, of folders or of files. */
static bool read_new_table(struct cursor *c, const struct header *h, const struct dwarf_unit *as,
			   struct line_table *t, bool files)
{
	struct line_file row;
	struct format f;
	uint64_t n;

	if (!read_format(c, h, &f))
		return false;
	n = read_uleb(c);
	for (uint64_t i = 0; i < n && f.n > 0; i++) {
		if (!read_row(c, &f, as, &row))
			return false;
		if (files)
			add_file(t, row.name, row.folder);
		else
			vec_push(t->folders, t->nfolders, t->cap_folders, row.name);
	}
	return true;
}

static bool read_new_tables(struct cursor *c, const struct header *h, struct line_table *t)
{
	struct dwarf_unit as = *t->unit;

	as.is64 = h->is64;
	as.address_size = h->address_size;
	as.version = h->version;
	return read_new_table(c, h, &as, t, false) && read_new_table(c, h, &as, t, true);
}

/* Go's rules for joining: nothing before a path from the root. */
static struct str join(struct str folder, struct str name, struct arena *a)
{
	if (folder.n == 0 || (name.n && name.p[0] == '/'))
		return name;
	if (name.n == 0 || folder.n > PATH_MAX || name.n > PATH_MAX)
		return folder;
	return xarena_printf(a, "%.*s/%.*s", STR_ARG(folder), STR_ARG(name));
}

struct str line_file_path(struct line_table *t, uint64_t i, struct arena *a)
{
	struct line_file *f;
	struct str folder = STR("");

	if (!t->from_zero)
		i--;
	if (i >= t->nfiles)
		return STR("");
	f = &t->files[i];
	if (f->has_path)
		return f->path;
	if (f->folder < t->nfolders)
		folder = join(t->unit->comp_dir, t->folders[f->folder], a);
	f->has_path = true;
	f->path = STR("");
	if (f->name.n && f->name.n <= PATH_MAX)
		f->path = xarena_str(a, go_path_clean(a, join(folder, f->name, a)));
	return f->path;
}

void line_table_release(struct line_table *t)
{
	free(t->files);
	free(t->folders);
}

/* ------------------------------------------------------------------ the header */

static void plan_steps(struct header *h)
{
	for (int op = h->opcode_base; op < 256; op++) {
		int by = op - h->opcode_base;

		h->address_steps[op] = (uint16_t)(by / h->line_range * h->min_length);
		h->line_steps[op] = (int16_t)(h->line_base + by % h->line_range);
	}
}

static bool read_header(struct cursor *c, struct header *h, struct line_table *t,
			struct cursor *program)
{
	uint64_t length;

	h->version = read_u16(c);
	if (h->version < 2 || h->version > 5)
		return false;
	h->address_size = t->unit->address_size;
	if (h->version == 5) {
		h->address_size = read_u8(c);
		read_u8(c); /* segment selectors: none */
	}
	length = read_sized(c, h->is64 ? 8 : 4);
	*program = *c;
	if (!cursor_skip(program, length))
		return false;
	c->end = program->p;
	h->min_length = read_u8(c);
	if (h->version >= 4)
		read_u8(c); /* operations per instruction: one, but on VLIW machines */
	read_u8(c);         /* is_stmt at first */
	h->line_base = (int8_t)read_u8(c);
	h->line_range = read_u8(c);
	h->opcode_base = read_u8(c);
	for (int i = 1; i < h->opcode_base; i++)
		h->lengths[i] = read_u8(c);
	if (c->bad || h->line_range == 0 || h->opcode_base == 0)
		return false;
	plan_steps(h);
	t->from_zero = h->version == 5;
	if (h->version == 5)
		return read_new_tables(c, h, t);
	read_old_tables(c, t);
	return true;
}

/* ------------------------------------------------------------------ the program */

/* What a line program computes. */
struct row {
	uint64_t address, file, line, column;
};

struct machine {
	const uint64_t *addresses;
	size_t n, next;        /* next: the first address not before the last row */
	uint64_t next_address; /* the last row matters once another one is behind this */
	struct line_place *places;
	bool ignored; /* this sequence */
	uint64_t code_start;
	struct row last; /* address: UINT64_MAX before the first row of a sequence */
};

static const struct row first_row = { .file = 1, .line = 1 };

static void end_sequence(struct machine *m)
{
	m->ignored = false;
	m->last.address = UINT64_MAX;
	m->next_address = UINT64_MAX;
}

static void expect(struct machine *m, size_t next)
{
	m->next = next;
	m->next_address = next < m->n && !m->ignored ? m->addresses[next] : UINT64_MAX;
}

/* A row that starts a sequence, or is before the last one. */
static void start_again(struct machine *m, uint64_t address)
{
	if (m->last.address == UINT64_MAX)
		m->ignored = address < m->code_start;
	expect(m, first_from(m->addresses, m->n, address));
}

/* The addresses between the last row and the new one are of the last one. */
static void settle(struct machine *m, const struct row *last, uint64_t address)
{
	struct line_place place = {
		.file = last->file,
		.line = last->line > INT32_MAX ? 0 : (uint32_t)last->line,
		.column = last->column > INT32_MAX ? 0 : (uint32_t)last->column,
		.known = true,
	};
	size_t next = m->next;

	for (; next < m->n && m->addresses[next] < address; next++)
		if (!m->places[next].known)
			m->places[next] = place;
	expect(m, next);
}

static inline void emit(struct machine *m, const struct row *now)
{
	if (now->address < m->last.address)
		start_again(m, now->address);
	else if (now->address > m->next_address)
		settle(m, &m->last, now->address);
	m->last = *now;
}

static void extended(struct cursor *c, const struct header *h, struct machine *m, struct row *now,
		     struct line_table *t)
{
	uint64_t length = read_uleb(c);
	struct cursor in = *c;

	if (!cursor_skip(c, length) || length == 0)
		return;
	in.end = c->p;
	switch (read_u8(&in)) {
	case DW_LNE_END_SEQUENCE:
		if (m->last.address != UINT64_MAX)
			emit(m, now);
		end_sequence(m);
		*now = first_row;
		break;
	case DW_LNE_SET_ADDRESS:
		now->address = read_sized(&in, (unsigned)(length - 1));
		break;
	case DW_LNE_DEFINE_FILE:
		if (h->version < 5)
			read_old_file(&in, t, read_text(&in));
		break;
	default:
		break;
	}
}

static inline void standard(struct cursor *c, const struct header *h, struct machine *m,
			    struct row *now, uint8_t op)
{
	switch (op) {
	case DW_LNS_COPY:
		emit(m, now);
		break;
	case DW_LNS_ADVANCE_PC:
		now->address += read_uleb(c) * h->min_length;
		break;
	case DW_LNS_ADVANCE_LINE:
		now->line += (uint64_t)read_sleb(c);
		break;
	case DW_LNS_SET_FILE:
		now->file = read_uleb(c);
		break;
	case DW_LNS_SET_COLUMN:
		now->column = read_uleb(c);
		break;
	case DW_LNS_CONST_ADD_PC:
		now->address += h->address_steps[255];
		break;
	case DW_LNS_FIXED_ADVANCE_PC:
		now->address += read_u16(c);
		break;
	case DW_LNS_NEGATE_STMT:
	case DW_LNS_SET_BASIC_BLOCK:
	case DW_LNS_PROLOGUE_END:
	case DW_LNS_EPILOGUE_BEGIN:
		break;
	case DW_LNS_SET_ISA:
		read_uleb(c);
		break;
	default:
		for (int i = 0; i < h->lengths[op]; i++)
			read_uleb(c);
	}
}

/* Cursor and row are copies that nobody else points to: then they can be in registers. */
static void run(struct cursor c, const struct header *h, struct machine *m, struct line_table *t)
{
	struct row now = first_row;

	end_sequence(m);
	while (!c.bad && cursor_left(&c) > 0) {
		uint8_t op = *c.p++;

		if (op >= h->opcode_base) {
			now.address += h->address_steps[op];
			now.line += (uint64_t)(int64_t)h->line_steps[op];
			emit(m, &now);
		} else if (op == 0) {
			struct cursor in = c;
			struct row row = now;

			extended(&in, h, m, &row, t);
			c = in;
			now = row;
		} else {
			standard(&c, h, m, &now, op);
		}
	}
}

void dwarf_read_lines(struct dwarf_reader *r, const struct dwarf_unit *u, const uint64_t *addresses,
		      size_t n, struct line_table *t, struct line_place *places)
{
	struct header h = { 0 };
	struct machine m = {
		.addresses = addresses, .n = n, .places = places, .code_start = r->code_start
	};
	struct cursor c = cursor_at(u->dwarf->s.line, u->lines), program;
	uint64_t length = read_length(&c, &h.is64);
	struct cursor end = c;

	t->unit = u;
	t->nfiles = 0;
	t->nfolders = 0;
	if (c.bad || !cursor_skip(&end, length) || !dwarf_pay(r, length))
		return;
	c.end = end.p;
	if (read_header(&c, &h, t, &program))
		run(program, &h, &m, t);
}
