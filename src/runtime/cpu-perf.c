/*
 * cpu-perf.c - a finer timer on the CPU time of one thread, where the system allows it
 *
 * perf's task-clock has the resolution of the hardware, not that of the kernel's tick, so ticks
 * come where the schedule has them.  It needs a file for each thread and, to see time in system
 * calls as well, more rights than plain users mostly have (kernel.perf_event_paranoid); without
 * those it would be less true than POSIX timers, and is not used.
 *
 * The signal tells the file, and a table whose it is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/cpu-perf.h"

#include "runtime/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum {
	FILES = 1 << 16, /* numbers from there on are not ours */
	SHARE = 8,       /* one in so many of the files the host may have */
};

static atomic_uint owners[FILES]; /* number of the thread, plus one */
static atomic_int open_files;

/* Half way up: hosts count from below. */
static int lowest_file(void)
{
	struct rlimit limit = { 0 };
	long failed = sonde__syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
	unsigned long files = limit.rlim_cur < FILES ? limit.rlim_cur : FILES;

	if (failed || atomic_load(&open_files) >= (int)(files / SHARE))
		return -EMFILE;
	return (int)(files / 2);
}

static void close_file(long fd)
{
	sonde__syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

static long open_event(int tid, int lowest)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = 1000000000,
		.wakeup_events = 1,
		.disabled = 1,
	};
	long low = sonde__syscall(SYS_perf_event_open, (long)&attr, tid, -1, -1,
				  PERF_FLAG_FD_CLOEXEC, 0);
	long fd;

	if (low < 0)
		return low;
	fd = sonde__syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, lowest, 0, 0, 0);
	close_file(low);
	if (fd >= FILES) {
		close_file(fd);
		return -EMFILE;
	}
	return fd;
}

bool sonde__perf_allowed(void)
{
	long fd = open_event(sonde__tid(), 0);

	if (fd >= 0)
		close_file(fd);
	return fd >= 0;
}

static long direct_signal(long fd, int tid)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = tid };
	long failed = sonde__syscall(SYS_fcntl, fd, F_SETOWN_EX, (long)&owner, 0, 0, 0);

	if (!failed)
		failed = sonde__syscall(SYS_fcntl, fd, F_SETSIG, SIGPROF, 0, 0, 0);
	if (!failed)
		failed = sonde__syscall(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK, 0, 0, 0);
	return failed;
}

int sonde__perf_start(struct sonde__thread *t)
{
	int tid = atomic_load(&t->tid);
	int lowest = lowest_file();
	long fd = lowest < 0 ? lowest : open_event(tid, lowest);
	long failed = fd < 0 ? fd : direct_signal(fd, tid);

	if (failed) {
		if (fd >= 0)
			close_file(fd);
		return (int)failed;
	}
	t->fd = (int)fd;
	atomic_fetch_add(&open_files, 1);
	atomic_store(&owners[fd], t->number + 1);
	return 0;
}

/* A host that closes files it did not open may have put one of its own in this place. */
static bool is_event(int fd)
{
	uint64_t id;

	return sonde__syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ID, (long)&id, 0, 0, 0) == 0;
}

void sonde__perf_stop(struct sonde__thread *t)
{
	int fd = t->fd;

	t->fd = -1;
	atomic_store(&owners[fd], 0);
	atomic_fetch_sub(&open_files, 1);
	if (is_event(fd))
		close_file(fd);
}

void sonde__perf_forget(struct sonde__thread *t)
{
	if (t->fd >= 0)
		sonde__perf_stop(t);
}

void sonde__perf_again(const struct sonde__thread *t, uint64_t ns)
{
	uint64_t period = ns > 0 ? ns : 1;

	sonde__syscall(SYS_ioctl, t->fd, PERF_EVENT_IOC_PERIOD, (long)&period, 0, 0, 0);
	sonde__syscall(SYS_ioctl, t->fd, PERF_EVENT_IOC_REFRESH, 1, 0, 0, 0);
}

struct sonde__thread *sonde__perf_owner(const siginfo_t *info)
{
	unsigned number;

	if (info->si_code != POLL_HUP && info->si_code != POLL_IN)
		return NULL;
	if (info->si_fd < 0 || info->si_fd >= FILES)
		return NULL;
	number = atomic_load_explicit(&owners[info->si_fd], memory_order_acquire);
	return number ? sonde__thread_at(number - 1) : NULL;
}
