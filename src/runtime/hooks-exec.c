/*
 * hooks-exec.c - execve() and its relatives: nothing of ours is under way to the next program
 *
 * Signals that wait for a thread stay with it when it becomes another program, which does not know
 * them, and dies.  The kernel takes back what POSIX timers have sent, but not what perf events
 * have: so the thread's event goes first, and comes back if the call fails.
 *
 * These functions are for children of fork() and vfork(), too: they take no lock and look for
 * nothing, everything was found when the library was loaded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/cpu.h"
#include "runtime/next.h"
#include "runtime/os.h"
#include "runtime/thread-dump.h"
#include "runtime/thread.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#define HOOK __attribute__((visibility("default")))

typedef int with_env(const char *, char *const[], char *const[]);
typedef int without_env(const char *, char *const[]);
typedef int by_file(int, char *const[], char *const[]);

static struct {
	with_env *execve, *execvpe;
	without_env *execv, *execvp;
	by_file *fexecve;
} next;

__attribute__((constructor)) static void find_next(void)
{
	next.execve = (with_env *)sonde__next_symbol("execve");
	next.execvpe = (with_env *)sonde__next_symbol("execvpe");
	next.execv = (without_env *)sonde__next_symbol("execv");
	next.execvp = (without_env *)sonde__next_symbol("execvp");
	next.fexecve = (by_file *)sonde__next_symbol("fexecve");
}

static int fail(int code)
{
	errno = code;
	return -1;
}

struct leaving {
	struct sonde__thread *armed;
	bool quiet;
};

static struct leaving leave(bool really)
{
	struct leaving l = { 0 };

	if (really) {
		l.armed = sonde__cpu_exec_begin();
		l.quiet = sonde__dump_exec_begin();
	}
	return l;
}

static void stay(struct leaving l)
{
	if (l.quiet)
		sonde__dump_exec_failed();
	sonde__cpu_exec_failed(l.armed);
}

static int exec_env(with_env *call, const char *file, char *const argv[], char *const env[])
{
	struct leaving l = leave(call != NULL);
	int r = call ? call(file, argv, env) : fail(ENOSYS);

	stay(l);
	return r;
}

static int exec(without_env *call, const char *file, char *const argv[])
{
	struct leaving l = leave(call != NULL);
	int r = call ? call(file, argv) : fail(ENOSYS);

	stay(l);
	return r;
}

HOOK int execve(const char *path, char *const argv[], char *const env[])
{
	return exec_env(next.execve, path, argv, env);
}

HOOK int execv(const char *path, char *const argv[])
{
	return exec(next.execv, path, argv);
}

HOOK int execvpe(const char *file, char *const argv[], char *const env[])
{
	return exec_env(next.execvpe, file, argv, env);
}

HOOK int execvp(const char *file, char *const argv[])
{
	return exec(next.execvp, file, argv);
}

HOOK int fexecve(int fd, char *const argv[], char *const env[])
{
	struct leaving l = leave(next.fexecve != NULL);
	int r = next.fexecve ? next.fexecve(fd, argv, env) : fail(ENOSYS);

	stay(l);
	return r;
}

/* The arguments of execl() and others, in memory that goes away with the program. */
struct arguments {
	char **at;
	size_t mapped;
};

/* '*rest' is behind them afterwards. */
static bool gather(struct arguments *a, const char *first, va_list *rest)
{
	va_list counting;
	size_t n = 1;

	va_copy(counting, *rest);
	for (const char *arg = first; arg; arg = va_arg(counting, const char *))
		n++;
	va_end(counting);
	a->mapped = n * sizeof(*a->at);
	a->at = sonde__map(a->mapped);
	n = 0;
	for (const char *arg = first; a->at && arg; arg = va_arg(*rest, const char *))
		a->at[n++] = (char *)(uintptr_t)arg;
	return a->at != NULL;
}

static int exec_list(without_env *call, const char *file, const char *arg, va_list *rest)
{
	struct arguments a;
	int r = gather(&a, arg, rest) ? exec(call, file, a.at) : fail(ENOMEM);

	sonde__unmap(a.at, a.mapped);
	return r;
}

HOOK int execl(const char *path, const char *arg, ...)
{
	va_list rest;
	int r;

	va_start(rest, arg);
	r = exec_list(next.execv, path, arg, &rest);
	va_end(rest);
	return r;
}

HOOK int execlp(const char *file, const char *arg, ...)
{
	va_list rest;
	int r;

	va_start(rest, arg);
	r = exec_list(next.execvp, file, arg, &rest);
	va_end(rest);
	return r;
}

HOOK int execle(const char *path, const char *arg, ...)
{
	struct arguments a;
	int r = -1;
	va_list rest;

	va_start(rest, arg);
	if (gather(&a, arg, &rest))
		r = exec_env(next.execve, path, a.at, va_arg(rest, char *const *));
	else
		errno = ENOMEM;
	va_end(rest);
	sonde__unmap(a.at, a.mapped);
	return r;
}
