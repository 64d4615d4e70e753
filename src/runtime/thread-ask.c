/*
 * thread-ask.c - ask threads by signal where they are
 *
 * A question is a place in a table that is never unmapped, and a signal that names it.  The thread
 * makes the place its own, writes its stack there, and is done; a signal that comes after the asker
 * has given up finds another question there, or none, and does nothing.
 *
 * Nobody is asked who blocks the signal (it would wait there, for the host to find), who sleeps in
 * a call that a signal would break off, or who is about to become another program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/cpu.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/stacks.h"
#include "runtime/thread-dump.h"
#include "runtime/thread.h"
#include "runtime/unwind-arch.h"
#include "runtime/unwind.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

enum {
	PLACES = 1024,
	NONE = 0,
	ANSWERING = 1, /* a thread is writing there */
	ANSWERED = 2,
	FIRST_QUESTION = 3,
};

static const uint64_t OURS = 0x54687264; /* upper half of the value a signal carries */
static const uint64_t ms = 1000000;
enum {
	PATIENCE_MS = 120, /* for the first answer */
	PAUSE_MS = 40,     /* for the next one */
	LONGEST_MS = 5000,
	AGAIN_MS = 20, /* a tick of a timer may have been in the way */
	STEP_MS = 10,
};

/* What the kernel wants to have of a signal with a value. */
#define NUMBER_BITS 22

struct place {
	atomic_uint state; /* or the number of the question */
	int tid;
	struct sonde__thread *record;
	uint64_t runs; /* how often it had been on a processor before */
	size_t n;
	uint64_t pcs[SONDE__DEPTH];
};

static _Atomic(struct place *) places;
static unsigned last_question = FIRST_QUESTION;
static atomic_uint nanswers, nwanted; /* ever */
static atomic_uint complete;          /* futex: 1 when there are as many as wanted */
static atomic_bool asking;
static atomic_int sending;    /* a signal is being sent */
static atomic_int stand_back; /* threads that are becoming other programs */

/* The handler. */

static uint64_t value_of(uint32_t question, uint32_t place)
{
	return OURS << 32 | (question & ((1u << NUMBER_BITS) - 1)) << 10 | place;
}

static void answer(struct place *p, const ucontext_t *uc)
{
	sonde__thread_find_stack(p->record, context_register(uc, signal_frame.sp));
	if (!sonde__tls.self && !sonde__tls.ended)
		sonde__tls.self = p->record;
	p->n = sonde__unwind_signal(uc, p->pcs, SONDE__DEPTH);
}

struct sonde__thread *sonde__dump_answer(const siginfo_t *info, const ucontext_t *uc)
{
	uint64_t value = (uintptr_t)info->si_value.sival_ptr;
	struct place *p = atomic_load_explicit(&places, memory_order_acquire);
	unsigned question;

	if (info->si_code != SI_QUEUE || value >> 32 != OURS || !p)
		return NULL;
	p += value % PLACES;
	question = atomic_load_explicit(&p->state, memory_order_acquire);
	if (question < FIRST_QUESTION || value_of(question, (uint32_t)(value % PLACES)) != value)
		return NULL;
	if (p->tid != sonde__tid() ||
	    !atomic_compare_exchange_strong(&p->state, &question, ANSWERING))
		return NULL;
	answer(p, uc);
	atomic_store_explicit(&p->state, ANSWERED, memory_order_release);
	if (atomic_fetch_add(&nanswers, 1) + 1 == atomic_load(&nwanted))
		sonde__futex_set(&complete, 1);
	return p->record;
}

/* Who takes the signal away from us waits for the one that is being sent. */

static void wait_for_sender(void)
{
	do
		sonde__syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	while (atomic_load(&sending));
}

bool sonde__dump_give_way(void)
{
	bool any = atomic_exchange(&asking, false);

	if (any)
		wait_for_sender();
	return any;
}

bool sonde__dump_exec_begin(void)
{
	const struct sonde__thread *t = sonde__tls.self;

	/* A child of vfork() has our memory, and another tid; others have all to themselves. */
	if (!t || atomic_load(&t->tid) != sonde__tid() || !sonde__threads_on())
		return false;
	atomic_fetch_add(&stand_back, 1);
	/* What was sent arrives at the latest on the way back from this call. */
	wait_for_sender();
	return true;
}

void sonde__dump_exec_failed(void)
{
	atomic_fetch_sub(&stand_back, 1);
}

void sonde__dump_forget(void)
{
	atomic_store(&asking, false);
	atomic_store(&sending, 0);
	atomic_store(&stand_back, 0);
}

/* The asker: one at a time. */

/* Calls that go on after a signal as if nothing had been: asked there, nobody notices. */
static bool goes_on(const struct sonde__task *t)
{
	bool timed = t->args[3] != 0;
	unsigned op = (unsigned)t->args[1] & FUTEX_CMD_MASK;

	return t->call == SYS_futex && !timed && (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET);
}

static bool may_ask(struct sonde__dump_thread *t, const struct sonde__dump *d)
{
	char state = t->task.state;

	if (t->answer > SONDE__ANSWER_CUT || !t->record)
		return false;
	if (t->task.blocked && !goes_on(&t->task))
		return false;
	if (state == 'Z' || state == 'X' || state == 't' || state == 'T')
		return false;
	if (d->refused) {
		t->answer = t->stack ? t->answer : SONDE__ANSWER_REFUSED;
		return false;
	}
	if (t->task.masked >> (SIGPROF - 1) & 1) {
		t->answer = t->stack ? t->answer : SONDE__ANSWER_BLOCKED;
		return false;
	}
	return true;
}

/* It may have gone to sleep since it was seen running: then it is better left alone. */
static bool is_asleep(int tid)
{
	struct sonde__task now = { .tid = tid };

	return sonde__task_call(&now) && !goes_on(&now);
}

static void send_signal(const struct place *p, uint32_t number)
{
	siginfo_t info = { .si_signo = SIGPROF, .si_code = SI_QUEUE };
	unsigned question = atomic_load(&p->state);
	long pid = sonde__syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);

	if (question < FIRST_QUESTION || is_asleep(p->tid))
		return;
	info.si_pid = (pid_t)pid;
	info.si_value.sival_ptr = (void *)(uintptr_t)value_of(question, number);
	atomic_fetch_add(&sending, 1);
	if (atomic_load(&stand_back) == 0 && atomic_load(&asking))
		sonde__syscall(SYS_rt_tgsigqueueinfo, pid, p->tid, SIGPROF, (long)&info, 0, 0);
	atomic_fetch_sub(&sending, 1);
}

static void send_all(const struct place *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		send_signal(&p[i], (uint32_t)i);
}

static bool is_open(const struct place *p)
{
	unsigned state = atomic_load_explicit(&p->state, memory_order_acquire);

	return state >= FIRST_QUESTION || state == ANSWERING;
}

static size_t count_open(const struct place *p, size_t n)
{
	size_t open = 0;

	for (size_t i = 0; i < n; i++)
		open += is_open(&p[i]);
	return open;
}

/* Whether one has not answered only because it has not been on a processor since. */
static bool any_waits_for_its_turn(const struct place *p, size_t n)
{
	struct sonde__task now;

	for (size_t i = 0; i < n; i++)
		if (is_open(&p[i]) && p[i].runs && sonde__task_read(&now, p[i].tid) &&
		    now.state == 'R' && now.runs == p[i].runs)
			return true;
	return false;
}

/* There may be many more threads than processors, so that each, and we, have to wait for a turn. */
static void wait_for_answers(const struct place *p, size_t n)
{
	uint64_t began = sonde__now(), last = began, again = began + AGAIN_MS * ms, now;
	size_t open = n, left;

	for (;;) {
		atomic_store(&complete, 0);
		left = count_open(p, n);
		now = sonde__now();
		last = left < open ? now : last;
		open = left;
		if (open == 0 || now - began > LONGEST_MS * ms)
			return;
		if (now - began > PATIENCE_MS * ms && now - last > PAUSE_MS * ms) {
			if (!any_waits_for_its_turn(p, n))
				return;
			last = now;
		}
		if (now > again) {
			send_all(p, n);
			again = now + 4 * (again - began);
		}
		sonde__futex_wait(&complete, 0, STEP_MS * ms);
	}
}

/* Takes a place for each thread that may be asked, from '*next' on; how many. */
static size_t pose(struct sonde__dump *d, size_t *next, struct place *p, uint32_t *whose)
{
	unsigned asked = 0;
	size_t n = 0;

	for (; *next < d->n && n < PLACES; ++*next) {
		struct sonde__dump_thread *t = &d->at[*next];

		if (!may_ask(t, d))
			continue;
		while (n < PLACES && atomic_load(&p[n].state) == ANSWERING)
			whose[n++] = UINT32_MAX; /* somebody is very late */
		if (n == PLACES)
			break;
		if (++last_question >= 1u << NUMBER_BITS)
			last_question = FIRST_QUESTION;
		p[n].tid = t->task.tid;
		p[n].record = t->record;
		p[n].runs = t->task.runs;
		whose[n] = (uint32_t)*next;
		atomic_store_explicit(&p[n].state, last_question, memory_order_release);
		n++;
		asked++;
	}
	atomic_store(&nwanted, atomic_load(&nanswers) + asked);
	return n;
}

static void collect(struct sonde__dump *d, struct place *p, const uint32_t *whose, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct sonde__dump_thread *t = whose[i] == UINT32_MAX ? NULL : &d->at[whose[i]];
		unsigned state = atomic_load_explicit(&p[i].state, memory_order_acquire);

		if (state >= FIRST_QUESTION)
			atomic_compare_exchange_strong(&p[i].state, &state, NONE);
		if (!t || state != ANSWERED)
			continue;
		if (p[i].n) {
			t->stack = sonde__stack_intern(p[i].pcs, p[i].n, true);
			t->answer = SONDE__ANSWER_SIGNAL;
		}
		atomic_store(&p[i].state, NONE);
	}
}

static struct place *get_places(void)
{
	struct place *p = atomic_load(&places);

	if (!p) {
		p = sonde__map(PLACES * sizeof(*p));
		atomic_store_explicit(&places, p, memory_order_release);
	}
	return p;
}

void sonde__dump_ask(struct sonde__dump *d)
{
	struct place *p = get_places();
	uint32_t *whose = sonde__map(PLACES * sizeof(*whose));

	d->refused = sonde__cpu_prepare();
	atomic_store(&asking, !d->refused);
	for (size_t next = 0; p && whose && next < d->n;) {
		size_t n = pose(d, &next, p, whose);

		send_all(p, n);
		wait_for_answers(p, n);
		collect(d, p, whose, n);
	}
	atomic_store(&asking, false);
	sonde__unmap(whose, PLACES * sizeof(*whose));
}
