/*
 * steps.h - inflate step by step, so that others can begin with what is there already
 *
 * libdeflate, which does all other inflating here, is as fast but gives nothing before it has
 * everything.  ISA-L gives pieces: while one core inflates a large profile, another can decode.
 * zlib could do so as well, in three times the time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SOURCE_STEPS_H
#define SOURCE_STEPS_H

#include <stdbool.h>
#include <stddef.h>

/* One deflate stream, without a frame around it. */
struct steps {
	const char *in;
	size_t nin;
	char *out;
	size_t cap;
	/*
	 * Called after each step: so many bytes are there, and stay as they are; so many of the
	 * input have been read.
	 */
	void (*grown)(void *ctx, size_t n, size_t used);
	void *ctx;

	size_t used, got; /* results: how much of 'in' was read, and of 'out' written */
};

/* Whether this machine has what it takes: the library, and a core for somebody else. */
bool steps_available(void);

/* Inflates all of it.  0, -ENOSPC where 'cap' is too small, -EBADMSG for anything else. */
int steps_inflate(struct steps *s);

#endif /* SOURCE_STEPS_H */
