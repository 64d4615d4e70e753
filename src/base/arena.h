/*
 * arena.h - memory that is freed all at once, with a ceiling
 *
 * One arena per profile or request.  What comes out of it is zeroed, aligned for any
 * type, and lives until arena_release().  An arena never holds more than its budget,
 * because half of our input comes from strangers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

#include <stddef.h>

struct arena {
	struct arena_block *blocks; /* private: newest first */
	size_t used;                /* bytes taken from the system so far */
	size_t budget;
};

void arena_init(struct arena *a, size_t budget);
void arena_release(struct arena *a);

/*
 * Released arenas leave some of their memory to the next ones.  arena_keep_none() lets go of it,
 * and has it so from now on: for a program that stays.
 */
void arena_keep_none(void);

/* Room for 'n' objects of 'size' bytes; NULL when that would exceed the budget. */
void *arena_alloc(struct arena *a, size_t n, size_t size);

/*
 * The same for an array that will be filled in places only: what is not touched costs nothing. (The
 * others get large pages, and then touching one byte takes two megabytes.)
 */
void *arena_alloc_sparse(struct arena *a, size_t n, size_t size);

/* Says that 'bytes' will be asked for, in pieces: large pages are worth it then. */
void arena_expect(struct arena *a, size_t bytes);

/*
 * arena_grow() makes the array 'mem' of 'n' objects one of 'more', whose new part is zeroed; it may
 * move.  A large one is not copied.  NULL when over budget, and then 'mem' is as it was.
 */
void *arena_grow(struct arena *a, void *mem, size_t n, size_t more, size_t size);

/*
 * arena_forget() gives back the whole pages between two places of an array that nobody will look at
 * again.
 */
void arena_forget(void *from, const void *to);

/* A copy of 's', with a NUL byte behind it.  'p' is NULL when over budget. */
struct str arena_str(struct arena *a, struct str s);

#endif /* BASE_ARENA_H */
