/*
 * unwind-frame.c - where a function's frame pointer is, told by its first instructions
 *
 * Needed for threads whose registers cannot be seen: from where the unwind table says that the
 * frame pointer is set on, pushes and one subtraction make the frame.  Instructions between them
 * that leave the stack pointer alone are skipped; the first that is not known ends the look.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/unwind-rule.h"
#include "runtime/unwind.h"

#include <string.h>

typedef bool reader(uint64_t, void *, size_t, const void *);

#if defined(__x86_64__)

enum {
	LOOK = 96,       /* bytes of code, at most */
	ROWS_BACK = 256, /* of the table, between a place in a function and its start */
	LONGEST = 15,    /* bytes of an instruction */
	NEAR = 256,      /* bytes of a function before it sets up its frame */
	PUSHED_FP = 16,  /* offset of the CFA between "push %rbp" and "mov %rsp, %rbp" */
};

static size_t find_row(const struct sonde__table *t, uint64_t pc)
{
	size_t low = 0, high = t->n;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (t->rows[mid].pc <= pc)
			low = mid;
		else
			high = mid;
	}
	return low;
}

/* Where the frame pointer is set for the code around 'pc': behind that instruction; 0: not found.
 */
static uint64_t find_setup(uint64_t pc)
{
	const struct sonde__module *m = sonde__module_at(pc - 1);
	const struct sonde__table *t = m ? m->table : NULL;
	uint64_t at;
	size_t i, least;

	if (!t || t->n < 2)
		return 0;
	at = pc - 1 - m->bias - t->base;
	i = find_row(t, at);
	least = i > ROWS_BACK ? i - ROWS_BACK : 0;
	for (; i > least; i--) {
		uint32_t before = t->rows[i - 1].rule;

		if (rule_kind(t->rows[i].rule) == RULE_FP && rule_kind(before) == RULE_SP &&
		    rule_offset(before) == PUSHED_FP)
			return t->rows[i].pc + m->bias + t->base;
	}
	return 0;
}

/* The bytes that follow an opcode with a ModR/M byte at 'c', that byte included. */
static size_t operand_bytes(const uint8_t *c)
{
	unsigned mod = c[0] >> 6, rm = c[0] & 7;
	size_t n = 1;

	if (mod == 3)
		return n;
	if (rm == 4)
		n += 1;
	if (mod == 1)
		n += 1;
	else if (mod == 2 || (mod == 0 && rm == 5) || (mod == 0 && rm == 4 && (c[1] & 7) == 5))
		n += 4;
	return n;
}

/* Whether the register that an instruction writes to, by 'reg' of three bits, is rsp. */
static bool is_sp(unsigned reg, bool extended)
{
	return reg == 4 && !extended;
}

/*
 * The length of an instruction that leaves the stack pointer alone and does not jump: what
 * compilers move up between the pushes of a function.  0: some other one.
 */
static size_t harmless(const uint8_t *c)
{
	size_t rex = (c[0] & 0xf0) == 0x40;
	bool r = rex && c[0] & 4, b = rex && c[0] & 1;
	const uint8_t *op = c + rex;
	unsigned reg = op[1] >> 3 & 7, rm = op[1] & 7;
	bool to_register = op[1] >> 6 == 3;

	switch (op[0]) {
	case 0x01: /* add, or, and, sub, xor, mov: register to register or memory */
	case 0x09:
	case 0x21:
	case 0x29:
	case 0x31:
	case 0x88:
	case 0x89:
		return to_register && is_sp(rm, b) ? 0 : rex + 1 + operand_bytes(op + 1);
	case 0x38: /* cmp, test: nothing is written */
	case 0x39:
	case 0x3b:
	case 0x84:
	case 0x85:
		return rex + 1 + operand_bytes(op + 1);
	case 0x03: /* add, sub, xor, movslq, mov, lea: to a register */
	case 0x2b:
	case 0x33:
	case 0x63:
	case 0x8b:
	case 0x8d:
		return is_sp(reg, r) ? 0 : rex + 1 + operand_bytes(op + 1);
	case 0xc6: /* mov of a number to memory */
		return rex + 2 + operand_bytes(op + 1);
	case 0xc7:
		return to_register && is_sp(rm, b) ? 0 : rex + 5 + operand_bytes(op + 1);
	default:
		return op[0] >= 0xb8 && op[0] <= 0xbf && op[0] != 0xbc && !(rex && c[0] & 8)
			       ? rex + 5
			       : 0;
	}
}

static uint32_t number_at(const uint8_t *c)
{
	uint32_t v;

	memcpy(&v, c, sizeof(v));
	return v;
}

/* What the instruction at 'c' adds to the frame; '*length' is 0 if it is not known. */
static uint64_t grows_by(const uint8_t *c, size_t *length)
{
	static const uint8_t fs_load[] = { 0x64, 0x48, 0x8b, 0x04, 0x25 }; /* of the canary */

	if (c[0] >= 0x50 && c[0] <= 0x57) { /* push */
		*length = 1;
		return 8;
	}
	if (c[0] == 0x41 && c[1] >= 0x50 && c[1] <= 0x57) {
		*length = 2;
		return 8;
	}
	if (c[0] == 0x48 && c[1] == 0x83 && c[2] == 0xec) { /* sub $n, %rsp */
		*length = 4;
		return c[3];
	}
	if (c[0] == 0x48 && c[1] == 0x83 && c[2] == 0xc4 && c[3] & 0x80) { /* add $-n, %rsp */
		*length = 4;
		return 256u - c[3];
	}
	if (c[0] == 0x48 && c[1] == 0x81 && c[2] == 0xec) {
		*length = 7;
		return number_at(c + 3);
	}
	if (memcmp(c, fs_load, sizeof(fs_load)) == 0)
		*length = sizeof(fs_load) + 4;
	else
		*length = harmless(c);
	return 0;
}

uint64_t sonde__frame_distance(uint64_t pc, reader *read, const void *context)
{
	uint64_t at = find_setup(pc), distance = 0;
	uint8_t code[LOOK + LONGEST];
	size_t end = pc - at < LOOK ? (size_t)(pc - at) : LOOK;

	if (at == 0 || at >= pc || !read(at, code, sizeof(code), context))
		return UINT64_MAX;
	for (size_t i = 0, length; i < end; i += length) {
		distance += grows_by(code + i, &length);
		if (length == 0)
			break;
	}
	return distance % 8 == 0 ? distance : UINT64_MAX;
}

/* A call goes to shortly before the frame is set up, or to a stub, which may lead there. */
static bool leads_to(uint64_t target, uint64_t setup, reader *read, const void *context)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t c[16];
	size_t i = 0;

	if (setup - target < NEAR)
		return true;
	if (!read(target, c, sizeof(c), context))
		return false;
	if (memcmp(c, endbr, sizeof(endbr)) == 0)
		i += sizeof(endbr);
	i += c[i] == 0xf2;
	return c[i] == 0xff && c[i + 1] == 0x25;
}

bool sonde__calls(uint64_t pc, uint64_t callee, reader *read, const void *context)
{
	static const uint8_t lengths[] = { 2, 3, 4, 6, 7, 8 }; /* of calls through a pointer */
	uint8_t c[8];

	if (!sonde__module_at(pc - 1) || !read(pc - sizeof(c), c, sizeof(c), context))
		return false;
	if (c[3] == 0xe8)
		return leads_to(pc + (uint64_t)(int64_t)(int32_t)number_at(c + 4),
				find_setup(callee), read, context);
	for (size_t i = 0; i < sizeof(lengths); i++) {
		const uint8_t *at = c + sizeof(c) - lengths[i];

		at += (at[0] & 0xf0) == 0x40; /* REX */
		if (at[0] == 0xff && (at[1] >> 3 & 7) == 2)
			return true;
	}
	return false;
}

#else

/* Functions save frame pointer and return address together: there is nothing to be found out. */
uint64_t sonde__frame_distance(uint64_t pc, reader *read, const void *context)
{
	(void)pc;
	(void)read;
	(void)context;
	return UINT64_MAX;
}

bool sonde__calls(uint64_t pc, uint64_t callee, reader *read, const void *context)
{
	(void)pc;
	(void)callee;
	(void)read;
	(void)context;
	return false;
}

#endif
