/*
 * hooks-cxx.c - operators new and delete, as the host calls them
 *
 * Without frames, as hooks-malloc.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/bypass.h"
#include "runtime/cxx-next.h"
#include "runtime/heap.h"
#include "runtime/live.h"

#include <stdbool.h>

#if !defined(__clang__)
#pragma GCC optimize("omit-frame-pointer")
#endif

static inline bool passes_new(size_t size, enum sonde__new kind)
{
	int mode = atomic_load_explicit(&sonde__cxx.mode, memory_order_acquire);

	return __builtin_expect(mode == SONDE__CXX_PASSES, 1) ||
	       (mode == SONDE__CXX_COUNTS &&
		(!sonde__cxx.counts[kind] || sonde__heap_passes(size)));
}

static inline bool passes_delete(const void *p)
{
	int mode = atomic_load_explicit(&sonde__cxx.mode, memory_order_acquire);

	return __builtin_expect(mode == SONDE__CXX_PASSES, 1) ||
	       (mode == SONDE__CXX_COUNTS && !sonde__live_maybe(p));
}

#define NEW(name, symbol, kind)                                                                    \
	__attribute__((visibility("default"), aligned(32))) void *name(size_t size, size_t b,      \
								       size_t c) __asm__(symbol);  \
	void *name(size_t size, size_t b, size_t c)                                                \
	{                                                                                          \
		if (!passes_new(size, kind))                                                       \
			return sonde__slow_new(size, b, c, kind);                                  \
		return sonde__cxx.new[kind](size, b, c);                                           \
	}

#define DELETE(name, symbol, kind)                                                                 \
	__attribute__((visibility("default"), aligned(32))) void name(void *p, size_t b,           \
								      size_t c) __asm__(symbol);   \
	void name(void *p, size_t b, size_t c)                                                     \
	{                                                                                          \
		if (!passes_delete(p)) {                                                           \
			sonde__slow_delete(p, b, c, kind);                                         \
			return;                                                                    \
		}                                                                                  \
		sonde__cxx.delete[kind](p, b, c);                                                  \
	}

NEW(sonde__new, "_Znwm", SONDE__NEW)
NEW(sonde__new_array, "_Znam", SONDE__NEW_ARRAY)
NEW(sonde__new_nothrow, "_ZnwmRKSt9nothrow_t", SONDE__NEW_NOTHROW)
NEW(sonde__new_array_nothrow, "_ZnamRKSt9nothrow_t", SONDE__NEW_ARRAY_NOTHROW)
NEW(sonde__new_aligned, "_ZnwmSt11align_val_t", SONDE__NEW_ALIGNED)
NEW(sonde__new_array_aligned, "_ZnamSt11align_val_t", SONDE__NEW_ARRAY_ALIGNED)
NEW(sonde__new_aligned_nothrow, "_ZnwmSt11align_val_tRKSt9nothrow_t", SONDE__NEW_ALIGNED_NOTHROW)
NEW(sonde__new_array_aligned_nothrow, "_ZnamSt11align_val_tRKSt9nothrow_t",
    SONDE__NEW_ARRAY_ALIGNED_NOTHROW)
DELETE(sonde__delete, "_ZdlPv", SONDE__DELETE)
DELETE(sonde__delete_array, "_ZdaPv", SONDE__DELETE_ARRAY)
DELETE(sonde__delete_sized, "_ZdlPvm", SONDE__DELETE_SIZED)
DELETE(sonde__delete_array_sized, "_ZdaPvm", SONDE__DELETE_ARRAY_SIZED)
DELETE(sonde__delete_nothrow, "_ZdlPvRKSt9nothrow_t", SONDE__DELETE_NOTHROW)
DELETE(sonde__delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", SONDE__DELETE_ARRAY_NOTHROW)
DELETE(sonde__delete_aligned, "_ZdlPvSt11align_val_t", SONDE__DELETE_ALIGNED)
DELETE(sonde__delete_array_aligned, "_ZdaPvSt11align_val_t", SONDE__DELETE_ARRAY_ALIGNED)
DELETE(sonde__delete_sized_aligned, "_ZdlPvmSt11align_val_t", SONDE__DELETE_SIZED_ALIGNED)
DELETE(sonde__delete_array_sized_aligned, "_ZdaPvmSt11align_val_t",
       SONDE__DELETE_ARRAY_SIZED_ALIGNED)
DELETE(sonde__delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t",
       SONDE__DELETE_ALIGNED_NOTHROW)
DELETE(sonde__delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t",
       SONDE__DELETE_ARRAY_ALIGNED_NOTHROW)

/* While those of the C++ library call malloc() anyway. */
OURS(_Znwm);
OURS(_Znam);
OURS(_ZnwmRKSt9nothrow_t);
OURS(_ZnamRKSt9nothrow_t);
OURS(_ZnwmSt11align_val_t);
OURS(_ZnamSt11align_val_t);
OURS(_ZnwmSt11align_val_tRKSt9nothrow_t);
OURS(_ZnamSt11align_val_tRKSt9nothrow_t);
OURS(_ZdlPv);
OURS(_ZdaPv);
OURS(_ZdlPvm);
OURS(_ZdaPvm);
OURS(_ZdlPvRKSt9nothrow_t);
OURS(_ZdaPvRKSt9nothrow_t);
OURS(_ZdlPvSt11align_val_t);
OURS(_ZdaPvSt11align_val_t);
OURS(_ZdlPvmSt11align_val_t);
OURS(_ZdaPvmSt11align_val_t);
OURS(_ZdlPvSt11align_val_tRKSt9nothrow_t);
OURS(_ZdaPvSt11align_val_tRKSt9nothrow_t);

const struct sonde__hooked sonde__hooked_operators[] = {
	HOOKED(_Znwm, sonde__cxx.new[SONDE__NEW]),
	HOOKED(_Znam, sonde__cxx.new[SONDE__NEW_ARRAY]),
	HOOKED(_ZnwmRKSt9nothrow_t, sonde__cxx.new[SONDE__NEW_NOTHROW]),
	HOOKED(_ZnamRKSt9nothrow_t, sonde__cxx.new[SONDE__NEW_ARRAY_NOTHROW]),
	HOOKED(_ZnwmSt11align_val_t, sonde__cxx.new[SONDE__NEW_ALIGNED]),
	HOOKED(_ZnamSt11align_val_t, sonde__cxx.new[SONDE__NEW_ARRAY_ALIGNED]),
	HOOKED(_ZnwmSt11align_val_tRKSt9nothrow_t, sonde__cxx.new[SONDE__NEW_ALIGNED_NOTHROW]),
	HOOKED(_ZnamSt11align_val_tRKSt9nothrow_t,
	       sonde__cxx.new[SONDE__NEW_ARRAY_ALIGNED_NOTHROW]),
	HOOKED(_ZdlPv, sonde__cxx.delete[SONDE__DELETE]),
	HOOKED(_ZdaPv, sonde__cxx.delete[SONDE__DELETE_ARRAY]),
	HOOKED(_ZdlPvm, sonde__cxx.delete[SONDE__DELETE_SIZED]),
	HOOKED(_ZdaPvm, sonde__cxx.delete[SONDE__DELETE_ARRAY_SIZED]),
	HOOKED(_ZdlPvRKSt9nothrow_t, sonde__cxx.delete[SONDE__DELETE_NOTHROW]),
	HOOKED(_ZdaPvRKSt9nothrow_t, sonde__cxx.delete[SONDE__DELETE_ARRAY_NOTHROW]),
	HOOKED(_ZdlPvSt11align_val_t, sonde__cxx.delete[SONDE__DELETE_ALIGNED]),
	HOOKED(_ZdaPvSt11align_val_t, sonde__cxx.delete[SONDE__DELETE_ARRAY_ALIGNED]),
	HOOKED(_ZdlPvmSt11align_val_t, sonde__cxx.delete[SONDE__DELETE_SIZED_ALIGNED]),
	HOOKED(_ZdaPvmSt11align_val_t, sonde__cxx.delete[SONDE__DELETE_ARRAY_SIZED_ALIGNED]),
	HOOKED(_ZdlPvSt11align_val_tRKSt9nothrow_t,
	       sonde__cxx.delete[SONDE__DELETE_ALIGNED_NOTHROW]),
	HOOKED(_ZdaPvSt11align_val_tRKSt9nothrow_t,
	       sonde__cxx.delete[SONDE__DELETE_ARRAY_ALIGNED_NOTHROW]),
	{ .name = NULL },
};
