/*
 * mini-debug.c - .gnu_debugdata: a compressed file in a file, with the names of its functions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/mini-debug.h"

#include "base/lazy.h"
#include "elf/debug-sections.h"
#include "elf/elf-file.h"

#include <stdlib.h>

enum { XZ_MEMORY = 128 << 20, MINI_LEAST = 64 << 10, MINI_GROWTH = 64, XZ_OK = 0 };

/* liblzma's lzma_stream_buffer_decode(). */
typedef int decode_fn(uint64_t *memory, uint32_t flags, const void *allocator, const uint8_t *in,
		      size_t *in_at, size_t in_size, uint8_t *out, size_t *out_at, size_t out_size);

static decode_fn *decode;

static int bind_calls(struct lazy_lib *lib, struct err *err)
{
	(void)err;
	decode = (decode_fn *)lazy_sym(lib, "lzma_stream_buffer_decode");
	return 0;
}

/* The size is not known beforehand. */
static uint8_t *unpack(struct bytes b, size_t *n)
{
	size_t room = b.n * MINI_GROWTH + MINI_LEAST, in = 0;
	uint64_t memory = XZ_MEMORY;
	uint8_t *out = malloc(room);

	*n = 0;
	if (out && decode(&memory, 0, NULL, b.p, &in, b.n, out, n, room) == XZ_OK)
		return out;
	free(out);
	return NULL;
}

struct elf_file *mini_debug_open(struct image *im, void **bytes)
{
	static struct lazy_lib lib = { .soname = "liblzma.so.5",
				       .package = "liblzma5",
				       .bind = bind_calls };
	struct bytes b = image_section(im, ".gnu_debugdata");
	struct elf_file *f = NULL;
	size_t n;

	if (b.n == 0 || lazy_open(&lib, NULL) < 0)
		return NULL;
	*bytes = unpack(b, &n);
	if (!*bytes || elf_open_memory(*bytes, n, im->f->path, &f, NULL) < 0)
		return NULL;
	return f;
}
