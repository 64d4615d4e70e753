/*
 * heap-numbers.c - what "heap?debug=1" says about all of the heap
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "daemon/heap-numbers.h"

#include <stddef.h>

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

bool heap_numbers_restarted(const struct heap_numbers *before, const struct heap_numbers *now)
{
	return now->total_alloc < before->total_alloc || now->mallocs < before->mallocs ||
	       now->frees < before->frees || now->num_gc < before->num_gc;
}
