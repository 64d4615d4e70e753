/*
 * cpu.c - where the CPU time goes, while somebody asks
 *
 * A tick finds its thread's record through the signal itself, unwinds into that thread's ring, and
 * is done: no lock, no allocation.  poll() turns what is in the rings into counts
 * per stack.
 *
 * 'armed' of a thread says who may touch its timer: 0 nobody has one, CHANGING somebody is making
 * or deleting it, otherwise the number of the profile it is armed for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/cpu.h"

#include "runtime/agent.h"
#include "runtime/buf.h"
#include "runtime/cpu-perf.h"
#include "runtime/cpu-timer.h"
#include "runtime/fork.h"
#include "runtime/guard.h"
#include "runtime/labels.h"
#include "runtime/os.h"
#include "runtime/ring.h"
#include "runtime/runtime.h"
#include "runtime/stacks.h"
#include "runtime/thread-dump.h"
#include "runtime/unwind.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

enum {
	CHANGING = 1,
	FIRST_PROFILE = 2,
	RING_BYTES = 128 << 10,
	RINGS_MAX = 256 << 20, /* bytes of all rings */
	COUNTS_MAX = 32 << 20, /* of rows: two million */
	POLL_TICKS = 50,       /* that a ring has until the next poll: less than half of it */
	POLL_MIN_MS = 100,
	POLL_MAX_MS = 500,
	EARLY_MS = 100,     /* after which threads are looked at for the first time */
	BUDGET = 100,       /* one part in so many of the CPU time may be ours */
	TAIL_NS = 20000000, /* of a thread's time that may be without ticks at the end */
	LONGEST = 1 << 18,  /* cycles; who takes longer was not running all the time */
};

static const uint64_t SECOND = 1000000000;

/* Read by threads at any time. */
static atomic_uint running; /* number of the profile; 0: none */
static _Atomic(uint64_t) period;
static atomic_uint worth; /* ticks of the asked rate that one tick stands for */
static atomic_bool fine;  /* perf events are allowed */
static atomic_ullong lost;
static atomic_size_t ring_bytes;

/* Guarded by 'lock': one thread at a time starts, polls or stops. */
static struct sonde__lock lock;
static unsigned last_profile = FIRST_PROFILE - 1;
static bool active;
static unsigned asked_hz;
static uint64_t early_look, next_watch; /* early_look: 0 when it is over */
static struct sonde__buf counts;        /* rows */
static struct sonde__index by_stack;
static struct {
	uint64_t now, cycles; /* at the start: how fast cycles are */
	uint64_t own_cycles, cpu;
} watch;

static uint64_t read_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#endif
}

/* The handler. */

static void add_lost(uint64_t ticks)
{
	atomic_fetch_add_explicit(&lost, ticks, memory_order_relaxed);
	atomic_fetch_add_explicit(&sonde__stats.cpu_lost, ticks, memory_order_relaxed);
}

static uintptr_t stack_pointer(const ucontext_t *uc)
{
#if defined(__x86_64__)
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
#else
	return (uintptr_t)uc->uc_mcontext.sp;
#endif
}

static void record(struct sonde__thread *t, const ucontext_t *uc, uint32_t ticks)
{
	struct sonde__ring *ring = atomic_load_explicit(&t->ring, memory_order_acquire);
	uint64_t *room = ring ? sonde__ring_room(ring) : NULL;
	size_t n;

	sonde__thread_find_stack(t, stack_pointer(uc));
	if (!sonde__tls.self && !sonde__tls.ended)
		sonde__tls.self = t;
	n = room ? sonde__unwind_signal(uc, room, SONDE__DEPTH) : 0;
	if (n == 0) {
		add_lost(ticks);
		return;
	}
	sonde__ring_push(ring,
			 &(struct sonde__ring_head){ (uint32_t)n, sonde__labels_now(), ticks });
	atomic_fetch_add_explicit(&sonde__stats.cpu_samples, ticks, memory_order_relaxed);
}

static void sample(struct sonde__thread *t, const ucontext_t *uc)
{
	uint64_t due = sonde__timer_due(t, atomic_load_explicit(&period, memory_order_relaxed));

	due *= atomic_load_explicit(&worth, memory_order_relaxed);
	if (due)
		record(t, uc, (uint32_t)due);
	sonde__timer_again(t);
}

/*
 * A tick that comes while somebody is still busy with the timer is not to be lost: no other one
 * would follow.  Whoever is later, here or in settle(), sees the other.
 */
static bool is_armed(struct sonde__thread *t, unsigned profile)
{
	unsigned armed = atomic_load(&t->armed);

	if (armed != CHANGING)
		return armed == profile;
	atomic_store(&t->missed, true);
	return atomic_load(&t->armed) == profile && atomic_exchange(&t->missed, false);
}

/*
 * A thread that is asked where it is may have a tick due as well: of two signals with one number
 * the kernel keeps only the first.
 */
static void tick(int number, siginfo_t *info, void *context)
{
	uint64_t began = read_cycles();
	int saved = errno;
	struct sonde__thread *t = sonde__dump_answer(info, context);
	unsigned profile = atomic_load_explicit(&running, memory_order_acquire);
	uint64_t took;

	(void)number;
	errno = saved;
	t = t ? t : sonde__timer_owner(info);
	if (!t || profile == 0 || atomic_load(&t->tid) != sonde__tid() || !is_armed(t, profile))
		return; /* a late one: the record may be another's by now */
	sample(t, context);
	errno = saved;
	took = read_cycles() - began;
	atomic_fetch_add_explicit(&t->cycles, took < LONGEST ? took : LONGEST,
				  memory_order_relaxed);
}

/* The signal. */

struct kernel_action {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

static void *handler_now(void)
{
	struct kernel_action act = { 0 };

	sonde__syscall(SYS_rt_sigaction, SIGPROF, 0, (long)&act, sizeof(act.mask), 0, 0);
	return act.handler;
}

bool sonde__cpu_is_handler(const void *handler)
{
	return handler == (const void *)tick;
}

bool sonde__cpu_owns_signal(void)
{
	void *handler = handler_now();

	return sonde__cpu_is_handler(handler) || handler == (void *)SIG_DFL ||
	       handler == (void *)SIG_IGN;
}

/* It stays for ever, and does nothing without a profile: a late signal must not kill the host. */
static bool install_handler(void)
{
	struct sigaction act = { .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	int saved = errno;

	if (handler_now() == (void *)tick)
		return true;
	act.sa_sigaction = tick;
	sigemptyset(&act.sa_mask);
	sonde__next_sigaction(SIGPROF, &act, NULL);
	errno = saved;
	return handler_now() == (void *)tick;
}

const char *sonde__cpu_prepare(void)
{
	const char *why = sonde__why_off(SONDE__CPU);

	sonde__lock(&lock);
	why = why ? why : sonde__guard_cpu();
	if (!why && !install_handler())
		why = "there is no handler to be had for SIGPROF";
	sonde__unlock(&lock);
	return why;
}

/* Timers. */

static bool ensure_ring(struct sonde__thread *t)
{
	struct sonde__ring *ring;

	if (atomic_load(&t->ring))
		return true;
	if (atomic_load(&ring_bytes) >= RINGS_MAX)
		return false;
	ring = sonde__ring_new(RING_BYTES);
	if (!ring)
		return false;
	atomic_fetch_add(&ring_bytes, RING_BYTES);
	atomic_store_explicit(&t->ring, ring, memory_order_release);
	return true;
}

static bool disarm(struct sonde__thread *t);

static void settle(struct sonde__thread *t, unsigned profile)
{
	atomic_store(&t->armed, profile);
	if (atomic_exchange(&t->missed, false))
		sonde__timer_again(t);
}

/* Without a ring ticks are counted as lost; without a timer the thread is not seen at all. */
static int arm(struct sonde__thread *t, unsigned profile)
{
	unsigned none = 0;
	int failed;

	if (!atomic_compare_exchange_strong(&t->armed, &none, CHANGING))
		return 0;
	ensure_ring(t);
	t->tick_random = t->tick_random ? t->tick_random : sonde__now() | 1;
	atomic_store(&t->missed, false);
	failed = sonde__timer_start(t, atomic_load(&period), atomic_load(&fine));
	if (failed)
		atomic_store(&t->armed, 0);
	else
		settle(t, profile);
	if (atomic_load(&running) != profile)
		disarm(t);
	return failed;
}

static bool disarm(struct sonde__thread *t)
{
	unsigned profile = atomic_load(&t->armed);

	while (profile != 0) {
		if (profile == CHANGING) {
			sonde__syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
			profile = atomic_load(&t->armed);
		} else if (atomic_compare_exchange_weak(&t->armed, &profile, CHANGING)) {
			sonde__timer_stop(t);
			atomic_store(&t->armed, 0);
			return true;
		}
	}
	return false;
}

void sonde__cpu_thread_begin(struct sonde__thread *t)
{
	unsigned profile = atomic_load(&running);

	if (profile)
		arm(t, profile);
}

/* Ticks that reached nobody were spent somewhere below the thread's first function. */
void sonde__cpu_thread_end(struct sonde__thread *t)
{
	uint64_t left;
	struct sonde__ring *ring = atomic_load(&t->ring);
	uint64_t *room;

	if (!disarm(t))
		return;
	left = sonde__timer_due(t, atomic_load(&period)) * atomic_load(&worth);
	if (left == 0)
		return;
	room = ring && t->start ? sonde__ring_room(ring) : NULL;
	if (!room) {
		add_lost(left);
		return;
	}
	room[0] = (uintptr_t)t->start;
	sonde__ring_push(ring,
			 &(struct sonde__ring_head){ 1, sonde__labels_now(), (uint32_t)left });
	atomic_fetch_add_explicit(&sonde__stats.cpu_samples, left, memory_order_relaxed);
}

void sonde__cpu_thread_gone(struct sonde__thread *t)
{
	disarm(t);
}

/* A child of vfork() has our memory, and another tid. */
struct sonde__thread *sonde__cpu_exec_begin(void)
{
	struct sonde__thread *t = sonde__tls.self;

	if (!t || !atomic_load(&t->armed) || atomic_load(&t->tid) != sonde__tid())
		return NULL;
	return disarm(t) ? t : NULL;
}

void sonde__cpu_exec_failed(struct sonde__thread *t)
{
	if (t)
		sonde__cpu_thread_begin(t);
}

/* fork() */

static void before_fork(void)
{
	sonde__lock(&lock);
}

static void in_parent(void)
{
	sonde__unlock(&lock);
}

/* Timers stay with the parent, and so does the profile. */
static void in_child(void)
{
	atomic_store(&running, 0);
	for (struct sonde__thread *t = sonde__threads(); t; t = t->next) {
		atomic_store(&t->armed, 0);
		sonde__perf_forget(t);
	}
	active = false;
	sonde__unlock(&lock);
}

static const struct sonde__fork_part fork_part = {
	.prepare = before_fork,
	.parent = in_parent,
	.child = in_child,
};

/* The rest is for one thread at a time. */

static struct sonde__cpu_row *row_at(size_t i)
{
	return (struct sonde__cpu_row *)(void *)counts.p + i;
}

/* The row of a stack and its labels, made if need be; NULL when there is no room. */
static struct sonde__cpu_row *find_row(uint32_t stack, uint32_t labels)
{
	const uint32_t key[] = { stack, labels };
	uint32_t hash = sonde__hash(key, sizeof(key)), id;
	struct sonde__cpu_row *row;

	for (size_t at = hash; (id = sonde__index_next(&by_stack, hash, &at)) != 0;)
		if (row_at(id - 1)->stack == stack && row_at(id - 1)->labels == labels)
			return row_at(id - 1);
	row = sonde__buf_more(&counts, sizeof(*row));
	if (!row)
		return NULL;
	row->stack = stack;
	row->labels = labels;
	if (sonde__index_put(&by_stack, hash, (uint32_t)(counts.n / sizeof(*row))))
		return row;
	counts.n -= sizeof(*row);
	return NULL;
}

static void count(const uint64_t *pcs, const struct sonde__ring_head *head)
{
	uint32_t stack = sonde__stack_intern(pcs, head->n, true);
	struct sonde__cpu_row *row = stack ? find_row(stack, head->labels) : NULL;

	if (row)
		row->ticks += head->ticks;
	else
		add_lost(head->ticks);
}

static void drain(struct sonde__ring *ring)
{
	struct sonde__ring_head head;
	const uint64_t *pcs;

	for (pcs = sonde__ring_peek(ring, &head); pcs; pcs = sonde__ring_peek(ring, &head)) {
		count(pcs, &head);
		sonde__ring_drop(ring);
	}
}

/* A tick of the profile before may have come too late for it, and be gone with its page. */
static void discard_all(void)
{
	for (struct sonde__thread *t = sonde__threads(); t; t = t->next) {
		struct sonde__ring *ring = atomic_load_explicit(&t->ring, memory_order_acquire);

		if (ring)
			sonde__ring_empty(ring);
	}
}

static void drain_all(void)
{
	for (struct sonde__thread *t = sonde__threads(); t; t = t->next) {
		struct sonde__ring *ring = atomic_load_explicit(&t->ring, memory_order_acquire);

		if (ring)
			drain(ring);
	}
}

/* A thread that turns out to sleep all the time gets the timer that suits it. */
static void suit(struct sonde__thread *t, unsigned profile)
{
	if (!atomic_load(&fine) || !sonde__timer_costs(t) || atomic_load(&t->armed) != profile)
		return;
	if (atomic_compare_exchange_strong(&t->armed, &profile, CHANGING)) {
		sonde__timer_coarsen(t);
		settle(t, profile);
	}
}

/* How many got a timer; '*failed' is why the last one did not, or 0. */
static size_t arm_all(unsigned profile, int *failed)
{
	size_t armed = 0;

	*failed = 0;
	for (struct sonde__thread *t = sonde__threads(); t; t = t->next) {
		int r = -ESRCH;

		if (atomic_load(&t->tid) > 0) {
			suit(t, profile);
			r = arm(t, profile);
		}

		if (r == 0)
			armed++;
		else if (r != -ESRCH)
			*failed = r;
	}
	return armed;
}

/* What waits for the kernel to look at the clock again is too little to speak of. */
static void disarm_all(void)
{
	for (struct sonde__thread *t = sonde__threads(); t; t = t->next) {
		uint64_t behind = atomic_load(&t->armed) ? sonde__timer_behind(t) : 0;

		if (disarm(t) && behind > TAIL_NS)
			add_lost(behind / atomic_load(&period) * atomic_load(&worth));
	}
}

static uint64_t own_cycles(void)
{
	uint64_t sum = 0;

	for (struct sonde__thread *t = sonde__threads(); t; t = t->next)
		sum += atomic_load_explicit(&t->cycles, memory_order_relaxed);
	return sum;
}

static uint64_t process_cpu(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static void start_watch(void)
{
	watch.now = sonde__now();
	watch.cycles = read_cycles();
	watch.own_cycles = own_cycles();
	watch.cpu = process_cpu();
}

/* Half as many ticks from now on, each worth twice as much. */
static void slow_down(unsigned profile)
{
	int failed;

	atomic_store(&running, 0);
	disarm_all();
	drain_all();
	atomic_store(&worth, 2 * atomic_load(&worth));
	atomic_store(&period, 2 * atomic_load(&period));
	atomic_store(&running, profile);
	arm_all(profile, &failed);
	sonde__log("CPU profile: ticks take more than 1 %% of the CPU time, going on at %u Hz",
		   asked_hz / atomic_load(&worth));
}

static void look_at_ourselves(void)
{
	uint64_t ns = sonde__now() - watch.now;
	uint64_t cycles = read_cycles() - watch.cycles;
	uint64_t own = own_cycles() - watch.own_cycles;
	uint64_t cpu = process_cpu() - watch.cpu;
	uint64_t own_ns = cycles ? (uint64_t)((double)own * (double)ns / (double)cycles) : 0;

	atomic_fetch_add_explicit(&sonde__stats.own_ns, own_ns, memory_order_relaxed);
	if (own_ns > cpu / BUDGET && asked_hz / atomic_load(&worth) >= 2)
		slow_down(atomic_load(&running));
	start_watch();
}

/* What was counted until here is still delivered. */
static void break_off(const char *why)
{
	atomic_store(&running, 0);
	disarm_all();
	sonde__say_off(SONDE__CPU, why);
}

/* To ignore a signal makes the kernel forget those that were on their way. */
void sonde__cpu_give_way(void)
{
	struct kernel_action ignore = { .handler = (void *)SIG_IGN };
	bool any = sonde__dump_give_way();

	sonde__lock(&lock);
	if (active && atomic_load(&running)) {
		break_off("the program began to handle SIGPROF itself while a profile was running");
		any = true;
	}
	if (any)
		sonde__syscall(SYS_rt_sigaction, SIGPROF, (long)&ignore, 0, sizeof(ignore.mask), 0,
			       0);
	sonde__unlock(&lock);
}

/* There are ways to a handler of one's own that we do not see, and others into a sandbox. */
static void check_host(void)
{
	const char *why = sonde__guard_cpu();

	if (why)
		break_off(why);
}

/*
 * What a thread did before the profile says little of a server that was idle until now, and a perf
 * event may be dear, so it is looked at again before the second is over.
 */
static void suit_all(unsigned profile)
{
	if (!early_look || sonde__now() < early_look)
		return;
	early_look = 0;
	for (struct sonde__thread *t = sonde__threads(); t; t = t->next)
		if (atomic_load(&t->tid) > 0)
			suit(t, profile);
}

/* Once a second: what costs more than a look. */
static void watch_all(unsigned profile)
{
	int failed;

	if (sonde__now() < next_watch || !atomic_load(&running))
		return;
	next_watch = sonde__now() + SECOND;
	look_at_ourselves();
	sonde__threads_scan();
	arm_all(profile, &failed);
}

/* Often enough for the rings; each time a sleeping processor wakes up. */
static uint64_t pause_between_polls(void)
{
	uint64_t ms = early_look ? EARLY_MS : POLL_TICKS * atomic_load(&period) / 1000000;

	ms = ms < POLL_MAX_MS ? ms : POLL_MAX_MS;
	return (ms > POLL_MIN_MS ? ms : POLL_MIN_MS) * 1000000;
}

uint64_t sonde__cpu_poll(void)
{
	unsigned profile = atomic_load(&running);
	uint64_t pause;

	if (!sonde__trylock(&lock))
		return POLL_MIN_MS * 1000000;
	if (active && profile) {
		check_host();
		drain_all();
		suit_all(profile);
		watch_all(profile);
	}
	pause = pause_between_polls();
	sonde__unlock(&lock);
	return pause;
}

static int refuse(const char *why)
{
	sonde__say_off(SONDE__CPU, why);
	return -ENOTSUP;
}

static int begin_profile(unsigned hz)
{
	int failed;

	atomic_store(&period, SECOND / hz);
	atomic_store(&worth, 1);
	atomic_store(&lost, 0);
	atomic_store(&fine, sonde__perf_allowed());
	asked_hz = hz;
	early_look = sonde__now() + EARLY_MS * 1000000ull;
	next_watch = sonde__now() + SECOND;
	sonde__buf_release(&counts);
	sonde__index_release(&by_stack);
	counts.max = COUNTS_MAX;
	discard_all();
	start_watch();
	atomic_store(&running, ++last_profile);
	if (arm_all(last_profile, &failed) > 0 || failed == 0)
		return 0;
	atomic_store(&running, 0);
	return failed == -ENOMEM ? failed : refuse("the system has no timers for us");
}

int sonde__cpu_start(unsigned hz)
{
	const char *why = sonde__why_off(SONDE__CPU);
	int r = 0;

	if (hz == 0 || hz > SONDE__CPU_MAX_HZ)
		return -EINVAL;
	if (why)
		return -ENOTSUP;
	sonde__lock(&lock);
	why = active ? NULL : sonde__guard_cpu();
	if (active)
		r = -EBUSY;
	else if (why || !install_handler())
		r = refuse(why ? why : "there is no handler to be had for SIGPROF");
	if (r == 0) {
		sonde__threads_start();
		sonde__fork_join(SONDE__FORK_CPU, &fork_part);
		sonde__threads_scan();
		r = begin_profile(hz);
		active = r == 0;
	}
	sonde__unlock(&lock);
	return r;
}

/* The rows, which are not ours any more. */
static struct sonde__cpu_row *take_rows(size_t *n, size_t *mapped)
{
	struct sonde__cpu_row *rows, *row;
	uint64_t gone = atomic_load(&lost);

	counts.full = false;
	counts.max = 0;
	row = gone ? sonde__buf_more(&counts, sizeof(*row)) : NULL;
	if (row)
		row->ticks = gone;
	rows = row_at(0);
	*n = counts.n / sizeof(*rows);
	*mapped = counts.cap;
	counts = (struct sonde__buf){ 0 };
	sonde__index_release(&by_stack);
	return *n ? rows : NULL;
}

/* Between profiles rings keep their first page only: that is where their indices are. */
static void release_rings(void)
{
	enum { PAGE = 4096 };

	for (struct sonde__thread *t = sonde__threads(); t; t = t->next) {
		struct sonde__ring *ring = atomic_load(&t->ring);

		if (ring)
			sonde__syscall(SYS_madvise, (long)ring + PAGE, RING_BYTES - PAGE,
				       MADV_DONTNEED, 0, 0, 0);
	}
}

struct sonde__cpu_row *sonde__cpu_stop(size_t *n, size_t *mapped, unsigned *hz)
{
	static const struct timespec late = { .tv_nsec = 2000000 };
	struct sonde__cpu_row *rows = NULL;

	*n = 0;
	*mapped = 0;
	*hz = 0;
	sonde__lock(&lock);
	if (active) {
		atomic_store(&running, 0);
		disarm_all();
		sonde__syscall(SYS_nanosleep, (long)&late, 0, 0, 0, 0, 0);
		drain_all();
		rows = take_rows(n, mapped);
		*hz = asked_hz;
		release_rings();
		active = false;
	}
	sonde__unlock(&lock);
	return rows;
}
