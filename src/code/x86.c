/*
 * x86.c - x86 code, read by Zydis
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "code/machine.h"

#include "base/err.h"
#include "base/lazy.h"
#include "base/xalloc.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdlib.h>

/* Each is Zydis' function of the same name. */
static struct {
	__typeof__(ZydisDecoderInit) *ZydisDecoderInit;
	__typeof__(ZydisDecoderDecodeFull) *ZydisDecoderDecodeFull;
	__typeof__(ZydisFormatterInit) *ZydisFormatterInit;
	__typeof__(ZydisFormatterSetProperty) *ZydisFormatterSetProperty;
	__typeof__(ZydisFormatterFormatInstruction) *ZydisFormatterFormatInstruction;
	__typeof__(ZydisCalcAbsoluteAddress) *ZydisCalcAbsoluteAddress;
} calls;

#define FIND(name) calls.name = (__typeof__(calls.name))lazy_sym(lib, #name)

static int bind_calls(struct lazy_lib *lib, struct err *err)
{
	(void)err;
	FIND(ZydisDecoderInit);
	FIND(ZydisDecoderDecodeFull);
	FIND(ZydisFormatterInit);
	FIND(ZydisFormatterSetProperty);
	FIND(ZydisFormatterFormatInstruction);
	FIND(ZydisCalcAbsoluteAddress);
	return 0;
}

struct x86 {
	struct decoder base;
	ZydisDecoder decoder;
	ZydisFormatter formatter;
};

/* Whether an operand holds an address that only this instruction's own can tell. */
static bool is_relative(const ZydisDecodedOperand *o)
{
	if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return o->imm.is_relative;
	return o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	       (o->mem.base == ZYDIS_REGISTER_RIP || o->mem.base == ZYDIS_REGISTER_EIP);
}

static void find_address(const ZydisDecodedInstruction *inst, const ZydisDecodedOperand *operands,
			 uint64_t address, struct decoded *out)
{
	for (int i = 0; i < inst->operand_count_visible; i++) {
		if (!is_relative(&operands[i]))
			continue;
		if (!ZYAN_SUCCESS(calls.ZydisCalcAbsoluteAddress(inst, &operands[i], address,
								 &out->address)))
			continue;
		out->has_target = operands[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
		out->has_reference = !out->has_target;
		return;
	}
}

/*
 * Conditions have two names each.  Zydis has Intel's older ones; these are what compilers and other
 * disassemblers write.
 */
static const char *common_condition(const char *c)
{
	static const char *const names[][2] = { { "nbe", "a" }, { "nb", "ae" }, { "z", "e" },
						{ "nz", "ne" }, { "nle", "g" }, { "nl", "ge" } };
	size_t n = strcspn(c, " ");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (str_is((struct str){ c, n }, names[i][0]))
			return names[i][1];
	}
	return NULL;
}

/* "jnz 0x10" becomes "jne 0x10". */
static void rename_condition(char *text)
{
	static const char *const families[] = { "j", "set", "cmov" };
	const char *better;
	size_t at, old;

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		at = strlen(families[i]);
		better = strncmp(text, families[i], at) == 0 ? common_condition(text + at) : NULL;
		if (!better)
			continue;
		/* The better name is never the longer one. */
		old = strcspn(text + at, " ");
		memcpy(text + at, better, strlen(better));
		memmove(text + at + strlen(better), text + at + old, strlen(text + at + old) + 1);
		return;
	}
}

static void decode(struct decoder *d, struct str bytes, uint64_t address, struct decoded *out)
{
	struct x86 *x = (struct x86 *)d;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction inst;

	if (!ZYAN_SUCCESS(
		    calls.ZydisDecoderDecodeFull(&x->decoder, bytes.p, bytes.n, &inst, operands)))
		return;
	if (!ZYAN_SUCCESS(calls.ZydisFormatterFormatInstruction(
		    &x->formatter, &inst, operands, inst.operand_count_visible, out->text,
		    sizeof(out->text), address, NULL)))
		return;
	out->size = inst.length;
	rename_condition(out->text);
	find_address(&inst, operands, address, out);
}

static void release(struct decoder *d)
{
	free(d);
}

static void set(struct x86 *x, ZydisFormatterProperty property, ZyanUPointer value)
{
	(void)calls.ZydisFormatterSetProperty(&x->formatter, property, value);
}

int decoder_x86(bool wide, bool intel, struct decoder **out, struct err *err)
{
	static struct lazy_lib lib = { .soname = "libZydis.so.4.0",
				       .package = "libzydis4.0",
				       .bind = bind_calls };
	int rc = lazy_open(&lib, err);
	struct x86 *x;

	if (rc)
		return rc;
	x = mem_zeroed(1, sizeof(*x));
	x->base = (struct decoder){ .step = 1, .decode = decode, .close = release };
	(void)calls.ZydisDecoderInit(
		&x->decoder, wide ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LEGACY_32,
		wide ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32);
	(void)calls.ZydisFormatterInit(&x->formatter, intel ? ZYDIS_FORMATTER_STYLE_INTEL
							    : ZYDIS_FORMATTER_STYLE_ATT);
	set(x, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
	set(x, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED);
	set(x, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED);
	set(x, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
	set(x, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	*out = &x->base;
	return 0;
}
