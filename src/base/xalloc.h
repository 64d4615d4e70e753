/*
 * xalloc.h - memory for the tool, or the end of it
 *
 * For code that only the tool links (docs/ARCHITECTURE.md, "Out of memory"): when the
 * system has no memory left, these say so on standard error and end the program with
 * status 2.  Sizes that depend on a stranger's input are checked before they get here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_XALLOC_H
#define BASE_XALLOC_H

#include "base/arena.h"
#include "base/str.h"

#include <stddef.h>

void *mem_new(size_t n, size_t size);
void *mem_zeroed(size_t n, size_t size);
void *mem_grow(void *p, size_t n, size_t size);
char *mem_str(struct str s);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* arena_alloc(), arena_alloc_sparse(), arena_grow() and arena_str() that cannot fail. */
void *xarena(struct arena *a, size_t n, size_t size);
void *xarena_sparse(struct arena *a, size_t n, size_t size);
void *xarena_grow(struct arena *a, void *mem, size_t n, size_t more, size_t size);
struct str xarena_str(struct arena *a, struct str s);
struct str xarena_printf(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * vec_push(v, n, cap, item) appends to a growable array that is three variables (or
 * members) of the caller: the pointer, the count and the capacity.
 */
#define vec_push(v, n, cap, item)                                                                  \
	do {                                                                                       \
		if ((n) == (cap)) {                                                                \
			(cap) = (cap) ? (cap)*2 : 8;                                               \
			(v) = mem_grow((v), (cap), sizeof(*(v)));                                  \
		}                                                                                  \
		(v)[(n)++] = (item);                                                               \
	} while (0)

#endif /* BASE_XALLOC_H */
