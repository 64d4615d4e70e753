/*
 * deflate.c - gzip, step by step
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/deflate.h"

#include "base/lazy.h"
#include "base/out.h"
#include "base/xalloc.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <stdlib.h>

/* The level at which libdeflate is about as tight as the reference's default, and far faster. */
enum { GZIP_LEVEL = 6 };
/* Below this, all at once is as good, and no library needs to be opened. */
enum { ALL_AT_ONCE = 4 << 20 };
/* ISA-L's tightest, what it needs for that, and how much it may give in a step. */
enum { LEVEL = 3, LEVEL_ROOM = ISAL_DEF_LVL3_DEFAULT, STEP = 256 << 10, MOST_INPUT = 1 << 30 };

static struct {
	void (*init)(struct isal_zstream *z);
	int (*deflate)(struct isal_zstream *z);
} calls;

struct deflater {
	struct out *to;
	struct out whole; /* what came so far, until there is too much of it */
	struct isal_zstream *z;
	uint8_t *room;
	bool alone; /* without ISA-L: then it is all at once in any case */
};

static int bind_calls(struct lazy_lib *lib, struct err *err)
{
	(void)err;
	calls.init = (__typeof__(calls.init))lazy_sym(lib, "isal_deflate_init");
	calls.deflate = (__typeof__(calls.deflate))lazy_sym(lib, "isal_deflate");
	return 0;
}

struct deflater *deflater_new(struct out *to)
{
	struct deflater *d = mem_zeroed(1, sizeof(*d));

	d->to = to;
	out_init(&d->whole, 0);
	return d;
}

/* ------------------------------------------------------------------ in steps */

static bool begin_steps(struct deflater *d)
{
	static struct lazy_lib lib = { .soname = "libisal.so.2",
				       .package = "libisal2",
				       .bind = bind_calls };

	if (lazy_open(&lib, NULL) != 0)
		return false;
	d->z = mem_zeroed(1, sizeof(*d->z));
	d->room = mem_zeroed(LEVEL_ROOM, 1); /* or what comes out depends on what was there */
	calls.init(d->z);
	d->z->level = LEVEL;
	d->z->level_buf = d->room;
	d->z->level_buf_size = LEVEL_ROOM;
	d->z->gzip_flag = IGZIP_GZIP;
	return true;
}

/* Takes all of the input, and gives what has come of it so far; 'last': all there is. */
static void run_step(struct deflater *d, const void *p, uint32_t n, bool last)
{
	struct isal_zstream *z = d->z;
	char *to;

	z->next_in = (uint8_t *)(uintptr_t)p;
	z->avail_in = n;
	z->end_of_stream = last;
	do {
		to = out_room(d->to, STEP);
		if (!to)
			return;
		z->next_out = (uint8_t *)to;
		z->avail_out = STEP;
		if (calls.deflate(z) != COMP_OK) {
			d->to->error = -EIO;
			return;
		}
		out_took(d->to, (char *)z->next_out);
	} while (z->avail_out == 0 || z->avail_in > 0);
}

static void put_steps(struct deflater *d, const char *p, size_t n)
{
	while (n > 0) {
		uint32_t some = n < MOST_INPUT ? (uint32_t)n : MOST_INPUT;

		run_step(d, p, some, false);
		p += some;
		n -= some;
	}
}

/* ------------------------------------------------------------------ all at once */

static void pack_whole(struct deflater *d)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(GZIP_LEVEL);
	char *packed = NULL;
	size_t bound = 0;

	if (c && !d->whole.error) {
		bound = libdeflate_gzip_compress_bound(c, d->whole.n);
		packed = out_room(d->to, bound);
	}
	if (packed)
		out_took(d->to, packed + libdeflate_gzip_compress(c, d->whole.p, d->whole.n, packed,
								  bound));
	else
		d->to->error = d->to->error ? d->to->error : -ENOMEM;
	libdeflate_free_compressor(c);
}

/* ------------------------------------------------------------------ both */

void deflater_put(struct deflater *d, const void *p, size_t n)
{
	if (d->z) {
		put_steps(d, p, n);
		return;
	}
	out_bytes(&d->whole, p, n);
	if (d->whole.n <= ALL_AT_ONCE || d->alone)
		return;
	d->alone = !begin_steps(d);
	if (d->alone)
		return;
	put_steps(d, d->whole.p, d->whole.n);
	out_release(&d->whole);
}

void deflater_end(struct deflater *d)
{
	if (d->z)
		run_step(d, NULL, 0, true);
	else
		pack_whole(d);
	out_release(&d->whole);
	free(d->z);
	free(d->room);
	free(d);
}
