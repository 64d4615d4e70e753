/*
 * child.c - run another program on some bytes, within limits, and leave nothing behind
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/child.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/xalloc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* ------------------------------------------------------------------ those that run */

/* A signal handler may not wait or allocate: a fixed number of words, 0 where there is none. */
enum { SLOTS = 16 };
static _Atomic pid_t running[SLOTS];

static bool replace(pid_t from, pid_t to)
{
	for (size_t i = 0; i < SLOTS; i++) {
		pid_t expected = from;

		if (atomic_compare_exchange_strong(&running[i], &expected, to))
			return true;
	}
	return false;
}

void child_kill_all(void)
{
	for (size_t i = 0; i < SLOTS; i++) {
		pid_t pid = running[i];

		if (pid > 0)
			(void)kill(-pid, SIGKILL);
	}
}

/* ------------------------------------------------------------------ a program by its name */

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *child_find(const char *name, const char *path)
{
	struct str rest = str_of(path), folder;

	while (str_split(&rest, ':', &folder)) {
		char *whole;

		if (folder.n == 0 || folder.p[0] != '/')
			continue;
		whole = mem_printf("%.*s/%s", STR_ARG(folder), name);
		if (is_program(whole))
			return whole;
		free(whole);
	}
	return NULL;
}

/* ------------------------------------------------------------------ in the child */

/* What the child needs to know; it may only make system calls before it is another program. */
struct start {
	const char *program;
	const char *const *argv;
	char *const *env;
	const struct child_limits *limits;
	int in, out, failed; /* 'failed' takes the errno if the program cannot be started */
	pid_t parent;
	sigset_t mask;
};

static void limit(int what, uint64_t most)
{
	struct rlimit r;

	if (getrlimit(what, &r) != 0)
		return;
	if (r.rlim_max > most)
		r.rlim_max = most;
	if (r.rlim_cur > r.rlim_max)
		r.rlim_cur = r.rlim_max;
	(void)setrlimit(what, &r);
}

/* Our handlers would remove our temporary files; what is ignored stays so (nohup). */
static void forget_handlers(void)
{
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction old;

		if (sigaction(sig, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			signal(sig, SIG_DFL);
	}
}

static _Noreturn void become(const struct start *s)
{
	int code;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->parent) /* it died before we could ask to be told */
		_exit(1);
	forget_handlers();
	limit(RLIMIT_CORE, 0);
	if (s->limits->seconds)
		limit(RLIMIT_CPU, (uint64_t)s->limits->seconds + 1);
	limit(RLIMIT_AS, s->limits->memory);
	limit(RLIMIT_FSIZE, s->limits->output);
	if (dup2(s->in, STDIN_FILENO) >= 0 && dup2(s->out, STDOUT_FILENO) >= 0) {
		sigprocmask(SIG_SETMASK, &s->mask, NULL);
		execve(s->program, (char *const *)(uintptr_t)s->argv, s->env);
	}
	code = errno;
	(void)!write(s->failed, &code, sizeof(code));
	_exit(127);
}

/* ------------------------------------------------------------------ in the parent */

static int cannot(struct err *err, const char *what, int code)
{
	char why[128];

	return err_set(err, code, "%s: %s", what, errno_text(-code, why, sizeof(why)));
}

/* A file in memory without a name, that holds 'bytes'; negative errno if there is none. */
static int memory_file(struct str bytes)
{
	int fd = memfd_create("child", MFD_CLOEXEC);
	struct out o;
	int rc;

	if (fd < 0)
		return -errno;
	out_init_fd(&o, fd);
	out_str(&o, bytes);
	rc = out_finish(&o);
	out_release(&o);
	if (rc == 0 && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	close(fd);
	return rc ? rc : -EIO;
}

/* The errno that a child sent before it gave up, or 0 once it has become the program. */
static int exec_result(int fd)
{
	int code = 0;
	ssize_t n;

	do
		n = read(fd, &code, sizeof(code));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(code) ? -code : 0;
}

/*
 * Signals wait until the child is on the list, so that none can arrive when it runs but cannot
 * be found.  Both sides make the process group: whoever comes first.
 */
static pid_t fork_listed(struct start *s)
{
	sigset_t all;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &s->mask);
	s->parent = getpid();
	pid = fork();
	if (pid == 0)
		become(s);
	if (pid > 0) {
		(void)setpgid(pid, pid);
		(void)replace(0, pid);
	}
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
	return pid < 0 ? -errno : pid;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits until the child has ended.  0, -ETIMEDOUT, or what stands in the way of waiting. */
static int watch(pid_t pid, unsigned seconds)
{
	AUTO(closep) int fd = pidfd_open(pid, 0);
	int64_t end = now_ms() + (int64_t)seconds * 1000;
	int n;

	if (fd < 0)
		return -errno;
	do {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = end - now_ms();

		left = left < 0 ? 0 : left > INT_MAX ? INT_MAX : left;
		n = poll(&p, 1, seconds ? (int)left : -1);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n == 0 ? -ETIMEDOUT : 0;
}

/* Nothing of it is left behind, neither a process nor a zombie. */
static int finish(pid_t pid)
{
	int status = 0;

	(void)kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)replace(pid, 0);
	return status;
}

static const char *signal_text(int sig, char *buf, size_t size)
{
	int first;

	snprintf(buf, size, "%s", strsignal(sig));
	first = tolower((unsigned char)buf[0]);
	buf[0] = (char)first;
	return buf;
}

int child_status(int status, struct err *err)
{
	char name[64];

	if (WIFSIGNALED(status))
		return err_set(err, -EPROTO, "signal: %s",
			       signal_text(WTERMSIG(status), name, sizeof(name)));
	if (WEXITSTATUS(status))
		return err_set(err, -EPROTO, "exit status %d", WEXITSTATUS(status));
	return 0;
}

static int outcome(int status, const struct child_limits *l, struct err *err)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ)
		return err_set(err, -EFBIG, "it wrote more than %llu MB",
			       (unsigned long long)l->output >> 20);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return err_set(err, -ETIMEDOUT, "it took longer than %u s", l->seconds);
	return child_status(status, err);
}

static int run(struct start *s, struct err *err)
{
	int ends[2], status, rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return cannot(err, "pipe", -errno);
	s->failed = ends[1];
	pid = fork_listed(s);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return cannot(err, "fork", pid);
	}
	rc = exec_result(ends[0]);
	close(ends[0]);
	if (rc) {
		finish(pid);
		return cannot(err, s->program, rc);
	}
	rc = watch(pid, s->limits->seconds);
	status = finish(pid);
	if (rc == -ETIMEDOUT)
		return err_set(err, rc, "it took longer than %u s", s->limits->seconds);
	return rc ? cannot(err, "wait", rc) : outcome(status, s->limits, err);
}

int child_run(const char *program, const char *const *argv, char *const *env, struct str input,
	      const struct child_limits *limits, struct file_bytes *output, struct err *err)
{
	AUTO(closep) int in = memory_file(input);
	AUTO(closep) int out = memory_file(STR(""));
	struct start s = { program, argv, env, limits, .in = in, .out = out };
	int rc;

	if (in < 0 || out < 0)
		return cannot(err, "memfd_create", in < 0 ? in : out);
	rc = run(&s, err);
	if (rc)
		return rc;
	lseek(out, 0, SEEK_SET);
	return file_read_fd(out, program, limits->output, output, err);
}
