/*
 * heap-numbers.c - what a heap profile says about all of the heap
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "daemon/heap-numbers.h"

#include "base/file.h"
#include "base/xalloc.h"
#include "profile/decode.h"
#include "profile/profile.h"
#include "source/unpack.h"

#include <stddef.h>

static const size_t content_max = (size_t)4 << 30;

static const struct {
	struct str start;
	size_t at;
} fields[] = {
	{ STR("# HeapInuse = "), offsetof(struct heap_numbers, heap_inuse) },
	{ STR("# HeapAlloc = "), offsetof(struct heap_numbers, heap_alloc) },
	{ STR("# TotalAlloc = "), offsetof(struct heap_numbers, total_alloc) },
	{ STR("# Mallocs = "), offsetof(struct heap_numbers, mallocs) },
	{ STR("# Frees = "), offsetof(struct heap_numbers, frees) },
	{ STR("# NumGC = "), offsetof(struct heap_numbers, num_gc) },
};

/* Digits and nothing else. */
static bool read_whole(struct str s, uint64_t *n)
{
	*n = 0;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(*n, 10, n) ||
		    __builtin_add_overflow(*n, (uint64_t)(s.p[i] - '0'), n))
			return false;
	}
	return s.n > 0;
}

static bool read_line(struct str line, struct heap_numbers *out)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct str start = fields[i].start;
		uint64_t n;

		if (!str_starts(line, start))
			continue;
		if (!read_whole((struct str){ line.p + start.n, line.n - start.n }, &n))
			return false;
		*(uint64_t *)(void *)((char *)out + fields[i].at) = n;
		return i == 0;
	}
	return false;
}

bool heap_numbers_parse(struct str text, struct heap_numbers *out)
{
	bool found = false;
	struct str line;

	*out = (struct heap_numbers){ 0 };
	while (text.n && str_split(&text, '\n', &line)) {
		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		if (line.n > 1 && line.p[0] == '#' && read_line(line, out))
			found = true;
	}
	return found;
}

/* Which of a sample's values are bytes in use; -1 if none. */
static int find_in_use(const struct profile *p)
{
	for (uint32_t i = 0; i < p->ntypes; i++) {
		struct str type = profile_str(p, p->types[i].type);

		if (str_is(type, "inuse_space") || str_is(type, "space")) /* the older name */
			return (int)i;
	}
	return -1;
}

static bool add_up(const struct profile *p, struct heap_numbers *out)
{
	int at = find_in_use(p);
	uint64_t sum = 0;

	for (size_t i = 0; at >= 0 && i < p->nsamples; i++) {
		int64_t value = sample_values(p, i)[at];

		if (value < 0 || __builtin_add_overflow(sum, (uint64_t)value, &sum))
			return false; /* a difference, or nonsense */
	}
	*out = (struct heap_numbers){ .heap_inuse = sum, .heap_alloc = sum };
	return at >= 0;
}

bool heap_numbers_of(struct str profile, struct heap_numbers *out)
{
	struct file_bytes b = { .p = mem_new(profile.n + 1, 1), .n = profile.n };
	struct profile *p = NULL;
	bool found = false;

	if (profile.n)
		memcpy(b.p, profile.p, profile.n);
	if (unpack(&b, content_max, NULL, NULL, NULL) == 0) {
		struct str plain = { b.p, b.n };

		found = heap_numbers_parse(plain, out);
		if (!found && profile_parse(plain, NULL, NULL, &p, NULL) == 0)
			found = add_up(p, out);
	}
	profile_free(p);
	file_bytes_release(&b);
	return found;
}

bool heap_numbers_restarted(const struct heap_numbers *before, const struct heap_numbers *now)
{
	return now->total_alloc < before->total_alloc || now->mallocs < before->mallocs ||
	       now->frees < before->frees || now->num_gc < before->num_gc;
}
