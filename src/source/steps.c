/*
 * steps.c - inflate step by step, so that others can begin with what is there already
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "source/steps.h"

#include "base/lazy.h"
#include "base/par.h"
#include "base/xalloc.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <stdlib.h>

/* A piece that stays in a core's cache until the reader has seen it. */
enum { STEP = 256 << 10, MOST_INPUT = 1 << 30 };

static struct {
	void (*isal_inflate_init)(struct inflate_state *state);
	int (*isal_inflate)(struct inflate_state *state);
} calls;

static int bind_calls(struct lazy_lib *lib, struct err *err)
{
	(void)err;
	calls.isal_inflate_init =
		(__typeof__(calls.isal_inflate_init))lazy_sym(lib, "isal_inflate_init");
	calls.isal_inflate = (__typeof__(calls.isal_inflate))lazy_sym(lib, "isal_inflate");
	return 0;
}

bool steps_available(void)
{
	static struct lazy_lib lib = { .soname = "libisal.so.2",
				       .package = "libisal2",
				       .bind = bind_calls };

	return par_width() > 1 && lazy_open(&lib, NULL) == 0;
}

/* Bytes that were taken from the input but hold nothing of this stream. */
static size_t unread(const struct inflate_state *z)
{
	return z->read_in_length > 0 ? (size_t)z->read_in_length / 8 : 0;
}

static int step(struct inflate_state *z, struct steps *s)
{
	size_t room = s->cap - s->got, taken = (size_t)(z->next_in - (const uint8_t *)s->in);
	size_t rest = s->nin - taken;
	int rc;

	z->next_out = (uint8_t *)s->out + s->got;
	z->avail_out = room < STEP ? (uint32_t)room : STEP;
	z->avail_in = rest < MOST_INPUT ? (uint32_t)rest : MOST_INPUT;
	rc = calls.isal_inflate(z);
	s->got = (size_t)(z->next_out - (uint8_t *)s->out);
	s->used = (size_t)(z->next_in - (const uint8_t *)s->in) - unread(z);
	if (rc < 0)
		return -EBADMSG;
	if (z->block_state == ISAL_BLOCK_FINISH)
		return 0;
	if (s->got == s->cap)
		return -ENOSPC;
	/* Neither end reached, and yet room left: the input is cut short. */
	return z->avail_out > 0 && rest <= MOST_INPUT ? -EBADMSG : -EAGAIN;
}

int steps_inflate(struct steps *s)
{
	struct inflate_state *z = mem_new(1, sizeof(*z));
	int rc;

	s->got = s->used = 0;
	calls.isal_inflate_init(z);
	z->next_in = (uint8_t *)(uintptr_t)s->in;
	do {
		rc = step(z, s);
		if (rc == 0 || rc == -EAGAIN)
			s->grown(s->ctx, s->got, s->used);
	} while (rc == -EAGAIN);
	free(z);
	return rc;
}
