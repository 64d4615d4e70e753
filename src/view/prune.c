/*
 * prune.c - cut the uninteresting end off stacks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "view/prune.h"

#include "base/cleanup.h"
#include "base/regex.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "view/match.h"

/* What to do with a stack at a location. */
enum { KEEP = 0, CUT_ABOVE = 1 /* the location goes too */, CUT_BELOW = 2 /* it stays */ };

/* The function's name up to its parameters, without the dot of old PowerPC binaries. */
static struct str simplify(struct str name)
{
	static const struct str reserved[] = { { "(anonymous namespace)", 21 },
					       { "operator()", 10 } };
	size_t i = 0;

	if (name.n && name.p[0] == '.')
		name = str_skip(name, 1);
	while (i < name.n) {
		if (str_starts(str_skip(name, i), reserved[0]))
			i += reserved[0].n;
		else if (str_starts(str_skip(name, i), reserved[1]))
			i += reserved[1].n;
		else if (name.p[i] == '(')
			return (struct str){ name.p, i };
		else
			i++;
	}
	return name;
}

/* Per function: does its simplified name match?  Asked once each. */
static uint8_t *match_functions(const struct profile *p, const struct regex *drop,
				const struct regex *keep)
{
	uint8_t *hit = mem_zeroed(p->nfunctions, 1);

	for (uint32_t i = 0; i < p->nfunctions; i++) {
		struct str name = simplify(profile_str(p, p->functions[i].name));

		hit[i] = p->functions[i].name != 0 && regex_match(drop, name) &&
			 !(keep && regex_match(keep, name));
	}
	return hit;
}

/* Cuts the lines of 'l' from its last match inward, and says what that means for a stack. */
static uint8_t prune_location(const struct profile *p, struct location *l, const uint8_t *hit)
{
	uint32_t i = l->nlines;

	while (i > 0 && !hit[p->lines[l->line + i - 1].function])
		i--;
	if (i == 0)
		return KEEP;
	if (i == l->nlines)
		return CUT_ABOVE;
	l->line += i;
	l->nlines -= i;
	return CUT_BELOW;
}

static void prune_stack(const struct profile *p, struct sample *s, const uint8_t *action)
{
	const uint32_t *stack = p->stacks + s->stack;
	bool found_user = false;

	for (uint32_t i = s->depth; i > 0; i--) {
		uint8_t a = action[stack[i - 1]];
		uint32_t cut = a == CUT_ABOVE ? i : i - 1;

		if (a == KEEP) {
			found_user = true;
		} else if (found_user) {
			s->stack += cut;
			s->depth -= cut;
			return;
		}
	}
}

static void prune(struct profile *p, const struct regex *drop, const struct regex *keep)
{
	AUTO(freep) uint8_t *hit = match_functions(p, drop, keep);
	AUTO(freep) uint8_t *action = mem_zeroed(p->nlocations, 1);
	bool any = false;

	for (uint32_t i = 0; i < p->nlocations; i++) {
		action[i] = prune_location(p, &p->locations[i], hit);
		any |= action[i] != KEEP;
	}
	for (size_t i = 0; any && i < p->nsamples; i++)
		prune_stack(p, sample_at(p, i), action);
}

/* "^(" pattern ")$", or NULL if that is not an expression. */
static struct regex *compile_whole(struct str pattern)
{
	AUTO(freep) char *text = mem_new(pattern.n + 4, 1);
	struct regex *re = NULL;

	memcpy(text, "^(", 2);
	memcpy(text + 2, pattern.p, pattern.n);
	memcpy(text + 2 + pattern.n, ")$", 2);
	if (regex_compile((struct str){ text, pattern.n + 4 }, &re, NULL) != 0)
		return NULL;
	return re;
}

void prune_uninteresting(struct profile *p)
{
	AUTO(regex_freep) struct regex *drop = NULL;
	AUTO(regex_freep) struct regex *keep = NULL;

	if (p->drop_frames == 0)
		return;
	drop = compile_whole(profile_str(p, p->drop_frames));
	if (!drop)
		return;
	if (p->keep_frames) {
		keep = compile_whole(profile_str(p, p->keep_frames));
		if (!keep)
			return;
	}
	prune(p, drop, keep);
}

void prune_from(struct profile *p, struct matcher *m)
{
	AUTO(freep) uint8_t *hit = match_functions(p, m->re, NULL);
	AUTO(freep) uint8_t *cut = mem_zeroed(p->nlocations, 1);

	for (uint32_t i = 0; i < p->nlocations; i++) {
		struct location *l = &p->locations[i];
		uint32_t k = 0;

		while (k < l->nlines && !hit[p->lines[l->line + k].function])
			k++;
		if (k == l->nlines)
			continue;
		cut[i] = 1;
		l->line += k;
		l->nlines -= k;
	}
	for (size_t i = 0; i < p->nsamples; i++) {
		struct sample *s = sample_at(p, i);
		uint32_t k = 0;

		while (k < s->depth && !cut[p->stacks[s->stack + k]])
			k++;
		if (k == s->depth)
			continue;
		s->stack += k;
		s->depth -= k;
	}
}
