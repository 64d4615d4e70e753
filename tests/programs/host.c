/*
 * host.c - a host that does what is hard on guests, and tells whether all went well
 *
 * usage: host WHAT	(the table at the end)
 *
 * What it prints must be the same whether somebody lives in it or not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static volatile unsigned sink;

/* CPU time, at least so many milliseconds. */
static void burn(unsigned ms)
{
	struct timespec now;
	uint64_t end = 0;

	do {
		for (unsigned i = 0; i < 20000; i++)
			sink += i * i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		if (!end)
			end = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 + ms;
	} while ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 < end);
}

static void check(bool fine, const char *what)
{
	if (fine)
		return;
	printf("failed: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void in_threads(unsigned n, void *(*start)(void *), const pthread_attr_t *attr)
{
	pthread_t threads[64];

	for (unsigned i = 0; i < n; i++)
		check(pthread_create(&threads[i], attr, start, NULL) == 0, "pthread_create");
	for (unsigned i = 0; i < n; i++)
		check(pthread_join(threads[i], NULL) == 0, "pthread_join");
}

static void *burn_briefly(void *unused)
{
	burn(2);
	return unused;
}

static void *burn_longer(void *unused)
{
	burn(200);
	return unused;
}

static void reap(pid_t pid, int want)
{
	int status = -1;
	pid_t got;

	do {
		got = waitpid(pid, &status, 0);
	} while (got < 0 && errno == EINTR);
	check(got == pid && WIFEXITED(status) && WEXITSTATUS(status) == want, "child");
}

/* Every other child starts a thread of its own. */
static void *fork_often(void *unused)
{
	for (int i = 0; i < 150; i++) {
		void *p = malloc((size_t)i * 1000 + 1);
		pid_t pid = fork();

		check(pid >= 0, "fork");
		if (pid == 0) {
			burn(1);
			free(p);
			if (i % 2)
				in_threads(1, burn_briefly, NULL);
			_exit(i % 100);
		}
		free(p);
		reap(pid, i % 100);
	}
	return unused;
}

static void fork_storm(void)
{
	in_threads(4, fork_often, NULL);
}

/* The kernel starts over when a signal comes while it copies the tables of pages. */
static void fork_large(void)
{
	size_t size = 256 << 20;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t other;

	check(p != MAP_FAILED, "mmap");
	memset(p, 1, size);
	check(pthread_create(&other, NULL, burn_longer, NULL) == 0, "pthread_create");
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		check(pid >= 0, "fork");
		if (pid == 0)
			_exit(7);
		reap(pid, 7);
	}
	pthread_join(other, NULL);
}

static void *vfork_often(void *unused)
{
	const char *const args[] = { "true", NULL };

	for (int i = 0; i < 200; i++) {
		pid_t pid = vfork(); /* NOLINT: what it does to us is the question */

		if (pid == 0) {
			execv("/bin/true", (char *const *)args);
			_exit(9);
		}
		check(pid > 0, "vfork");
		reap(pid, 0);
		burn(1);
	}
	return unused;
}

static void vforks(void)
{
	in_threads(2, vfork_often, NULL);
}

static void *spawn_often(void *unused)
{
	const char *const args[] = { "sh", "-c", "exit 5", NULL };
	pid_t pid;

	for (int i = 0; i < 100; i++) {
		check(posix_spawn(&pid, "/bin/sh", NULL, NULL, (char *const *)args, environ) == 0,
		      "posix_spawn");
		reap(pid, 5);
		burn(1);
	}
	return unused;
}

static void spawns(void)
{
	int (*run_shell)(const char *) = system; /* what it does to us is the question */

	in_threads(2, spawn_often, NULL);
	for (int i = 0; i < 20; i++)
		check(WEXITSTATUS(run_shell("exit 3")) == 3, "system");
}

/* What the next program gets from us: files, signals; many times, some by ways that fail first. */
static void exec_clean(void)
{
	burn(5);
	fflush(stdout);
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		check(pid >= 0, "fork");
		if (pid == 0) {
			char *const env[] = { (char[]){ "LEFT=over" }, NULL };

			execl("/bin/there-is-none", "none", NULL);
			execlp("there-is-none", "none", NULL);
			execle("/bin/sh", "sh", "-c", "test $LEFT = over", NULL, env);
		}
		reap(pid, 0);
		check(execlp("there-is-none", "none", NULL) < 0 && errno == ENOENT, "execlp");
		burn(2);
	}
	execl("/bin/sh", "sh", "-c",
	      "ls /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status", NULL);
}

/* Itself, again and again: each may meet a tick. */
static void exec_chain(void)
{
	const char *text = getenv("HOST_LEFT");
	long left = text ? strtol(text, NULL, 10) : 200;
	char next[32];

	if (left == 0)
		return;
	burn(2);
	snprintf(next, sizeof(next), "%ld", left - 1);
	setenv("HOST_LEFT", next, 1);
	execl("/proc/self/exe", "host", "exec-chain", NULL);
}

static void *leave_by_exit(void *unused)
{
	burn(1);
	pthread_exit(unused);
}

static void *wait_for_cancel(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void thread_churn(void)
{
	for (int i = 0; i < 10000; i += 4)
		in_threads(4, i % 3 ? burn_briefly : leave_by_exit, NULL);
	for (int i = 0; i < 50; i++) {
		pthread_t t;
		void *result;

		check(pthread_create(&t, NULL, wait_for_cancel, NULL) == 0, "pthread_create");
		check(pthread_cancel(t) == 0, "pthread_cancel");
		check(pthread_join(t, &result) == 0 && result == PTHREAD_CANCELED, "cancelled");
	}
}

static void *load_often(void *unused)
{
	static const char *const names[] = { "libm.so.6", "libresolv.so.2", "libutil.so.1",
					     "libanl.so.1", "libnss_files.so.2" };

	for (int i = 0; i < 400; i++) {
		void *h = dlopen(names[i % 5], RTLD_NOW | RTLD_LOCAL);

		check(h != NULL, names[i % 5]);
		burn(1);
		check(dlclose(h) == 0, "dlclose");
	}
	return unused;
}

static void load_churn(void)
{
	in_threads(2, load_often, NULL);
	check(dlopen("libthere-is-none.so", RTLD_NOW) == NULL, "dlopen of nothing");
	printf("%s\n", dlerror());
}

static atomic_int handled;

static void handle_longer(int number)
{
	(void)number;
	burn(5);
	atomic_fetch_add(&handled, 1);
}

/* A stack for signals as small as allowed, and one signal within the other. */
static void *signals_elsewhere(void *unused)
{
	size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) * 3;
	stack_t stack = { .ss_sp = malloc(size), .ss_size = size };

	check(sigaltstack(&stack, NULL) == 0, "sigaltstack");
	for (int i = 0; i < 50; i++)
		pthread_kill(pthread_self(), SIGUSR1);
	stack.ss_flags = SS_DISABLE;
	check(sigaltstack(&stack, NULL) == 0, "sigaltstack off");
	free(stack.ss_sp);
	return unused;
}

static void altstacks(void)
{
	struct sigaction act = { .sa_handler = handle_longer, .sa_flags = SA_ONSTACK };

	sigaction(SIGUSR1, &act, NULL);
	in_threads(4, signals_elsewhere, NULL);
	printf("%d\n", atomic_load(&handled));
}

static void small_stacks(void)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	check(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN) == 0, "setstacksize");
	for (int i = 0; i < 4; i++)
		in_threads(8, burn_longer, &attr);
	pthread_attr_destroy(&attr);
}

static void count_prof(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	if (info->si_code == SI_TIMER)
		_exit(77); /* a timer that is not ours */
	atomic_fetch_add(&handled, 1);
}

static void take_prof(void)
{
	struct sigaction act = { .sa_sigaction = count_prof, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct itimerval often = { { 0, 10000 }, { 0, 10000 } };
	struct sigaction now;

	sigaction(SIGPROF, &act, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	burn(500);
	often = (struct itimerval){ 0 };
	setitimer(ITIMER_PROF, &often, NULL);
	sigaction(SIGPROF, NULL, &now);
	printf("%s, %s\n", atomic_load(&handled) > 10 ? "ticks" : "no ticks",
	       now.sa_sigaction == count_prof ? "my handler" : "another handler");
}

static void no_files(void)
{
	struct rlimit limit = { 16, 16 };
	int n = 0;

	setrlimit(RLIMIT_NOFILE, &limit);
	while (open("/dev/null", O_RDONLY) >= 0)
		n++;
	burn(300);
	printf("%d files, then %s\n", n, strerror(errno));
	in_threads(8, burn_longer, NULL);
}

static void no_memory(void)
{
	struct rlimit limit = { 200 << 20, 200 << 20 };
	size_t got = 0;
	void *p;

	setrlimit(RLIMIT_AS, &limit);
	for (p = malloc(1 << 20); p && got < 1000; p = malloc(1 << 20))
		got++;
	burn(300);
	for (int i = 0; i < 200; i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, burn_briefly, NULL) == 0)
			pthread_join(t, NULL);
	}
	printf("%s\n", got > 20 && got < 200 ? "memory ends" : "memory does not end");
}

/* Kills whoever makes, sets or deletes a timer, or opens a file. */
static void sandbox(void)
{
	static const int forbidden[] = { SYS_timer_create, SYS_openat, SYS_perf_event_open };
	struct sock_filter rules[8];
	struct sock_fprog program = { .filter = rules };
	unsigned n = 0;

	rules[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						  offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < 3; i++)
		rules[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							  (unsigned)forbidden[i],
							  (unsigned char)(3 - i), 0);
	rules[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	rules[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program.len = (unsigned short)n;
	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "seccomp");
	burn(300);
	in_threads(4, burn_briefly, NULL);
}

static void *write_slowly(void *to)
{
	int fd = *(int *)to;

	for (int i = 0; i < 200; i++) {
		burn(1);
		check(write(fd, "x", 1) == 1, "write");
	}
	return NULL;
}

/* Calls that people do not expect to be interrupted. */
static void no_eintr(void)
{
	int fds[2];
	pthread_t t;
	char c;

	check(pipe2(fds, O_CLOEXEC) == 0, "pipe");
	check(pthread_create(&t, NULL, write_slowly, &fds[1]) == 0, "pthread_create");
	for (int i = 0; i < 200; i++) {
		check(read(fds[0], &c, 1) == 1, "read");
		burn(1);
	}
	check(pthread_join(t, NULL) == 0, "join");
	errno = 1234;
	burn(300);
	printf("errno %d\n", errno);
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "fork", fork_storm },       { "fork-large", fork_large },
	{ "vfork", vforks },          { "spawn", spawns },
	{ "exec", exec_clean },       { "exec-chain", exec_chain },
	{ "threads", thread_churn },  { "dlopen", load_churn },
	{ "altstack", altstacks },    { "small-stack", small_stacks },
	{ "own-sigprof", take_prof }, { "no-files", no_files },
	{ "no-memory", no_memory },   { "seccomp", sandbox },
	{ "eintr", no_eintr },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		modes[i].run();
		printf("%s is done\n", argv[1]);
		return 0;
	}
	return 2;
}
