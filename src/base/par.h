/*
 * par.h - the same work on every core
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_PAR_H
#define BASE_PAR_H

enum { PAR_MOST = 8 };

/* How many threads pay: the processors this process may run on, at most PAR_MOST. */
int par_width(void);

/*
 * par_run() calls fn(0, ctx) ... fn(n-1, ctx), each in a thread of its own (the last one in
 * the caller's), and returns when all have.  Where a thread cannot be had, the caller does
 * its work too.
 */
void par_run(int n, void (*fn)(int i, void *ctx), void *ctx);

#endif /* BASE_PAR_H */
