/*
 * dwarf-split.c - units whose entries are in a .dwo file of their own (-gsplit-dwarf)
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

void split_open(struct split_unit *s, struct dwarf_unit *skeleton, const char *program,
		struct dwarf_reader *r)
{
	AUTO(freep) char *built = NULL, *beside = NULL;
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
	if (!try_file(s, built, skeleton, r))
		try_file(s, beside, skeleton, r);
	if (s->unit == NULL)
		s->unit = skeleton;
}

void split_close(struct split_unit *s)
{
	free(s->dwarf.units);
	if (s->file && s->image.f)
		image_release(&s->image);
	elf_close(s->file);
	*s = (struct split_unit){ 0 };
}
