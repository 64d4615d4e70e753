/*
 * labels.h - what the host says a thread is working on
 *
 * A label is a key and a value (sonde_label_set() in sonde.h).  The labels of a thread together are
 * a set; every different set is kept once, never changes and is never forgotten, so that a sample
 * needs only its number.  0 is the set without labels.
 *
 * The tables are bounded.  A key that has had too many different values (request numbers, say) gets
 * no new ones: samples go without that label, and keep the others.  What could not be set is
 * counted in sonde__stats.labels_lost, and comments of profiles say so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_LABELS_H
#define RUNTIME_LABELS_H

#include "runtime/thread.h"

#include <stddef.h>
#include <stdint.h>

struct sonde__label; /* output.h */
struct sonde__buf;

enum {
	SONDE__LABEL_SETS = 65536,
	SONDE__LABEL_SET = 8,     /* labels of a thread at once */
	SONDE__LABEL_KEY = 63,    /* bytes; longer ones are refused */
	SONDE__LABEL_VALUE = 127, /* bytes; longer ones are cut */
};

/* The set of this thread.  Handler-safe. */
static inline uint32_t sonde__labels_now(void)
{
	return __atomic_load_n(&sonde__tls.labels, __ATOMIC_RELAXED);
}

/* Makes a set, as sonde__labels_now() gave it in any thread, that of this thread. */
void sonde__labels_use(uint32_t set);

/*
 * Sets a label of this thread, or takes it away: with a value that is NULL or empty.  0; -EINVAL
 * for a key there cannot be; -ENOSPC if there is no room, and then the thread has no label with
 * that key.  Not handler-safe.
 */
int sonde__labels_set(const char *key, const char *value);

/*
 * The labels of a set, ordered by their keys; how many.  The texts live for ever.  Any thread.
 */
size_t sonde__labels_expand(uint32_t set, struct sonde__label *to, size_t cap);
/* The same as Go's texts have it: {"key":"value", "key":"value"}; nothing for set 0. */
void sonde__labels_text(struct sonde__buf *b, uint32_t set);

#endif /* RUNTIME_LABELS_H */
