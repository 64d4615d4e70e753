/*
 * hooks-dl.c - dlopen() and dlclose(): there is other code in memory than before
 *
 * dlopen() looks at who called it, to know where to search (RUNPATH, $ORIGIN) and in which
 * namespace.  So the hook does its work first, and then jumps: the C library sees the host's return
 * address.  The agent therefore hears of a library just before it is there, and looks more than
 * once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/agent.h"
#include "runtime/bypass.h"
#include "runtime/next.h"
#include "runtime/thread.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

typedef void *open_function(const char *, int);
typedef int close_function(void *);

atomic_bool sonde__dlopen_called;

static void *find(_Atomic(void *) *next, const char *name)
{
	void *f = atomic_load_explicit(next, memory_order_relaxed);

	if (f)
		return f;
	f = sonde__next_symbol(name);
	atomic_store_explicit(next, f, memory_order_relaxed);
	return f;
}

static open_function *before_open(void)
{
	static _Atomic(void *) next;

	atomic_store_explicit(&sonde__dlopen_called, true, memory_order_relaxed);
	if (sonde__threads_on())
		sonde__agent_wake();
	return (open_function *)find(&next, "dlopen");
}

/* The last call is a jump in optimized builds (tests/guest.py looks at what comes of it). */
__attribute__((visibility("default"))) void *dlopen(const char *file, int mode)
{
	open_function *next = before_open();

	return next(file, mode);
}

__attribute__((visibility("default"))) int dlclose(void *handle)
{
	static _Atomic(void *) next;
	close_function *f = (close_function *)find(&next, "dlclose");
	int failed = f(handle);

	if (sonde__threads_on())
		sonde__agent_wake();
	return failed;
}
