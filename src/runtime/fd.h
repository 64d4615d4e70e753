/*
 * fd.h - our file descriptors, in a table that is the host's
 *
 * Programs expect the next open() to give the lowest free number, and some close every number there
 * is when they start.  So ours are high, and before anything is done with one we look whether it is
 * still what it was: another file under its number is the host's, and none of our business.
 *
 * System calls are made directly: the C library's functions may have been replaced by the host.
 * They return a negative errno, and leave errno alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_FD_H
#define RUNTIME_FD_H

#include "runtime/os.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

struct sonde__fd {
	int fd; /* 0: none; ours is never that low */
	uint64_t device, inode;
};

/* Takes over a number the system gave: moves it up.  False, and closed, if that cannot be done. */
bool sonde__fd_take(struct sonde__fd *f, long fd);
/* Whether it is open, and ours. */
bool sonde__fd_is_ours(const struct sonde__fd *f);
/* Closes it if it is ours; forgets it in any case. */
void sonde__fd_close(struct sonde__fd *f);

static inline long sonde__sys_close(int fd)
{
	return sonde__syscall(SYS_close, fd, 0, 0, 0, 0, 0);
}

static inline long sonde__sys_open(const char *path, int flags, int mode)
{
	return sonde__syscall(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC | O_NOCTTY, mode,
			      0, 0);
}

static inline long sonde__sys_fstat(int fd, struct stat *st)
{
	return sonde__syscall(SYS_fstat, fd, (long)st, 0, 0, 0, 0);
}

static inline long sonde__sys_write(int fd, const void *p, size_t n)
{
	return sonde__syscall(SYS_write, fd, (long)p, (long)n, 0, 0, 0);
}

static inline long sonde__sys_pread(int fd, void *p, size_t n, uint64_t offset)
{
	return sonde__syscall(SYS_pread64, fd, (long)p, (long)n, (long)offset, 0, 0);
}

static inline long sonde__sys_unlink(const char *path)
{
	return sonde__syscall(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0);
}

static inline long sonde__sys_socket(int family, int type)
{
	return sonde__syscall(SYS_socket, family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0, 0, 0);
}

static inline long sonde__sys_recv(int fd, void *p, size_t n, int flags)
{
	return sonde__syscall(SYS_recvfrom, fd, (long)p, (long)n, flags | MSG_DONTWAIT, 0, 0);
}

static inline long sonde__sys_send(int fd, const void *p, size_t n)
{
	return sonde__syscall(SYS_sendto, fd, (long)p, (long)n, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
}

/* Waits up to 'ns'; UINT64_MAX: for ever. */
long sonde__sys_poll(struct pollfd *fds, size_t n, uint64_t ns);

static inline int sonde__sys_getpid(void)
{
	return (int)sonde__syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

#endif /* RUNTIME_FD_H */
