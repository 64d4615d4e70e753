/*
 * hooks-sandbox.c - prctl() and syscall(): whether the program puts itself behind a seccomp filter
 *
 * From then on a system call that it does not make itself may be its end.  A filter for the calling
 * thread leaves our agent alone: only what host threads do for us has to change.  One for all
 * threads (TSYNC) would catch the agent, too: it ends before.
 *
 * Both functions go on by a jump, with nothing of ours on the stack: who makes processes by
 * syscall() returns twice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/agent.h"
#include "runtime/next.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>

#define HOOK __attribute__((visibility("default")))

/* As they are called; their headers have dots for what may follow. */
typedef int prctl_fn(int, unsigned long, unsigned long, unsigned long, unsigned long);
typedef long syscall_fn(long, long, long, long, long, long, long);
HOOK prctl_fn prctl;
HOOK syscall_fn syscall;

static prctl_fn *next_prctl;
static syscall_fn *next_syscall;

static void find_next(void)
{
	next_prctl = (prctl_fn *)sonde__next_symbol("prctl");
	next_syscall = (syscall_fn *)sonde__next_symbol("syscall");
}

__attribute__((constructor)) static void begin(void)
{
	find_next();
}

/* May be about to happen: better before than too late. */
static void expect_filter(bool everywhere)
{
	int before = errno;

	if (everywhere && sonde__agent_is_on()) {
		sonde__say_off(SONDE__ALL,
			       "the program has put all its threads behind a seccomp filter");
		sonde__log("off: %s", sonde__why_off(SONDE__ALL));
		sonde__agent_stop();
	}
	atomic_store(&sonde__sandboxed, true);
	errno = before;
}

HOOK int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	if (option == PR_SET_SECCOMP)
		expect_filter(false);
	if (!next_prctl)
		find_next();
	return next_prctl(option, a, b, c, d);
}

HOOK long syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (number == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER)
		expect_filter(b & SECCOMP_FILTER_FLAG_TSYNC);
	if (!next_syscall)
		find_next();
	return next_syscall(number, a, b, c, d, e, f);
}
