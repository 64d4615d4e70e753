/*
 * lock-host.c - what locks do at their edges, in words that must not change when they are watched
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) != 0)
		;
}

static struct timespec in_ms(long ms)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += (ms % 1000 + 1000) * 1000000;
	t.tv_sec += ms / 1000 - 1 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static const struct timespec nonsense = { 0, 1000000000 };

static pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, run, arg) != 0)
		abort();
	return t;
}

static const char *word(int code)
{
	switch (code) {
	case 0:
		return "0";
	case EBUSY:
		return "EBUSY";
	case EDEADLK:
		return "EDEADLK";
	case EINVAL:
		return "EINVAL";
	case EPERM:
		return "EPERM";
	case ETIMEDOUT:
		return "ETIMEDOUT";
	case EOWNERDEAD:
		return "EOWNERDEAD";
	case ENOTRECOVERABLE:
		return "ENOTRECOVERABLE";
	case EINTR:
		return "EINTR";
	case EAGAIN:
		return "EAGAIN";
	case ESRCH:
		return "ESRCH";
	default:
		return "other";
	}
}

static void say(const char *what, int code)
{
	printf("%s: %s\n", what, word(code));
	fflush(stdout);
}

static void init_mutex(pthread_mutex_t *m, int type, int robust, int protocol, int shared)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	pthread_mutexattr_setrobust(&a, robust);
	pthread_mutexattr_setprotocol(&a, protocol);
	pthread_mutexattr_setpshared(&a, shared);
	say("init", pthread_mutex_init(m, &a));
	pthread_mutexattr_destroy(&a);
}

/* Before any library's constructor. */
static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t early_rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int early_result = -1;

static void before_all(void)
{
	early_result = pthread_mutex_lock(&early) + pthread_mutex_unlock(&early) +
		       pthread_rwlock_rdlock(&early_rwlock) + pthread_rwlock_unlock(&early_rwlock);
}
__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = before_all;

static void *try_it(void *m)
{
	int r = pthread_mutex_trylock(m);

	if (r == 0 || r == EOWNERDEAD)
		pthread_mutex_unlock(m);
	return (void *)(intptr_t)r;
}

static int from_other(void *(*run)(void *), void *arg)
{
	void *result;

	pthread_join(start(run, arg), &result);
	return (int)(intptr_t)result;
}

static void *unlock_it(void *m)
{
	return (void *)(intptr_t)pthread_mutex_unlock(m);
}

static void *lock_it(void *m)
{
	int r = pthread_mutex_lock(m);

	if (r == 0 || r == EOWNERDEAD)
		pthread_mutex_unlock(m);
	return (void *)(intptr_t)r;
}

static atomic_int taken;

static void *die_with(void *m)
{
	pthread_mutex_lock(m);
	atomic_store(&taken, 1);
	sleep_ms(30);
	return NULL;
}

static void kinds(void)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP };

	for (int i = 0; i < 16; i++) {
		int type = types[i % 4];
		int robust = i & 4 ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED;
		int protocol = i & 8 ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE;
		struct timespec soon = in_ms(30);
		pthread_mutex_t m;
		pthread_t t;

		printf("kind %d\n", i);
		init_mutex(&m, type, robust, protocol, PTHREAD_PROCESS_PRIVATE);
		say("lock", pthread_mutex_lock(&m));
		if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK) {
			say("lock again", pthread_mutex_lock(&m));
			say("timedlock again", pthread_mutex_timedlock(&m, &soon));
			say("unlock of another", from_other(unlock_it, &m));
			say("unlock", pthread_mutex_unlock(&m));
		}
		say("trylock of another", from_other(try_it, &m));
		t = start(lock_it, &m);
		sleep_ms(30);
		say("unlock", pthread_mutex_unlock(&m));
		if (type == PTHREAD_MUTEX_RECURSIVE)
			say("last unlock", pthread_mutex_unlock(&m));
		pthread_join(t, NULL);
		say("trylock of another", from_other(try_it, &m));
		if (type == PTHREAD_MUTEX_ERRORCHECK || type == PTHREAD_MUTEX_RECURSIVE)
			say("unlock of none", pthread_mutex_unlock(&m));
		say("destroy", pthread_mutex_destroy(&m));
	}
}

static void robust(void)
{
	for (int i = 0; i < 2; i++) {
		pthread_mutex_t m;
		pthread_t t;

		init_mutex(&m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST,
			   i ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
		atomic_store(&taken, 0);
		t = start(die_with, &m);
		while (!atomic_load(&taken))
			sleep_ms(1);
		say("owner dies meanwhile", pthread_mutex_lock(&m));
		pthread_join(t, NULL);
		say("consistent", pthread_mutex_consistent(&m));
		say("unlock", pthread_mutex_unlock(&m));
		pthread_join(start(die_with, &m), NULL);
		say("owner has died", pthread_mutex_lock(&m));
		say("unlock as it is", pthread_mutex_unlock(&m));
		say("lost", pthread_mutex_lock(&m));
		say("lost", from_other(lock_it, &m));
	}
}

static void times(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	struct timespec past = in_ms(-1000), soon = in_ms(20);

	say("free, time makes no sense", pthread_mutex_timedlock(&m, &nonsense));
	say("busy, time makes no sense", pthread_mutex_timedlock(&m, &nonsense));
	say("busy, past", pthread_mutex_timedlock(&m, &past));
	say("busy, soon", pthread_mutex_timedlock(&m, &soon));
	say("busy, no such clock", pthread_mutex_clocklock(&m, 77, &soon));
	say("unlock", pthread_mutex_unlock(&m));
	say("free, no such clock", pthread_mutex_clocklock(&m, 77, &soon));
	say("free, time makes no sense", pthread_rwlock_timedrdlock(&l, &nonsense));
	say("free, time makes no sense", pthread_rwlock_timedwrlock(&l, &nonsense));
	say("free, no such clock", pthread_rwlock_clockrdlock(&l, 77, &soon));
	say("free, past", pthread_rwlock_timedwrlock(&l, &past));
	say("own, read", pthread_rwlock_rdlock(&l));
	say("own, write", pthread_rwlock_wrlock(&l));
	say("own, soon", pthread_rwlock_timedrdlock(&l, &soon));
	say("unlock", pthread_rwlock_unlock(&l));
	say("read", pthread_rwlock_rdlock(&l));
	say("read, twice", pthread_rwlock_rdlock(&l));
	say("write, soon", pthread_rwlock_timedwrlock(&l, &soon));
	say("unlock", pthread_rwlock_unlock(&l));
	say("unlock", pthread_rwlock_unlock(&l));
	say("write", pthread_rwlock_wrlock(&l));
	say("destroyed in the end", pthread_rwlock_unlock(&l) + pthread_rwlock_destroy(&l));
}

static void on_signal(int signal)
{
	(void)signal;
}

static atomic_bool waited;

/* Again and again: the first may come before anybody waits. */
static void *interrupt(void *thread)
{
	while (!atomic_load(&waited)) {
		sleep_ms(30);
		pthread_kill(*(pthread_t *)thread, SIGUSR1);
	}
	return NULL;
}

static int sem_result(int r)
{
	return r == 0 ? 0 : errno;
}

static void semaphores(void)
{
	struct timespec soon = in_ms(20);
	struct sigaction a = { .sa_handler = on_signal };
	pthread_t self = pthread_self(), t;
	sem_t s;

	sem_init(&s, 0, 1);
	errno = 77;
	say("free", sem_result(sem_wait(&s)));
	printf("errno %d\n", errno);
	say("busy", sem_result(sem_trywait(&s)));
	say("soon", sem_result(sem_timedwait(&s, &soon)));
	say("busy, makes no sense", sem_result(sem_timedwait(&s, &nonsense)));
	sem_post(&s);
	say("free, makes no sense", sem_result(sem_timedwait(&s, &nonsense)));
	say("no such clock", sem_result(sem_clockwait(&s, 77, &soon)));
	sigaction(SIGUSR1, &a, NULL);
	sem_init(&s, 0, 0);
	t = start(interrupt, &self);
	say("interrupted", sem_result(sem_wait(&s)));
	atomic_store(&waited, true);
	pthread_join(t, NULL);
	atomic_store(&waited, false);
	a.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &a, NULL);
	t = start(interrupt, &self);
	soon = in_ms(100000);
	say("not restarted, with a time", sem_result(sem_timedwait(&s, &soon)));
	atomic_store(&waited, true);
	pthread_join(t, NULL);
}

static pthread_mutex_t cancelled = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t tokens;
static atomic_int cleaned;

static void clean(void *m)
{
	cleaned++;
	pthread_mutex_unlock(m);
}

static void *wait_cond(void *unused)
{
	pthread_mutex_lock(&cancelled);
	pthread_cleanup_push(clean, &cancelled);
	for (;;)
		pthread_cond_wait(&never, &cancelled);
	pthread_cleanup_pop(0);
	return unused;
}

static void *wait_cond_timed(void *unused)
{
	struct timespec late = in_ms(100000);

	pthread_mutex_lock(&cancelled);
	pthread_cleanup_push(clean, &cancelled);
	for (;;)
		pthread_cond_timedwait(&never, &cancelled, &late);
	pthread_cleanup_pop(0);
	return unused;
}

static void *wait_sem(void *unused)
{
	while (sem_wait(&tokens) != 0 || true)
		;
	return unused;
}

static void *cancel_self_then_sem(void *unused)
{
	pthread_cancel(pthread_self());
	sem_wait(&tokens);
	return unused;
}

static void *cancel_self_then_mutex(void *unused)
{
	pthread_cancel(pthread_self());
	pthread_mutex_lock(&cancelled);
	pthread_mutex_unlock(&cancelled);
	cleaned++;
	pthread_testcancel();
	return unused;
}

static void *wait_join(void *thread)
{
	pthread_join(*(pthread_t *)thread, NULL);
	return NULL;
}

static void cancel(const char *what, void *(*run)(void *), void *arg)
{
	pthread_t t = start(run, arg);
	void *result;

	sleep_ms(30);
	pthread_cancel(t);
	pthread_join(t, &result);
	printf("%s: %s, %d cleaned\n", what, result == PTHREAD_CANCELED ? "cancelled" : "not",
	       cleaned);
}

static void cancellation(void)
{
	pthread_t sleeper;
	int value = 0;

	cancel("condition", wait_cond, NULL);
	cancel("condition with a time", wait_cond_timed, NULL);
	say("the mutex is free", pthread_mutex_trylock(&cancelled));
	pthread_mutex_unlock(&cancelled);
	sem_init(&tokens, 0, 0);
	cancel("semaphore", wait_sem, NULL);
	sem_post(&tokens);
	cancel("semaphore that is free", cancel_self_then_sem, NULL);
	sem_getvalue(&tokens, &value);
	printf("tokens: %d\n", value);
	cancel("no point of it", cancel_self_then_mutex, NULL);
	sem_wait(&tokens);
	sleeper = start(wait_sem, NULL);
	cancel("join", wait_join, &sleeper);
	pthread_cancel(sleeper);
	say("and is joined", pthread_join(sleeper, NULL));
}

static pthread_once_t outer, inner, again;
static atomic_int ran;

static void run_inner(void)
{
	ran++;
}

static void run_outer(void)
{
	pthread_once(&inner, run_inner);
	ran++;
}

static void run_and_end(void)
{
	if (ran++ == 2)
		pthread_exit(NULL);
}

static void *end_in_once(void *unused)
{
	pthread_once(&again, run_and_end);
	return unused;
}

static void *slow_once(void *once)
{
	pthread_once(once, run_outer);
	return NULL;
}

static void once(void)
{
	pthread_t t[4];
	once_flag flag = ONCE_FLAG_INIT;

	for (int i = 0; i < 4; i++)
		t[i] = start(slow_once, &outer);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("once: %d\n", ran);
	pthread_join(start(end_in_once, NULL), NULL);
	pthread_once(&again, run_and_end);
	pthread_once(&again, run_and_end);
	call_once(&flag, run_inner);
	call_once(&flag, run_inner);
	printf("again: %d\n", ran);
}

static atomic_bool may_return;

static void *return_it(void *value)
{
	while (!atomic_load(&may_return))
		sleep_ms(1);
	sleep_ms(20);
	return value;
}

static void *join_self(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)pthread_join(pthread_self(), NULL);
}

static void joins(void)
{
	struct timespec soon = in_ms(5), late;
	pthread_t t = start(return_it, &soon);
	void *result = NULL;

	say("busy", pthread_tryjoin_np(t, &result));
	say("no such clock", pthread_clockjoin_np(t, &result, 77, &soon));
	atomic_store(&may_return, true);
	sleep_ms(100);
	late = in_ms(60000);
	say("has ended", pthread_timedjoin_np(t, &result, &late));
	printf("%d\n", result == &soon);
	t = start(return_it, &late);
	say("waits", pthread_clockjoin_np(t, &result, CLOCK_REALTIME, &late));
	printf("%d\n", result == &late);
	say("itself", from_other(join_self, NULL));
}

struct shared {
	pthread_mutex_t m;
	sem_t s, go;
	int value;
};

static void processes(void)
{
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int status = 0;

	init_mutex(&s->m, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE,
		   PTHREAD_PROCESS_SHARED);
	sem_init(&s->s, 1, 0);
	sem_init(&s->go, 1, 0);
	child = fork();
	if (child == 0) {
		pthread_mutex_lock(&s->m);
		sem_post(&s->s);
		sleep_ms(50);
		s->value = 1;
		pthread_mutex_unlock(&s->m);
		sem_wait(&s->go);
		pthread_mutex_lock(&s->m);
		sem_post(&s->s);
		sleep_ms(50);
		_exit(3);
	}
	sem_wait(&s->s);
	say("another process has it", pthread_mutex_lock(&s->m));
	printf("value %d\n", s->value);
	say("unlock", pthread_mutex_unlock(&s->m));
	sem_post(&s->go);
	sem_wait(&s->s);
	say("another process dies", pthread_mutex_lock(&s->m));
	say("consistent", pthread_mutex_consistent(&s->m));
	say("unlock", pthread_mutex_unlock(&s->m));
	waitpid(child, &status, 0);
	printf("status %d\n", WEXITSTATUS(status));
	munmap(s, sizeof(*s));
}

static pthread_mutex_t fought = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool over;
static atomic_long turns;

static void *fight(void *unused)
{
	while (!over) {
		pthread_mutex_lock(&fought);
		turns++;
		if (turns % 64 == 0)
			sleep_ms(1);
		pthread_mutex_unlock(&fought);
	}
	return unused;
}

/* The mutex goes with the child: locked by the one that forks, or by one that is not there. */
static int child_work(void)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	pthread_t t;

	if (pthread_mutex_unlock(&fought) != 0)
		return 1;
	pthread_mutex_lock(&own);
	t = start(lock_it, &own);
	sleep_ms(2);
	pthread_mutex_unlock(&own);
	return pthread_join(t, NULL) == 0 ? 0 : 2;
}

static void forks(void)
{
	pthread_t t[3];
	int failed = 0;

	for (int i = 0; i < 3; i++)
		t[i] = start(fight, NULL);
	for (int i = 0; i < 30; i++) {
		int status = 0;
		pid_t child;

		pthread_mutex_lock(&fought);
		child = fork();
		if (child == 0)
			_exit(child_work());
		pthread_mutex_unlock(&fought);
		waitpid(child, &status, 0);
		failed += status != 0;
	}
	over = true;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("forks: %d failed\n", failed);
}

/* The memory of a mutex goes as soon as the last one has let go of it. */
static void *let_go(void *m)
{
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
	return NULL;
}

static void gone(void)
{
	for (int i = 0; i < 500; i++) {
		pthread_mutex_t *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pthread_t t;

		pthread_mutex_init(m, NULL);
		pthread_mutex_lock(m);
		t = start(let_go, m);
		if (i % 16 == 0)
			sleep_ms(1);
		pthread_mutex_unlock(m);
		pthread_mutex_lock(m);
		pthread_mutex_unlock(m);
		pthread_join(t, NULL);
		pthread_mutex_destroy(m);
		munmap(m, 4096);
	}
	puts("gone");
}

/* Handlers have their own lock and semaphore, and come in the middle of everything. */
static pthread_mutex_t of_handlers = PTHREAD_MUTEX_INITIALIZER;
static sem_t posted;

static void tick(int signal)
{
	int saved = errno;

	(void)signal;
	if (pthread_mutex_trylock(&of_handlers) == 0)
		pthread_mutex_unlock(&of_handlers);
	sem_post(&posted);
	errno = saved;
}

static void handlers(void)
{
	struct sigaction a = { .sa_handler = tick, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 500 }, { 0, 500 } }, none = { 0 };
	pthread_t t[3];
	int wrong = 0;

	sem_init(&posted, 0, 0);
	over = false;
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 3; i++)
		t[i] = start(fight, NULL);
	for (int i = 0; i < 200; i++) {
		errno = 77;
		pthread_mutex_lock(&fought);
		pthread_mutex_unlock(&fought);
		wrong += errno != 77;
		while (sem_wait(&posted) != 0)
			;
	}
	over = true;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	setitimer(ITIMER_REAL, &none, NULL);
	printf("handlers: errno changed %d times\n", wrong);
}

/* A thread that is shot down while it waits for a mutex. */
static void *wait_to_die(void *m)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_mutex_lock(m);
	return NULL;
}

static void shot(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&m);
	for (int i = 0; i < 20; i++) {
		pthread_t t = start(wait_to_die, &m);
		void *result;

		sleep_ms(5);
		pthread_cancel(t);
		pthread_join(t, &result);
		if (result != PTHREAD_CANCELED)
			puts("not shot");
	}
	say("unlock", pthread_mutex_unlock(&m));
	say("lock", from_other(lock_it, &m));
}

static void *fight_at_end(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&fought);
		pthread_mutex_unlock(&fought);
	}
	return unused;
}

/* After our own destructors, or before: with threads that go on. */
__attribute__((destructor)) static void at_end(void)
{
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&fought);
		pthread_mutex_unlock(&fought);
	}
	say("at the end", pthread_mutex_lock(&early));
}

int main(void)
{
	say("before all", early_result);
	kinds();
	robust();
	times();
	semaphores();
	cancellation();
	once();
	joins();
	processes();
	forks();
	gone();
	handlers();
	shot();
	for (int i = 0; i < 2; i++)
		start(fight_at_end, NULL);
	sleep_ms(20);
	return 0;
}
