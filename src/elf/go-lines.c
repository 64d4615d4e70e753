/*
 * go-lines.c - the line table that every Go program carries (.gopclntab)
 *
 * The layout is that of Go 1.2, 1.16, 1.18 and 1.20 (src/runtime/symtab.go).  A table of functions
 * sorted by address leads to a record per function, and that to runs of differences: how much the
 * line (or the number of the file) changes, and after how many bytes of code.
 *
 * Every offset in it may be wrong; reads outside of a part give zeros, and text "".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/go-lines.h"

#include "elf/elf-file.h"

#include <elf.h>

enum { GO_1_2, GO_1_16, GO_1_18 };

/* Fields of a function's record after its entry. */
enum { FIELD_NAME = 1, FIELD_FILES = 5, FIELD_LINES = 6, FIELD_UNIT = 8 };

static uint64_t read_number(const struct go_lines *g, struct str s, uint64_t at, unsigned size)
{
	uint64_t v = 0;

	if (at > s.n || s.n - at < size)
		return 0;
	for (unsigned i = 0; i < size; i++) {
		uint8_t byte = (uint8_t)s.p[at + (g->big_endian ? i : size - 1 - i)];

		v = v << 8 | byte;
	}
	return v;
}

static struct str read_text(struct str s, uint64_t at)
{
	const char *end;

	s = at < s.n ? str_skip(s, at) : (struct str){ 0 };
	end = s.n ? memchr(s.p, '\0', s.n) : NULL;
	return end ? (struct str){ s.p, (size_t)(end - s.p) } : (struct str){ 0 };
}

/* ------------------------------------------------------------------ the header */

static bool known_magic(uint32_t magic, uint8_t *version)
{
	switch (magic) {
	case 0xfffffffb:
		*version = GO_1_2;
		return true;
	case 0xfffffffa:
		*version = GO_1_16;
		return true;
	case 0xfffffff0:
	case 0xfffffff1:
		*version = GO_1_18;
		return true;
	default:
		return false;
	}
}

static bool read_magic(struct go_lines *g)
{
	if (g->data.n < 16)
		return false;
	g->big_endian = false;
	if (!known_magic((uint32_t)read_number(g, g->data, 0, 4), &g->version)) {
		g->big_endian = true;
		if (!known_magic((uint32_t)read_number(g, g->data, 0, 4), &g->version))
			return false;
	}
	g->quantum = (uint8_t)g->data.p[6];
	g->pointer = (uint8_t)g->data.p[7];
	return (g->pointer == 4 || g->pointer == 8) && g->quantum >= 1 && g->quantum <= 4;
}

static uint64_t word(const struct go_lines *g, unsigned i)
{
	return read_number(g, g->data, 8 + (uint64_t)i * g->pointer, g->pointer);
}

static struct str part(const struct go_lines *g, unsigned i)
{
	uint64_t at = word(g, i);

	return at < g->data.n ? str_skip(g->data, at) : (struct str){ 0 };
}

/* Before Go 1.16 everything counts from the start, and the files come behind the functions. */
static void read_parts_1_2(struct go_lines *g)
{
	uint64_t files;

	g->names = g->values = g->data;
	g->functions = str_skip(g->data, 8 + g->pointer);
	files = read_number(g, g->functions, (2 * (uint64_t)g->nfunctions + 1) * g->field, 4);
	g->files = files < g->data.n ? str_skip(g->data, files) : (struct str){ 0 };
}

static void read_parts(struct go_lines *g)
{
	unsigned first = g->version == GO_1_18 ? 3 : 2;

	g->names = part(g, first);
	g->units = part(g, first + 1);
	g->files = part(g, first + 2);
	g->values = part(g, first + 3);
	g->functions = part(g, first + 4);
}

bool go_lines_parse(struct go_lines *g, struct str table)
{
	uint64_t n;

	*g = (struct go_lines){ .data = table };
	if (!read_magic(g))
		return false;
	n = word(g, 0);
	g->field = g->version == GO_1_18 ? 4 : g->pointer;
	if (n == 0 || n > g->data.n / (2 * (uint64_t)g->field))
		return false;
	g->nfunctions = (uint32_t)n;
	g->text = g->version == GO_1_18 ? word(g, 2) : 0;
	if (g->version == GO_1_2)
		read_parts_1_2(g);
	else
		read_parts(g);
	return g->functions.n >= (2 * n + 1) * g->field;
}

/*
 * Where offsets count from.  In a program that can be loaded anywhere the header holds a zero for
 * the loader to fill in; the code of such a program starts with its section, unless C code was
 * linked in before it, and then the symbol tells.
 */
static uint64_t text_start(const struct go_lines *g, const struct elf_file *f)
{
	struct elf_part text;

	if (f->type == ET_EXEC && g->text)
		return g->text;
	for (size_t i = 0; i < f->nsymbols; i++) {
		if (str_is(f->symbols[i].name, "runtime.text"))
			return f->symbols[i].start;
	}
	return elf_section(f, ".text", &text) ? text.address : 0;
}

bool go_lines_init(struct go_lines *g, const struct elf_file *f)
{
	struct elf_part table;

	if (!elf_section(f, ".gopclntab", &table) &&
	    !elf_section(f, ".data.rel.ro.gopclntab", &table))
		return false;
	if (!go_lines_parse(g, table.bytes))
		return false;
	g->text = text_start(g, f);
	return true;
}

/* ------------------------------------------------------------------ functions and values */

/* Where function 'i' starts; for the number of functions, where the last one ends. */
static uint64_t entry(const struct go_lines *g, uint32_t i)
{
	uint64_t at = read_number(g, g->functions, 2 * (uint64_t)i * g->field, g->field);

	return g->version == GO_1_18 ? at + g->text : at;
}

/* The record of function 'i'. */
static struct str record(const struct go_lines *g, uint32_t i)
{
	uint64_t at = read_number(g, g->functions, (2 * (uint64_t)i + 1) * g->field, g->field);
	struct str from = g->version == GO_1_2 ? g->data : g->functions;

	return at < from.n ? str_skip(from, at) : (struct str){ 0 };
}

static uint32_t field(const struct go_lines *g, struct str function, unsigned i)
{
	uint64_t at = g->field + (uint64_t)(i - 1) * 4;

	return (uint32_t)read_number(g, function, at, 4);
}

static bool read_varint(struct str *s, uint32_t *v)
{
	*v = 0;
	for (unsigned shift = 0; s->n; shift += 7) {
		uint8_t byte = (uint8_t)s->p[0];

		*s = str_skip(*s, 1);
		if (shift < 32)
			*v |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* The value that the table at 'at' has for 'address' in a function from 'start' on, or -1. */
static int32_t value_at(const struct go_lines *g, uint32_t at, uint64_t start, uint64_t address)
{
	struct str rest = at < g->values.n ? str_skip(g->values, at) : (struct str){ 0 };
	uint32_t value = UINT32_MAX, change, bytes;
	uint64_t pc = start;

	while (read_varint(&rest, &change)) {
		if (change == 0 && pc != start)
			break;
		value += change & 1 ? ~(change >> 1) : change >> 1;
		if (!read_varint(&rest, &bytes))
			break;
		pc += (uint64_t)bytes * g->quantum;
		if (address < pc)
			return (int32_t)value;
	}
	return -1;
}

static struct str file_name(const struct go_lines *g, struct str function, int32_t number)
{
	uint64_t at = (uint64_t)field(g, function, FIELD_UNIT) + (uint32_t)number;
	uint32_t name;

	if (g->version == GO_1_2 && number > 0)
		return read_text(g->data, read_number(g, g->files, 4 * (uint64_t)number, 4));
	if (g->version == GO_1_2 || number < 0)
		return (struct str){ 0 };
	name = (uint32_t)read_number(g, g->units, 4 * at, 4);
	return read_text(g->files, name); /* UINT32_MAX, for none, is never in it */
}

bool go_lines_find(const struct go_lines *g, uint64_t address, struct go_line *line)
{
	uint32_t low = 0, high = g->nfunctions;
	struct str function;

	if (address < entry(g, 0) || address >= entry(g, g->nfunctions))
		return false;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (entry(g, middle) <= address)
			low = middle;
		else
			high = middle;
	}
	function = record(g, low);
	*line = (struct go_line){ .start = entry(g, low), .end = entry(g, low + 1) };
	line->function = read_text(g->names, field(g, function, FIELD_NAME));
	line->file = file_name(g, function,
			       value_at(g, field(g, function, FIELD_FILES), line->start, address));
	line->line = value_at(g, field(g, function, FIELD_LINES), line->start, address);
	return true;
}
