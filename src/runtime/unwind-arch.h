/*
 * unwind-arch.h - registers of a thread in a signal handler, and what kernels put on the stack
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_UNWIND_ARCH_H
#define RUNTIME_UNWIND_ARCH_H

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
