/*
 * rule-cache.h - address to unwind rule, in one load
 *
 * A direct-mapped cache all threads share.  An entry is one word: the rule, and the bits of the
 * address that its place in the cache does not tell, so that a reader cannot see half of one.
 * A new snapshot of modules empties it.
 *
 * Addresses are return addresses: the rule is that of the byte before, where the call is.  For an
 * instruction itself, say one more.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_RULE_CACHE_H
#define RUNTIME_RULE_CACHE_H

#include "runtime/unwind-rule.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	CACHE_BITS = 13,
	CACHE_SIZE = 1 << CACHE_BITS,
	ADDRESS_BITS = 64 - RULE_BITS + CACHE_BITS, /* 48 */
};

extern _Atomic(uint64_t) sonde__rule_cache[CACHE_SIZE];

static inline _Atomic(uint64_t) *cache_slot(uint64_t ra)
{
	return &sonde__rule_cache[ra % CACHE_SIZE];
}

/* Whether 'entry', from the slot of 'ra', is for it; 0 is no entry. */
static inline bool cache_hit(uint64_t entry, uint64_t ra)
{
	return entry >> RULE_BITS == ra >> CACHE_BITS && entry != 0;
}

static inline uint32_t cache_rule(uint64_t entry)
{
	return entry & ((1u << RULE_BITS) - 1);
}

/*
 * The rule before 'ra' from the newest snapshot, or else from the library itself, which is put into
 * the cache; false: in no module.
 */
bool sonde__rule_find(uint64_t ra, uint32_t *rule);
/* Empties the cache: other code may be where some was. */
void sonde__rules_forget(void);

/*
 * unwind-new.c: the rule at 'pc' in a library that is in no snapshot yet, straight from its
 * .eh_frame; false if there is none.
 */
bool sonde__rule_of_new(uint64_t pc, uint32_t *rule);

/* unwind.c: whether a word at 'address' can be read; no, where that cannot be found out. */
bool sonde__is_readable(uint64_t address);

static inline bool sonde__rule_before(uint64_t ra, uint32_t *rule)
{
	uint64_t entry = atomic_load_explicit(cache_slot(ra), memory_order_relaxed);

	if (__builtin_expect(!cache_hit(entry, ra), 0))
		return sonde__rule_find(ra, rule);
	*rule = cache_rule(entry);
	return true;
}

#endif /* RUNTIME_RULE_CACHE_H */
