/*
 * empty-hooks.c - malloc() and free() that pass calls on and do nothing else: the least a hook
 * costs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <stddef.h>

static void *first_malloc(size_t size);
static void first_free(void *p);

static void *(*next_malloc)(size_t) = first_malloc;
static void (*next_free)(void *) = first_free;

static void resolve(void)
{
	next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
}

static void *first_malloc(size_t size)
{
	resolve();
	return next_malloc(size);
}

static void first_free(void *p)
{
	resolve();
	next_free(p);
}

void *malloc(size_t size);
void free(void *p);

void *malloc(size_t size)
{
	return next_malloc(size);
}

void free(void *p)
{
	next_free(p);
}
