/*
 * fuzz-record.c - records of dumps as a stranger may have written them
 *
 * Lines "key=value" are the record; what is read of it is written and read again, and must be the
 * same then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/xalloc.h"
#include "store/record.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAIRS_MAX = 64 };
static struct store_record kept;

static int give(struct store *s, struct str prefix, struct arena *a, struct store_record *out,
		struct err *err)
{
	(void)s;
	(void)prefix;
	(void)a;
	(void)err;
	*out = kept;
	return 0;
}

static int keep(struct store *s, struct str prefix, struct store_record *r, struct arena *a,
		struct err *err)
{
	(void)s;
	(void)prefix;
	(void)err;
	kept.pairs = xarena(a, r->npairs + 1, sizeof(*kept.pairs));
	kept.npairs = r->npairs;
	for (size_t i = 0; i < r->npairs; i++)
		kept.pairs[i] = (struct store_pair){ xarena_str(a, r->pairs[i].key),
						     xarena_str(a, r->pairs[i].value) };
	return 0;
}

static void same(const struct dump *x, const struct dump *y)
{
	if (x->generation != y->generation || x->chunks != y->chunks || x->length != y->length ||
	    !str_eq(x->names, y->names) || !str_eq(x->sha256, y->sha256))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct store_calls calls = { .read = give, .write = keep };
	struct store s = { .calls = &calls, .where = "x" };
	struct str rest = { (const char *)data, size }, line, key;
	struct store_pair pairs[PAIRS_MAX];
	struct record r, again;
	struct arena a;
	struct err err;

	arena_init(&a, 64 << 20);
	kept = (struct store_record){ .pairs = pairs, .version = STR("1") };
	while (kept.npairs < PAIRS_MAX && str_split(&rest, '\f', &line)) {
		str_split(&line, '=', &key);
		pairs[kept.npairs++] = (struct store_pair){ key, line };
	}
	if (record_read(&s, STR("main"), &a, &r, &err) == 0 && r.newest.generation) {
		if (record_write(&s, &a, &r, &err) ||
		    record_read(&s, STR("main"), &a, &again, &err))
			abort();
		same(&r.newest, &again.newest);
		if (r.nolder != again.nolder)
			abort();
		for (size_t i = 0; i < r.nolder; i++)
			same(&r.older[i], &again.older[i]);
	}
	arena_release(&a);
	return 0;
}
