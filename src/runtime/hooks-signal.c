/*
 * hooks-signal.c - sigaction() and signal(): the host comes first
 *
 * A host that wants SIGPROF gets it: a profile that is running ends, its timers are gone before the
 * call is passed on, and the handler of ours that stays for late ticks is never shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/cpu.h"
#include "runtime/next.h"
#include "runtime/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define HOOK __attribute__((visibility("default")))

typedef int action_function(int, const struct sigaction *, struct sigaction *);

static action_function *next_action(void)
{
	static _Atomic(action_function *) next;
	action_function *f = atomic_load_explicit(&next, memory_order_relaxed);

	if (!f) {
		f = (action_function *)sonde__next_symbol("sigaction");
		atomic_store_explicit(&next, f, memory_order_relaxed);
	}
	return f;
}

/* What was there before us: nothing. */
static void hide_ours(struct sigaction *act)
{
	if (!sonde__cpu_is_handler((void *)act->sa_sigaction))
		return;
	act->sa_handler = SIG_DFL;
	act->sa_flags = 0;
}

int sonde__next_sigaction(int number, const struct sigaction *act, struct sigaction *old)
{
	action_function *next = next_action();

	if (next)
		return next(number, act, old);
	errno = ENOSYS;
	return -1;
}

HOOK int sigaction(int number, const struct sigaction *act, struct sigaction *old)
{
	int r;

	if (number == SIGPROF && act && sonde__threads_on())
		sonde__cpu_give_way();
	r = sonde__next_sigaction(number, act, old);
	if (r == 0 && number == SIGPROF && old)
		hide_ours(old);
	return r;
}

/* As the C library has it: the handler stays, calls are restarted. */
HOOK void (*signal(int number, void (*handler)(int)))(int)
{
	typedef void (*signal_function(int, void (*)(int)))(int);
	static _Atomic(signal_function *) next;
	signal_function *f = atomic_load_explicit(&next, memory_order_relaxed);
	struct sigaction old = { 0 };

	if (!f) {
		f = (signal_function *)sonde__next_symbol("signal");
		atomic_store_explicit(&next, f, memory_order_relaxed);
	}
	if (number == SIGPROF && sonde__threads_on())
		sonde__cpu_give_way();
	old.sa_handler = f ? f(number, handler) : SIG_ERR;
	if (number == SIGPROF)
		hide_ours(&old);
	return old.sa_handler;
}
