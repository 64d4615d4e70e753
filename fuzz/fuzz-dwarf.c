/*
 * fuzz-dwarf.c - debug information from strangers: functions, inlined calls and lines
 *
 * The addresses are those a file is likely to have something to say about: where its functions
 * and segments start, and what lies between.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/elf-file.h"
#include "elf/elf-lines.h"

#include "base/cleanup.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ADDRESSES = 256, STEP = 16 };

static void require(bool holds)
{
	if (!holds)
		abort();
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static size_t choose(const struct elf_file *f, uint64_t *addresses)
{
	size_t n = 0;

	for (size_t i = 0; i < f->nsymbols && n < ADDRESSES / 2; i++)
		addresses[n++] = f->symbols[i].start + i % 8;
	for (size_t i = 0; i < f->nsegments; i++)
		for (uint64_t k = 0; f->segments[i].executable && n < ADDRESSES; k++)
			addresses[n++] = f->segments[i].address + k * STEP;
	qsort(addresses, n, sizeof(*addresses), by_value);
	return n;
}

/* Every byte of every text is read. */
static void use_function(const struct elf_function *f)
{
	require(f->name.n == 0 || f->name.p[f->name.n] == '\0');
	require(f->file.n == 0 || strlen(f->file.p) == f->file.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(elf_closep) struct elf_file *f = NULL;
	uint64_t addresses[ADDRESSES];
	struct elf_frames out;
	size_t n;

	if (elf_open_memory(data, size, "fuzz", &f, NULL) < 0)
		return 0;
	(void)elf_read_symbols(f, NULL);
	n = choose(f, addresses);
	require(elf_resolve(f, NULL, addresses, n, &out, NULL) == 0);
	require(out.n == n);
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < out.at[i].n; k++)
			use_function(out.at[i].frames[k].function);
	for (size_t i = 0; i < out.nparts; i++)
		for (size_t k = 0; k < out.parts[i].n; k++)
			use_function(&out.parts[i].list[k]);
	elf_frames_release(&out);
	return 0;
}
