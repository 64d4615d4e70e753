/*
 * labels.h - the labels of one sample
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_LABELS_H
#define PROFILE_LABELS_H

#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct label;
struct profile;

/*
 * labels_normalize() puts 'n' labels into the order profile.h promises, and gives every numeric
 * label of a key a unit (the empty one) if any of that key has one.
 */
void labels_normalize(const struct profile *p, struct label *labels, size_t n);

/*
 * labels_settle() leaves out labels that say nothing: empty texts, and zeros without a unit.  A
 * profile file cannot hold them, and the reference writes and reads its own files in between.
 */
void labels_settle(struct profile *p);

/* Of 'n' labels; 'h' is what the hash goes on from. */
uint64_t labels_hash(const struct label *l, size_t n, uint64_t h);
bool labels_same(const struct label *a, const struct label *b, size_t n);

bool label_is_string(const struct label *l);

/* The same key and kind: such labels stand side by side, and print as one list. */
bool label_same_key(const struct label *a, const struct label *b);

/* Few sets of labels are on many samples: what comes from labels is made once for each of them. */
struct label_sets {
	const struct profile *p;
	size_t *sample; /* per set: the first with it */
	size_t n, cap;
	struct table index; /* private */
};

void label_sets_init(struct label_sets *s, const struct profile *p);
void label_sets_release(struct label_sets *s);
/* The number of the set that a sample has.  One that is new is the last. */
uint32_t label_sets_find(struct label_sets *s, size_t sample);

#endif /* PROFILE_LABELS_H */
