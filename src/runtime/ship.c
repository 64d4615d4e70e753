/*
 * ship.c - a program of ours beside the host, for what the host must not do itself
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/ship.h"

#include "runtime/agent.h"
#include "runtime/fd.h"
#include "runtime/guard.h"
#include "runtime/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/memfd.h>
#include <linux/wait.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum {
	STACK = 16 << 10, /* of either of the two processes before exec */
	ARGS = 24,
	ARG_BYTES = 1024,
	SIGNALS = 64,
	NOT_STARTED = 127,
	KILLED = 128, /* and the signal */
	FILES_MOST = 1 << 20,
};
static const uint64_t longest = 600000000000, last_wait = 300000000; /* ns */

static struct {
	char program[PATH_MAX];
	bool found;
	char **environment; /* with all its texts in the same memory */
	size_t mapped;
	char *stacks;
	/* The one that is under way. */
	int pid; /* 0: none */
	uint64_t until;
	struct sonde__fd file, errors;
	int dump, report; /* files, as the next process finds them */
	char *args[ARGS + 1];
	char texts[ARG_BYTES];
	atomic_uint launched; /* futex: 1 when the program has begun, or cannot */
	volatile int status;  /* -1: not known yet */
} ship;

/* --- finding the program, keeping the environment ----------------------------------------- */

static bool is_program(const char *path)
{
	enum { EXECUTE = 1 };

	return sonde__syscall(SYS_faccessat, AT_FDCWD, (long)path, EXECUTE, 0, 0, 0) == 0;
}

static bool try_path(const char *folder, size_t n, const char *rest)
{
	size_t all =
		sonde__format(ship.program, sizeof(ship.program), "%.*s%s", (int)n, folder, rest);

	return all < sizeof(ship.program) && is_program(ship.program);
}

/* Beside the library, or where it is when the library is in lib or lib/x86_64-linux-gnu. */
static bool is_beside_us(void)
{
	static const char *const places[] = { "/sonded", "/../bin/sonded", "/../../bin/sonded" };
	const char *slash;
	Dl_info info;

	if (!dladdr((const void *)(uintptr_t)sonde__ship_prepare, &info) || !info.dli_fname)
		return false;
	slash = strrchr(info.dli_fname, '/');
	for (size_t i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++)
		if (try_path(info.dli_fname, (size_t)(slash - info.dli_fname), places[i]))
			return true;
	return false;
}

static bool is_in(const char *path)
{
	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (n && try_path(path, n, "/sonded"))
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static const char *value_of(char **environment, const char *name)
{
	size_t n = strlen(name);

	for (; environment && *environment; environment++)
		if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
			return *environment + n + 1;
	return NULL;
}

static bool find_program(char **environment)
{
	const char *told = value_of(environment, "SONDED");

	if (told && *told)
		return try_path(told, strlen(told), "");
	return is_beside_us() || is_in(value_of(environment, "PATH"));
}

/* What is meant for this process only.  SONDE_PID keeps the runtime off whatever else is set. */
static bool is_private(const char *variable)
{
	static const char account[] = "SONDE_SERVICE_ACCOUNT=", preload[] = "LD_PRELOAD=";

	if (strncmp(variable, account, sizeof(account) - 1) == 0)
		return false;
	return strncmp(variable, "SONDE_", 6) == 0 ||
	       strncmp(variable, preload, sizeof(preload) - 1) == 0;
}

static void keep_environment(char **environment)
{
	static char off[] = "SONDE_PID=0";
	size_t n = 0, bytes = 0, at = 0;
	char *text;

	for (char **e = environment; e && *e; e++) {
		n++;
		bytes += strlen(*e) + 1;
	}
	ship.mapped = (n + 2) * sizeof(char *) + bytes;
	ship.environment = sonde__map(ship.mapped);
	if (!ship.environment)
		return;
	text = (char *)(ship.environment + n + 2);
	for (char **e = environment; e && *e; e++) {
		size_t length = strlen(*e) + 1;

		if (is_private(*e))
			continue;
		memcpy(text, *e, length);
		ship.environment[at++] = text;
		text += length;
	}
	ship.environment[at] = off;
}

void sonde__ship_prepare(char **environment)
{
	sonde__unmap(ship.environment, ship.environment ? ship.mapped : 0);
	ship.environment = NULL;
	ship.found = find_program(environment);
	if (!ship.stacks)
		ship.stacks = sonde__map(2 * (size_t)STACK);
	if (ship.found)
		keep_environment(environment);
}

int sonde__ship_ready(void)
{
	if (!ship.found)
		return -ENOENT;
	return ship.stacks && ship.environment ? 0 : -ENOMEM;
}

/* --- in the two processes that share the host's memory: system calls only ------------------- */

static void close_others(void)
{
	enum { FIRST = 3 };
	struct rlimit files = { FILES_MOST, FILES_MOST };

	if (sonde__syscall(SYS_close_range, FIRST, UINT32_MAX, 0, 0, 0, 0) == 0)
		return;
	sonde__syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&files, 0, 0);
	for (int fd = FIRST; fd < FILES_MOST && (rlim_t)fd < files.rlim_cur; fd++)
		sonde__sys_close(fd);
}

static void set_files(void)
{
	enum { OUT_OF_THE_WAY = 3 };
	long null = sonde__sys_open("/dev/null", O_RDWR, 0);

	/* The host may have closed the first numbers. */
	null = sonde__syscall(SYS_fcntl, null, F_DUPFD, OUT_OF_THE_WAY, 0, 0, 0);
	sonde__syscall(SYS_dup3, ship.dump >= 0 ? ship.dump : null, 0, 0, 0, 0, 0);
	sonde__syscall(SYS_dup3, null, 1, 0, 0, 0, 0);
	sonde__syscall(SYS_dup3, ship.report, 2, 0, 0, 0, 0);
	close_others();
}

/* Handlers are the host's code: none may run here. */
static void reset_signals(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} usual = { 0 };

	for (int i = 1; i <= SIGNALS; i++)
		sonde__syscall(SYS_rt_sigaction, i, (long)&usual, 0, sizeof(usual.mask), 0, 0);
}

/* What the host is limited to may be too little for another program. */
static void lift_limit(int which)
{
	struct rlimit is, none = { RLIM_INFINITY, RLIM_INFINITY };

	if (sonde__syscall(SYS_prlimit64, 0, which, (long)&none, 0, 0, 0) == 0)
		return;
	if (sonde__syscall(SYS_prlimit64, 0, which, 0, (long)&is, 0, 0) < 0)
		return;
	is.rlim_cur = is.rlim_max;
	sonde__syscall(SYS_prlimit64, 0, which, (long)&is, 0, 0, 0);
}

static int become_program(void *unused)
{
	struct {
		int priority;
	} usual = { 0 };
	uint64_t none = 0;
	char line[PATH_MAX + 100];
	long rc;

	(void)unused;
	lift_limit(RLIMIT_AS);
	lift_limit(RLIMIT_DATA);
	sonde__syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, (long)&usual, 0, 0, 0);
	sonde__syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&none, 0, sizeof(none), 0, 0);
	rc = sonde__syscall(SYS_execve, (long)ship.program, (long)ship.args, (long)ship.environment,
			    0, 0, 0);
	sonde__format(line, sizeof(line), "cannot start %s: %s", ship.program,
		      sonde__error_text((int)-rc));
	sonde__sys_write(2, line, strlen(line));
	return NOT_STARTED;
}

static int wait_for(int pid)
{
	int status = 0;
	long rc;

	do
		rc = sonde__syscall(SYS_wait4, pid, (long)&status, 0, 0, 0, 0);
	while (rc == -EINTR);
	if (rc < 0)
		return NOT_STARTED;
	return (status & 0x7f) ? KILLED + (status & 0x7f) : status >> 8 & 0xff;
}

/* Never sees the host's memory change size, nor its files: it closes all it got. */
static int stand_between(void *host)
{
	int pid;

	sonde__syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
	if (sonde__syscall(SYS_getppid, 0, 0, 0, 0, 0, 0) != *(const int *)host)
		return NOT_STARTED;
	sonde__syscall(SYS_prctl, PR_SET_NAME, (long)"sonde-ship", 0, 0, 0, 0);
	sonde__syscall(SYS_setsid, 0, 0, 0, 0, 0, 0);
	reset_signals();
	set_files();
	pid = clone(become_program, ship.stacks + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	sonde__futex_set(&ship.launched, 1);
	ship.status = pid > 0 ? wait_for(pid) : NOT_STARTED;
	return ship.status;
}

/* --- in the agent --------------------------------------------------------------------------- */

int sonde__ship_file(void)
{
	long fd;

	sonde__fd_close(&ship.file);
	if (sonde__guard_is_filtered())
		return -EPERM;
	fd = sonde__syscall(SYS_memfd_create, (long)"sonde-dump", MFD_CLOEXEC, 0, 0, 0, 0);
	if (fd < 0)
		fd = sonde__sys_open("/tmp", O_TMPFILE | O_RDWR, 0600);
	if (fd < 0)
		return (int)fd;
	return sonde__fd_take(&ship.file, fd) ? 0 : -EMFILE;
}

bool sonde__ship_add(const void *bytes, size_t n)
{
	long done = 0;

	for (size_t at = 0; at < n; at += (size_t)done) {
		if (!sonde__fd_is_ours(&ship.file))
			return false;
		done = sonde__sys_write(ship.file.fd, (const char *)bytes + at, n - at);
		if (done <= 0)
			return false;
	}
	return true;
}

/* The other end of 'errors' as a number of ours, or a negative errno. */
static int open_report(struct sonde__fd *report)
{
	int ends[2];
	long rc = sonde__syscall(SYS_pipe2, (long)ends, O_CLOEXEC, 0, 0, 0, 0);
	bool fine;

	if (rc < 0)
		return (int)rc;
	fine = sonde__fd_take(&ship.errors, ends[0]);
	if (!sonde__fd_take(report, ends[1]) || !fine)
		return -EMFILE;
	sonde__syscall(SYS_fcntl, ship.errors.fd, F_SETFL, O_NONBLOCK, 0, 0, 0);
	return 0;
}

static int copy_args(const char *const *args)
{
	size_t at = 0, n = 1;

	ship.args[0] = ship.program;
	for (; *args; args++) {
		size_t length = strlen(*args) + 1;

		if (n == ARGS || length > sizeof(ship.texts) - at)
			return -E2BIG;
		memcpy(ship.texts + at, *args, length);
		ship.args[n++] = ship.texts + at;
		at += length;
	}
	ship.args[n] = NULL;
	return 0;
}

static int start(const struct sonde__fd *report)
{
	static int host;
	int pid;

	host = sonde__sys_getpid();
	ship.dump = sonde__fd_is_ours(&ship.file) ? ship.file.fd : -1;
	if (ship.dump >= 0)
		sonde__syscall(SYS_lseek, ship.dump, 0, SEEK_SET, 0, 0, 0);
	ship.report = report->fd;
	ship.status = -1;
	atomic_store(&ship.launched, 0);
	ship.until = sonde__now() + longest;
	/* No signal at its end, and none of ours to be seen by wait(): no SIGCHLD in the flags. */
	pid = clone(stand_between, ship.stacks + 2 * (size_t)STACK, CLONE_VM, &host);
	if (pid <= 0)
		return -EAGAIN;
	ship.pid = pid;
	return 0;
}

int sonde__ship_start(const char *const *args)
{
	struct sonde__fd report = { 0 };
	int rc;

	if (ship.pid)
		return -EBUSY;
	rc = sonde__ship_ready();
	if (rc < 0)
		return rc;
	if (sonde__guard_is_filtered())
		return -EPERM;
	rc = copy_args(args);
	if (rc == 0)
		rc = open_report(&report);
	if (rc == 0)
		rc = start(&report);
	sonde__fd_close(&ship.file);
	sonde__fd_close(&report);
	if (rc < 0)
		sonde__fd_close(&ship.errors);
	return rc;
}

bool sonde__ship_is_busy(void)
{
	return ship.pid != 0;
}

/* What it said, as much as there is room for, without ends of lines. */
static void read_errors(char *text, size_t cap)
{
	long n = 0;

	if (sonde__fd_is_ours(&ship.errors))
		n = sonde__syscall(SYS_read, ship.errors.fd, (long)text, (long)cap - 1, 0, 0, 0);
	text[n > 0 ? n : 0] = '\0';
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	for (; *text; text++)
		if (*text == '\n')
			*text = ' ';
}

bool sonde__ship_ended(int *status, char *text, size_t cap)
{
	int unused;
	long rc = sonde__syscall(SYS_wait4, ship.pid, (long)&unused, WNOHANG | __WCLONE, 0, 0, 0);

	if (rc == 0) {
		if (sonde__now() > ship.until)
			sonde__syscall(SYS_kill, -ship.pid, SIGKILL, 0, 0, 0, 0);
		return false;
	}
	/* Or the host has found it, with __WALL. */
	*status = ship.status < 0 ? NOT_STARTED : ship.status;
	read_errors(text, cap);
	sonde__fd_close(&ship.errors);
	ship.pid = 0;
	return true;
}

void sonde__ship_leave(void)
{
	uint64_t until = sonde__now() + last_wait;
	int unused;

	if (!ship.pid)
		return;
	/* Who has not begun would never begin. */
	while (!atomic_load(&ship.launched) && sonde__now() < until)
		sonde__futex_wait(&ship.launched, 0, last_wait);
	sonde__syscall(SYS_kill, ship.pid, SIGKILL, 0, 0, 0, 0);
	sonde__syscall(SYS_wait4, ship.pid, (long)&unused, __WCLONE, 0, 0, 0);
	sonde__ship_forget();
}

void sonde__ship_forget(void)
{
	sonde__fd_close(&ship.file);
	sonde__fd_close(&ship.errors);
	ship.pid = 0;
}
