/*
 * unwind-arch.h - registers of a thread in a signal handler, and what kernels put on the stack
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_UNWIND_ARCH_H
#define RUNTIME_UNWIND_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* Offsets into what is at the stack pointer when a signal handler has returned. */
struct signal_frame {
	size_t pc, sp, fp;
	size_t extra; /* x86-64: r10, aarch64: x30 */
	size_t rbx;   /* x86-64 only */
};

#if defined(__x86_64__)

/* mov $15, %rax; syscall */
static const uint8_t sigreturn_code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

#define IN_FRAME(reg) (offsetof(ucontext_t, uc_mcontext.gregs) + sizeof(greg_t) * (unsigned)(reg))
static const struct signal_frame signal_frame = {
	.pc = IN_FRAME(REG_RIP),
	.sp = IN_FRAME(REG_RSP),
	.fp = IN_FRAME(REG_RBP),
	.extra = IN_FRAME(REG_R10),
	.rbx = IN_FRAME(REG_RBX),
};

static inline uint64_t strip_signature(uint64_t pc)
{
	return pc;
}

enum { STUB_BEFORE = 6, STUB_AFTER = 10 };

/*
 * How far the return address is from the stack pointer in a stub of a linkage table that no table
 * tells about (lld's), at 'c'; -1: it is something else.  STUB_BEFORE and STUB_AFTER bytes around
 * 'c' can be read.
 */
static inline int stub_offset(const uint8_t *c)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	bool first = c[0] == 0xff && c[1] == 0x35; /* push *; jmp *: of the table itself */

	if (__builtin_memcmp(c, endbr, sizeof(endbr)) == 0)
		c += sizeof(endbr);
	if (c[0] == 0xf2 && c[1] == 0xff) /* bnd */
		c++;
	if (c[0] == 0xff && c[1] == 0x25) /* jmp * */
		return c[-6] == 0xff && c[-5] == 0x35 ? 16 : 0;
	if (first && c[6] == 0xff && c[7] == 0x25)
		return 8;
	if (c[0] == 0x68 && c[5] == 0xe9) /* push n; jmp to the first */
		return 0;
	return c[0] == 0xe9 && c[-5] == 0x68 ? 8 : -1;
}

#else

/* mov x8, #139; svc #0 */
static const uint8_t sigreturn_code[] = { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 };

enum { SIGINFO_SIZE = 128 };
#define IN_FRAME(member) (SIGINFO_SIZE + offsetof(ucontext_t, uc_mcontext.member))
static const struct signal_frame signal_frame = {
	.pc = IN_FRAME(pc),
	.sp = IN_FRAME(sp),
	.fp = IN_FRAME(regs) + 29 * 8,
	.extra = IN_FRAME(regs) + 30 * 8,
	.rbx = IN_FRAME(regs) + 19 * 8, /* not used */
};

/* Return addresses may carry a signature in the bits that addresses do not use. */
static inline uint64_t strip_signature(uint64_t pc)
{
	return pc & ((1ull << 48) - 1);
}

enum { STUB_BEFORE = 16, STUB_AFTER = 20 };

/* What stubs of linkage tables are made of: they have no unwind tables here. */
static inline bool is_in_stub(uint32_t code)
{
	return (code & 0x9f00001f) == 0x90000010 || /* adrp x16 */
	       (code & 0xffc003ff) == 0xf9400211 || /* ldr x17, [x16, #] */
	       (code & 0xffc003ff) == 0x91000210 || /* add x16, x16, # */
	       code == 0xd503245f;                  /* bti c */
}

/*
 * How many bytes a stub at 'c' has put on the stack, whose return address is in x30; -1: it is no
 * stub.
 */
static inline int stub_offset(const uint8_t *c)
{
	uint32_t code[STUB_AFTER / 4], before;
	int i = 0;

	__builtin_memcpy(code, c, sizeof(code));
	while (i < 4 && is_in_stub(code[i]))
		i++;
	if (code[i] != 0xd61f0220) /* br x17 */
		return -1;
	for (i = 1; i <= STUB_BEFORE / 4; i++) {
		__builtin_memcpy(&before, c - 4 * i, sizeof(before));
		if (before == 0xa9bf7bf0) /* stp x16, x30, [sp, #-16]! */
			return 16;
		if (!is_in_stub(before))
			break;
	}
	return 0;
}

#endif

#undef IN_FRAME

/* What lies at 'uc' itself, seen as such a frame. */
static inline uint64_t context_register(const ucontext_t *uc, size_t in_frame)
{
	size_t first = offsetof(ucontext_t, uc_mcontext);
	const unsigned char *p = (const unsigned char *)&uc->uc_mcontext;
	uint64_t v;

#if defined(__aarch64__)
	in_frame -= SIGINFO_SIZE;
#endif
	__builtin_memcpy(&v, p + (in_frame - first), sizeof(v));
	return v;
}

#endif /* RUNTIME_UNWIND_ARCH_H */
