/*
 * debug-file.c - all that is known of a binary's functions and lines, wherever it lies
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/debug-file.h"

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "elf/elf-file.h"
#include "elf/elf-lines.h"
#include "elf/mini-debug.h"

#include <elf.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUILD_ID_LEAST = 2 }; /* bytes: one for the folder, one for the file */

/* ------------------------------------------------------------------ sections */

void dwarf_find_sections(struct image *im, const char *suffix, struct dwarf_sections *s)
{
	static const char *const names[] = {
		".debug_info", ".debug_abbrev",   ".debug_line",
		".debug_str",  ".debug_ranges",   ".debug_line_str",
		".debug_addr", ".debug_rnglists", ".debug_str_offsets",
	};
	struct bytes *const to[] = {
		&s->info,     &s->abbrev, &s->line,     &s->str,         &s->ranges,
		&s->line_str, &s->addr,   &s->rnglists, &s->str_offsets,
	};
	enum { COUNT = sizeof(names) / sizeof(*names) };
	struct section_want wants[COUNT];
	char full[COUNT][32];

	for (size_t i = 0; i < COUNT; i++) {
		snprintf(full[i], sizeof(full[i]), "%s%s", names[i], suffix);
		wants[i] = (struct section_want){ full[i], to[i] };
	}
	*s = (struct dwarf_sections){ 0 };
	image_find(im, wants, COUNT);
}

/* ------------------------------------------------------------------ one file */

/* False if it cannot be mapped.  With 'owned' the part closes 'f', now or later. */
static bool part_open(struct debug_part *p, struct elf_file *f, bool owned)
{
	*p = (struct debug_part){ .f = f, .owned = owned };
	if (!image_open(&p->image, f)) {
		if (owned)
			elf_close(f);
		*p = (struct debug_part){ 0 };
		return false;
	}
	dwarf_find_sections(&p->image, "", &p->dwarf.s);
	return true;
}

static void part_release(struct debug_part *p)
{
	free(p->dwarf.units);
	if (p->f)
		image_release(&p->image);
	if (p->owned)
		elf_close(p->f);
	*p = (struct debug_part){ 0 };
}

static bool part_has_dwarf(const struct debug_part *p)
{
	return p->dwarf.s.info.n && p->dwarf.s.abbrev.n;
}

/* ------------------------------------------------------------------ looking for it */

/* Opens the file at 'path' if it has this build id. */
static bool open_by_id(struct debug_part *p, const char *path, const char *build_id)
{
	struct elf_file *f = NULL;

	if (elf_open(path, &f, NULL) < 0)
		return false;
	if (strcmp(f->build_id, build_id) != 0) {
		elf_close(f);
		return false;
	}
	return part_open(p, f, true);
}

/* <folder>/.build-id/ab/cdef.debug for each of the folders. */
static bool find_by_id(struct debug_part *p, const char *folders, const char *build_id)
{
	if (!folders || strlen(build_id) < 2 * BUILD_ID_LEAST)
		return false;
	for (struct str folder, rest = str_of(folders); str_split(&rest, ':', &folder);) {
		AUTO(freep)
		char *path = mem_printf("%.*s/.build-id/%.2s/%s.debug", STR_ARG(folder), build_id,
					build_id + 2);

		if (folder.n && open_by_id(p, path, build_id))
			return true;
	}
	return false;
}

/* What .gnu_debuglink says: a name without folders, and the checksum of that file. */
struct link {
	struct str name;
	uint32_t sum;
};

static bool read_link(struct image *im, struct link *l)
{
	struct bytes b = image_section(im, ".gnu_debuglink");
	struct cursor c = cursor_over(b);

	if (b.n == 0)
		return false;
	l->name = read_text(&c);
	cursor_skip(&c, (4 - (l->name.n + 1) % 4) % 4);
	l->sum = read_u32(&c);
	return !c.bad && l->name.n && str_rfind_char(l->name, '/') < 0;
}

/* A file with our build id is ours; of one without, the checksum is taken. */
static bool open_by_link(struct debug_part *p, const char *path, const struct elf_file *f,
			 const struct link *l)
{
	struct elf_file *found = NULL;

	if (elf_open(path, &found, NULL) < 0)
		return false;
	if (f->build_id[0] && found->build_id[0]) {
		if (strcmp(f->build_id, found->build_id) == 0)
			return part_open(p, found, true);
		elf_close(found);
		return false;
	}
	if (!part_open(p, found, true))
		return false;
	if (libdeflate_crc32(0, p->image.p, p->image.n) == l->sum)
		return true;
	part_release(p);
	return false;
}

static struct str folder_of(const char *path)
{
	struct str s = str_of(path);
	ptrdiff_t slash = str_rfind_char(s, '/');

	return slash < 0 ? STR(".") : slash == 0 ? STR("/.") : (struct str){ s.p, (size_t)slash };
}

static bool try_link(struct debug_part *p, const char *path, const struct elf_file *f,
		     const struct link *l)
{
	return strcmp(path, f->path) != 0 && open_by_link(p, path, f, l);
}

/* Beside the binary, in .debug beside it, and at the same place below each debug folder. */
static bool find_by_link(struct debug_part *p, struct image *im, const struct elf_file *f,
			 const char *folders)
{
	AUTO(freep) char *real = realpath(f->path, NULL);
	struct str folder = folder_of(real ? real : f->path);
	struct link l;
	bool found;
	char *path;

	if (!read_link(im, &l))
		return false;
	path = mem_printf("%.*s/%.*s", STR_ARG(folder), STR_ARG(l.name));
	found = try_link(p, path, f, &l);
	free(path);
	path = mem_printf("%.*s/.debug/%.*s", STR_ARG(folder), STR_ARG(l.name));
	found = found || try_link(p, path, f, &l);
	free(path);
	for (struct str part, rest = str_of(folders); !found && str_split(&rest, ':', &part);) {
		if (part.n == 0 || folder.p[0] != '/')
			continue;
		path = mem_printf("%.*s%.*s/%.*s", STR_ARG(part), STR_ARG(folder), STR_ARG(l.name));
		found = try_link(p, path, f, &l);
		free(path);
	}
	return found;
}

static bool fetch(struct debug_part *p, const struct elf_search *search, const char *build_id)
{
	AUTO(freep) char *path = NULL;

	if (!search->fetch || !build_id[0])
		return false;
	path = search->fetch(build_id, search->ctx);
	return path && open_by_id(p, path, build_id);
}

static void find_split(struct debug_file *d, const struct elf_search *search)
{
	const struct elf_file *f = d->main.f;

	if (!search || find_by_id(&d->split, search->debug_folders, f->build_id) ||
	    find_by_link(&d->split, &d->main.image, f, search->debug_folders))
		return;
	fetch(&d->split, search, f->build_id);
}

/* ------------------------------------------------------------------ the supplementary file */

static const char *hex(struct bytes b, char *text, size_t room)
{
	size_t n = b.n < room / 2 ? b.n : (room - 1) / 2;

	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		snprintf(text + 2 * i, 3, "%02x", b.p[i]);
	return text;
}

/* What tells which supplementary file it is: its build id or, in DWARF 5, a checksum. */
struct alt_link {
	struct str path;
	struct bytes id;
};

/* .debug_sup is in both files; 'is_alt' says which of them it has to be. */
static bool read_sup(struct image *im, bool is_alt, struct alt_link *l)
{
	struct bytes b = image_section(im, ".debug_sup");
	struct cursor c = cursor_over(b);
	uint64_t n;

	if (b.n == 0 || read_u16(&c) != 5 || read_u8(&c) != is_alt)
		return false;
	l->path = read_text(&c);
	n = read_uleb(&c);
	l->id = (struct bytes){ c.p, n };
	return n >= BUILD_ID_LEAST && cursor_skip(&c, n);
}

static bool read_alt_link(struct image *im, struct alt_link *l)
{
	struct bytes b = image_section(im, ".gnu_debugaltlink");
	struct cursor c = cursor_over(b);

	if (b.n == 0)
		return read_sup(im, false, l);
	l->path = read_text(&c);
	l->id = (struct bytes){ c.p, cursor_left(&c) };
	return !c.bad && l->id.n >= BUILD_ID_LEAST;
}

static bool open_by_sup(struct debug_part *p, const char *path, const struct alt_link *l)
{
	struct elf_file *f = NULL;
	struct alt_link own;

	if (elf_open(path, &f, NULL) < 0 || !part_open(p, f, true))
		return false;
	if (read_sup(&p->image, true, &own) && own.id.n == l->id.n &&
	    memcmp(own.id.p, l->id.p, l->id.n) == 0)
		return true;
	part_release(p);
	return false;
}

static void find_alt(struct debug_file *d, struct debug_part *of, const struct elf_search *search)
{
	AUTO(freep) char *full = NULL;
	char id[2 * 64 + 1];
	struct alt_link l;

	if (!read_alt_link(&of->image, &l) || l.path.n == 0)
		return;
	hex(l.id, id, sizeof(id));
	full = l.path.p[0] == '/'
		       ? mem_str(l.path)
		       : mem_printf("%.*s/%.*s", STR_ARG(folder_of(of->f->path)), STR_ARG(l.path));
	if (open_by_id(&d->alt, full, id) || open_by_sup(&d->alt, full, &l) ||
	    (search && find_by_id(&d->alt, search->debug_folders, id)) ||
	    (search && fetch(&d->alt, search, id)))
		of->dwarf.alt = &d->alt.dwarf;
}

/* ------------------------------------------------------------------ together */

/* Where the first part that has code goes; false if there is none. */
static bool code_address(const struct elf_file *f, uint64_t *address)
{
	for (size_t i = 0; i < f->nsegments; i++)
		if (f->segments[i].executable) {
			*address = f->segments[i].address;
			return true;
		}
	return false;
}

/* A prelinked library has moved since its debug information was taken out of it. */
static void measure_shift(struct debug_file *d)
{
	uint64_t here = 0, there = 0;

	if (code_address(d->main.f, &here)) {
		if (!d->split.f || !code_address(d->split.f, &there))
			there = here;
		d->shift = there - here;
	}
	d->code_start = there ? there : 1;
}

void debug_open(struct debug_file *d, struct elf_file *f, const struct elf_search *search)
{
	struct debug_part *part = &d->main;

	*d = (struct debug_file){ 0 };
	d->dwarf = &d->main.dwarf;
	d->dwarf_path = f->path;
	d->main.f = f;
	if (f->type == ET_REL || !part_open(&d->main, f, false))
		return;
	if (!part_has_dwarf(&d->main)) {
		find_split(d, search);
		part = d->split.f ? &d->split : part;
	}
	measure_shift(d);
	d->dwarf = &part->dwarf;
	d->dwarf_path = part->f->path;
	find_alt(d, part, search);
}

void debug_release(struct debug_file *d)
{
	part_release(&d->main);
	part_release(&d->split);
	part_release(&d->alt);
	elf_close(d->mini);
	free(d->mini_bytes);
}

int debug_check(const struct debug_file *d, struct err *err)
{
	const struct elf_file *files[] = { d->main.f, d->split.f, d->alt.f };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(files) / sizeof(files[0]); i++)
		if (files[i])
			rc = elf_check(files[i], err);
	return rc;
}

/* ------------------------------------------------------------------ names of functions */

void debug_read_symbols(struct debug_file *d)
{
	elf_read_symbols(d->main.f, NULL);
	if (d->split.f)
		elf_read_symbols(d->split.f, NULL);
	else if (d->main.image.p)
		d->mini = mini_debug_open(&d->main.image, &d->mini_bytes);
	if (d->mini)
		elf_read_symbols(d->mini, NULL);
}

/* The debug file's table is the full one; that of the binary may be for the loader only. */
struct str debug_find_symbol(const struct debug_file *d, uint64_t address, struct debug_symbols *at)
{
	const struct elf_symbol *s = NULL;

	if (d->split.f)
		s = elf_next_symbol(d->split.f, address + d->shift, &at->split);
	if (!s && d->mini)
		s = elf_next_symbol(d->mini, address, &at->mini);
	if (!s)
		s = elf_next_symbol(d->main.f, address, &at->main);
	return s ? s->name : STR("");
}
