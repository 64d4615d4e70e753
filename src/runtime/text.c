/*
 * text.c - stacks in the text forms of profiles
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/output.h"
#include "runtime/profiles.h"
#include "runtime/stacks.h"

static void add_frame(struct sonde__buf *b, uint64_t pc)
{
	uint64_t start = 0;
	const char *name = sonde__name(pc, &start);

	sonde__buf_format(b, "#\t0x%llx\t", (unsigned long long)pc);
	if (name) {
		sonde__buf_text(b, name);
		sonde__buf_format(b, "+0x%llx", (unsigned long long)(pc - start));
	}
	sonde__buf_text(b, "\n");
}

void sonde__text_stack(struct sonde__buf *b, uint32_t id)
{
	const struct sonde__stack *st = sonde__stack(id);
	size_t n = st ? st->n : 0;

	for (size_t i = 0; i < n; i++)
		sonde__buf_format(b, " 0x%llx", (unsigned long long)st->pcs[i]);
	sonde__buf_text(b, "\n");
	for (size_t i = 0; i < n; i++)
		add_frame(b, st->pcs[i] - (i > 0 || !st->leaf_is_pc));
	sonde__buf_text(b, "\n");
}
