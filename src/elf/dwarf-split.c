/*
 * dwarf-split.c - units whose entries are in a .dwo file of their own, or in a package of such
 * files
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/dwarf-split.h"

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "elf/debug-file.h"
#include "elf/elf-file.h"

#include <stdlib.h>

/* Takes the unit with the skeleton's id. */
static bool choose(struct split_unit *s, const struct dwarf_unit *skeleton)
{
	for (size_t i = 0; i < s->dwarf.nunits; i++) {
		struct dwarf_unit *u = &s->dwarf.units[i];

		if (u->dwo_id != skeleton->dwo_id || !u->has_code)
			continue;
		u->skeleton = skeleton;
		s->unit = u;
		return true;
	}
	return false;
}

static bool try_file(struct split_unit *s, const char *path, const struct dwarf_unit *skeleton,
		     struct dwarf_reader *r)
{
	if (elf_open(path, &s->file, NULL) < 0)
		return false;
	if (image_open(&s->image, s->file)) {
		dwarf_find_sections(&s->image, ".dwo", &s->dwarf.s);
		dwarf_read_units(&s->dwarf, r);
	}
	if (choose(s, skeleton))
		return true;
	split_close(s);
	return false;
}

/* ------------------------------------------------------------------ packages */

/* What a column of the index is about: its number and section are those of DWARF 5 and of GNU. */
enum {
	INDEX_INFO = 1,
	INDEX_ABBREV = 3,
	INDEX_STR_OFFSETS = 6,
	INDEX_RNGLISTS = 8, /* in DWARF 5 */
};

/* The index of a package: a hash table of units, and where the parts of each are. */
struct unit_index {
	uint32_t version, columns, units, slots;
	struct bytes hashes, rows, ids, offsets, sizes;
};

static uint32_t word_at(struct bytes b, uint64_t i)
{
	struct cursor c = cursor_at(b, i * sizeof(uint32_t));

	return c.bad ? 0 : read_u32(&c);
}

/* The next 'n' entries of 'size' bytes. */
static bool take_array(struct cursor *c, uint64_t n, size_t size, struct bytes *to)
{
	*to = (struct bytes){ c->p, n * size };
	return cursor_skip(c, n * size);
}

static bool read_index(struct bytes b, struct unit_index *x)
{
	struct cursor c = cursor_over(b);
	uint64_t cells;

	x->version = read_u32(&c);
	x->columns = read_u32(&c);
	x->units = read_u32(&c);
	x->slots = read_u32(&c);
	cells = (uint64_t)x->columns * x->units;
	return !c.bad && (x->version == 2 || x->version == 5) && x->slots &&
	       (x->slots & (x->slots - 1)) == 0 && cells <= UINT32_MAX &&
	       take_array(&c, x->slots, sizeof(uint64_t), &x->hashes) &&
	       take_array(&c, x->slots, sizeof(uint32_t), &x->rows) &&
	       take_array(&c, x->columns, sizeof(uint32_t), &x->ids) &&
	       take_array(&c, cells, sizeof(uint32_t), &x->offsets) &&
	       take_array(&c, cells, sizeof(uint32_t), &x->sizes);
}

/* The number of a unit's row, counted from 1; 0 if it is not there. */
static uint32_t find_row(const struct unit_index *x, uint64_t id, struct dwarf_reader *r)
{
	uint64_t mask = x->slots - 1, at = id & mask, step = (id >> 32 & mask) | 1;

	for (uint32_t i = 0; i < x->slots && dwarf_pay(r, 1); i++) {
		struct cursor c = cursor_at(x->hashes, at * sizeof(uint64_t));
		uint32_t row = word_at(x->rows, at);

		if (row == 0)
			return 0;
		if (read_u64(&c) == id)
			return row <= x->units ? row : 0;
		at = (at + step) & mask;
	}
	return 0;
}

static struct bytes *section_of(const struct unit_index *x, uint32_t id, struct dwarf_sections *s)
{
	switch (id) {
	case INDEX_INFO:
		return &s->info;
	case INDEX_ABBREV:
		return &s->abbrev;
	case INDEX_STR_OFFSETS:
		return &s->str_offsets;
	case INDEX_RNGLISTS:
		return x->version == 5 ? &s->rnglists : NULL;
	default:
		return NULL;
	}
}

/* Leaves of each section what is the unit's: then it is as in a file of its own. */
static bool cut(const struct unit_index *x, uint32_t row, struct dwarf_sections *s)
{
	for (uint32_t i = 0; i < x->columns; i++) {
		struct bytes *b = section_of(x, word_at(x->ids, i), s);
		uint64_t cell = (uint64_t)(row - 1) * x->columns + i;
		uint64_t offset = word_at(x->offsets, cell), size = word_at(x->sizes, cell);

		if (!b)
			continue;
		if (offset > b->n || size > b->n - offset)
			return false;
		*b = size ? (struct bytes){ b->p + offset, size } : (struct bytes){ NULL, 0 };
	}
	return true;
}

static bool try_package(struct split_unit *s, const char *path, const struct dwarf_unit *skeleton,
			struct dwarf_reader *r)
{
	struct unit_index x;
	uint32_t row = 0;

	if (elf_open(path, &s->file, NULL) < 0)
		return false;
	if (image_open(&s->image, s->file) &&
	    read_index(image_section(&s->image, ".debug_cu_index"), &x))
		row = find_row(&x, skeleton->dwo_id, r);
	if (row) {
		dwarf_find_sections(&s->image, ".dwo", &s->dwarf.s);
		if (cut(&x, row, &s->dwarf.s))
			dwarf_read_units(&s->dwarf, r);
	}
	if (choose(s, skeleton))
		return true;
	split_close(s);
	return false;
}

/* ------------------------------------------------------------------ where it may be */

void split_open(struct split_unit *s, struct dwarf_unit *skeleton, const char *program,
		struct dwarf_reader *r)
{
	AUTO(freep) char *built = NULL, *beside = NULL, *package = NULL;
	struct str name = skeleton->dwo_name, folder = str_of(program);
	ptrdiff_t slash = str_rfind_char(folder, '/');

	*s = (struct split_unit){ .unit = skeleton };
	if (name.n == 0 || skeleton->dwo_id == 0)
		return;
	folder.n = slash < 0 ? 0 : (size_t)slash + 1;
	built = name.p[0] == '/'
			? mem_str(name)
			: mem_printf("%.*s/%.*s", STR_ARG(skeleton->comp_dir), STR_ARG(name));
	beside = mem_printf("%.*s%.*s", STR_ARG(folder), STR_ARG(str_base(name)));
	package = mem_printf("%s.dwp", program);
	if (!try_file(s, built, skeleton, r) && !try_file(s, beside, skeleton, r) &&
	    !try_package(s, package, skeleton, r))
		*s = (struct split_unit){ .unit = skeleton, .missing = true };
}

bool split_is_cut(const struct split_unit *s)
{
	return s->file && elf_check(s->file, NULL) < 0;
}

void split_close(struct split_unit *s)
{
	free(s->dwarf.units);
	if (s->file && s->image.f)
		image_release(&s->image);
	elf_close(s->file);
	*s = (struct split_unit){ 0 };
}
