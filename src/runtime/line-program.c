/*
 * line-program.c - files and lines of addresses, from .debug_line
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/line-program.h"

#include "runtime/buf.h"
#include "runtime/eh-cursor.h"
#include "runtime/os.h"

enum {
	LNS_COPY = 1,
	LNS_ADVANCE_PC,
	LNS_ADVANCE_LINE,
	LNS_SET_FILE,
	LNS_CONST_ADD_PC = 8,
	LNS_FIXED_ADVANCE_PC = 9,
	LNE_END_SEQUENCE = 1,
	LNE_SET_ADDRESS = 2,
	LNCT_PATH = 1,
	LNCT_FOLDER = 2,
	FORM_STRING = 0x08,
	FORM_DATA1 = 0x0b,
	FORM_DATA2 = 0x05,
	FORM_DATA4 = 0x06,
	FORM_DATA8 = 0x07,
	FORM_DATA16 = 0x1e,
	FORM_UDATA = 0x0f,
	FORM_BLOCK = 0x09,
	FORM_STRP = 0x0e,
	FORM_LINE_STRP = 0x1f,
	COLUMNS = 8, /* of a table of files */
	PATH_BYTES = 1024,
	ROWS_MAX = 1 << 20,    /* of one sequence */
	WORK_LEAST = 16 << 20, /* bytes of tables of files read again and again */
	WORK_PER_BYTE = 16,
};

struct row {
	uint64_t address;
	uint32_t line, file;
};

struct column {
	uint64_t what, form;
};

/* A list of folders or of files in the header: where it starts, and how it is read. */
struct list {
	struct eh_cursor at;
	struct column columns[COLUMNS];
	unsigned ncolumns;
	uint64_t n;
};

struct unit {
	uint16_t version;
	bool is64;
	uint8_t min_length, line_range, opcode_base;
	int8_t line_base;
	uint8_t operands[256]; /* of standard opcodes */
	struct list folders, files;
	struct eh_cursor program;
	uint32_t last_file, last_kept; /* what was kept last, and what of it was made */
};

struct scan {
	const struct sonde__line_sections *s;
	struct sonde__spot *spots;
	size_t n;
	uint32_t (*keep)(const char *path);
	struct sonde__buf rows;
	uint64_t work; /* left */
	struct unit u;
};

struct entry {
	const char *name;
	uint64_t folder;
};

static const char *read_string(struct eh_cursor *c)
{
	const uint8_t *p = c->p;
	const uint8_t *end = eh_more(c) ? memchr(p, '\0', (size_t)(c->end - p)) : NULL;

	if (!end) {
		c->bad = true;
		return "";
	}
	c->p = end + 1;
	return (const char *)p;
}

static const char *string_at(const struct scan *s, uint64_t offset)
{
	if (!s->s->strings || offset >= s->s->nstrings)
		return "";
	return (const char *)s->s->strings + offset;
}

/* One value of an entry, a number or a text. */
static uint64_t read_form(const struct scan *s, struct eh_cursor *c, uint64_t form,
			  const char **text)
{
	size_t offset = s->u.is64 ? 8 : 4;

	switch (form) {
	case FORM_STRING:
		*text = read_string(c);
		return 0;
	case FORM_LINE_STRP:
		*text = string_at(s, eh_unsigned(c, offset));
		return 0;
	case FORM_STRP:
		return eh_unsigned(c, offset);
	case FORM_DATA1:
		return eh_unsigned(c, 1);
	case FORM_DATA2:
		return eh_unsigned(c, 2);
	case FORM_DATA4:
		return eh_unsigned(c, 4);
	case FORM_DATA8:
		return eh_unsigned(c, 8);
	case FORM_DATA16:
		eh_bytes(c, 16);
		return 0;
	case FORM_UDATA:
		return eh_uleb(c);
	case FORM_BLOCK:
		eh_bytes(c, eh_uleb(c));
		return 0;
	default:
		c->bad = true;
		return 0;
	}
}

static struct entry read_entry(const struct scan *s, struct eh_cursor *c, const struct list *l)
{
	struct entry e = { .name = "" };

	for (unsigned i = 0; i < l->ncolumns; i++) {
		const char *text = "";
		uint64_t v = read_form(s, c, l->columns[i].form, &text);

		if (l->columns[i].what == LNCT_PATH)
			e.name = text;
		else if (l->columns[i].what == LNCT_FOLDER)
			e.folder = v;
	}
	return e;
}

/* Entry 'number' of a list, from 0 on; its name is "" if there is none. */
static struct entry find_entry(struct scan *s, const struct list *l, uint64_t number)
{
	struct eh_cursor c = l->at;
	struct entry e = { .name = "" }, none = e;

	if (number >= l->n)
		return none;
	for (uint64_t i = 0; i <= number && !c.bad && s->work; i++) {
		const uint8_t *before = c.p;

		e = read_entry(s, &c, l);
		s->work -= s->work > (size_t)(c.p - before) ? (size_t)(c.p - before) : s->work;
		if (c.p == before)
			c.bad = true;
	}
	return c.bad || !s->work ? none : e;
}

/* Since version 5 lists say what they are made of. */
static void read_new_list(const struct scan *s, struct eh_cursor *c, struct list *l)
{
	l->ncolumns = eh_u8(c);
	if (l->ncolumns > COLUMNS) {
		c->bad = true;
		return;
	}
	for (unsigned i = 0; i < l->ncolumns; i++) {
		l->columns[i].what = eh_uleb(c);
		l->columns[i].form = eh_uleb(c);
	}
	l->n = eh_uleb(c);
	l->at = *c;
	for (uint64_t i = 0; i < l->n && !c->bad; i++) {
		const uint8_t *before = c->p;

		read_entry(s, c, l);
		if (c->p == before)
			c->bad = true;
	}
}

/* Before that they end with an empty name. */
static void read_old_list(const struct scan *s, struct eh_cursor *c, struct list *l, bool files)
{
	l->columns[0] = (struct column){ LNCT_PATH, FORM_STRING };
	l->columns[1] = (struct column){ LNCT_FOLDER, FORM_UDATA };
	l->columns[2] = (struct column){ 0, FORM_UDATA }; /* when it was changed */
	l->columns[3] = (struct column){ 0, FORM_UDATA }; /* its size */
	l->ncolumns = files ? 4 : 1;
	l->at = *c;
	while (eh_more(c) && *c->p != '\0') {
		read_entry(s, c, l);
		l->n++;
	}
	eh_u8(c);
}

static void read_opcodes(struct unit *u, struct eh_cursor *c)
{
	u->line_base = (int8_t)eh_u8(c);
	u->line_range = eh_u8(c);
	u->opcode_base = eh_u8(c);
	for (unsigned i = 1; i < u->opcode_base; i++)
		u->operands[i] = eh_u8(c);
}

/* Reads the header of the unit at 'c', and moves to the next one. */
static bool read_unit(struct scan *s, struct eh_cursor *c)
{
	struct unit *u = &s->u;
	uint64_t length = eh_unsigned(c, 4), header;
	struct eh_cursor body;

	memset(u, 0, sizeof(*u));
	if (length == 0xffffffff) {
		u->is64 = true;
		length = eh_unsigned(c, 8);
	}
	body = *c;
	if (!eh_bytes(c, length))
		return false;
	body.end = body.p + length;
	u->version = (uint16_t)eh_unsigned(&body, 2);
	if (u->version < 2 || u->version > 5)
		return false;
	if (u->version >= 5)
		eh_unsigned(&body, 2); /* sizes of addresses and of segments */
	header = eh_unsigned(&body, u->is64 ? 8 : 4);
	u->program = body;
	eh_bytes(&u->program, header);
	u->min_length = eh_u8(&body);
	if (u->version >= 4)
		eh_u8(&body); /* instructions in a bundle */
	eh_u8(&body);         /* whether rows are statements at first */
	read_opcodes(u, &body);
	if (u->version >= 5) {
		read_new_list(s, &body, &u->folders);
		read_new_list(s, &body, &u->files);
	} else {
		read_old_list(s, &body, &u->folders, false);
		read_old_list(s, &body, &u->files, true);
	}
	return !body.bad && !u->program.bad && u->line_range > 0 && u->opcode_base > 0;
}

static const char *folder_name(struct scan *s, uint64_t number)
{
	if (s->u.version < 5) { /* number 0 is in another section */
		if (number == 0)
			return "";
		number--;
	}
	return find_entry(s, &s->u.folders, number).name;
}

/* The path of a file, as it was recorded. */
static uint32_t keep_file(struct scan *s, uint32_t number)
{
	char path[PATH_BYTES];
	struct entry e;
	const char *folder, *top = "";

	if (s->u.last_kept && s->u.last_file == number)
		return s->u.last_kept;
	e = find_entry(s, &s->u.files, s->u.version < 5 ? (uint64_t)number - 1 : number);
	if (!e.name[0])
		return 0;
	folder = e.name[0] == '/' ? "" : folder_name(s, e.folder);
	if (folder[0] && folder[0] != '/' && s->u.version >= 5)
		top = folder_name(s, 0);
	if (sonde__format(path, sizeof(path), "%s%s%s%s%s", top, top[0] ? "/" : "", folder,
			  folder[0] ? "/" : "", e.name) >= sizeof(path))
		return 0;
	s->u.last_file = number;
	s->u.last_kept = s->keep(path);
	return s->u.last_kept;
}

/* The last row at or before an address. */
static size_t row_at(const struct row *rows, size_t n, uint64_t address)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (rows[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : 0;
}

/* The row that a function starts with. */
static size_t first_row(const struct row *rows, size_t n, uint64_t start)
{
	size_t i = row_at(rows, n, start);

	while (i > 0 && rows[i - 1].address == start)
		i--;
	return i;
}

static void answer(struct scan *s, const struct row *rows, size_t n, struct sonde__spot *spot)
{
	size_t i = row_at(rows, n, spot->pc), first = i;

	if (spot->start >= rows[0].address && spot->start <= spot->pc)
		first = first_row(rows, n, spot->start);
	while (i > first && (rows[i].file != rows[first].file || rows[i].line < rows[first].line))
		i--;
	spot->file = keep_file(s, rows[first].file);
	spot->line = rows[i].line;
	spot->start_line = rows[first].line;
}

static void end_sequence(struct scan *s, uint64_t end)
{
	const struct row *rows = (const struct row *)(void *)s->rows.p;
	size_t n = s->rows.n / sizeof(*rows), low = 0, high = s->n;

	/* What the linker has left out is at 0. */
	while (n && rows[0].address && !s->rows.full && low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->spots[mid].pc < rows[0].address)
			low = mid + 1;
		else
			high = mid;
	}
	for (; n && rows[0].address && !s->rows.full && low < s->n && s->spots[low].pc < end; low++)
		if (!s->spots[low].file)
			answer(s, rows, n, &s->spots[low]);
	s->rows.n = 0;
	s->rows.full = false;
}

static void add_row(struct scan *s, const struct row *r)
{
	const struct row *rows = (const struct row *)(void *)s->rows.p;
	size_t n = s->rows.n / sizeof(*rows);

	/* They ascend, or make no sense. */
	if (n && r->address < rows[n - 1].address)
		return;
	if (n && r->line == rows[n - 1].line && r->file == rows[n - 1].file)
		return;
	sonde__buf_add(&s->rows, r, sizeof(*r));
}

static void run_extended(struct scan *s, struct row *r)
{
	struct eh_cursor *c = &s->u.program;
	uint64_t n = eh_uleb(c);
	struct eh_cursor body = *c;

	if (n == 0 || !eh_bytes(c, n))
		return;
	body.end = body.p + n;
	switch (eh_u8(&body)) {
	case LNE_END_SEQUENCE:
		end_sequence(s, r->address);
		*r = (struct row){ .line = 1, .file = 1 };
		break;
	case LNE_SET_ADDRESS:
		r->address = n - 1 <= 8 ? eh_unsigned(&body, (size_t)n - 1) : 0;
		break;
	default:
		break;
	}
}

static void run_standard(struct scan *s, struct row *r, uint8_t opcode)
{
	struct unit *u = &s->u;
	struct eh_cursor *c = &u->program;

	switch (opcode) {
	case LNS_COPY:
		add_row(s, r);
		break;
	case LNS_ADVANCE_PC:
		r->address += eh_uleb(c) * u->min_length;
		break;
	case LNS_ADVANCE_LINE:
		r->line += (uint32_t)eh_sleb(c);
		break;
	case LNS_SET_FILE:
		r->file = (uint32_t)eh_uleb(c);
		break;
	case LNS_CONST_ADD_PC:
		r->address += (uint64_t)((255 - u->opcode_base) / u->line_range) * u->min_length;
		break;
	case LNS_FIXED_ADVANCE_PC:
		r->address += eh_unsigned(c, 2);
		break;
	default:
		for (unsigned i = 0; i < u->operands[opcode] && !c->bad; i++)
			eh_uleb(c);
		break;
	}
}

static void run_special(struct scan *s, struct row *r, uint8_t opcode)
{
	const struct unit *u = &s->u;
	unsigned n = (unsigned)(opcode - u->opcode_base);

	r->address += (uint64_t)(n / u->line_range) * u->min_length;
	r->line += (uint32_t)(u->line_base + (int)(n % u->line_range));
	add_row(s, r);
}

static void run_program(struct scan *s)
{
	struct row r = { .line = 1, .file = 1 };

	s->rows.n = 0;
	while (eh_more(&s->u.program)) {
		uint8_t opcode = eh_u8(&s->u.program);

		if (opcode >= s->u.opcode_base)
			run_special(s, &r, opcode);
		else if (opcode == 0)
			run_extended(s, &r);
		else
			run_standard(s, &r, opcode);
	}
}

void sonde__line_program(const struct sonde__line_sections *sections, struct sonde__spot *spots,
			 size_t n, uint32_t (*keep)(const char *path))
{
	struct scan s = {
		.s = sections,
		.spots = spots,
		.n = n,
		.keep = keep,
		.rows.max = ROWS_MAX * sizeof(struct row),
		.work = WORK_LEAST + (uint64_t)sections->nline * WORK_PER_BYTE,
	};
	struct eh_cursor c = { sections->line, sections->line + sections->nline, false };

	while (eh_more(&c) && n)
		if (read_unit(&s, &c))
			run_program(&s);
	sonde__buf_release(&s.rows);
}
