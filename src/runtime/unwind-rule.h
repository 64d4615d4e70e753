/*
 * unwind-rule.h - how to get from a frame to its caller, in 29 bits
 *
 * A rule says where the canonical frame address (CFA: the caller's stack pointer) is, and where the
 * frame pointer and return address of the caller are, which is nearly always near it.  What does
 * not fit is RULE_NONE, and frame pointers are tried instead.
 *
 *	x86-64		bits 0-2 kind, 3-19 offset / 8, 20-24 the frame pointer is at CFA - 8 * this
 *			(0: unchanged), 25-28 the same for rbx (15: lost), which one function
 *			finds its frame by; the return address is always at CFA - 8
 *	aarch64		bits 0-2 kind, 3-15 offset / 16, 16-28 what is saved is at CFA - 8 * this
 *
 * Rules have 29 bits so that one fits into a word together with the address it is for (unwind.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_UNWIND_RULE_H
#define RUNTIME_UNWIND_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RULE_NONE,   /* not known, or not expressible: frame pointers */
	RULE_END,    /* the thread's first function */
	RULE_SIGNAL, /* a signal handler returns here: registers are on the stack */
	RULE_SP,     /* CFA = stack pointer + offset */
	RULE_FP,     /* CFA = frame pointer + offset */
#if defined(__x86_64__)
	RULE_PLT,   /* CFA = sp + 8, or sp + 16 from byte 'offset / 8' of each 16 on */
	RULE_DEREF, /* CFA is stored at fp - offset; see RULE_AT_FP */
	/*
	 * CFA = r10 + offset: a few instructions where a stack is realigned.  If rbx was saved:
	 * CFA = rbx + offset: where the dynamic linker looks up a function that is called.
	 */
	RULE_REGISTER,
#else
	RULE_LEAF, /* RULE_SP, and nothing was saved: return address in x30 */
	RULE_LR,   /* RULE_SP, and only x30 was saved */
#endif
};

enum { RULE_BITS = 29 };

/* Which registers DWARF means by which number. */
#if defined(__x86_64__)
enum { DWARF_RBX = 3, DWARF_FP = 6, DWARF_SP = 7, DWARF_R10 = 10, DWARF_RA = 16 };
#else
enum { DWARF_FP = 29, DWARF_RA = 30, DWARF_SP = 31 };
#endif

static inline unsigned rule_kind(uint32_t rule)
{
	return rule & 7;
}

#if defined(__x86_64__)
enum {
	RULE_AT_FP = 31,    /* instead of a place: the frame pointer is stored where it points to */
	RULE_RBX_LOST = 15, /* instead of a place */
};

static inline uint64_t rule_offset(uint32_t rule)
{
	return rule & 0xffff8;
}

static inline unsigned rule_fp(uint32_t rule)
{
	return rule >> 20 & 31;
}

static inline uint32_t rule_without_fp(uint32_t rule)
{
	return rule & ~(31u << 20);
}

static inline unsigned rule_rbx(uint32_t rule)
{
	return rule >> 25;
}

/* 'offset' in bytes, the others in words; RULE_NONE if they do not fit. */
static inline uint32_t rule_make(unsigned kind, uint64_t offset, uint64_t fp, uint64_t rbx)
{
	if (offset % 8 != 0 || offset > 0xffff8 || fp > RULE_AT_FP)
		return RULE_NONE;
	if (rbx > RULE_RBX_LOST)
		rbx = RULE_RBX_LOST;
	return kind | (uint32_t)offset | (uint32_t)fp << 20 | (uint32_t)rbx << 25;
}
#else
static inline uint64_t rule_offset(uint32_t rule)
{
	return (rule >> 3 & 0x1fff) * 16;
}

static inline uint64_t rule_saved(uint32_t rule)
{
	return (rule >> 16) * 8;
}

/* Both in bytes; RULE_NONE if they do not fit. */
static inline uint32_t rule_make(unsigned kind, uint64_t offset, uint64_t saved)
{
	if (offset % 16 != 0 || offset > 0x1fff * 16 || saved % 8 != 0 || saved > 0x1fff * 8)
		return RULE_NONE;
	return kind | (uint32_t)(offset / 16) << 3 | (uint32_t)(saved / 8) << 16;
}
#endif

/* A rule holds from 'pc' on, until the next row's. */
struct sonde__row {
	uint32_t pc; /* bytes from the table's base */
	uint32_t rule;
};

/* The rules of a binary; position-independent, never changed. */
struct sonde__table {
	uint64_t base; /* address in the file that 'pc' counts from */
	size_t n, mapped;
	const struct sonde__row *rows; /* by 'pc' */
};

/* The rule at 'pc' bytes from the base; RULE_NONE where there is none. */
uint32_t sonde__table_rule(const struct sonde__table *t, uint64_t pc);

#endif /* RUNTIME_UNWIND_RULE_H */
