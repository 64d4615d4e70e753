/*
 * fuzz-runtime-lines.c - bytes, taken for .debug_line of a running program
 *
 * The first two bytes say where .debug_line_str begins.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/line-program.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SPOTS = 64, HEAD = 2 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t kept;

static uint32_t keep(const char *path)
{
	assert(path[0] && strlen(path) < 1024);
	return ++kept;
}

/* A copy with the zero that is promised behind it, and nothing behind that. */
static uint8_t *copy(const uint8_t *p, size_t n)
{
	uint8_t *to = malloc(n + 1);

	assert(to);
	if (n)
		memcpy(to, p, n);
	to[n] = 0;
	return to;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde__spot spots[SPOTS] = { 0 };
	struct sonde__line_sections s = { 0 };
	uint8_t *line, *strings;
	size_t cut;

	if (size < HEAD)
		return 0;
	cut = (size_t)data[0] << 8 | data[1];
	data += HEAD;
	size -= HEAD;
	cut = cut < size ? cut : size;
	line = copy(data, cut);
	strings = copy(data + cut, size - cut);
	s = (struct sonde__line_sections){ line, strings, cut, size - cut };
	for (size_t i = 0; i < SPOTS; i++)
		spots[i].pc = i < 32 ? 0x1000 + i * 8 : 1ull << i;
	for (size_t i = 0; i < SPOTS; i++)
		spots[i].start = spots[i ? i - 1 : 0].pc;
	kept = 0;
	sonde__line_program(&s, spots, SPOTS, keep);
	for (size_t i = 0; i < SPOTS; i++)
		assert(spots[i].file <= kept);
	free(line);
	free(strings);
	return 0;
}
