/*
 * ship.h - a program of ours beside the host, for what the host must not do itself
 *
 * The host waits for nothing, speaks no TLS, and never learns of it: no SIGCHLD comes, wait() finds
 * nobody, no zombie stays, and none of its files is kept open.  Between the host and the program
 * there is a process that shares the host's memory, so that it costs nothing to make however large
 * the host is.  It is of the kind that wait() does not see and that ends without a signal; but that
 * is lost with exec, so it stays to wait for the program.  It dies with the agent; the program then
 * goes on alone.
 *
 * For the agent only, but for the start.  One at a time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_SHIP_H
#define RUNTIME_SHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Looks for sonded (SONDED, beside the library, in PATH) and keeps a copy of the environment for
 * it, without what would switch the runtime on there.  In a thread of the host, whose environment
 * it is, before the agent starts.
 */
void sonde__ship_prepare(char **environment);
/* 0, -ENOENT if there is no such program, -ENOMEM. */
int sonde__ship_ready(void);

/*
 * A file without a name that is to be its standard input: begins anew, adds to it.  -EPERM behind a
 * seccomp filter of the host's.
 */
int sonde__ship_file(void);
bool sonde__ship_add(const void *bytes, size_t n);

/* Starts it with these arguments (up to NULL), and the file if there is one, which is gone then. */
int sonde__ship_start(const char *const *args);

bool sonde__ship_is_busy(void);
/*
 * Whether it has ended: its status, and what it wrote to standard error, as one line.  One that
 * takes longer than ten minutes is ended.
 */
bool sonde__ship_ended(int *status, char *text, size_t cap);

/* The agent ends: the program is left to itself. */
void sonde__ship_leave(void);
/* In the child of fork(): it is not ours. */
void sonde__ship_forget(void);

#endif /* RUNTIME_SHIP_H */
