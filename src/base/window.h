/*
 * window.h - a file mapped into memory, which others may cut short meanwhile
 *
 * To touch a page of a mapped file that is behind the file's new end raises SIGBUS, and so does a
 * disk that fails.  Reading a file instead of mapping it has no such danger, and file_read() does
 * that; but a compressed profile of 200 MB is then copied for 30 ms, and a program's debug
 * information for longer than it takes to find a few names in it.  So these are mapped, and a
 * signal handler puts pages of zeros in place of what is gone: to whoever reads, the file looks
 * damaged, which they have to stand anyway, and window_check() tells them the reason.  A server
 * goes on; only what wanted that file fails.
 *
 * Bytes of a mapping may change between two looks at them.  Look once, or make a copy first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_WINDOW_H
#define BASE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct window;

/*
 * window_open() maps the first 'n' bytes of a file, to be read; with 'all' they are brought in at
 * once.  NULL if that cannot be done; 'n' of 0 cannot.  It takes over SIGBUS, for the whole
 * process; one that comes from anywhere else has its usual effect.
 */
struct window *window_open(int fd, size_t n, bool all);
void *window_bytes(const struct window *w);
/*
 * The bytes from 'from' to 'to' have been read: their memory goes back to the system, from which it
 * comes again should anybody look.
 */
void window_pass(const struct window *w, size_t from, size_t to);
/* Nobody may look at the bytes any more.  NULL is allowed. */
void window_close(struct window *w);

/*
 * 0, or -EIO if bytes were gone when they were looked at, so that zeros were seen instead:
 * "read <path>: file became shorter while it was read".  NULL is allowed.
 */
int window_check(const struct window *w, const char *path, struct err *err);

#endif /* BASE_WINDOW_H */
