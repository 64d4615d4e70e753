/*
 * fuzz-runtime-names.c - a file, taken for a program whose functions have names
 *
 * Names end inside their block, and functions are sorted; whatever the file says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
/* For what is static there. */
#include "../src/runtime/names.c" /* NOLINT(bugprone-suspicious-include) */

#include <assert.h>
#include <stdint.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The one module there is is the file. */
static struct sonde__module module = { .start = 0, .end = UINT64_MAX, .path = "/" };
static const struct sonde__modules modules = { .n = 1, .at = &module };

const struct sonde__modules *sonde__modules(void)
{
	return &modules;
}

const struct sonde__module *sonde__module_at(uint64_t pc)
{
	(void)pc;
	return &module;
}

static void check_names(struct table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct symbol *s = &t->symbols[i];

		assert(i == 0 || t->symbols[i - 1].start <= s->start);
		read_name(t, s);
		if (s->known)
			assert(strnlen(blocks[(s->known - 1) / BLOCK] + (s->known - 1) % BLOCK,
				       NAME_MAX_BYTES) < NAME_MAX_BYTES);
		find_symbol(t, s->start);
		find_symbol(t, s->start + s->size);
		find_symbol(t, s->start - 1);
	}
}

static void forget(struct table *t)
{
	while (nblocks > 0)
		sonde__unmap(blocks[--nblocks], BLOCK);
	sonde__unmap(t->symbols, t->mapped);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int i = 0; i < 2; i++) {
		struct table t = { .n = 0 };
		size_t n, mapped;
		uint8_t *p;

		if (!sonde__binary_image(&t.file, data, size))
			return 0;
		read_table(&t);
		check_names(&t);
		forget(&t);
		p = sonde__binary_load(&t.file, i ? ".debug_line" : ".debug_line_str", 1 << 20, &n,
				       &mapped);
		if (p)
			sonde__unmap(p, mapped);
		sonde__binary_close(&t.file);
	}
	return 0;
}
