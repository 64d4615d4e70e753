/*
 * check.c - is this a valid profile?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/check.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/table.h"
#include "base/xalloc.h"
#include "profile/profile.h"

#include <errno.h>

/* Ids seen so far, in a table: small ones, as nearly all are, in a bitmap. */
struct ids {
	const char *noun;   /* "mapping" */
	const char *plural; /* "mappings" */
	const char *id;     /* the reference writes "ID" for two of the three */
	uint8_t *small;
	size_t nsmall;
	uint64_t *large;
	size_t nlarge, cap;
	struct table index;
};

static uint64_t rehash(uint32_t i, const void *ctx)
{
	const struct ids *ids = ctx;

	return hash_mix(ids->large[i], 2);
}

static bool seen_large(struct ids *s, uint64_t id)
{
	struct probe at;

	table_reserve(&s->index, rehash, s);
	at = table_probe(&s->index, hash_mix(id, 2));
	while (table_next(&s->index, &at)) {
		if (s->large[at.value] == id)
			return true;
	}
	table_put(&s->index, &at, (uint32_t)s->nlarge);
	vec_push(s->large, s->nlarge, s->cap, id);
	return false;
}

static bool seen(struct ids *s, uint64_t id)
{
	bool before;

	if (id > s->nsmall)
		return seen_large(s, id);
	before = s->small[id];
	s->small[id] = 1;
	return before;
}

static int check_id(struct ids *s, uint64_t id, struct err *err)
{
	if (id == 0)
		return err_set(err, -EILSEQ, "found %s with reserved %s=0", s->noun, s->id);
	if (seen(s, id))
		return err_set(err, -EILSEQ, "multiple %s with same id: %llu", s->plural,
			       (unsigned long long)id);
	return 0;
}

static void ids_init(struct ids *s, const char *noun, const char *plural, const char *id, size_t n)
{
	*s = (struct ids){ .noun = noun, .plural = plural, .id = id, .nsmall = n };
	s->small = mem_zeroed(n + 1, 1);
	table_init(&s->index, 0);
}

static void ids_release(struct ids *s)
{
	free(s->small);
	free(s->large);
	table_release(&s->index);
}

static int check_lines(const struct profile *p, const struct location *l, struct err *err)
{
	for (uint32_t i = 0; i < l->nlines; i++) {
		if (p->lines[l->line + i].function == NONE)
			return err_set(err, -EILSEQ,
				       "location id: %llu has a line with nil function",
				       (unsigned long long)l->id);
	}
	return 0;
}

int profile_check_tables(const struct profile *p, struct err *err)
{
	AUTO(ids_release) struct ids mappings, functions, locations;
	int rc = 0;

	ids_init(&mappings, "mapping", "mappings", "ID", p->nmappings);
	ids_init(&functions, "function", "functions", "ID", p->nfunctions);
	ids_init(&locations, "location", "locations", "id", p->nlocations);
	for (uint32_t i = 0; rc == 0 && i < p->nmappings; i++)
		rc = check_id(&mappings, p->mappings[i].id, err);
	for (uint32_t i = 0; rc == 0 && i < p->nfunctions; i++)
		rc = check_id(&functions, p->functions[i].id, err);
	for (uint32_t i = 0; rc == 0 && i < p->nlocations; i++) {
		rc = check_id(&locations, p->locations[i].id, err);
		if (rc == 0)
			rc = check_lines(p, &p->locations[i], err);
	}
	return rc;
}
