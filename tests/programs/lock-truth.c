/*
 * lock-truth.c - who makes whom wait, and for how long, is known here
 *
 * usage: lock-truth SCENARIO...
 *
 * Plays each scenario, and prints what its profiles have to say, by this program's own clock:
 *
 *	mutex|block FUNCTION CONTENTIONS NANOSECONDS
 *
 * then "ready"; ends when its input does.  Nothing depends on how quick the machine is: a thread is
 * known to wait when the kernel says that it sleeps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline))
/* So that no call above is a jump, and no two functions are the same. */
#define END __asm__ volatile("# %0" : : "i"(__LINE__))

enum { ROUNDS = 5, HOLD_MS = 40, WAITERS = 3 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) != 0)
		;
}

static struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* What there is to see of one function. */
struct tally {
	atomic_ullong ns, count;
};

static void count(struct tally *t, uint64_t since)
{
	atomic_fetch_add(&t->ns, now() - since);
	atomic_fetch_add(&t->count, 1);
}

static void tell(const char *profile, const char *function, struct tally *t)
{
	printf("%s %s %llu %llu\n", profile, function, (unsigned long long)t->count,
	       (unsigned long long)t->ns);
	t->ns = 0;
	t->count = 0;
}

/* A thread that does one thing that waits, and when it began to. */
struct waiter {
	pthread_t thread;
	void (*wait)(void);
	struct tally *tally;
	_Atomic uint64_t since;
	atomic_int tid;
};

static void *run_waiter(void *arg)
{
	struct waiter *w = arg;

	atomic_store(&w->tid, (int)syscall(SYS_gettid));
	atomic_store(&w->since, now());
	w->wait();
	count(w->tally, w->since);
	return NULL;
}

static void start(struct waiter *w, void (*wait)(void), struct tally *tally)
{
	memset(w, 0, sizeof(*w));
	w->wait = wait;
	w->tally = tally;
	if (pthread_create(&w->thread, NULL, run_waiter, w) != 0)
		abort();
}

/* Whether a thread is in a system call that waits for a lock. */
static int sleeps(int tid)
{
	char path[64], text[64] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 && strtol(text, NULL, 10) == SYS_futex && text[0] != 'r';
}

static void await(struct waiter *w)
{
	while (!atomic_load(&w->tid))
		sleep_ms(1);
	for (int i = 0; i < 20000; i++) {
		int s = sleeps(w->tid);

		if (s > 0)
			return;
		sleep_ms(s < 0 ? 20 : 1);
		if (s < 0)
			return;
	}
	abort();
}

static void start_all(struct waiter *w, int n, void (*wait)(void), struct tally *tally)
{
	for (int i = 0; i < n; i++)
		start(&w[i], wait, tally);
	for (int i = 0; i < n; i++)
		await(&w[i]);
}

static void join_all(struct waiter *w, int n)
{
	for (int i = 0; i < n; i++)
		pthread_join(w[i].thread, NULL);
}

/* What those who wait have waited by now. */
static void charge(struct tally *holder, struct waiter *w, int n, uint64_t contentions)
{
	uint64_t at = now();

	for (int i = 0; i < n; i++)
		holder->ns += at - w[i].since;
	holder->count += contentions;
}

static struct tally holder, waiting;
static struct waiter waiters[WAITERS];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static mtx_t mtx;
static cnd_t cnd;

/* A mutex with three who want it. */

APART static void want_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	END;
}

APART static void hold_mutex(void)
{
	pthread_mutex_lock(&mutex);
	start_all(waiters, WAITERS, want_mutex, &waiting);
	sleep_ms(HOLD_MS);
	charge(&holder, waiters, WAITERS, 1);
	pthread_mutex_unlock(&mutex);
	END;
}

static void play_mutex(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		hold_mutex();
		join_all(waiters, WAITERS);
	}
	tell("mutex", "hold_mutex", &holder);
	tell("block", "want_mutex", &waiting);
}

/* One that gives up, again and again. */

APART static void want_timed(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec until = in_ms(CLOCK_REALTIME, HOLD_MS);
		struct timespec mono = in_ms(CLOCK_MONOTONIC, HOLD_MS);
		int r = i % 2 ? pthread_mutex_timedlock(&mutex, &until)
			      : pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &mono);

		if (r != ETIMEDOUT)
			abort();
	}
	waiting.count += ROUNDS - 1;
	END;
}

APART static void hold_timed(void)
{
	pthread_mutex_lock(&mutex);
	start_all(waiters, 1, want_timed, &waiting);
	join_all(waiters, 1);
	holder.ns += waiting.ns;
	holder.count += ROUNDS;
	pthread_mutex_unlock(&mutex);
	END;
}

static void play_timed(void)
{
	hold_timed();
	tell("mutex", "hold_timed", &holder);
	tell("block", "want_timed", &waiting);
}

/* Only the last unlock lets anybody in. */

APART static void want_recursive(void)
{
	pthread_mutex_lock(&recursive);
	pthread_mutex_unlock(&recursive);
	END;
}

APART static void unlock_inner(void)
{
	pthread_mutex_unlock(&recursive);
	END;
}

APART static void unlock_outer(void)
{
	pthread_mutex_unlock(&recursive);
	END;
}

static void play_recursive(void)
{
	struct tally none = { 0 };

	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&recursive);
		pthread_mutex_lock(&recursive);
		start_all(waiters, WAITERS, want_recursive, &waiting);
		sleep_ms(HOLD_MS / 2);
		unlock_inner();
		sleep_ms(HOLD_MS / 2);
		charge(&holder, waiters, WAITERS, 1);
		unlock_outer();
		join_all(waiters, WAITERS);
	}
	tell("mutex", "unlock_outer", &holder);
	tell("mutex", "unlock_inner", &none);
	tell("block", "want_recursive", &waiting);
}

/* A writer lets all readers in at once. */

APART static void want_read(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	END;
}

APART static void hold_write(void)
{
	pthread_rwlock_wrlock(&rwlock);
	start_all(waiters, WAITERS, want_read, &waiting);
	sleep_ms(HOLD_MS);
	charge(&holder, waiters, WAITERS, WAITERS);
	pthread_rwlock_unlock(&rwlock);
	END;
}

APART static void want_write(void)
{
	struct timespec until = in_ms(CLOCK_REALTIME, 60000);

	if (pthread_rwlock_timedwrlock(&rwlock, &until) != 0)
		abort();
	pthread_rwlock_unlock(&rwlock);
	END;
}

APART static void hold_read(void)
{
	pthread_rwlock_rdlock(&rwlock);
	start_all(waiters, 1, want_write, &waiting);
	sleep_ms(HOLD_MS);
	charge(&holder, waiters, 1, 1);
	pthread_rwlock_unlock(&rwlock);
	END;
}

static void play_rwlock(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		hold_write();
		join_all(waiters, WAITERS);
	}
	tell("mutex", "hold_write", &holder);
	tell("block", "want_read", &waiting);
	for (int i = 0; i < ROUNDS; i++) {
		hold_read();
		join_all(waiters, 1);
	}
	tell("mutex", "hold_read", &holder);
	tell("block", "want_write", &waiting);
}

/* Waiting for a condition gives the mutex back. */

APART static void wait_with_mutex(void)
{
	struct timespec until = in_ms(CLOCK_REALTIME, HOLD_MS);

	pthread_mutex_lock(&mutex);
	start_all(waiters, WAITERS, want_mutex, &waiting);
	sleep_ms(HOLD_MS);
	charge(&holder, waiters, WAITERS, 1);
	pthread_cond_timedwait(&cond, &mutex, &until);
	END;
}

static int flag;

APART static void wait_cond(void)
{
	pthread_mutex_lock(&mutex);
	while (!flag)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	END;
}

static void play_cond(void)
{
	wait_with_mutex();
	pthread_mutex_unlock(&mutex);
	join_all(waiters, WAITERS);
	tell("mutex", "wait_with_mutex", &holder);
	waiting.ns = 0;
	waiting.count = 0;
	for (int i = 0; i < ROUNDS; i++) {
		start_all(waiters, 1, wait_cond, &waiting);
		sleep_ms(HOLD_MS);
		pthread_mutex_lock(&mutex);
		flag = 1;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
		join_all(waiters, 1);
		flag = 0;
	}
	tell("block", "wait_cond", &waiting);
}

/* Waits that are nobody's fault. */

APART static void wait_sem(void)
{
	while (sem_wait(&sem) != 0)
		;
	END;
}

APART static void wait_barrier(void)
{
	pthread_barrier_wait(&barrier);
	END;
}

static atomic_bool released;

static void sleep_until_released(void)
{
	while (!released)
		sleep_ms(1);
}

static void *sleeper(void *unused)
{
	sleep_until_released();
	return unused;
}

/* One waits for something that is slow, until it is released. */
static void hold_up(void (*wait)(void))
{
	released = false;
	start_all(waiters, 1, wait, &waiting);
	sleep_ms(HOLD_MS);
	released = true;
	join_all(waiters, 1);
}

APART static void wait_join(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, sleeper, NULL) != 0 || pthread_join(t, NULL) != 0)
		abort();
	END;
}

static pthread_once_t once;

/* The first one is busy, the others wait. */
APART static void wait_once(void)
{
	pthread_once(&once, sleep_until_released);
	END;
}

static void *call_first(void *unused)
{
	pthread_once(&once, sleep_until_released);
	return unused;
}

static void play_others(void)
{
	sem_init(&sem, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < ROUNDS; i++) {
		start_all(waiters, 1, wait_sem, &waiting);
		sleep_ms(HOLD_MS);
		sem_post(&sem);
		join_all(waiters, 1);
	}
	tell("block", "wait_sem", &waiting);
	for (int i = 0; i < ROUNDS; i++) {
		start_all(waiters, 1, wait_barrier, &waiting);
		sleep_ms(HOLD_MS);
		pthread_barrier_wait(&barrier);
		join_all(waiters, 1);
	}
	tell("block", "wait_barrier", &waiting);
	for (int i = 0; i < ROUNDS; i++)
		hold_up(wait_join);
	tell("block", "wait_join", &waiting);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t first;

		once = PTHREAD_ONCE_INIT;
		released = false;
		if (pthread_create(&first, NULL, call_first, NULL) != 0)
			abort();
		while (*(volatile int *)&once == PTHREAD_ONCE_INIT)
			sleep_ms(1);
		hold_up(wait_once);
		pthread_join(first, NULL);
	}
	tell("block", "wait_once", &waiting);
}

/* C11's. */

APART static void want_mtx(void)
{
	mtx_lock(&mtx);
	mtx_unlock(&mtx);
	END;
}

APART static void hold_mtx(void)
{
	mtx_lock(&mtx);
	start_all(waiters, WAITERS, want_mtx, &waiting);
	sleep_ms(HOLD_MS);
	charge(&holder, waiters, WAITERS, 1);
	mtx_unlock(&mtx);
	END;
}

APART static void wait_cnd(void)
{
	struct timespec until = in_ms(CLOCK_REALTIME, HOLD_MS);
	uint64_t since;

	mtx_lock(&mtx);
	since = now();
	cnd_timedwait(&cnd, &mtx, &until);
	count(&waiting, since);
	mtx_unlock(&mtx);
	END;
}

static int c11_sleeper(void *unused)
{
	(void)unused;
	sleep_until_released();
	return 7;
}

APART static void wait_thrd(void)
{
	thrd_t t;
	int result = 0;

	if (thrd_create(&t, c11_sleeper, NULL) != thrd_success ||
	    thrd_join(t, &result) != thrd_success || result != 7)
		abort();
	END;
}

static void play_c11(void)
{
	mtx_init(&mtx, mtx_plain);
	cnd_init(&cnd);
	for (int i = 0; i < ROUNDS; i++) {
		hold_mtx();
		join_all(waiters, WAITERS);
	}
	tell("mutex", "hold_mtx", &holder);
	tell("block", "want_mtx", &waiting);
	for (int i = 0; i < ROUNDS; i++)
		wait_cnd();
	tell("block", "wait_cnd", &waiting);
	for (int i = 0; i < ROUNDS; i++)
		hold_up(wait_thrd);
	tell("block", "wait_thrd", &waiting);
}

/* Nobody waits: nothing may be seen. */

APART static void alone(void)
{
	for (int i = 0; i < 100000; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		sem_post(&sem);
		sem_wait(&sem);
	}
	END;
}

static void play_alone(void)
{
	sem_init(&sem, 0, 0);
	alone();
	tell("mutex", "alone", &holder);
	tell("block", "alone", &waiting);
}

/* Threads that are shot down while they wait do not wait for ever. */

static void *wait_to_die(void *unused)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	waiters[0].tid = (int)syscall(SYS_gettid);
	waiters[0].since = now();
	pthread_mutex_lock(&mutex);
	return unused;
}

APART static void unlock_shot(void)
{
	pthread_mutex_unlock(&mutex);
	END;
}

static void play_shot(void)
{
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < ROUNDS; i++) {
		waiters[0].tid = 0;
		if (pthread_create(&waiters[0].thread, NULL, wait_to_die, NULL) != 0)
			abort();
		await(&waiters[0]);
		sleep_ms(HOLD_MS);
		pthread_cancel(waiters[0].thread);
		join_all(waiters, 1);
		charge(&holder, waiters, 1, 1);
	}
	sleep_ms(ROUNDS * HOLD_MS);
	unlock_shot();
	pthread_mutex_lock(&mutex);
	sleep_ms(HOLD_MS);
	pthread_mutex_unlock(&mutex);
	tell("mutex", "unlock_shot", &holder);
	tell("mutex", "play_shot", &waiting);
}

/* The lock is held for long, again and again, until told to stop. */

static atomic_bool over;

static void *keep_going(void *unused)
{
	while (!over) {
		hold_mutex();
		join_all(waiters, WAITERS);
	}
	return unused;
}

static void play_on(void)
{
	static pthread_t t;

	if (pthread_create(&t, NULL, keep_going, NULL) != 0)
		abort();
}

static const struct {
	const char *name;
	void (*play)(void);
} scenarios[] = {
	{ "mutex", play_mutex },   { "timed", play_timed }, { "recursive", play_recursive },
	{ "rwlock", play_rwlock }, { "cond", play_cond },   { "others", play_others },
	{ "c11", play_c11 },       { "alone", play_alone }, { "shot", play_shot },
	{ "on", play_on },
};

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof(scenarios) / sizeof(scenarios[0]); k++)
			if (strcmp(argv[i], scenarios[k].name) == 0)
				scenarios[k].play();
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	over = true;
	return 0;
}
