/*
 * log.c - what sonded says while it works, and to whom
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "daemon/log.h"

#include "base/str.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CLEAR_LINE "\r\033[K"

/* What is at the foot of the terminal. */
static struct {
	pthread_mutex_t lock;
	char line[256];
	int64_t drawn; /* when, in ms */
} foot = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void put(const char *text, size_t n)
{
	if (write(STDERR_FILENO, text, n) < 0)
		return; /* there is nobody to tell */
}

static bool is_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* No longer than the terminal is wide: a second line could not be taken away. */
static void draw(void)
{
	struct winsize size = { 0 };
	size_t n = strlen(foot.line), most = 80;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		most = size.ws_col;
	put(CLEAR_LINE, sizeof(CLEAR_LINE) - 1);
	put(foot.line, n < most ? n : most - 1);
}

void log_progress(const char *fmt, ...)
{
	enum { REDRAW_MS = 100 };
	int64_t now = now_ms();
	va_list args;

	if (!is_terminal())
		return;
	pthread_mutex_lock(&foot.lock);
	va_start(args, fmt);
	(void)vsnprintf(foot.line, sizeof(foot.line), fmt, args);
	va_end(args);
	if (now - foot.drawn >= REDRAW_MS) {
		draw();
		foot.drawn = now;
	}
	pthread_mutex_unlock(&foot.lock);
}

void log_progress_end(void)
{
	pthread_mutex_lock(&foot.lock);
	if (foot.line[0])
		put(CLEAR_LINE, sizeof(CLEAR_LINE) - 1);
	foot.line[0] = '\0';
	foot.drawn = 0;
	pthread_mutex_unlock(&foot.lock);
}

void log_line(enum log_level level, const char *fmt, ...)
{
	char line[8192];
	time_t now = time(NULL);
	struct tm tm;
	size_t n;
	va_list args;

	if (getenv("JOURNAL_STREAM")) {
		n = (size_t)snprintf(line, sizeof(line), "<%d>", level == LOG_INFO ? 6 : 4);
	} else {
		gmtime_r(&now, &tm);
		n = strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%SZ ", &tm);
	}
	va_start(args, fmt);
	(void)vsnprintf(line + n, sizeof(line) - n - 1, fmt, args);
	va_end(args);
	n = strlen(line);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[n++] = '\n';
	pthread_mutex_lock(&foot.lock);
	if (foot.line[0])
		put(CLEAR_LINE, sizeof(CLEAR_LINE) - 1);
	put(line, n);
	if (foot.line[0])
		draw();
	pthread_mutex_unlock(&foot.lock);
}

void service_tell(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t n = path ? strlen(path) : 0;
	int fd;

	if (n < 2 || n >= sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, path, n);
	if (to.sun_path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	close(fd);
}
