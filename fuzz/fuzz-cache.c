/*
 * fuzz-cache.c - files of the symbol cache, after anything may have happened to them
 *
 * Every input is tried twice: as it is, and with the right magic number and checksum, because
 * otherwise nothing would get past those.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/cache.h"

#include "symbol/cache-format.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads all there is; every byte of every string. */
static void use(const void *bytes, size_t size)
{
	struct cached_frames c;
	uint64_t sum = 0;

	if (cached_parse((struct str){ bytes, size }, &c) < 0)
		return;
	for (size_t i = 0; i < c.n; i++) {
		if (c.first[i] > c.first[i + 1])
			abort();
		for (size_t j = c.first[i]; j < c.first[i + 1]; j++) {
			struct elf_frame f = cached_frame(&c, j);

			sum = hash_bytes(f.function.p, f.function.n, sum);
			sum = hash_bytes(f.file.p, f.file.n, sum);
		}
	}
	__asm__ volatile("" : : "r"(sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cache_header *h = malloc(size + sizeof(*h));

	if (!h)
		return 0;
	memcpy(h, data, size);
	use(h, size);
	if (size >= sizeof(*h)) {
		h->magic = CACHE_MAGIC;
		h->checksum =
			hash_bytes((char *)h + CACHE_UNSUMMED, size - CACHE_UNSUMMED, CACHE_MAGIC);
		use(h, size);
	}
	free(h);
	return 0;
}
