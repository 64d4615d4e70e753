/*
 * allocator.c - which allocator the host has, and making it give memory back
 *
 * For the agent only: looking for symbols may take the loader's lock.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/heap.h"
#include "runtime/next.h"
#include "runtime/runtime.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* Of the library that has the next malloc(), parts of its name. */
static const struct {
	const char *part, *name;
} known[] = {
	{ "libc.so", "glibc" },     { "libc-", "glibc" },       { "jemalloc", "jemalloc" },
	{ "tcmalloc", "tcmalloc" }, { "mimalloc", "mimalloc" }, { "ld-musl", "musl" },
};

static const char *name_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	for (size_t i = 0; slash && i < sizeof(known) / sizeof(known[0]); i++)
		if (strstr(slash, known[i].part))
			return known[i].name;
	return "an allocator of its own";
}

/*
 * The host calls what the lookup of its own symbols finds first.  That is not us if the program
 * defines malloc() itself, or if we were loaded after it had started.
 */
const char *sonde__heap_allocator(void)
{
	void *first = dlsym(RTLD_DEFAULT, "malloc");
	Dl_info info = { 0 };

	if (first != (void *)malloc) {
		sonde__say_off(SONDE__HEAP,
			       "the program's malloc() cannot be hooked: it is its own, "
			       "or libsonde was loaded too late");
		return NULL;
	}
	free(malloc(1)); /* now there is a next one */
	return dladdr((void *)sonde__next.malloc, &info) ? name_of(info.dli_fname) : NULL;
}

typedef int mallctl_fn(const char *, void *, size_t *, void *, size_t);

/* Every arena of jemalloc; 4096 stands for all of them (MALLCTL_ARENAS_ALL). */
static void purge_jemalloc(void)
{
	mallctl_fn *mallctl = (mallctl_fn *)dlsym(RTLD_DEFAULT, "mallctl");

	if (!mallctl)
		return;
	mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
	mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
}

void sonde__heap_reclaim(void)
{
	int (*trim)(size_t) = (int (*)(size_t))dlsym(RTLD_DEFAULT, "malloc_trim");
	void (*release)(void) =
		(void (*)(void))dlsym(RTLD_DEFAULT, "MallocExtension_ReleaseFreeMemory");
	void (*collect)(bool) = (void (*)(bool))dlsym(RTLD_DEFAULT, "mi_collect");

	sonde__tls.inside++;
	purge_jemalloc();
	if (release)
		release();
	if (collect)
		collect(true);
	if (trim)
		trim(0);
	sonde__tls.inside--;
}
