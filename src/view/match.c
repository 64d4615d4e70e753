/*
 * match.c - a regular expression asked many times about the same strings
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "view/match.h"

#include "base/err.h"
#include "base/regex.h"
#include "base/xalloc.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdlib.h>

int matcher_init(struct matcher *m, const struct profile *p, struct str pattern, const char *what,
		 struct err *err)
{
	struct err why;

	*m = (struct matcher){ .p = p };
	if (pattern.n == 0)
		return 0;
	if (regex_compile(pattern, &m->re, &why) != 0)
		return err_set(err, -EINVAL, "parsing %s regexp: %s", what, why.msg);
	m->nknown = p->strings->n;
	m->known = mem_zeroed(m->nknown, 1);
	return 0;
}

void matcher_release(struct matcher *m)
{
	regex_free(m->re);
	free(m->known);
	*m = (struct matcher){ 0 };
}

bool matcher_string(struct matcher *m, uint32_t s)
{
	if (!m->re)
		return false;
	if (s >= m->nknown)
		return regex_match(m->re, profile_str(m->p, s));
	if (m->known[s] == 0)
		m->known[s] = regex_match(m->re, profile_str(m->p, s)) ? 2 : 1;
	return m->known[s] == 2;
}

/* A function that the view has renamed can be asked for by either name. */
static bool matches_old_name(struct matcher *m, uint32_t f)
{
	const struct profile *o = m->p->origin;

	return o && f < o->nfunctions && o->functions[f].name != m->p->functions[f].name &&
	       matcher_string(m, o->functions[f].name);
}

bool matcher_function(struct matcher *m, uint32_t f)
{
	const struct function *fn = &m->p->functions[f];

	return matcher_string(m, fn->name) || matches_old_name(m, f) || matcher_string(m, fn->file);
}

bool matcher_mapping(struct matcher *m, const struct location *l)
{
	return l->mapping != NONE && matcher_string(m, m->p->mappings[l->mapping].file);
}

bool matcher_location(struct matcher *m, const struct location *l)
{
	for (uint32_t i = 0; i < l->nlines; i++) {
		if (matcher_function(m, m->p->lines[l->line + i].function))
			return true;
	}
	return matcher_mapping(m, l);
}
