/*
 * trace-events.c - lock waits on their way from the hooks to a trace
 *
 * Threads take places in one table by counting up; a place is never used twice in a trace.  The
 * table is never unmapped, since a thread may be late: what it then writes has the number of an old
 * trace, and is not looked at.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/caller-stack.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "runtime/trace.h"

#include <sys/mman.h>
#include <sys/syscall.h>

enum { EVENTS = 1 << 18 };

atomic_uint sonde__trace_run;

static _Atomic(struct sonde__trace_event *) table;
static atomic_size_t taken;
static unsigned last_run;

static struct sonde__trace_event *take_place(unsigned *run)
{
	struct sonde__trace_event *t = atomic_load_explicit(&table, memory_order_acquire);
	size_t i;

	*run = atomic_load_explicit(&sonde__trace_run, memory_order_acquire);
	if (!t || *run == 0)
		return NULL;
	i = atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);
	return i < EVENTS ? &t[i] : NULL;
}

static int own_tid(void)
{
	const struct sonde__thread *self = sonde__tls.self;

	return self ? atomic_load_explicit(&self->tid, memory_order_relaxed) : sonde__tid();
}

void sonde__trace_wait(enum sonde__wait kind, const void *object, uint64_t begin, uint64_t end,
		       const void *caller)
{
	unsigned run;
	struct sonde__trace_event *e = take_place(&run);

	if (!e)
		return;
	atomic_store_explicit(&e->begin, begin, memory_order_relaxed);
	atomic_store_explicit(&e->end, end, memory_order_relaxed);
	atomic_store_explicit(&e->object, (uintptr_t)object, memory_order_relaxed);
	atomic_store_explicit(&e->tid, own_tid(), memory_order_relaxed);
	atomic_store_explicit(&e->kind, (unsigned)kind, memory_order_relaxed);
	atomic_store_explicit(&e->stack, sonde__caller_stack(caller), memory_order_relaxed);
	atomic_store_explicit(&e->run, run, memory_order_release);
}

bool sonde__trace_record(void)
{
	struct sonde__trace_event *t = atomic_load(&table);

	if (!t) {
		t = sonde__map(EVENTS * sizeof(*t));
		atomic_store_explicit(&table, t, memory_order_release);
	}
	if (!t)
		return false;
	atomic_store(&taken, 0);
	atomic_store_explicit(&sonde__trace_run, ++last_run, memory_order_release);
	return true;
}

void sonde__trace_end(void)
{
	atomic_store(&sonde__trace_run, 0);
}

size_t sonde__trace_events(void)
{
	size_t n = atomic_load(&taken);

	return n < EVENTS ? n : EVENTS;
}

uint64_t sonde__trace_lost(void)
{
	size_t n = atomic_load(&taken);

	return n < EVENTS ? 0 : n - EVENTS;
}

const struct sonde__trace_event *sonde__trace_event(size_t i)
{
	const struct sonde__trace_event *t = atomic_load(&table);
	bool there = t && i < sonde__trace_events() &&
		     atomic_load_explicit(&t[i].run, memory_order_acquire) == last_run;

	return there ? &t[i] : NULL;
}

/* The memory goes, the addresses stay. */
void sonde__trace_forget(void)
{
	struct sonde__trace_event *t = atomic_load(&table);

	atomic_store(&taken, 0);
	if (t)
		sonde__syscall(SYS_madvise, (long)t, EVENTS * sizeof(*t), MADV_DONTNEED, 0, 0, 0);
}
