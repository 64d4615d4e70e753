/*
 * process-memory.c - what the kernel says about the memory of this process
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/process-memory.h"

#include "runtime/fd.h"
#include "runtime/guard.h"
#include "runtime/os.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

enum { STATUS_MAX = 4 << 20, TRIES = 3 }; /* the status lists the user's groups, too */

/* The number at 'text'; 'end' is behind it. */
static uint64_t read_number(const char *text, const char **end)
{
	uint64_t n = 0;

	text += strspn(text, " \t");
	for (; *text >= '0' && *text <= '9'; text++)
		n = n * 10 + (uint64_t)(*text - '0');
	*end = text;
	return n;
}

/* A file of /proc as text; NULL, and why. */
static char *slurp(const char *path, size_t *mapped, int *error)
{
	size_t n;
	char *text = sonde__slurp(path, STATUS_MAX, &n, mapped);
	long fd;

	if (text)
		return text;
	fd = sonde__sys_open(path, O_RDONLY, 0);
	*error = fd < 0 ? (int)fd : -ENOMEM;
	if (fd >= 0)
		sonde__sys_close((int)fd);
	return NULL;
}

static void read_statm(struct sonde__process_memory *m)
{
	uint64_t *const fields[] = { &m->vms, &m->rss,  &m->shared, &m->text,
				     &m->lib, &m->data, &m->dirty };
	uint64_t page = getauxval(AT_PAGESZ);
	size_t mapped;
	char *text = slurp("/proc/self/statm", &mapped, &m->statm_error);
	const char *p = text;

	for (size_t i = 0; text && i < sizeof(fields) / sizeof(fields[0]); i++)
		*fields[i] = read_number(p, &p) * page;
	sonde__unmap(text, text ? mapped : 0);
}

static uint64_t value_of(const char *status, const char *key)
{
	const char *line = strstr(status, key);

	return line ? read_number(line + strlen(key), &line) * 1024 : 0;
}

/* The size of the process as it was then, which tells whether it is the same moment as statm's. */
static uint64_t read_status(struct sonde__process_memory *m)
{
	size_t mapped;
	char *text = slurp("/proc/self/status", &mapped, &m->status_error);
	uint64_t size;

	if (!text)
		return m->vms;
	size = value_of(text, "\nVmSize:");
	m->hwm = value_of(text, "\nVmHWM:");
	m->vmdata = value_of(text, "\nVmData:");
	m->stack = value_of(text, "\nVmStk:");
	m->locked = value_of(text, "\nVmLck:");
	m->swap = value_of(text, "\nVmSwap:");
	m->anon = value_of(text, "\nRssAnon:");
	sonde__unmap(text, mapped);
	return size;
}

void sonde__process_memory(struct sonde__process_memory *m)
{
	struct rusage usage = { 0 };

	*m = (struct sonde__process_memory){ 0 };
	/* Two files are two moments: a thread that starts in between makes the data larger than
	 * all. */
	for (int i = 0; i < TRIES; i++) {
		read_statm(m);
		if (read_status(m) == m->vms)
			break;
	}
	m->max_rss = m->hwm;
	if (sonde__guard_is_filtered())
		return;
	sonde__syscall(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0, 0, 0, 0);
	m->max_rss = (uint64_t)usage.ru_maxrss * 1024;
}
