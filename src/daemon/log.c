/*
 * log.c - what sonded says while it works, and to whom
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "daemon/log.h"

#include "base/str.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

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
	if (write(STDERR_FILENO, line, n) < 0)
		return; /* there is nobody to tell */
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
