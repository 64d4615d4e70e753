/*
 * malloc-slow.h - allocations that may be sampled, and ends of those that may have been
 *
 * Each does all that its hook has to.  Hooks jump here, so the caller is the host.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_MALLOC_SLOW_H
#define RUNTIME_MALLOC_SLOW_H

#include <stdbool.h>
#include <stddef.h>

void *sonde__slow_malloc(size_t size);
void *sonde__slow_calloc(size_t n, size_t size);
/* 'counted': the new size has passed already (heap.h). */
void *sonde__slow_realloc(void *p, size_t size, bool counted);
void sonde__slow_free(void *p);
void *sonde__slow_memalign(size_t alignment, size_t size);
int sonde__slow_posix_memalign(void **p, size_t alignment, size_t size);
void *sonde__slow_aligned_alloc(size_t alignment, size_t size);
void *sonde__slow_valloc(size_t size);
void *sonde__slow_pvalloc(size_t size);

#endif /* RUNTIME_MALLOC_SLOW_H */
