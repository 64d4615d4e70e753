/*
 * objects.c - the binaries a profile was taken from, opened to look at their code
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/objects.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/xalloc.h"
#include "elf/elf-file.h"
#include "profile/profile.h"

#include <stdlib.h>

void objects_init(struct objects *o, const struct profile *p)
{
	*o = (struct objects){ .p = p };
}

void objects_release(struct objects *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->at[i].functions);
		elf_close(o->at[i].elf);
	}
	free(o->at);
}

static struct object *known(const struct objects *o, uint32_t file)
{
	for (size_t i = 0; i < o->n; i++) {
		if (o->at[i].file == file)
			return &o->at[i];
	}
	return NULL;
}

static void read_tables(struct object *o)
{
	/* Damaged symbols cost names; the code is still there. */
	(void)elf_read_symbols(o->elf, NULL);
	if (elf_functions(o->elf, &o->functions, &o->nfunctions, NULL) != 0)
		o->nfunctions = 0;
	o->is_go = go_lines_init(&o->go, o->elf);
}

struct object *objects_open(struct objects *o, uint32_t m, struct err *err)
{
	uint32_t file = o->p->mappings[m].file;
	struct object *object = known(o, file), fresh = { .file = file };
	AUTO(freep) char *path = NULL;

	if (!object) {
		path = mem_str(profile_str(o->p, file));
		if (elf_open(path, &fresh.elf, err) == 0)
			read_tables(&fresh);
		vec_push(o->at, o->n, o->cap, fresh);
		object = &o->at[o->n - 1];
	}
	return object->elf ? object : NULL;
}

uint64_t object_bias(const struct objects *o, const struct object *object, uint32_t m)
{
	const struct mapping *map = &o->p->mappings[m];
	struct elf_range range = { map->start, map->limit, map->offset };

	return elf_bias(object->elf, range);
}

/* ------------------------------------------------------------------ frames */

/* Addresses that Go's table does not know, of C code for example, have what the symbols say. */
static struct elf_frame frame_at(const struct object *o, uint64_t address)
{
	const struct elf_symbol *s;
	struct go_line line;

	if (o->is_go && go_lines_find(&o->go, address, &line))
		return (struct elf_frame){ .function = line.function,
					   .file = line.file,
					   .line = line.line };
	s = elf_find_symbol(o->elf, address);
	return (struct elf_frame){ .function = s ? s->name : STR("") };
}

void object_frames(struct object *o, const uint64_t *addresses, size_t n, struct elf_frames *out)
{
	*out = (struct elf_frames){ .n = n };
	arena_init(&out->arena, PROFILE_BUDGET);
	out->frames = xarena(&out->arena, n + 1, sizeof(*out->frames));
	out->first = xarena(&out->arena, n + 1, sizeof(*out->first));
	for (size_t i = 0; i < n; i++) {
		out->first[i] = (uint32_t)i;
		out->frames[i] = frame_at(o, addresses[i]);
	}
	out->first[n] = (uint32_t)n;
}
