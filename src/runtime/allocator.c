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
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* Of the library that has the next malloc(), parts of its name. */
static const struct {
	const char *part, *name;
} known[] = {
	{ "libc.so", "glibc" },     { "libc-", "glibc" },       { "jemalloc", "jemalloc" },
	{ "tcmalloc", "tcmalloc" }, { "mimalloc", "mimalloc" }, { "ld-musl", "musl" },
};

/* Of one that is linked into the program, what it shows. */
static const char *name_by_symbol(void)
{
	static const struct {
		const char *symbol, *name;
	} shown[] = {
		{ "mallctl", "jemalloc" },
		{ "MallocExtension_GetNumericProperty", "tcmalloc" },
		{ "mi_process_info", "mimalloc" },
	};

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		if (dlsym(RTLD_DEFAULT, shown[i].symbol))
			return shown[i].name;
	return "an allocator of its own";
}

static const char *name_of(void *function)
{
	Dl_info info = { 0 };
	const char *slash = NULL;

	if (dladdr(function, &info) && info.dli_fname)
		slash = strrchr(info.dli_fname, '/');
	for (size_t i = 0; slash && i < sizeof(known) / sizeof(known[0]); i++)
		if (strstr(slash, known[i].part))
			return known[i].name;
	return name_by_symbol();
}

/*
 * The host calls what the lookup of its own symbols finds first.  That is not us if the program
 * defines malloc() itself, or if we were loaded after it had started.
 */
static void *first_malloc(void)
{
	return dlsym(RTLD_DEFAULT, "malloc");
}

static bool is_our_own(void *function)
{
	Dl_info info = { 0 }, ours = { 0 };

	return dladdr(function, &info) && dladdr((void *)is_our_own, &ours) &&
	       info.dli_fbase == ours.dli_fbase;
}

/*
 * Whether calls of the host come to us.  Our own name for malloc() is no help: it means the same
 * function as the host's.  A program at a fixed address may have a name that leads elsewhere.
 */
static bool is_hooked(void)
{
	void *first = first_malloc();
	const ElfW(Sym) *symbol = NULL;
	Dl_info info = { 0 };

	return is_our_own(first) || (dladdr1(first, &info, (void **)&symbol, RTLD_DL_SYMENT) &&
				     symbol && symbol->st_shndx == SHN_UNDEF);
}

/* Allocates only if nobody ever did: a thread that does gets an arena of its own. */
const char *sonde__allocator(void)
{
	if (!is_hooked())
		return name_of(first_malloc());
	if (is_our_own((void *)sonde__next.malloc))
		free(malloc(1)); /* now there is a next one */
	return name_of((void *)sonde__next.malloc);
}

const char *sonde__heap_allocator(void)
{
	if (!is_hooked()) {
		sonde__say_off(SONDE__HEAP,
			       "the program's malloc() cannot be hooked: it is its own, "
			       "or libsonde was loaded too late");
		return NULL;
	}
	return sonde__allocator();
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
