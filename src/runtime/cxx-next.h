/*
 * cxx-next.h - operators new and delete behind our hooks
 *
 * The C++ library's call malloc(), which is ours, so that there is nothing to do but to pass on;
 * those of an allocator that has its own (jemalloc, tcmalloc, mimalloc) do not, and then the hooks
 * count.  Which of the two it is, one call shows.
 *
 * Operators have one to three words as arguments.  Three are always passed on, which does no harm,
 * so that they can be kept in a table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_CXX_NEXT_H
#define RUNTIME_CXX_NEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum sonde__new {
	SONDE__NEW,
	SONDE__NEW_ARRAY,
	SONDE__NEW_NOTHROW,
	SONDE__NEW_ARRAY_NOTHROW,
	SONDE__NEW_ALIGNED,
	SONDE__NEW_ARRAY_ALIGNED,
	SONDE__NEW_ALIGNED_NOTHROW,
	SONDE__NEW_ARRAY_ALIGNED_NOTHROW,
	SONDE__NEWS
};

enum sonde__delete {
	SONDE__DELETE,
	SONDE__DELETE_ARRAY,
	SONDE__DELETE_SIZED,
	SONDE__DELETE_ARRAY_SIZED,
	SONDE__DELETE_NOTHROW,
	SONDE__DELETE_ARRAY_NOTHROW,
	SONDE__DELETE_ALIGNED,
	SONDE__DELETE_ARRAY_ALIGNED,
	SONDE__DELETE_SIZED_ALIGNED,
	SONDE__DELETE_ARRAY_SIZED_ALIGNED,
	SONDE__DELETE_ALIGNED_NOTHROW,
	SONDE__DELETE_ARRAY_ALIGNED_NOTHROW,
	SONDE__DELETES
};

typedef void *sonde__new_fn(size_t size, size_t b, size_t c);
typedef void sonde__delete_fn(void *p, size_t b, size_t c);

enum sonde__cxx_mode { SONDE__CXX_UNKNOWN, SONDE__CXX_PASSES, SONDE__CXX_COUNTS };

/*
 * An allocator may have some operators only; the rest comes from the C++ library.  PASSES: there is
 * none that counts.
 */
struct sonde__cxx {
	atomic_int mode; /* the rest is valid when this is known */
	bool counts[SONDE__NEWS];
	sonde__new_fn *new[SONDE__NEWS];
	sonde__delete_fn *delete[SONDE__DELETES];
};
extern struct sonde__cxx sonde__cxx __attribute__((visibility("hidden")));

/* All that the hook has to do.  Hooks jump here, so the caller is the host. */
void *sonde__slow_new(size_t size, size_t b, size_t c, enum sonde__new kind);
void sonde__slow_delete(void *p, size_t b, size_t c, enum sonde__delete kind);

#endif /* RUNTIME_CXX_NEXT_H */
