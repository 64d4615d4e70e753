/*
 * cleanup.h - free what lives in a scope when the scope ends
 *
 *	AUTO(profile_freep) struct profile *p = NULL;
 *	...
 *	*out = TAKE(p);		hand it on: the scope no longer owns it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define AUTO(fn) __attribute__((cleanup(fn)))

#define TAKE(p)                                                                                    \
	({                                                                                         \
		__typeof__(p) take_ = (p);                                                         \
		(p) = NULL;                                                                        \
		take_;                                                                             \
	})

/* AUTO(freep) for anything that came from malloc(). */
static inline void freep(void *pp)
{
	free(*(void **)pp);
}

/* AUTO(closep) for a file descriptor; negative means none. */
static inline void closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#endif /* BASE_CLEANUP_H */
