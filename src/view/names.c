/*
 * names.c - functions of a view get names a person can read
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "view/names.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "symbol/demangle.h"
#include "symbol/readable.h"
#include "view/config.h"
#include "view/own.h"

#include <stdlib.h>

/* What demangled names may take: one never needs more than 128 KiB. */
enum { SCRATCH_BUDGET = 2 << 20, SCRATCH_FULL = 1 << 20 };

/* Everything the profile knows about the name of 'f'.  What is new lives in 'a'. */
static struct str full_name(const struct profile *v, const struct function *f, struct arena *a)
{
	struct str name = profile_str(v, f->name), system = profile_str(v, f->system_name);
	struct str full;

	if (f->system_name == 0)
		return name;
	full = demangle_name(system, DEMANGLE_NONE, a);
	if (!str_eq(full, system) || f->name == f->system_name)
		return full;
	/* Not mangled: either the name was cut out of it, or the two have nothing in common. */
	if (str_find(system, name) >= 0)
		return system;
	return str_eq(demangle_name(system, DEMANGLE_DEFAULT, a), name) ? system : name;
}

struct renaming {
	struct profile *v;
	const struct function *from; /* as they were */
	uint32_t *known;             /* per level and function: its name; 0 if not known yet */
	struct arena scratch;
	struct out text;
};

static uint32_t make_name(struct renaming *r, const struct function *f, int level)
{
	struct str full;

	if (r->scratch.used > SCRATCH_FULL)
		arena_release(&r->scratch);
	full = full_name(r->v, f, &r->scratch);
	readable_name(full, name_style(profile_str(r->v, f->file)), level, &r->text);
	return profile_intern_copy(r->v, out_view(&r->text));
}

/* The number of the name that function 'i' has at 'level'. */
static uint32_t name_at(struct renaming *r, uint32_t i, int level)
{
	uint32_t *known = &r->known[(size_t)level * r->v->nfunctions + i];

	if (*known == 0)
		*known = make_name(r, &r->from[i], level);
	return *known;
}

/* ------------------------------------------------------------------ telling them apart */

/* What a name that several functions have is marked with. */
#define SEVERAL (NONE - 1)

/* Per name: the full name of the functions that have it now, SEVERAL, or NONE. */
static uint32_t *find_owners(struct renaming *r)
{
	const struct profile *v = r->v;
	uint32_t *owner;

	for (uint32_t i = 0; i < v->nfunctions; i++)
		name_at(r, i, 0);
	owner = mem_new(v->strings->n, sizeof(*owner));
	memset(owner, 0xff, v->strings->n * sizeof(*owner));
	for (uint32_t i = 0; i < v->nfunctions; i++) {
		uint32_t full = name_at(r, i, 0), *o = &owner[v->functions[i].name];

		*o = *o == NONE || *o == full ? full : SEVERAL;
	}
	return owner;
}

/* Gives functions that share their name with others the name of the level below 'level'. */
static bool lengthen(struct renaming *r, int level)
{
	AUTO(freep) uint32_t *owner = find_owners(r);
	struct profile *v = r->v;
	bool any = false;

	for (uint32_t i = 0; i < v->nfunctions; i++) {
		if (owner[v->functions[i].name] != SEVERAL)
			continue;
		v->functions[i].name = name_at(r, i, level - 1);
		any = true;
	}
	return any;
}

/* ------------------------------------------------------------------ all of it */

void names_apply(struct profile *v, const struct config *cfg)
{
	struct renaming r = { .v = v, .from = v->functions };
	struct strings *strings = v->strings;
	int level = cfg->names[0] - '0';

	if (level < 0 || level >= READABLE_LEVELS)
		return;
	if (strings->renamed != v->origin) {
		strings->renamed = v->origin;
		strings->names =
			xarena(&strings->arena, v->nfunctions, READABLE_LEVELS * sizeof(*r.known));
	}
	r.known = strings->names;
	out_init(&r.text, 0);
	arena_init(&r.scratch, SCRATCH_BUDGET);
	own_functions(v);
	for (uint32_t i = 0; i < v->nfunctions; i++)
		v->functions[i].name = name_at(&r, i, level);
	while (!cfg->merge_names && level > 0 && lengthen(&r, level))
		level--;
	out_release(&r.text);
	arena_release(&r.scratch);
}
