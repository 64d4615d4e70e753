/*
 * code.c - machine code as text
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "code/code.h"

#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "code/machine.h"
#include "elf/elf-file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

/*
 * The longest instruction there is, on any machine.  What we read of a file at most; and the memory
 * for its text, which a one-byte instruction has 256 bytes of at most.
 */
enum { LONGEST = 15, LARGEST = 8 << 20 };
#define BUDGET ((size_t)4 << 30)

static int open_decoder(uint16_t machine, const struct code_options *o, struct decoder **out,
			struct err *err)
{
	switch (machine) {
	case EM_X86_64:
		return decoder_x86(true, o->intel, out, err);
	case EM_386:
		return decoder_x86(false, o->intel, out, err);
	case EM_AARCH64:
		return decoder_arm64(out, err);
	default:
		return err_set(err, -ENOTSUP,
			       "cannot disassemble code for machine %u: only x86 and aarch64",
			       machine);
	}
}

static void print_name(struct out *text, uint64_t address, const struct code_options *o)
{
	uint64_t offset = 0;
	struct str name = { 0 };

	if (o->name_of)
		name = o->name_of(address, &offset, o->ctx);
	if (name.n == 0)
		return;
	out_text(text, " <");
	out_str(text, name);
	if (offset)
		out_printf(text, "+0x%llx", (unsigned long long)offset);
	out_char(text, '>');
}

static struct str text_of(const struct decoded *d, const struct code_options *o, struct arena *a)
{
	struct out text;
	struct str s;

	out_init(&text, 0);
	out_text(&text, d->text);
	if (d->has_reference)
		out_printf(&text, "  # 0x%llx", (unsigned long long)d->address);
	if (d->has_target || d->has_reference)
		print_name(&text, d->address, o);
	s = xarena_str(a, out_view(&text));
	out_release(&text);
	return s;
}

/* Reads instructions that start in the first 'n' of 'bytes'. */
static void decode_all(struct decoder *d, struct str bytes, size_t n, uint64_t address,
		       const struct code_options *o, struct code *out)
{
	size_t cap = 0;

	for (size_t at = 0; at < n;) {
		struct code_inst inst = { .address = address + at, .text = STR("(bad)") };
		struct decoded found = { .size = 0 };

		d->decode(d, str_skip(bytes, at), inst.address, &found);
		if (found.size) {
			inst.size = found.size;
			inst.target = found.has_target ? found.address : 0;
			inst.text = text_of(&found, o, &out->arena);
		} else {
			inst.size = n - at < d->step ? (uint32_t)(n - at) : d->step;
		}
		vec_push(out->insts, out->n, cap, inst);
		at += inst.size;
	}
}

static int decode(uint16_t machine, struct str bytes, size_t n, uint64_t address,
		  const struct code_options *o, struct code *out, struct err *err)
{
	struct decoder *d = NULL;
	int rc;

	*out = (struct code){ 0 };
	arena_init(&out->arena, BUDGET);
	rc = open_decoder(machine, o, &d, err);
	if (!d)
		return rc;
	decode_all(d, bytes, n, address, o, out);
	d->close(d);
	return 0;
}

int code_decode(uint16_t machine, struct str bytes, uint64_t address, const struct code_options *o,
		struct code *out, struct err *err)
{
	return decode(machine, bytes, bytes.n, address, o, out, err);
}

int code_read(const struct elf_file *f, uint64_t start, uint64_t end, const struct code_options *o,
	      struct code *out, struct err *err)
{
	uint64_t n = end > start ? end - start : 0;
	struct str bytes;

	if (n > LARGEST)
		n = LARGEST;
	bytes = n ? elf_code(f, start, n + LONGEST) : (struct str){ 0 };
	return decode(f->machine, bytes, bytes.n < n ? bytes.n : n, start, o, out, err);
}

void code_release(struct code *c)
{
	free(c->insts);
	arena_release(&c->arena);
}
