/*
 * mini-agent.c - the runtime without its server: a CPU profile from the first moment to the last
 *
 * To be preloaded.  MINI_HZ is the rate, MINI_OUT the file that gets one line at the end:
 * "ticks N lost N threads N", or "refused: why".  MINI_AFTER=sigprof starts the profile when the
 * program handles that signal, MINI_AFTER=seccomp when it is behind a filter; MINI_FOLLOW goes on
 * in programs that are started by this one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/agent.h"
#include "runtime/cpu.h"
#include "runtime/guard.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "runtime/unwind.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char out[256];
static pid_t owner;

static void tell(const char *line)
{
	int fd = open(out, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);

	if (fd < 0)
		return;
	if (write(fd, line, strlen(line)) < 0)
		_exit(99);
	close(fd);
}

static void refuse(const char *why)
{
	char line[256];

	sonde__format(line, sizeof(line), "refused: %s\n", why ? why : "?");
	tell(line);
	owner = 0;
}

static unsigned number(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void sleep_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static void start(void)
{
	int r = sonde__cpu_start(number("MINI_HZ", 1000));

	if (r)
		refuse(sonde__why_off(SONDE__CPU));
}

/* Whether the program's first thread, not this one, is behind a filter. */
static bool is_filtered(void)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n < 0 ? 0 : n] = 0;
	return strstr(text, "\nSeccomp:\t2\n") != NULL;
}

static bool is_so(const char *after)
{
	struct sigaction now;

	if (strcmp(after, "seccomp") == 0)
		return is_filtered();
	return sigaction(SIGPROF, NULL, &now) == 0 && now.sa_handler != SIG_DFL;
}

static void *agent(void *unused)
{
	const char *after = getenv("MINI_AFTER");

	sonde__thread_is_agent();
	if (after) {
		while (!is_so(after))
			sleep_ms(1);
		start();
	}
	for (;;) {
		sleep_ms(20);
		sonde__modules_refresh();
		sonde__cpu_poll();
	}
	return unused;
}

__attribute__((constructor)) static void begin(void)
{
	const char *to = getenv("MINI_OUT");
	const char *why;
	sigset_t all, before;
	pthread_t thread;

	if (!to)
		return;
	memccpy(out, to, 0, sizeof(out) - 1);
	owner = getpid();
	if (!getenv("MINI_FOLLOW")) {
		unsetenv("MINI_OUT");
		unsetenv("LD_PRELOAD");
	}
	why = sonde__guard_process();
	if (why) {
		refuse(why);
		return;
	}
	sonde__threads_start();
	sonde__modules_refresh();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_create(&thread, NULL, agent, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!getenv("MINI_AFTER"))
		start();
}

__attribute__((destructor)) static void end(void)
{
	struct sonde__cpu_row *rows;
	unsigned long long ticks = 0;
	unsigned long long lost = 0;
	size_t n, mapped;
	unsigned hz;
	char line[256];

	if (owner != getpid())
		return;
	rows = sonde__cpu_stop(&n, &mapped, &hz);
	for (size_t i = 0; i < n; i++)
		*(rows[i].stack ? &ticks : &lost) += rows[i].ticks;
	sonde__unmap(rows, mapped);
	if (sonde__why_off(SONDE__CPU))
		refuse(sonde__why_off(SONDE__CPU));
	sonde__format(line, sizeof(line), "ticks %llu lost %llu\n", ticks, lost);
	tell(line);
}
