/*
 * shortcut.h - from a hook straight to the function behind it
 *
 * A hook ends with a decision and a jump: the slow way, or on to the function that a pointer has.
 * Processors follow one jump for free and a second one a cycle later; and a decision that was ever
 * taken the other way counts as a jump from then on.  So the decision itself should be the jump:
 * the conditional jump of the hook leads to where the pointer leads, which is known only when the
 * program runs, and is written into it then.
 *
 * Nothing else of the hook changes, and the jump as it was compiled does the same with one hop
 * more. So it does not matter who still knows the old one: a debugger, a probe of the kernel, an
 * emulator that has translated it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_SHORTCUT_H
#define RUNTIME_SHORTCUT_H

#include <stdatomic.h>
#include <stdbool.h>

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

/*
 * For `asm goto`: a conditional jump to a label, of the long form, with the place of its distance
 * noted in a section of its own.
 */
#define SONDE__JUMP(second_byte, label)                                                            \
	".byte 0x0f, " second_byte "\n"                                                            \
	"661:\t.long %l[" label "] - . - 4\n\t"                                                    \
	".pushsection sonde__jumps, \"a\"\n\t"                                                     \
	".balign 4\n\t"                                                                            \
	".long 661b - .\n\t"                                                                       \
	".popsection\n"
#define SONDE__JUMP_ABOVE(label) SONDE__JUMP("0x87", label) /* ja */
#define SONDE__JUMP_EQUAL(label) SONDE__JUMP("0x84", label) /* je */

#define SONDE__ZERO_TEST(name, type, compare)                                                      \
	static inline bool name(const type *at)                                                    \
	{                                                                                          \
		__asm__ goto(compare " $0, %0\n\t" SONDE__JUMP_EQUAL("yes")                        \
			     :                                                                     \
			     : "m"(*at)                                                            \
			     : "cc", "memory"                                                      \
			     : yes);                                                               \
		return false;                                                                      \
	yes:                                                                                       \
		return true;                                                                       \
	}

#else

#define SONDE__ZERO_TEST(name, type, compare)                                                      \
	static inline bool name(const type *at)                                                    \
	{                                                                                          \
		return __builtin_expect(atomic_load_explicit(at, memory_order_acquire) == 0, 1);   \
	}

#endif

/* Whether there is 0, as hooks expect it; what another thread wrote before can be read then. */
SONDE__ZERO_TEST(sonde__is_zero, atomic_uchar, "cmpb")
SONDE__ZERO_TEST(sonde__is_none, atomic_uint, "cmpl")

/*
 * Makes those jumps short cuts that lead to a bare `jmp *` through a pointer of next.h or
 * next-lock.h: whatever stands there is what may be left out.  All others stay, and all do where
 * this cannot be done safely: another thread runs, the program has more rights than who started it,
 * what comes next is out of reach, memory cannot be written to (/proc/self/mem).  At the start
 * only.
 */
void sonde__shortcuts_make(void);

#endif /* RUNTIME_SHORTCUT_H */
