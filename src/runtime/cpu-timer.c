/*
 * cpu-timer.c - a timer on the CPU time of one thread
 *
 * The CPU time of a thread is cut into periods, and each has one tick at a random place.  So the
 * number of ticks is as exact as with regular ones, but work that has a rhythm of its own is not
 * always hit at the same beat, and a thread that lives for half a period is seen half of the time.
 *
 * A perf event comes right then (cpu-perf.h).  Where there is none, a POSIX timer does, which looks
 * at the clock when the kernel's own tick comes (every 1 to 10 ms).  A signal then stands for all
 * the ticks that have come due, so that the sum is right at any rate.
 *
 * The kernel stops and starts a perf event whenever it switches threads, which takes some
 * microseconds: of a server that sleeps 7,000 times a second, 2.5 % of its time.  So threads that
 * hardly run before they sleep have POSIX timers, which cost nothing there: those where that would
 * be more than 0.2 % of their time, as ticks take up to 0.3 % themselves, and a profile should not
 * take 1 %.
 *
 * The signal carries the number of the record, and a word that tells it from timers of the host.
 * It goes to the very thread whose clock it is, and nowhere else: children of vfork() that share
 * our memory do not get it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/cpu-timer.h"

#include "runtime/cpu-perf.h"
#include "runtime/os.h"
#include "runtime/task.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>

enum { ENOUGH_RUNS = 64 }; /* to say how long they are */

static const uint64_t SECOND = 1000000000;
static const uint64_t SHORT_RUN = 2000000; /* ns; a switch takes 3.6 us */
static const uint64_t OURS = 0x536f6e64;   /* upper half of the value a timer sends */

/* Fields that the C library's headers know under one name only in some versions. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* What pthread_getcpuclockid() would say: the kernel's way to name the clock of a thread. */
static clockid_t clock_of(int tid)
{
	return (clockid_t)((~(unsigned)tid << 3) | 6);
}

static uint64_t read_clock(int tid)
{
	struct timespec now = { 0 };

	if (tid <= 0) /* gone, or not there yet: its number would name quite another clock */
		return 0;
	sonde__syscall(SYS_clock_gettime, clock_of(tid), (long)&now, 0, 0, 0, 0);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static struct timespec span(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND) };
}

static uint64_t place_in(struct sonde__thread *t, uint64_t period)
{
	return t->base + t->stratum * period + sonde__random(&t->tick_random) % period;
}

static void set_timer(const struct sonde__thread *t)
{
	struct itimerspec when = { .it_value = span(t->next_tick) };

	sonde__syscall(SYS_timer_settime, t->timer, TIMER_ABSTIME, (long)&when, 0, 0, 0);
}

void sonde__timer_again(const struct sonde__thread *t)
{
	if (t->fd >= 0)
		sonde__perf_again(t, t->next_tick - t->seen);
	else
		set_timer(t);
}

static int make_timer(struct sonde__thread *t)
{
	int tid = atomic_load(&t->tid);
	struct sigevent event = { .sigev_signo = SIGPROF, .sigev_notify = SIGEV_THREAD_ID };
	int timer = 0;
	long failed;

	event.sigev_value.sival_ptr = (void *)(uintptr_t)(OURS << 32 | t->number);
	event.sigev_notify_thread_id = tid;
	failed = sonde__syscall(SYS_timer_create, clock_of(tid), (long)&event, (long)&timer, 0, 0,
				0);
	t->timer = timer;
	return (int)failed;
}

bool sonde__timer_costs(struct sonde__thread *t)
{
	struct sonde__task now = { .tid = atomic_load(&t->tid) };
	uint64_t runs, ns;

	if (!sonde__task_times(&now))
		return t->restless;
	runs = now.runs - t->runs;
	ns = now.cpu - t->ran;
	if (now.runs && runs >= ENOUGH_RUNS) {
		t->runs = now.runs;
		t->ran = now.cpu;
		t->restless = ns / runs < SHORT_RUN;
	}
	return t->restless;
}

/* There is always one of the two that a handler may set. */
void sonde__timer_coarsen(struct sonde__thread *t)
{
	if (t->fd < 0 || make_timer(t))
		return;
	sonde__perf_stop(t);
	set_timer(t);
}

int sonde__timer_start(struct sonde__thread *t, uint64_t period, bool fine)
{
	int failed = fine && !t->restless ? sonde__perf_start(t) : -ENOTSUP;

	if (failed)
		failed = make_timer(t);
	if (failed)
		return failed;
	t->base = read_clock(atomic_load(&t->tid));
	t->seen = t->base;
	t->stratum = 0;
	t->next_tick = place_in(t, period);
	sonde__timer_again(t);
	return 0;
}

void sonde__timer_stop(struct sonde__thread *t)
{
	if (t->fd >= 0)
		sonde__perf_stop(t);
	else
		sonde__syscall(SYS_timer_delete, t->timer, 0, 0, 0, 0, 0);
}

struct sonde__thread *sonde__timer_owner(const siginfo_t *info)
{
	uint64_t value = (uintptr_t)info->si_value.sival_ptr;

	if (info->si_code != SI_TIMER)
		return sonde__perf_owner(info);
	if (value >> 32 != OURS)
		return NULL;
	return sonde__thread_at((uint32_t)value);
}

uint64_t sonde__timer_due(struct sonde__thread *t, uint64_t period)
{
	uint64_t now = sonde__thread_cpu();
	uint64_t stratum = now > t->base ? (now - t->base) / period : 0;
	uint64_t due = 0;

	t->seen = now;
	if (stratum > t->stratum) {
		due = stratum - t->stratum;
		t->stratum = stratum;
		t->next_tick = place_in(t, period);
	}
	if (t->next_tick <= now) {
		due++;
		t->stratum++;
		t->next_tick = place_in(t, period);
	}
	return due;
}

uint64_t sonde__timer_behind(const struct sonde__thread *t)
{
	uint64_t now = read_clock(atomic_load(&t->tid));

	return now > t->next_tick ? now - t->next_tick : 0;
}
