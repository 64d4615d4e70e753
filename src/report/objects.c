/*
 * objects.c - the binaries a profile was taken from, opened to look at their code
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/objects.h"

#include "base/err.h"
#include "base/xalloc.h"
#include "code/code.h"
#include "elf/elf-file.h"
#include "profile/profile.h"
#include "report/report.h"
#include "symbol/debug-server.h"
#include "symbol/demangle.h"

#include <stdlib.h>

void objects_init(struct objects *o, const struct report *r)
{
	*o = (struct objects){ .r = r };
}

void objects_release(struct objects *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->at[i].functions);
		binary_release(&o->at[i].binary);
	}
	free(o->at);
}

static struct object *known(const struct objects *o, const struct mapping *m)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct binary *b = &o->at[i].binary;

		if (b->file == m->file && b->build_id == m->build_id)
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
	const struct report *r = o->r;
	const struct mapping *map = &r->v->mappings[m];
	struct object *object = known(o, map), fresh = { .r = r };

	if (!object) {
		if (binary_find(&fresh.binary, r->v, map, r->cfg.debug_server, r->notify, err) == 0)
			fresh.elf = fresh.binary.elf;
		if (fresh.elf)
			read_tables(&fresh);
		vec_push(o->at, o->n, o->cap, fresh);
		object = &o->at[o->n - 1];
	}
	return object->elf ? object : NULL;
}

uint64_t object_bias(const struct objects *o, const struct object *object, uint32_t m)
{
	const struct mapping *map = &o->r->v->mappings[m];
	struct elf_range range = { map->start, map->limit, map->offset };

	return elf_bias(object->elf, range);
}

/* ------------------------------------------------------------------ code */

/* For the names of what is called. */
struct names {
	const struct object *o;
	struct arena arena;
};

static struct str name_of(uint64_t address, uint64_t *offset, void *ctx)
{
	struct names *names = ctx;
	const struct elf_symbol *s = elf_find_symbol(names->o->elf, address);

	if (!s)
		return (struct str){ 0 };
	*offset = address - s->start;
	return names->o->is_go ? s->name : demangle_name(s->name, DEMANGLE_DEFAULT, &names->arena);
}

int object_code(struct object *o, uint64_t start, uint64_t end, bool intel, struct code *out,
		struct err *err)
{
	struct names names = { .o = o };
	struct code_options options = { .intel = intel, .name_of = name_of, .ctx = &names };
	int rc;

	arena_init(&names.arena, PROFILE_BUDGET);
	rc = code_read(o->elf, start, end, &options, out, err);
	arena_release(&names.arena);
	return rc;
}

/* ------------------------------------------------------------------ frames */

static char *ask_server(const char *build_id, void *ctx)
{
	const struct report *r = ((const struct object *)ctx)->r;

	return debug_server_fetch(r->cfg.debug_server, DEBUG_SERVER_DEBUGINFO, str_of(build_id),
				  r->notify);
}

static void resolve(struct object *o, const uint64_t *addresses, size_t n, struct elf_frames *out)
{
	struct elf_search search = { .debug_folders = "/usr/lib/debug",
				     .fetch = o->r->cfg.debug_server ? ask_server : NULL,
				     .ctx = o };
	int rc = elf_resolve(o->elf, &search, addresses, n, out, NULL);

	/* More addresses than there can be: then nothing is known of any of them. */
	if (rc) {
		arena_init(&out->arena, PROFILE_BUDGET);
		out->at = xarena(&out->arena, n + 1, sizeof(*out->at));
		out->n = n;
	}
}

/* What Go's table does not know, such as C code, is asked of the debug information. */
struct unknown {
	uint64_t *addresses;
	size_t n;
	struct elf_frames frames;
};

static void find_unknown(struct object *o, const uint64_t *addresses, size_t n, struct unknown *u)
{
	struct go_line line;

	*u = (struct unknown){ .addresses = mem_new(n + 1, sizeof(*u->addresses)) };
	for (size_t i = 0; i < n; i++) {
		if (!go_lines_find(&o->go, addresses[i], &line))
			u->addresses[u->n++] = addresses[i];
	}
	resolve(o, u->addresses, u->n, &u->frames);
}

/* Copies the frames of an unknown address. */
static struct elf_place take_unknown(const struct elf_place *from, struct arena *a)
{
	struct elf_frame *frames = xarena(a, from->n, sizeof(*frames));

	for (uint32_t k = 0; k < from->n; k++) {
		struct elf_function *f = xarena(a, 1, sizeof(*f));

		*f = *from->frames[k].function;
		f->name = xarena_str(a, f->name);
		f->file = xarena_str(a, f->file);
		frames[k] = from->frames[k];
		frames[k].function = f;
	}
	return (struct elf_place){ frames, from->n };
}

static struct elf_place take_go_line(const struct go_line *line, struct arena *a)
{
	struct elf_frame *frame = xarena(a, 1, sizeof(*frame));

	frame->function = xarena(a, 1, sizeof(*frame->function));
	frame->function->name = line->function;
	frame->function->file = line->file;
	frame->line = line->line > INT32_MAX ? 0 : (uint32_t)line->line;
	return (struct elf_place){ frame, 1 };
}

static void find_go_lines(struct object *o, const uint64_t *addresses, size_t n,
			  struct elf_frames *out)
{
	struct unknown u;
	struct go_line line;
	size_t next = 0;

	find_unknown(o, addresses, n, &u);
	*out = (struct elf_frames){ .n = n };
	arena_init(&out->arena, PROFILE_BUDGET);
	out->at = xarena(&out->arena, n + 1, sizeof(*out->at));
	for (size_t i = 0; i < n; i++) {
		if (go_lines_find(&o->go, addresses[i], &line))
			out->at[i] = take_go_line(&line, &out->arena);
		else
			out->at[i] = take_unknown(&u.frames.at[next++], &out->arena);
	}
	elf_frames_release(&u.frames);
	free(u.addresses);
}

void object_frames(struct object *o, const uint64_t *addresses, size_t n, bool inlined,
		   struct elf_frames *out)
{
	if (o->is_go && !inlined)
		find_go_lines(o, addresses, n, out);
	else
		resolve(o, addresses, n, out);
}
