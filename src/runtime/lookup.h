/*
 * lookup.h - numbers found by hash: the half of a table that finds rows and stacks again
 *
 * Reading takes no lock; adding is for one thread at a time.  Nothing is ever removed.  When it
 * grows, the old memory goes back to the system but its addresses stay readable as zeros, so a
 * reader that is still there finds nothing and asks again under the lock of its owner.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_LOOKUP_H
#define RUNTIME_LOOKUP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__slots;

struct sonde__lookup {
	_Atomic(struct sonde__slots *) slots;
	size_t used;
};

/* The number for which 'same' says yes among those with that hash; 0: none is known. */
uint32_t sonde__lookup_find(struct sonde__lookup *l, uint64_t hash,
			    bool (*same)(uint32_t number, const void *key), const void *key);

/*
 * Makes room for one more, in at most 'max_bytes'; false when there is none.  Then adds.  Both
 * under a lock.
 */
bool sonde__lookup_reserve(struct sonde__lookup *l, size_t max_bytes);
void sonde__lookup_add(struct sonde__lookup *l, uint64_t hash, uint32_t number);

#endif /* RUNTIME_LOOKUP_H */
