/*
 * fuzz-ehframe.c - .eh_frame of binaries the host has loaded: entries, programs, pointers
 *
 * The input is where the section is in memory (8 bytes), where the code begins (8) and how long it
 * is (4), and the section; the bytes of the section are tried as .eh_frame_hdr, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/eh-frame.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 20, ROWS = 100000 };

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Rows are in order, say something new each, and are found again. */
static void use_table(const struct sonde__table *t, uint64_t span)
{
	require(t->n > 0 && t->n <= 2 * ROWS);
	for (size_t i = 0; i < t->n; i++) {
		require(t->rows[i].pc <= span && t->rows[i].rule >> RULE_BITS == 0);
		require(i == 0 || t->rows[i - 1].pc < t->rows[i].pc);
		require(sonde__table_rule(t, t->rows[i].pc) == t->rows[i].rule);
	}
	require(t->rows[t->n - 1].rule == RULE_NONE);
	require(sonde__table_rule(t, UINT64_MAX) == RULE_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde__eh_frame in = { .bytes = data + HEAD };
	struct sonde__table t;
	uint32_t span;
	uint64_t found;

	if (size < HEAD)
		return 0;
	in.n = size - HEAD;
	memcpy(&in.address, data, 8);
	memcpy(&in.low, data + 8, 8);
	memcpy(&span, data + 16, 4);
	in.text = in.low;
	in.data = in.address;
	in.high = in.low + span;
	if (in.high < in.low)
		return 0;
	require(sonde__eh_frame_length(in.bytes, in.n) <= in.n);
	(void)sonde__eh_frame_find(in.bytes, in.n, in.address, &found);
	if (sonde__table_build(&t, &in, ROWS) < 0)
		return 0;
	use_table(&t, span);
	sonde__table_release(&t);
	return 0;
}
