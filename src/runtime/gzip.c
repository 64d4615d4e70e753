/*
 * gzip.c - bytes, compressed and not
 *
 * libdeflate is linked in and hidden, so telling it where to take memory from concerns nobody else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/os.h"
#include "runtime/output.h"

#include <libdeflate.h>

enum { HEADER = 64, FASTEST = 1 };

static void *allocate(size_t n)
{
	size_t *p = n < SIZE_MAX - HEADER ? sonde__map(n + HEADER) : NULL;

	if (!p)
		return NULL;
	*p = n + HEADER;
	return (char *)p + HEADER;
}

static void release(void *p)
{
	size_t *at;

	if (!p)
		return;
	at = (size_t *)(void *)((char *)p - HEADER);
	sonde__unmap(at, *at);
}

uint8_t *sonde__gzip(const void *data, size_t n, size_t *size, size_t *mapped)
{
	struct libdeflate_compressor *c;
	uint8_t *out = NULL;

	libdeflate_set_memory_allocator(allocate, release);
	c = libdeflate_alloc_compressor(FASTEST);
	if (!c)
		return NULL;
	*mapped = libdeflate_gzip_compress_bound(c, n);
	out = sonde__map(*mapped);
	if (out)
		*size = libdeflate_gzip_compress(c, data, n, out, *mapped);
	libdeflate_free_compressor(c);
	return out;
}

bool sonde__inflate(const void *packed, size_t npacked, void *to, size_t n)
{
	struct libdeflate_decompressor *d;
	bool fine;

	libdeflate_set_memory_allocator(allocate, release);
	d = libdeflate_alloc_decompressor();
	if (!d)
		return false;
	fine = libdeflate_zlib_decompress(d, packed, npacked, to, n, NULL) == LIBDEFLATE_SUCCESS;
	libdeflate_free_decompressor(d);
	return fine;
}
