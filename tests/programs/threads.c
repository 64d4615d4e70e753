/*
 * threads.c - a program whose threads are known, for tests/threads.py
 *
 *	threads kinds		one thread for each way to wait, and two that run
 *	threads pool N		N workers that wait for work; the main loop is stuck in a mutex
 *	threads cycle N [MS]	N threads whose mutexes make a cycle; with MS: they try for so long
 *	threads chain N		N threads that wait for each other, but the last one goes on
 *	threads type T		two threads and a cycle of mutexes of type T, of six
 *	threads self		a thread that waits for itself
 *	threads sleepers	threads that sleep in calls that a signal breaks off; says at
 *SIGUSR1 how often that happened threads churn		threads that come and go threads forks
 *a thread that forks, one that starts programs, one that runs
 *	threads exec N		becomes itself N times more, while a thread runs
 *	threads background	at SIGUSR1 a child goes on alone, and says its number
 *	threads owner		handles SIGPROF itself, says so if it ever comes
 *	threads fight		two threads and a mutex
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A function that is to be seen in stacks. */
#define APART __attribute__((noinline))

enum { MANY = 64 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static char *program;
extern char **environ;
int sonde_label_set(const char *key, const char *value) __attribute__((weak));

/* Where the runtime is. */
static void label(const char *key, const char *value)
{
	if (sonde_label_set)
		sonde_label_set(key, value);
}

static void say(const char *text)
{
	puts(text);
	fflush(stdout);
}

static void name(const char *text)
{
	pthread_setname_np(pthread_self(), text);
}

static pthread_t start(void *(*f)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, f, arg) != 0)
		exit(1);
	return t;
}

static void block_all(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
}

APART static void spin(void)
{
	for (volatile unsigned long i = 0;; i++)
		;
}

APART static void wait_in_sleep(void)
{
	for (;;)
		sleep(1000);
}

APART static void wait_in_poll(void)
{
	for (;;)
		poll(NULL, 0, -1);
}

APART static void wait_in_epoll(void)
{
	struct epoll_event e;
	int fd = epoll_create1(0);

	for (;;)
		epoll_wait(fd, &e, 1, -1);
}

APART static void wait_in_select(void)
{
	for (;;)
		select(0, NULL, NULL, NULL, NULL);
}

APART static void wait_in_read(void)
{
	int fds[2];
	char c;

	if (pipe(fds) == 0)
		while (read(fds[0], &c, 1) != 0)
			;
}

APART static void wait_in_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

APART static void wait_in_rwlock(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

APART static void wait_in_cond(void)
{
	pthread_mutex_lock(&other);
	for (;;)
		pthread_cond_wait(&cond, &other);
}

APART static void wait_in_sem(void)
{
	while (sem_wait(&sem) == 0)
		;
}

APART static void wait_in_pause(void)
{
	for (;;)
		pause();
}

APART static void sleep_deaf(void)
{
	block_all();
	wait_in_sleep();
}

APART static void spin_deaf(void)
{
	block_all();
	spin();
}

static const struct {
	const char *name;
	void (*f)(void);
} kinds[] = {
	{ "sleep", wait_in_sleep },
	{ "poll", wait_in_poll },
	{ "epoll", wait_in_epoll },
	{ "select", wait_in_select },
	{ "read", wait_in_read },
	{ "mutex", wait_in_mutex },
	{ "rwlock", wait_in_rwlock },
	{ "cond", wait_in_cond },
	{ "sem", wait_in_sem },
	{ "pause", wait_in_pause },
	{ "deaf sleep", sleep_deaf },
	{ "deaf \"spin\"", spin_deaf },
	{ "spin", spin },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void *run_kind(void *arg)
{
	size_t i = (size_t)arg;

	name(kinds[i].name);
	if (i % 2 == 0)
		label("job", kinds[i].name);
	kinds[i].f();
	return NULL;
}

APART static void do_kinds(void)
{
	label("job", "main");
	pthread_mutex_lock(&mutex);
	pthread_rwlock_wrlock(&rwlock);
	for (size_t i = 0; i < KINDS; i++)
		start(run_kind, (void *)i);
	say("ready");
	wait_in_sleep();
}

APART static void wait_for_work(void)
{
	wait_in_cond();
}

static void *worker(void *unused)
{
	(void)unused;
	wait_for_work();
	return NULL;
}

APART static void start_pool(int n)
{
	for (int i = 0; i < n; i++)
		start(worker, NULL);
}

static void *hold(void *unused)
{
	(void)unused;
	name("holder");
	pthread_mutex_lock(&mutex);
	say("ready");
	wait_in_sleep();
	return NULL;
}

APART static void main_loop(void)
{
	for (;;)
		wait_in_mutex();
}

APART static void do_pool(int n)
{
	start_pool(n);
	start(hold, NULL);
	while (pthread_mutex_trylock(&mutex) == 0) {
		pthread_mutex_unlock(&mutex);
		sched_yield();
	}
	main_loop();
}

/* Mutexes in a ring. */

static struct {
	pthread_mutex_t mutexes[MANY];
	pthread_barrier_t all;
	int n, ms, type;
	bool open; /* the last one waits for nobody */
} ring;

/* Each type has its own way to wait, and to say who holds it. */
static void make_mutex(pthread_mutex_t *m, int type)
{
	static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP };
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, types[type % 4]);
	if (type == 4)
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (type == 5)
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(m, &attr);
}

APART static void take_next(int i)
{
	pthread_mutex_t *next = &ring.mutexes[(i + 1) % ring.n];
	struct timespec end;

	if (ring.ms == 0) {
		if (pthread_mutex_lock(next) != 0)
			say("no mutex");
		return;
	}
	do {
		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_sec += ring.ms / 1000;
		end.tv_nsec += ring.ms % 1000 * 1000000L;
		end.tv_sec += end.tv_nsec / 1000000000;
		end.tv_nsec %= 1000000000;
	} while (pthread_mutex_timedlock(next, &end) == ETIMEDOUT);
}

static void *in_ring(void *arg)
{
	int i = (int)(size_t)arg;
	char text[16];

	snprintf(text, sizeof(text), "ring-%d", i);
	name(text);
	pthread_mutex_lock(&ring.mutexes[i]);
	pthread_barrier_wait(&ring.all);
	if (ring.open && i == ring.n - 1)
		wait_in_sleep();
	take_next(i);
	return NULL;
}

APART static void do_ring(int n, int ms, bool open)
{
	ring.n = n > MANY ? MANY : n;
	ring.ms = ms;
	ring.open = open;
	for (int i = 0; i < ring.n; i++)
		make_mutex(&ring.mutexes[i], ring.type);
	pthread_barrier_init(&ring.all, NULL, (unsigned)ring.n + 1);
	for (int i = 0; i < ring.n; i++)
		start(in_ring, (void *)(size_t)i);
	pthread_barrier_wait(&ring.all);
	say("ready");
	wait_in_sleep();
}

APART static void do_type(int type)
{
	ring.type = type;
	do_ring(2, 0, false);
}

APART static void do_self(void)
{
	pthread_mutex_lock(&mutex);
	say("ready");
	pthread_mutex_lock(&mutex);
}

/* Calls that no handler lets go on. */

static atomic_int interrupted;

/* Until a signal breaks it off, or tomorrow. */
static int sleep_in(size_t kind, int epoll)
{
	static const struct timespec day = { .tv_sec = 86400 };
	struct epoll_event e;
	struct timespec end;

	switch (kind) {
	case 0:
		return nanosleep(&day, NULL);
	case 1:
		return poll(NULL, 0, -1);
	case 2:
		return epoll_wait(epoll, &e, 1, -1);
	case 3:
		return select(0, NULL, NULL, NULL, NULL);
	case 4:
		return usleep(4000000000u);
	default:
		clock_gettime(CLOCK_REALTIME, &end);
		end.tv_sec += day.tv_sec;
		return sem_timedwait(&sem, &end);
	}
}

static void *sleep_on(void *arg)
{
	int epoll = epoll_create1(0);

	name("sleeper");
	while (sleep_in((size_t)arg % 6, epoll) < 0 && errno == EINTR)
		atomic_fetch_add(&interrupted, 1);
	return NULL;
}

APART static void do_sleepers(void)
{
	sigset_t set;
	int got;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < 24; i++)
		start(sleep_on, (void *)i);
	say("ready");
	while (sigwait(&set, &got) == 0) {
		printf("interrupted %d\n", interrupted);
		fflush(stdout);
	}
}

static void *pass(void *unused)
{
	(void)unused;
	name("passing");
	return NULL;
}

static void *keep_starting(void *unused)
{
	(void)unused;
	for (;;)
		pthread_join(start(pass, NULL), NULL);
	return NULL;
}

APART static void do_churn(void)
{
	for (int i = 0; i < 3; i++)
		start(keep_starting, NULL);
	say("ready");
	wait_in_sleep();
}

static void reap(pid_t child)
{
	int status = -1;

	if (child <= 0 || waitpid(child, &status, 0) != child || status != 0)
		say("a child died");
}

static void *keep_forking(void *unused)
{
	(void)unused;
	name("forks");
	for (;;) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		reap(child);
	}
	return NULL;
}

static void *keep_spawning(void *unused)
{
	static char word[] = "true";
	char *args[] = { word, NULL };

	(void)unused;
	name("spawns");
	for (;;) {
		pid_t child = vfork();

		if (child == 0) {
			execv("/bin/true", args);
			_exit(1);
		}
		reap(child);
		if (posix_spawn(&child, "/bin/true", NULL, NULL, args, environ) != 0)
			say("no child");
		reap(child);
	}
	return NULL;
}

static void *run_spin(void *unused)
{
	(void)unused;
	name("spin");
	spin();
	return NULL;
}

APART static void do_forks(void)
{
	start(keep_forking, NULL);
	start(keep_spawning, NULL);
	start(run_spin, NULL);
	say("ready");
	wait_in_sleep();
}

APART static void do_exec(int n)
{
	char left[16], mode[] = "exec";
	char *args[] = { program, mode, left, NULL };

	if (n == 0) {
		say("done");
		exit(0);
	}
	start(run_spin, NULL);
	for (volatile int i = 0; i < 20000000; i++)
		;
	snprintf(left, sizeof(left), "%d", n - 1);
	execv(program, args);
}

static atomic_bool go;

static void on_usr1(int number)
{
	(void)number;
	atomic_store(&go, true);
}

APART static void do_background(void)
{
	pid_t parent = getpid(), child;

	signal(SIGUSR1, on_usr1);
	pthread_join(start(pass, NULL), NULL);
	say("ready");
	while (!atomic_load(&go))
		usleep(1000);
	child = fork();
	if (child != 0)
		_exit(child < 0);
	while (getppid() == parent)
		usleep(1000);
	printf("%d\n", getpid());
	fflush(stdout);
	for (;;) {
		void *volatile some = malloc(1000);

		free(some);
		usleep(10000);
	}
}

static void on_prof(int number)
{
	static const char text[] = "SIGPROF\n";

	(void)number;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
}

APART static void do_owner(void)
{
	struct sigaction act = { .sa_handler = on_prof };

	sigaction(SIGPROF, &act, NULL);
	start(run_spin, NULL);
	say("ready");
	wait_in_sleep();
}

APART static void hold_for_a_while(void)
{
	pthread_mutex_lock(&mutex);
	usleep(20000);
	pthread_mutex_unlock(&mutex);
}

static void *fighter(void *arg)
{
	name(arg ? "fight-1" : "fight-2");
	for (;;)
		hold_for_a_while();
	return NULL;
}

APART static void do_fight(void)
{
	start(fighter, program);
	start(fighter, NULL);
	start(run_spin, NULL);
	say("ready");
	wait_in_sleep();
}

int main(int argc, char *argv[])
{
	const char *mode = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;

	program = argv[0];
	sem_init(&sem, 0, 0);
	if (strcmp(mode, "kinds") == 0)
		do_kinds();
	else if (strcmp(mode, "pool") == 0)
		do_pool(n);
	else if (strcmp(mode, "type") == 0)
		do_type(n);
	else if (strcmp(mode, "cycle") == 0)
		do_ring(n, argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0, false);
	else if (strcmp(mode, "chain") == 0)
		do_ring(n, 0, true);
	else if (strcmp(mode, "self") == 0)
		do_self();
	else if (strcmp(mode, "sleepers") == 0)
		do_sleepers();
	else if (strcmp(mode, "churn") == 0)
		do_churn();
	else if (strcmp(mode, "forks") == 0)
		do_forks();
	else if (strcmp(mode, "exec") == 0)
		do_exec(n);
	else if (strcmp(mode, "owner") == 0)
		do_owner();
	else if (strcmp(mode, "background") == 0)
		do_background();
	else if (strcmp(mode, "fight") == 0)
		do_fight();
	else
		return 2;
	return 0;
}
