/*
 * xalloc.c - memory for the tool, or the end of it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void *or_die(void *p)
{
	if (p)
		return p;
	fputs("out of memory\n", stderr);
	exit(2);
}

void *mem_new(size_t n, size_t size)
{
	return mem_grow(NULL, n, size);
}

/*
 * Not calloc(): of pages that are read before they are written, as those of a hash table are, the
 * kernel makes one of zeros first, and interrupts all cores when it is replaced.
 */
void *mem_zeroed(size_t n, size_t size)
{
	return memset(mem_new(n, size), 0, (n ? n : 1) * size);
}

void *mem_grow(void *p, size_t n, size_t size)
{
	return or_die(reallocarray(p, n ? n : 1, size));
}

char *mem_str(struct str s)
{
	char *z = mem_new(s.n + 1, 1);

	if (s.n)
		memcpy(z, s.p, s.n);
	z[s.n] = '\0';
	return z;
}

char *mem_printf(const char *fmt, ...)
{
	char *z;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&z, fmt, ap) < 0)
		z = NULL;
	va_end(ap);
	return or_die(z);
}

void *xarena(struct arena *a, size_t n, size_t size)
{
	return or_die(arena_alloc(a, n, size));
}

void *xarena_sparse(struct arena *a, size_t n, size_t size)
{
	return or_die(arena_alloc_sparse(a, n, size));
}

void *xarena_grow(struct arena *a, void *mem, size_t n, size_t more, size_t size)
{
	return or_die(arena_grow(a, mem, n, more, size));
}

struct str xarena_str(struct arena *a, struct str s)
{
	s = arena_str(a, s);
	or_die((void *)s.p);
	return s;
}

struct str xarena_printf(struct arena *a, const char *fmt, ...)
{
	struct str s;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	s = (struct str){ xarena(a, (size_t)n + 1, 1), (size_t)n };
	va_start(ap, fmt);
	vsnprintf((char *)s.p, s.n + 1, fmt, ap);
	va_end(ap);
	return s;
}
