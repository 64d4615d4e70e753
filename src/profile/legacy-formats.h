/*
 * legacy-formats.h - one reader per old format
 *
 * A reader is given all of the data and an empty builder.  It returns 0 and has filled the
 * builder, or -ENOTSUP if the data is something else, or another negative errno and a message
 * if it is damaged.  The order in which they are asked is that of legacy.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_LEGACY_FORMATS_H
#define PROFILE_LEGACY_FORMATS_H

#include "base/str.h"

#include <stdint.h>

struct addresses;
struct builder;
struct err;

/* gperftools' and Java's CPU profiles: binary words, then text. */
int legacy_read_cpu(struct str data, struct builder *b, struct err *err);
/* "heap profile: ..." of gperftools and Go, and the growth and fragmentation profiles. */
int legacy_read_heap(struct str data, struct builder *b, struct err *err);
/* "goroutine profile: total 5", and whatever else Go counts. */
int legacy_read_count(struct str data, struct builder *b, struct err *err);
/* "--- threadz 1 ---". */
int legacy_read_threads(struct str data, struct builder *b, struct err *err);
/* "--- contentionz", "--- mutex:", "--- contention:". */
int legacy_read_contention(struct str data, struct builder *b, struct err *err);
/* "--- heapz 1 ---" and "--- contentionz 1 ---" of Java programs. */
int legacy_read_java(struct str data, struct builder *b, struct err *err);
/* "heap_v2/524288" of jemalloc. */
int legacy_read_jemalloc(struct str data, struct builder *b, struct err *err);

/* Parts of one reader that another needs. */

/* The four numbers of "1: 20 [3: 40] @": count and bytes in use, count and bytes allocated. */
struct heap_counts {
	struct str text[4];
};

/* How the samples of a heap profile are to be read. */
struct heap_rules {
	int64_t rate;
	bool unsample;
	bool with_alloc; /* the numbers in brackets are values too */
};

/* Eats the numbers and the brackets; 'minus': the first two may be negative. */
bool heap_eat_counts(struct str *s, bool minus, struct heap_counts *n);
/* Whether the totals in brackets say more than those before them. */
bool heap_has_alloc(const struct heap_counts *totals);
/* Sets the sample types, and the period to 'period' bytes. */
void heap_types(struct builder *b, bool with_alloc, int64_t period);
/* The values of a sample, one per type.  'line' is for messages. */
struct heap_values {
	int64_t at[4];
	int64_t block; /* bytes in one of what was counted */
};

int heap_values(const struct heap_rules *rules, const struct heap_counts *n, struct str line,
		struct heap_values *v, struct err *err);
/* Appends a sample with the stack 'a', which is empty afterwards. */
void heap_sample(struct builder *b, struct addresses *a, const struct heap_values *v);

/* The part of Java's formats that names addresses, and everything that follows from it. */
int java_read_locations(struct str text, struct builder *b, struct err *err);

/* Of stacks that begin with an address and the same address plus one, drops the second. */
void legacy_drop_doubled_leaf(struct builder *b);
/* Takes frame 1 out of sample 'i'. */
void legacy_drop_second_frame(struct builder *b, size_t i);

#endif /* PROFILE_LEGACY_FORMATS_H */
