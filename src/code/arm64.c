/*
 * arm64.c - 64-bit ARM code, read by capstone
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "code/machine.h"

#include "base/err.h"
#include "base/lazy.h"
#include "base/xalloc.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Each is capstone's function of the same name. */
static struct {
	__typeof__(cs_open) *cs_open;
	__typeof__(cs_option) *cs_option;
	__typeof__(cs_malloc) *cs_malloc;
	__typeof__(cs_free) *cs_free;
	__typeof__(cs_close) *cs_close;
	__typeof__(cs_disasm_iter) *cs_disasm_iter;
} calls;

#define FIND(name) calls.name = (__typeof__(calls.name))lazy_sym(lib, #name)

static int bind_calls(struct lazy_lib *lib, struct err *err)
{
	(void)err;
	FIND(cs_open);
	FIND(cs_option);
	FIND(cs_malloc);
	FIND(cs_free);
	FIND(cs_close);
	FIND(cs_disasm_iter);
	return 0;
}

struct arm64 {
	struct decoder base;
	csh handle;
	cs_insn *inst;
};

/* Jumps and calls name their target in their last operand. */
static bool is_branch(unsigned id)
{
	switch (id) {
	case ARM64_INS_B:
	case ARM64_INS_BL:
	case ARM64_INS_CBZ:
	case ARM64_INS_CBNZ:
	case ARM64_INS_TBZ:
	case ARM64_INS_TBNZ:
		return true;
	default:
		return false;
	}
}

static void find_address(const cs_insn *inst, struct decoded *out)
{
	const cs_arm64 *detail = inst->detail ? &inst->detail->arm64 : NULL;
	const cs_arm64_op *last;

	if (!detail || detail->op_count == 0)
		return;
	last = &detail->operands[detail->op_count - 1];
	if (!is_branch(inst->id) || last->type != ARM64_OP_IMM)
		return;
	out->has_target = true;
	out->address = (uint64_t)last->imm;
}

static void decode(struct decoder *d, struct str bytes, uint64_t address, struct decoded *out)
{
	struct arm64 *a = (struct arm64 *)d;
	const uint8_t *p = (const uint8_t *)bytes.p;
	size_t n = bytes.n < 4 ? bytes.n : 4;

	if (!calls.cs_disasm_iter(a->handle, &p, &n, &address, a->inst))
		return;
	snprintf(out->text, sizeof(out->text), "%s%s%s", a->inst->mnemonic,
		 a->inst->op_str[0] ? " " : "", a->inst->op_str);
	out->size = a->inst->size;
	find_address(a->inst, out);
}

static void release(struct decoder *d)
{
	struct arm64 *a = (struct arm64 *)d;

	calls.cs_free(a->inst, 1);
	calls.cs_close(&a->handle);
	free(a);
}

int decoder_arm64(struct decoder **out, struct err *err)
{
	static struct lazy_lib lib = { .soname = "libcapstone.so.4",
				       .package = "libcapstone4",
				       .bind = bind_calls };
	int rc = lazy_open(&lib, err);
	struct arm64 *a;

	if (rc)
		return rc;
	a = mem_zeroed(1, sizeof(*a));
	a->base = (struct decoder){ .step = 4, .decode = decode, .close = release };
	if (calls.cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &a->handle) != CS_ERR_OK) {
		free(a);
		return err_set(err, -ENOTSUP, "this libcapstone cannot read aarch64 code");
	}
	calls.cs_option(a->handle, CS_OPT_DETAIL, CS_OPT_ON);
	a->inst = calls.cs_malloc(a->handle);
	*out = &a->base;
	return 0;
}
