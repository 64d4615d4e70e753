/*
 * next.c - the allocator behind our hooks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/next.h"

#include "runtime/live.h"
#include "runtime/os.h"
#include "runtime/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ARENA = SONDE__ARENA, GRAIN = 16, PAGE = 4096 };

char sonde__arena[ARENA] __attribute__((aligned(PAGE)));
static atomic_size_t arena_used;

/*
 * This thread is looking for the next allocator.  Volatile, because dlsym() is declared never to
 * call us back; but it allocates when it finds nothing.
 */
static __thread volatile int looking __attribute__((tls_model("initial-exec")));

/* Never freed, so an address comes once; zeroed.  The filter sends its free() the slow way. */
static void *arena_take(size_t alignment, size_t size)
{
	size_t used = atomic_load_explicit(&arena_used, memory_order_relaxed);
	size_t at, end;

	if (alignment < GRAIN)
		alignment = GRAIN;
	if (size > ARENA || alignment > PAGE)
		return NULL;
	do {
		at = (used + alignment - 1) & ~(alignment - 1);
		end = at + (size ? size : 1);
		if (end > ARENA)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&arena_used, &used, end, memory_order_relaxed, memory_order_relaxed));
	sonde__filter_add(sonde__arena + at);
	return sonde__arena + at;
}

bool sonde__arena_was_used(void)
{
	return atomic_load_explicit(&arena_used, memory_order_relaxed) != 0;
}

void *sonde__next_symbol(const char *name)
{
	int saved = errno;
	void *found;

	looking++;
	found = dlsym(RTLD_NEXT, name);
	looking--;
	errno = saved;
	return found;
}

void *sonde__next_version(const char *name, const char *version)
{
	int saved = errno;
	void *found;

	looking++;
	found = dlvsym(RTLD_NEXT, name, version);
	looking--;
	errno = saved;
	return found ? found : sonde__next_symbol(name);
}

/* In the order of the struct. */
static const char *const names[] = {
	"malloc",         "calloc",        "realloc", "free",    "memalign",
	"posix_memalign", "aligned_alloc", "valloc",  "pvalloc",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == sizeof(sonde__next) / sizeof(void *),
	       "one name for each");

static void resolve(void)
{
	struct sonde__next next = sonde__next;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *f = sonde__next_symbol(names[i]);

		if (f)
			memcpy((char *)&next + i * sizeof(f), &f, sizeof(f));
	}
	sonde__next = next;
}

/*
 * There is no allocator but ours, which is none: the program was linked with -static-pie, and got
 * our malloc() instead of one that has memory.  (With -static, it cannot be linked: see api.c.)
 * It has no use for a start, and should know why.
 */
static void refuse(void)
{
	static const char words[] =
		"libsonde: a program that is linked statically cannot have it\n";

	sonde__syscall(SYS_write, STDERR_FILENO, (long)words, sizeof(words) - 1, 0, 0, 0);
	sonde__syscall(SYS_exit_group, 127, 0, 0, 0, 0, 0);
}

/*
 * What the pointers lead to at first: whoever is called looks for the next allocator and passes the
 * call on.  Where there is none, or while this very thread is looking, the arena has to do.
 */
static void *first_malloc(size_t size);

static bool found_next(void)
{
	if (looking)
		return false;
	resolve();
	if (sonde__next.malloc == first_malloc)
		refuse();
	return true;
}

static void *first_malloc(size_t size)
{
	if (found_next() && sonde__next.malloc != first_malloc)
		return sonde__next.malloc(size);
	return arena_take(GRAIN, size);
}

static void *first_calloc(size_t n, size_t size)
{
	size_t bytes;

	if (found_next() && sonde__next.calloc != first_calloc)
		return sonde__next.calloc(n, size);
	return __builtin_mul_overflow(n, size, &bytes) ? NULL : arena_take(GRAIN, bytes);
}

static void *first_realloc(void *p, size_t size)
{
	size_t left = sonde__arena_left(p);
	void *q;

	if (found_next() && sonde__next.realloc != first_realloc)
		return sonde__next.realloc(p, size);
	q = arena_take(GRAIN, size);
	if (q && left)
		memmove(q, p, size < left ? size : left);
	return q;
}

static void first_free(void *p)
{
	if (found_next() && sonde__next.free != first_free)
		sonde__next.free(p);
}

static void *first_memalign(size_t alignment, size_t size)
{
	if (found_next() && sonde__next.memalign != first_memalign)
		return sonde__next.memalign(alignment, size);
	return arena_take(alignment, size);
}

static int first_posix_memalign(void **p, size_t alignment, size_t size)
{
	if (found_next() && sonde__next.posix_memalign != first_posix_memalign)
		return sonde__next.posix_memalign(p, alignment, size);
	*p = arena_take(alignment, size);
	return *p ? 0 : ENOMEM;
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	if (found_next() && sonde__next.aligned_alloc != first_aligned_alloc)
		return sonde__next.aligned_alloc(alignment, size);
	return arena_take(alignment, size);
}

static void *first_valloc(size_t size)
{
	if (found_next() && sonde__next.valloc != first_valloc)
		return sonde__next.valloc(size);
	return arena_take(PAGE, size);
}

static void *first_pvalloc(size_t size)
{
	if (found_next() && sonde__next.pvalloc != first_pvalloc)
		return sonde__next.pvalloc(size);
	return arena_take(PAGE, size);
}

#define FIRST                                                                                      \
	{                                                                                          \
		.malloc = first_malloc, .calloc = first_calloc, .realloc = first_realloc,          \
		.free = first_free, .memalign = first_memalign,                                    \
		.posix_memalign = first_posix_memalign, .aligned_alloc = first_aligned_alloc,      \
		.valloc = first_valloc, .pvalloc = first_pvalloc,                                  \
	}

static const struct sonde__next first = FIRST;
struct sonde__next sonde__next = FIRST;

const void *sonde__next_behind(const void *pointer)
{
	uintptr_t at = (uintptr_t)pointer - (uintptr_t)&sonde__next;
	const void *now, *before;

	if (at >= sizeof(sonde__next) || at % sizeof(now) != 0)
		return NULL;
	if (sonde__next.malloc == first.malloc)
		found_next();
	memcpy(&now, (const char *)&sonde__next + at, sizeof(now));
	memcpy(&before, (const char *)&first + at, sizeof(before));
	return now == before ? NULL : now;
}
