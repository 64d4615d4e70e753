/*
 * deflate-stand-in.c - the few functions of libdeflate that libsonde needs, where there is none
 *
 * Stores: the result is valid, and no shorter.  For tests on processors that Debian has no
 * libdeflate for cross compilers of.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <libdeflate.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK = 65535, HEAD = 10, TAIL = 8, BLOCK_HEAD = 5 };

void libdeflate_set_memory_allocator(void *(*take)(size_t), void (*give)(void *))
{
	(void)take;
	(void)give;
}

struct libdeflate_compressor *libdeflate_alloc_compressor(int level)
{
	static char one;

	(void)level;
	return (struct libdeflate_compressor *)(void *)&one;
}

void libdeflate_free_compressor(struct libdeflate_compressor *c)
{
	(void)c;
}

size_t libdeflate_gzip_compress_bound(struct libdeflate_compressor *c, size_t n)
{
	(void)c;
	return HEAD + TAIL + n + (n / BLOCK + 1) * BLOCK_HEAD;
}

static uint32_t crc_of(const uint8_t *p, size_t n)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < n; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

static uint8_t *put(uint8_t *to, uint32_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		*to++ = (uint8_t)(v >> 8 * i);
	return to;
}

size_t libdeflate_gzip_compress(struct libdeflate_compressor *c, const void *in, size_t n,
				void *out, size_t room)
{
	static const uint8_t head[HEAD] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255 };
	const uint8_t *from = in;
	uint8_t *to = out;
	size_t left = n;

	if (room < libdeflate_gzip_compress_bound(c, n))
		return 0;
	memcpy(to, head, sizeof(head));
	to += sizeof(head);
	do {
		size_t some = left < BLOCK ? left : BLOCK;

		*to++ = some == left;
		to = put(to, (uint32_t)some, 2);
		to = put(to, ~(uint32_t)some, 2);
		memcpy(to, from, some);
		to += some;
		from += some;
		left -= some;
	} while (left);
	to = put(to, crc_of(in, n), 4);
	to = put(to, (uint32_t)n, 4);
	return (size_t)(to - (uint8_t *)out);
}

struct libdeflate_decompressor *libdeflate_alloc_decompressor(void)
{
	return NULL;
}

void libdeflate_free_decompressor(struct libdeflate_decompressor *d)
{
	(void)d;
}

enum libdeflate_result libdeflate_zlib_decompress(struct libdeflate_decompressor *d, const void *in,
						  size_t n, void *out, size_t room, size_t *got)
{
	(void)d;
	(void)in;
	(void)n;
	(void)out;
	(void)room;
	(void)got;
	return LIBDEFLATE_BAD_DATA;
}
