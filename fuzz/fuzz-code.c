/*
 * fuzz-code.c - machine code from strangers, and Go's line tables
 *
 * The first byte chooses: a machine and a syntax, or a line table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "code/code.h"
#include "elf/go-lines.h"

#include <elf.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static struct str name_of(uint64_t address, uint64_t *offset, void *ctx)
{
	(void)ctx;
	*offset = address & 15;
	return address & 1 ? STR("f") : STR("");
}

/* Every byte belongs to an instruction, and every instruction has a text. */
static void read_code(uint16_t machine, bool intel, struct str bytes)
{
	struct code_options o = { .intel = intel, .name_of = name_of };
	uint64_t at = 0x400000;
	struct code c;

	if (code_decode(machine, bytes, at, &o, &c, NULL) == 0) {
		for (size_t i = 0; i < c.n; i++) {
			require(c.insts[i].address == at && c.insts[i].size > 0);
			require(strlen(c.insts[i].text.p) == c.insts[i].text.n);
			require(c.insts[i].text.n > 0);
			at += c.insts[i].size;
		}
		require(at == 0x400000 + bytes.n);
	}
	code_release(&c);
}

static void read_lines(struct str table)
{
	uint64_t sum = 0;
	struct go_line line;
	struct go_lines g;

	if (!go_lines_parse(&g, table))
		return;
	for (uint64_t i = 0; i < 4096; i++) {
		if (!go_lines_find(&g, g.text + i * 16, &line))
			continue;
		require(line.start <= line.end || line.end < g.text + i * 16);
		for (size_t k = 0; k < line.file.n; k++)
			sum += (uint8_t)line.file.p[k];
		for (size_t k = 0; k < line.function.n; k++)
			sum += (uint8_t)line.function.p[k];
	}
	require(sum != UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t machines[] = { EM_X86_64, EM_386, EM_AARCH64 };
	struct str rest = { (const char *)data + 1, size - 1 };

	if (size < 2 || size > 1 << 16)
		return 0;
	if (data[0] % 7 == 6)
		read_lines(rest);
	else
		read_code(machines[data[0] % 7 / 2], data[0] % 7 % 2, rest);
	return 0;
}
