/*
 * fd.c - our file descriptors, in a table that is the host's
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/fd.h"

#include <sys/resource.h>
#include <time.h>

enum { HIGH = 1024, BELOW = 128 }; /* where ours are: under both this and the limit */

/* The lowest number that is ours to take. */
static int lowest(void)
{
	struct rlimit limit = { HIGH, HIGH };

	sonde__syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
	if (limit.rlim_cur >= HIGH)
		return HIGH - BELOW;
	return limit.rlim_cur > 2 * BELOW ? (int)limit.rlim_cur - BELOW : 3;
}

bool sonde__fd_take(struct sonde__fd *f, long fd)
{
	struct stat st;
	long high;

	*f = (struct sonde__fd){ 0 };
	if (fd < 0)
		return false;
	high = sonde__syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest(), 0, 0, 0);
	sonde__sys_close((int)fd);
	if (high < 0)
		return false;
	if (sonde__sys_fstat((int)high, &st) < 0) {
		sonde__sys_close((int)high);
		return false;
	}
	*f = (struct sonde__fd){ (int)high, st.st_dev, st.st_ino };
	return true;
}

bool sonde__fd_is_ours(const struct sonde__fd *f)
{
	struct stat st;

	return f->fd > 0 && sonde__sys_fstat(f->fd, &st) == 0 && st.st_dev == f->device &&
	       st.st_ino == f->inode;
}

void sonde__fd_close(struct sonde__fd *f)
{
	if (sonde__fd_is_ours(f))
		sonde__sys_close(f->fd);
	*f = (struct sonde__fd){ 0 };
}

long sonde__sys_poll(struct pollfd *fds, size_t n, uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	return sonde__syscall(SYS_ppoll, (long)fds, (long)n, ns == UINT64_MAX ? 0 : (long)&t, 0, 0,
			      0);
}
