/*
 * fuzz-cache.c - files of the symbol cache, after anything may have happened to them
 *
 * Every input is tried twice: as it is, and with the right magic number and checksum, because
 * otherwise nothing would get past those.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/frame-table.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t use_function(const struct frame_table *t, const struct table_function *f)
{
	uint32_t texts[] = { f->name, f->readable, f->file };
	uint64_t sum = 0;

	for (size_t i = 0; i < 3; i++) {
		struct str s = frame_table_text(t, texts[i]);

		sum = hash_bytes(s.p, s.n, sum);
	}
	return sum;
}

/* Reads all there is; every byte of every text. */
static void use(const void *bytes, size_t size)
{
	struct frame_table t;
	uint64_t sum = 0;

	if (frame_table_parse((struct str){ bytes, size }, &t) < 0)
		return;
	for (size_t i = 0; i < t.n; i++) {
		if (t.first[i] > t.first[i + 1] || (i && t.addresses[i] <= t.addresses[i - 1]))
			abort();
		for (size_t j = t.first[i]; j < t.first[i + 1]; j++)
			sum += use_function(&t, &t.functions[t.frames[j].function]);
	}
	__asm__ volatile("" : : "r"(sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct table_header *h = malloc(size + sizeof(*h));

	if (!h)
		return 0;
	memcpy(h, data, size);
	use(h, size);
	if (size >= sizeof(*h)) {
		h->magic = FRAME_TABLE_MAGIC;
		h->checksum = frame_table_checksum((struct str){ (char *)h, size });
		use(h, size);
	}
	free(h);
	return 0;
}
