/*
 * thread-dump.c - what every thread is doing right now
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/thread-dump.h"

#include "runtime/buf.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/stacks.h"
#include "runtime/thread.h"
#include "runtime/unwind.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>

enum {
	THREADS_MAX = 1 << 16,
	COPY = 256 << 10, /* bytes of a stack that are looked at */
	FIRST_COPY = 8 << 10,
	TRIES = 3,
	LOOKS = 3,
	PAUSE_US = 500,
	LEFT_MAX = 32, /* more than that, and they are not about to sleep */
};

const char *sonde__pseudo_name(uint64_t pc)
{
	static const char *const names[SONDE__PSEUDO_END] = {
		[SONDE__NOT_ANSWERING] = "[not answering]",
		[SONDE__BEFORE_US] = "[started before the runtime, or not seen by it]",
	};

	return pc < SONDE__PSEUDO_END ? names[pc] : NULL;
}

static bool read_code(uint64_t from, void *to, size_t n, const void *context)
{
	return sonde__mem_read(context, from, to, n) == n;
}

/* One try at a stack: of a thread that is not running, unless it has moved meanwhile. */
static bool look_from_outside(struct sonde__dump_thread *t, const struct sonde__fd *mem, char *copy,
			      size_t bytes)
{
	struct sonde__still s = {
		.pc = t->task.pc,
		.sp = t->task.sp,
		.copy = copy,
		.n = sonde__mem_read(mem, t->task.sp, copy, bytes) & ~(size_t)7,
		.read = read_code,
		.context = mem,
	};
	uint64_t pcs[SONDE__DEPTH];
	bool whole;
	size_t n = s.n ? sonde__unwind_still(&s, pcs, SONDE__DEPTH, &whole) : 0;

	if (n == 0 || !sonde__task_still(&t->task))
		return false;
	t->answer = whole ? SONDE__ANSWER_OUTSIDE : SONDE__ANSWER_CUT;
	t->stack = sonde__stack_intern(pcs, n, false);
	return true;
}

/* Few stacks are deep; those that are get a second look. */
static void read_stack(struct sonde__dump_thread *t, const struct sonde__fd *mem, char *copy)
{
	size_t bytes = FIRST_COPY;

	for (int i = 0; i < TRIES && t->task.blocked && t->answer != SONDE__ANSWER_OUTSIDE; i++) {
		if (!look_from_outside(t, mem, copy, bytes) &&
		    !sonde__task_read(&t->task, t->task.tid))
			return;
		bytes = COPY;
	}
}

static void read_stacks(struct sonde__dump *d, char *copy)
{
	for (size_t i = 0; i < d->n; i++)
		read_stack(&d->at[i], &d->mem, copy);
}

/*
 * Most threads that are seen awake are about to sleep again.  A signal would come just when they
 * do, and break off what they sleep in: so only those get one that are awake each time we look.
 */
static bool any_left(const struct sonde__dump *d)
{
	size_t left = 0;

	for (size_t i = 0; i < d->n; i++)
		left += d->at[i].stack == 0;
	return left > 0 && left < LEFT_MAX;
}

static void sleep_a_little(void)
{
	struct timespec t = { .tv_nsec = PAUSE_US * 1000 };

	sonde__syscall(SYS_nanosleep, (long)&t, 0, 0, 0, 0, 0);
}

static void look_once_more(struct sonde__dump *d, char *copy)
{
	for (size_t i = 0; i < d->n; i++) {
		struct sonde__dump_thread *t = &d->at[i];

		if (t->stack == 0 && sonde__task_read(&t->task, t->task.tid))
			read_stack(t, &d->mem, copy);
	}
}

struct list {
	struct sonde__dump *d;
	size_t room;
};

static void add_task(int tid, void *context)
{
	struct list *l = context;
	struct sonde__dump_thread *t = &l->d->at[l->d->n];

	if (!sonde__thread_is_ours(tid) && l->d->n < l->room && sonde__task_read(&t->task, tid))
		l->d->n++;
}

static void count_task(int tid, void *context)
{
	size_t *n = context;

	(void)tid;
	++*n;
}

static struct sonde__dump *list_threads(void)
{
	struct list l = { 0 };
	size_t n = 0, bytes;

	sonde__tasks(count_task, &n);
	l.room = n + n / 4 + 16; /* some may start meanwhile */
	l.room = l.room < THREADS_MAX ? l.room : THREADS_MAX;
	bytes = sizeof(*l.d) + l.room * sizeof(l.d->at[0]);
	l.d = sonde__map(bytes);
	if (!l.d)
		return NULL;
	l.d->mapped = bytes;
	sonde__tasks(add_task, &l);
	return l.d;
}

static uint32_t hash_tid(int tid)
{
	return (uint32_t)tid * 0x9e3779b1u;
}

/* Again when some time has passed: a thread may have begun, or ended, meanwhile. */
static void find_records(struct sonde__dump *d)
{
	struct sonde__index by_tid = { 0 };

	for (size_t i = 0; i < d->n; i++) {
		d->at[i].record = NULL;
		sonde__index_put(&by_tid, hash_tid(d->at[i].task.tid), (uint32_t)i + 1);
	}
	for (struct sonde__thread *r = sonde__threads(); r; r = r->next) {
		int tid = atomic_load(&r->tid);
		uint32_t hash = hash_tid(tid), id;

		for (size_t at = hash; (id = sonde__index_next(&by_tid, hash, &at)) != 0;)
			if (d->at[id - 1].task.tid == tid)
				d->at[id - 1].record = r;
	}
	sonde__index_release(&by_tid);
}

/* The labels of a thread that may end while we look. */
static uint32_t read_labels(const struct sonde__dump *d, const struct sonde__dump_thread *t)
{
	const struct sonde__tls *tls = t->record ? atomic_load(&t->record->tls) : NULL;
	uint32_t set = 0;

	if (tls &&
	    sonde__mem_read(&d->mem, (uintptr_t)&tls->labels, &set, sizeof(set)) == sizeof(set))
		return set;
	return 0;
}

/* What can be said of a thread without a stack: that, and where it began. */
static void stand_in(struct sonde__dump_thread *t)
{
	uint64_t pcs[2] = { SONDE__NOT_ANSWERING };
	void *(*start)(void *) = t->record ? t->record->start : NULL;

	pcs[1] = (uintptr_t)start + 1;
	t->stack = sonde__stack_intern(pcs, start ? 2 : 1, true);
}

/* Threads that have ended since they were listed are left out. */
static void drop_gone(struct sonde__dump *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct sonde__dump_thread *t = &d->at[i];

		if (t->stack == 0 && !sonde__task_read(&t->task, t->task.tid))
			continue;
		if (t->task.state == 'Z' || t->task.state == 'X')
			continue;
		t->creator = t->record ? t->record->creator : 0;
		t->labels = read_labels(d, t);
		if (t->stack == 0)
			stand_in(t);
		if (kept != i)
			d->at[kept] = *t;
		kept++;
	}
	d->n = kept;
}

struct sonde__dump *sonde__dump_take(void)
{
	struct sonde__dump *d;
	char *copy;

	sonde__modules_refresh();
	sonde__threads_scan();
	d = list_threads();
	copy = d ? sonde__map(COPY) : NULL;
	if (!copy) {
		sonde__dump_free(d);
		return NULL;
	}
	sonde__mem_open(&d->mem);
	read_stacks(d, copy);
	for (int i = 0; i < LOOKS && any_left(d); i++) {
		sleep_a_little();
		look_once_more(d, copy);
	}
	find_records(d);
	sonde__dump_ask(d);
	look_once_more(d, copy);
	sonde__unmap(copy, COPY);
	find_records(d);
	drop_gone(d);
	return d;
}

void sonde__dump_free(struct sonde__dump *d)
{
	if (!d)
		return;
	sonde__fd_close(&d->mem);
	sonde__unmap(d, d->mapped);
}
