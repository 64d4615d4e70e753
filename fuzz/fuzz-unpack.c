/*
 * fuzz-unpack.c - bytes that may be compressed
 *
 * Random bytes rarely have the right checksum, so every input is also compressed, both ways,
 * and must come back as it was.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "source/unpack.h"

#include <assert.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { MAX = 4 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct file_bytes copy(const void *p, size_t n)
{
	struct file_bytes b = { .p = malloc(n ? n : 1), .n = n };

	if (n)
		memcpy(b.p, p, n);
	return b;
}

static void check_any(const uint8_t *data, size_t size)
{
	struct file_bytes b = copy(data, size);
	struct err err = { "" };
	int rc = unpack(&b, MAX, NULL, NULL, &err);

	if (rc == 0) {
		assert(b.n <= MAX || b.n == size);
	} else {
		assert(rc == -EBADMSG || rc == -EFBIG || rc == -ENOMEM);
		assert(str_starts(str_of(err.msg), STR("decompressing profile: ")));
		assert(b.n == size && memcmp(b.p, data, size) == 0);
	}
	file_bytes_release(&b);
}

static void check_same(struct file_bytes *packed, const uint8_t *data, size_t size)
{
	struct err err = { "" };

	assert(unpack(packed, size, NULL, NULL, &err) == 0);
	assert(packed->n == size && (size == 0 || memcmp(packed->p, data, size) == 0));
	file_bytes_release(packed);
}

static void check_round_trip(const uint8_t *data, size_t size)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
	size_t room = libdeflate_gzip_compress_bound(c, size);
	struct file_bytes gz = { .p = malloc(room) }, zst;

	gz.n = libdeflate_gzip_compress(c, data, size, gz.p, room);
	libdeflate_free_compressor(c);
	check_same(&gz, data, size);

	room = ZSTD_compressBound(size);
	zst = (struct file_bytes){ .p = malloc(room) };
	zst.n = ZSTD_compress(zst.p, room, data, size, 1);
	check_same(&zst, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_any(data, size);
	check_round_trip(data, size);
	return 0;
}
