/*
 * out.c - a byte sink: memory, or a file descriptor or function behind a buffer
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"

#include "base/digits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	FD_BUFFER = 64 << 10,
	PAGE = 4 << 10,
	LARGE = 4 << 20, /* worth large pages */
};

void out_init(struct out *o, size_t max)
{
	*o = (struct out){ .fd = -1, .max = max ? max : SIZE_MAX / 2 };
}

void out_init_fd(struct out *o, int fd)
{
	*o = (struct out){ .fd = fd, .max = SIZE_MAX / 2 };
}

void out_init_to(struct out *o, void (*take)(void *ctx, const char *p, size_t n), void *ctx,
		 size_t max)
{
	out_init(o, max);
	o->take = take;
	o->ctx = ctx;
}

/* Whether its buffer is only on the way to somewhere else. */
static bool passes_on(const struct out *o)
{
	return o->fd >= 0 || o->take;
}

void out_release(struct out *o)
{
	free(o->p);
	*o = (struct out){ .fd = -1, .max = o->max };
}

/* No room is left after a failure, so that whatever follows comes to the slow path and ends. */
void out_fail(struct out *o, int code)
{
	if (!o->error)
		o->error = code;
	o->n = o->cap = 0;
}

static void hand_over(struct out *o, const char *p, size_t n)
{
	if (n > o->max - o->taken) {
		out_fail(o, -EFBIG);
		return;
	}
	o->taken += n;
	o->take(o->ctx, p, n);
}

static void write_all(struct out *o, const char *p, size_t n)
{
	if (o->take && n && !o->error) {
		hand_over(o, p, n);
		return;
	}
	while (n && !o->error) {
		ssize_t w = write(o->fd, p, n);

		if (w < 0 && errno != EINTR)
			out_fail(o, -errno);
		if (w > 0) {
			p += w;
			n -= (size_t)w;
		}
	}
}

static void flush(struct out *o)
{
	write_all(o, o->p, o->n);
	o->n = 0;
}

/* Makes the buffer hold 'n' more bytes.  False when it cannot. */
static bool grow(struct out *o, size_t n)
{
	size_t cap = o->cap ? o->cap : 256;
	char *p;

	if (n > o->max - o->n) {
		out_fail(o, -EFBIG);
		return false;
	}
	while (cap < o->n + n)
		cap *= 2;
	p = realloc(o->p, cap);
	if (!p) {
		out_fail(o, -ENOMEM);
		return false;
	}
	o->p = p;
	o->cap = cap;
	return true;
}

/* The start of the page behind 'p'. */
static void *page_of(char *p)
{
	return p + (-(uintptr_t)p & (PAGE - 1));
}

void out_reserve(struct out *o, size_t n)
{
	if (o->error || passes_on(o) || n <= o->cap - o->n || !grow(o, n))
		return;
	if (n >= LARGE)
		(void)madvise(page_of(o->p), n, MADV_HUGEPAGE);
}

void out_expect(struct out *o, size_t n)
{
	if (n > o->max - o->n - o->taken)
		out_fail(o, -EFBIG);
}

int out_finish(struct out *o)
{
	if (passes_on(o))
		flush(o);
	return o->error;
}

void out_bytes_slow(struct out *o, const void *p, size_t n)
{
	if (o->error)
		return;
	if (passes_on(o)) {
		flush(o);
		if (o->error || n >= FD_BUFFER) {
			write_all(o, p, n);
			return;
		}
		if (o->cap == 0 && !grow(o, FD_BUFFER))
			return;
	} else if (!grow(o, n)) {
		return;
	}
	memcpy(o->p + o->n, p, n);
	o->n += n;
}

char *out_room_slow(struct out *o, size_t n)
{
	if (o->error)
		return NULL;
	if (passes_on(o)) {
		flush(o);
		if (o->error || (n > o->cap && !grow(o, n > FD_BUFFER ? n : FD_BUFFER)))
			return NULL;
	} else if (!grow(o, n)) {
		return NULL;
	}
	return o->p + o->n;
}

void out_insert(struct out *o, struct str s)
{
	if (s.n == 0 || !out_room(o, s.n))
		return;
	memmove(o->p + s.n, o->p, o->n);
	memcpy(o->p, s.p, s.n);
	o->n += s.n;
}

void out_fill(struct out *o, char c, size_t n)
{
	char run[64];

	memset(run, c, sizeof(run));
	for (; n > sizeof(run); n -= sizeof(run))
		out_bytes(o, run, sizeof(run));
	out_bytes(o, run, n);
}

void out_printf(struct out *o, const char *fmt, ...)
{
	char small[512], *big = NULL;
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	if (n >= (int)sizeof(small))
		n = vasprintf(&big, fmt, again);
	if (n < 0)
		out_fail(o, -ENOMEM);
	else
		out_bytes(o, big ? big : small, (size_t)n);
	free(big);
	va_end(again);
	va_end(ap);
}

static size_t utf8_len(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

void out_padded(struct out *o, struct str s, int width)
{
	size_t want = (size_t)(width < 0 ? -width : width);
	size_t len = utf8_len(s);
	size_t pad = len < want ? want - len : 0;

	if (width > 0)
		out_fill(o, ' ', pad);
	out_str(o, s);
	if (width < 0)
		out_fill(o, ' ', pad);
}

void out_u64(struct out *o, uint64_t v)
{
	char text[DIGITS_MOST];

	if (DIGITS_MOST <= o->cap - o->n)
		out_took(o, digits_decimal(o->p + o->n, v));
	else
		out_bytes(o, text, (size_t)(digits_decimal(text, v) - text));
}

void out_hex(struct out *o, uint64_t v)
{
	char text[DIGITS_MOST];

	if (DIGITS_MOST <= o->cap - o->n)
		out_took(o, digits_hex(o->p + o->n, v));
	else
		out_bytes(o, text, (size_t)(digits_hex(text, v) - text));
}

void out_i64(struct out *o, int64_t v)
{
	if (v < 0)
		out_char(o, '-');
	out_u64(o, v < 0 ? -(uint64_t)v : (uint64_t)v);
}
