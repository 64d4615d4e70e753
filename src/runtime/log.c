/*
 * log.c - lines for people: to stderr, a file, or the system log
 *
 * stderr is the host's.  A host that has closed it may have given its number to something else, so
 * it is written to only while it is the file it was when we started.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/agent.h"
#include "runtime/fd.h"
#include "runtime/http.h"
#include "runtime/os.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

enum sink { SINK_NONE, SINK_STDERR, SINK_SYSLOG, SINK_FILE, SINK_CALL };
enum { DAEMON_INFO = 3 << 3 | 6 }; /* facility and severity of syslog(3) */

static enum sink sink;
static dev_t stderr_device;
static ino_t stderr_number;
static char file[256];
static sonde__log_function *call;
static void *context;

static void open_stderr(void)
{
	struct stat st;

	sink = SINK_NONE;
	if (sonde__sys_fstat(STDERR_FILENO, &st) < 0)
		return;
	stderr_device = st.st_dev;
	stderr_number = st.st_ino;
	sink = SINK_STDERR;
}

void sonde__log_open(const struct sonde__config *c)
{
	const char *where = c->log;

	if (c->log_call) {
		context = c->log_context;
		call = c->log_call;
		sink = SINK_CALL;
	} else if (strcmp(where, "none") == 0) {
		sink = SINK_NONE;
	} else if (strcmp(where, "syslog") == 0) {
		sink = SINK_SYSLOG;
	} else if (where[0] == '\0' || strcmp(where, "stderr") == 0) {
		open_stderr();
	} else {
		sonde__format(file, sizeof(file), "%s", where);
		sink = SINK_FILE;
	}
}

static void write_stderr(const char *line, size_t n)
{
	struct stat st;

	if (sonde__sys_fstat(STDERR_FILENO, &st) == 0 && st.st_dev == stderr_device &&
	    st.st_ino == stderr_number)
		sonde__sys_write(STDERR_FILENO, line, n);
}

/* Opened for each line: lines are few, and a rotated file must not stay open. */
static void write_file(const char *line, size_t n)
{
	long fd = sonde__sys_open(file, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0600);

	if (fd < 0)
		return;
	sonde__sys_write((int)fd, line, n);
	sonde__sys_close((int)fd);
}

static void write_syslog(const char *line, size_t n)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = "/dev/log" };
	long fd = sonde__sys_socket(AF_UNIX, SOCK_DGRAM);

	if (fd < 0)
		return;
	sonde__syscall(SYS_sendto, fd, (long)line, (long)n, MSG_NOSIGNAL, (long)&to, sizeof(to));
	sonde__sys_close((int)fd);
}

/* What a line begins with; a program that takes lines itself has its own way. */
static size_t write_head(char *line, size_t cap)
{
	char stamp[32];

	if (sink == SINK_CALL)
		return 0;
	if (sink == SINK_SYSLOG)
		return sonde__format(line, cap, "<%d>sonde[%d]: ", DAEMON_INFO,
				     sonde__sys_getpid());
	sonde__stamp(sonde__wall(), stamp);
	return sonde__format(line, cap, "%s sonde[%d]: ", stamp, sonde__sys_getpid());
}

static void write_line(char *line, size_t n)
{
	line[n] = '\0';
	if (sink == SINK_CALL) {
		call(context, line);
		return;
	}
	if (sink == SINK_SYSLOG) {
		write_syslog(line, n);
		return;
	}
	line[n++] = '\n';
	if (sink == SINK_STDERR)
		write_stderr(line, n);
	else
		write_file(line, n);
}

void sonde__log(const char *fmt, ...)
{
	char line[2048];
	size_t n;
	va_list args;

	if (sink == SINK_NONE)
		return;
	n = write_head(line, sizeof(line));
	va_start(args, fmt);
	n += sonde__vformat(line + n, sizeof(line) - n - 1, fmt, args);
	va_end(args);
	write_line(line, n < sizeof(line) - 2 ? n : sizeof(line) - 2);
}

const char *sonde__error_text(int code)
{
	switch (code) {
	case EADDRINUSE:
		return "the address is in use";
	case EADDRNOTAVAIL:
		return "this machine does not have that address";
	case EACCES:
	case EPERM:
		return "permission denied";
	case EAFNOSUPPORT:
		return "this system does not have that kind of address";
	case EMFILE:
	case ENFILE:
		return "too many open files";
	case ENOENT:
	case ENOTDIR:
		return "no such folder";
	case ENOMEM:
	case ENOBUFS:
		return "out of memory";
	case EROFS:
		return "the file system is read-only";
	default:
		return "the system refused";
	}
}
