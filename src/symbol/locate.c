/*
 * locate.c - find the binaries a profile was taken from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/locate.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/gotext.h"
#include "base/notify.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "elf/elf-file.h"
#include "profile/profile.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* The search for one mapping's binary. */
struct search {
	struct profile *p;
	struct mapping *mapping;
	struct str file, base, build_id; /* of the mapping; 'base' is "" if 'file' is */
	struct arena *arena;             /* for names */
	struct notify *notify;
};

/* ------------------------------------------------------------------ names */

static struct str join(struct search *s, struct str a, struct str b)
{
	return go_path_join(s->arena, a, b);
}

static struct str join3(struct search *s, struct str a, struct str b, struct str c)
{
	return join(s, join(s, a, b), c);
}

static struct str with_debug(struct search *s, struct str name)
{
	return xarena_printf(s->arena, "%.*s.debug", STR_ARG(name));
}

/* ------------------------------------------------------------------ candidates */

/* Takes the binary 'name' for the mapping if there is one, and it is the right one. */
static bool try_file(struct search *s, struct str name)
{
	AUTO(elf_closep) struct elf_file *f = NULL;
	const char *path = xarena_str(s->arena, name).p;

	if (strlen(path) != name.n || elf_open(path, &f, NULL) < 0)
		return false;
	if (s->build_id.n && !str_is(s->build_id, f->build_id)) {
		notify_warn(s->notify, "Ignoring local file %s: build-id mismatch (%.*s != %s)",
			    path, STR_ARG(s->build_id), f->build_id);
		return false;
	}
	s->mapping->file = profile_intern_copy(s->p, name);
	return true;
}

static int skip_dots(const struct dirent *e)
{
	return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* All files in 'folder', sorted, but for the one that has been tried already. */
static bool try_folder(struct search *s, struct str folder)
{
	const char *path = xarena_str(s->arena, folder).p;
	struct dirent **entries;
	bool found = false;
	int n = scandir(path, &entries, skip_dots, by_name);

	if (n < 0)
		return false;
	for (int i = 0; i < n; i++) {
		struct str name = str_of(entries[i]->d_name);

		if (!found && !str_eq(name, s->base))
			found = try_file(s, join(s, folder, name));
		free(entries[i]);
	}
	free(entries);
	return found;
}

/* <folder>/ab/cdef.debug for the build id abcdef, as gdb and debuginfod lay it out. */
static bool try_by_digits(struct search *s, struct str folder)
{
	struct str first = { s->build_id.p, 2 };

	return s->build_id.n > 2 &&
	       try_file(s, join3(s, folder, first, with_debug(s, str_skip(s->build_id, 2))));
}

static bool try_build_id(struct search *s, struct str folder)
{
	return try_file(s, join3(s, folder, s->build_id, s->base)) ||
	       try_folder(s, join(s, folder, s->build_id)) ||
	       try_file(s, join3(s, folder, s->file, s->build_id)) || try_by_digits(s, folder);
}

static bool try_name(struct search *s, struct str folder)
{
	struct str dir = go_path_dir(s->arena, s->file);
	struct str debug = with_debug(s, s->base);

	return try_file(s, join(s, folder, s->base)) || try_file(s, join(s, folder, s->file)) ||
	       try_file(s, join(s, folder, with_debug(s, s->file))) ||
	       try_file(s, join3(s, join(s, folder, dir), STR(".debug"), debug)) ||
	       try_file(s, join3(s, join(s, folder, STR("usr/lib/debug")), dir, debug));
}

/* A folder that is not there costs one system call; an empty name is the current one. */
static bool is_there(struct search *s, struct str folder)
{
	return folder.n == 0 || access(xarena_str(s->arena, folder).p, F_OK) == 0;
}

static void locate(struct search *s, const char *search_path)
{
	struct str folder, rest = str_of(search_path);

	while (str_split(&rest, ':', &folder)) {
		if (!is_there(s, folder))
			continue;
		if (s->build_id.n && try_build_id(s, folder))
			return;
		if (s->file.n && try_name(s, folder))
			return;
	}
}

/* ------------------------------------------------------------------ all mappings */

/* Whether 's' can be part of a file's name. */
static bool is_nameable(struct str s)
{
	return s.n < PATH_MAX && !memchr(s.p, '\0', s.n);
}

static void add_mapping_of_everything(struct profile *p)
{
	p->mappings = xarena(&p->arena, 1, sizeof(*p->mappings));
	p->mappings[0].id = 1;
	p->nmappings = 1;
	for (uint32_t i = 0; i < p->nlocations; i++)
		p->locations[i].mapping = 0;
}

void binaries_locate(struct profile *p, const char *search_path, struct notify *n)
{
	struct arena arena;

	for (uint32_t i = 0; i < p->nmappings; i++) {
		struct mapping *m = &p->mappings[i];
		struct str file = profile_str(p, m->file);
		struct search s = {
			.p = p,
			.mapping = m,
			.file = file,
			.base = file.n ? str_base(file) : STR(""),
			.build_id = profile_str(p, m->build_id),
			.arena = &arena,
			.notify = n,
		};

		if (!*search_path || !is_nameable(s.file) || !is_nameable(s.build_id))
			continue;
		arena_init(&arena, PROFILE_BUDGET);
		locate(&s, search_path);
		arena_release(&arena);
	}
	if (p->nmappings == 0)
		add_mapping_of_everything(p);
}
