/*
 * out.h - a byte sink: memory, or a file descriptor or function behind a buffer
 *
 * The first failure sticks: later calls do nothing, and the caller asks once, at the
 * end, with out_finish() or by looking at 'error'.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_OUT_H
#define BASE_OUT_H

#include "base/str.h"

#include <stdint.h>

struct out {
	char *p; /* what has not been written yet; for a memory sink: everything */
	size_t n;
	size_t cap; /* of the buffer; 0 from the first failure on */
	size_t max; /* a sink in memory, or to a function, refuses more than this */
	int fd;     /* negative: a memory sink, or a function's */
	int error;  /* negative errno of the first failure, or 0 */
	void (*take)(void *ctx, const char *p, size_t n);
	void *ctx;
	size_t taken; /* by the function */
};

/* A sink in memory of at most 'max' bytes (0: no ceiling but the address space). */
void out_init(struct out *o, size_t max);
/* A sink that writes to 'fd', which stays the caller's to close. */
void out_init_fd(struct out *o, int fd);
/* A sink that hands on what comes, piece by piece, until it is 'max' bytes (0: no ceiling). */
void out_init_to(struct out *o, void (*take)(void *ctx, const char *p, size_t n), void *ctx,
		 size_t max);
/* Frees the buffer; does not write what is left in it. */
void out_release(struct out *o);

/* Writes what is left (sinks not in memory) and returns the first failure, or 0. */
int out_finish(struct out *o);

/* Says that 'n' bytes will come: a sink in memory makes room for them at once. */
void out_reserve(struct out *o, size_t n);

/* Says that at least 'n' bytes will come: a sink whose ceiling is below that fails at once. */
void out_expect(struct out *o, size_t n);

/* Has it fail with 'code', unless it has failed before. */
void out_fail(struct out *o, int code);

/* The slow half of out_bytes(), for what does not fit the buffer as it is. */
void out_bytes_slow(struct out *o, const void *p, size_t n);

static inline void out_bytes(struct out *o, const void *p, size_t n)
{
	if (n <= o->cap - o->n && n > 0) {
		memcpy(o->p + o->n, p, n);
		o->n += n;
	} else if (n > 0) {
		out_bytes_slow(o, p, n);
	}
}

/*
 * For several things at once: out_room() makes room for 'n' bytes, at least one, and returns where
 * they go, or NULL after a failure; out_took() says where those end that were put there.
 */
char *out_room_slow(struct out *o, size_t n);

static inline char *out_room(struct out *o, size_t n)
{
	return n <= o->cap - o->n ? o->p + o->n : out_room_slow(o, n);
}

static inline void out_took(struct out *o, const char *end)
{
	o->n = (size_t)(end - o->p);
}

static inline void out_char(struct out *o, char c)
{
	out_bytes(o, &c, 1);
}

/* Puts 's' before all that a sink in memory holds. */
void out_insert(struct out *o, struct str s);

void out_fill(struct out *o, char c, size_t n);
void out_printf(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline void out_str(struct out *o, struct str s)
{
	out_bytes(o, s.p, s.n);
}

static inline void out_text(struct out *o, const char *z)
{
	out_bytes(o, z, strlen(z));
}

/* 's' behind (positive 'width') or before (negative) blanks; width counts UTF-8 characters. */
void out_padded(struct out *o, struct str s, int width);

void out_u64(struct out *o, uint64_t v);
void out_i64(struct out *o, int64_t v);
/* "0x" and digits; of 0, too. */
void out_hex(struct out *o, uint64_t v);

/* What a memory sink holds. */
static inline struct str out_view(const struct out *o)
{
	return (struct str){ o->p ? o->p : "", o->n };
}

#endif /* BASE_OUT_H */
