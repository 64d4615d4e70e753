/*
 * task.c - what the kernel says about a thread of this process: /proc/self/task
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/task.h"

#include "runtime/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

enum { TEXT = 1024 };

/* The kernel counts CPU time in stat by this, whatever its own clock does. */
static const uint64_t TICK_NS = 10000000;

static long open_read_only(const char *path, int more)
{
	return sonde__syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | more, 0, 0,
			      0);
}

static void close_file(long fd)
{
	sonde__syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

static int read_tid(const char *name)
{
	int tid = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		tid = tid * 10 + (*name - '0');
	return *name ? 0 : tid;
}

void sonde__tasks(void (*found)(int tid, void *context), void *context)
{
	char buffer[2048] __attribute__((aligned(8)));
	long fd = open_read_only("/proc/self/task", O_DIRECTORY);
	long n;

	if (fd < 0)
		return;
	do {
		n = sonde__syscall(SYS_getdents64, fd, (long)buffer, sizeof(buffer), 0, 0, 0);
		for (long at = 0; at < n;) {
			const struct dirent64 *d = (const struct dirent64 *)(buffer + at);
			int tid = read_tid(d->d_name);

			if (tid > 0)
				found(tid, context);
			at += d->d_reclen;
		}
	} while (n > 0);
	close_file(fd);
}

/* The start of a file about a thread, terminated; its size, 0 if there is none. */
static size_t read_about(int tid, const char *file, char *text, size_t cap)
{
	char path[64];
	long fd, n;

	sonde__format(path, sizeof(path), "/proc/self/task/%d/%s", tid, file);
	fd = open_read_only(path, 0);
	if (fd < 0)
		return 0;
	n = sonde__syscall(SYS_read, fd, (long)text, (long)cap - 1, 0, 0, 0);
	close_file(fd);
	n = n < 0 ? 0 : n;
	text[n] = '\0';
	return (size_t)n;
}

static uint64_t read_decimal(const char **p)
{
	uint64_t v = 0;

	while (**p == ' ')
		(*p)++;
	for (; **p >= '0' && **p <= '9'; (*p)++)
		v = v * 10 + (uint64_t)(**p - '0');
	return v;
}

static uint64_t read_hex(const char **p)
{
	uint64_t v = 0;

	while (**p == ' ')
		(*p)++;
	if ((*p)[0] == '0' && (*p)[1] == 'x')
		*p += 2;
	for (;; (*p)++) {
		if (**p >= '0' && **p <= '9')
			v = v << 4 | (uint64_t)(**p - '0');
		else if (**p >= 'a' && **p <= 'f')
			v = v << 4 | (uint64_t)(**p - 'a' + 10);
		else
			return v;
	}
}

static void skip_words(const char **p, int n)
{
	for (; n > 0; n--) {
		while (**p == ' ')
			(*p)++;
		while (**p && **p != ' ')
			(*p)++;
	}
}

/* "tid (name) state ...": a name may have any character in it. */
static bool read_stat(struct sonde__task *t)
{
	char text[TEXT];
	const char *name, *end, *p;
	size_t n;

	if (!read_about(t->tid, "stat", text, sizeof(text)))
		return false;
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end < name || end[1] != ' ')
		return false;
	n = (size_t)(end - name - 1);
	n = n < sizeof(t->name) ? n : sizeof(t->name) - 1;
	memcpy(t->name, name + 1, n);
	t->name[n] = '\0';
	t->state = end[2];
	p = end + 3;
	skip_words(&p, 10); /* to the CPU time of programs, and of the kernel for them */
	t->cpu = read_decimal(&p);
	t->cpu += read_decimal(&p);
	t->cpu *= TICK_NS;
	skip_words(&p, 16);
	t->masked = (uint32_t)read_decimal(&p);
	return true;
}

/* "ns on a CPU, ns waiting for one, how often it got one": finer than stat, where it is there. */
static bool read_schedstat(struct sonde__task *t)
{
	char text[TEXT];
	const char *p = text;
	uint64_t cpu;

	if (!read_about(t->tid, "schedstat", text, sizeof(text)))
		return false;
	cpu = read_decimal(&p);
	t->cpu = cpu ? cpu : t->cpu;
	t->queued = read_decimal(&p);
	t->runs = read_decimal(&p);
	return true;
}

/* "number arguments sp pc"; "running"; or "-1 sp pc": blocked, but not in a call. */
static void read_call(struct sonde__task *t)
{
	char text[TEXT];
	const char *p = text;

	t->blocked = false;
	if (!read_about(t->tid, "syscall", text, sizeof(text)) || *p < '0' || *p > '9')
		return;
	t->call = (long)read_decimal(&p);
	for (int i = 0; i < SONDE__TASK_ARGS; i++)
		t->args[i] = read_hex(&p);
	t->sp = read_hex(&p);
	t->pc = read_hex(&p);
	t->blocked = t->sp != 0 && t->pc != 0;
}

bool sonde__task_read(struct sonde__task *t, int tid)
{
	memset(t, 0, sizeof(*t));
	t->tid = tid;
	if (!read_stat(t))
		return false;
	read_schedstat(t);
	if (t->state != 'R') /* else it is in no call, as the kernel sees it */
		read_call(t);
	return true;
}

bool sonde__task_call(struct sonde__task *t)
{
	read_call(t);
	return t->blocked;
}

bool sonde__task_times(struct sonde__task *t)
{
	return read_schedstat(t) || read_stat(t);
}

bool sonde__task_still(const struct sonde__task *before)
{
	struct sonde__task now = { .tid = before->tid };

	if (before->runs && read_schedstat(&now))
		return now.runs == before->runs;
	read_call(&now);
	return now.blocked && now.call == before->call && now.sp == before->sp &&
	       now.pc == before->pc && memcmp(now.args, before->args, sizeof(now.args)) == 0;
}

bool sonde__mem_open(struct sonde__fd *mem)
{
	return sonde__fd_take(mem, open_read_only("/proc/self/mem", 0));
}

size_t sonde__mem_read(const struct sonde__fd *mem, uint64_t from, void *to, size_t n)
{
	long got;

	if (mem->fd == 0 || from > INT64_MAX)
		return 0;
	got = sonde__sys_pread(mem->fd, to, n, from);
	return got > 0 ? (size_t)got : 0;
}
