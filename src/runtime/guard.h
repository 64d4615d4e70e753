/*
 * guard.h - when it is better not to be a guest
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_GUARD_H
#define RUNTIME_GUARD_H

#include <stdbool.h>

/*
 * Why the runtime should stay off in this process, in words (a literal); NULL if it need not.
 *
 *	- The program has more rights than who started it (setuid, capabilities): AT_SECURE.
 *	- A sanitizer or valgrind is at work: they have their own allocator, handlers and idea of
 *	  what memory may be read.
 *
 * Asked once, before anything is switched on.
 */
const char *sonde__guard_process(void);

/*
 * Why no CPU profile can be had right now: the program handles SIGPROF itself, or has put itself
 * into a sandbox since sonde__guard_process(), in which a system call too many may be its end.
 */
const char *sonde__guard_cpu(void);

/* The second of these: system calls that few programs make are better left alone. */
bool sonde__guard_is_filtered(void);

#endif /* RUNTIME_GUARD_H */
