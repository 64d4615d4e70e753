/*
 * debug-server.h - binaries, debug information and sources from debuginfod servers, by build id
 *
 * elfutils' libdebuginfod does the work, keeps what it fetched in a folder of its own, and reads
 * from the environment which servers there are.  It is loaded when it is first needed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_DEBUG_SERVER_H
#define SYMBOL_DEBUG_SERVER_H

#include "base/str.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct notify;

enum debug_server_kind {
	DEBUG_SERVER_EXECUTABLE,
	DEBUG_SERVER_DEBUGINFO,
};

/* All servers there are: one struct serves a whole program. */
struct debug_server {
	const char *urls;     /* what tells them from others */
	int64_t wait_ms;      /* without a single byte; 0: half a minute */
	int64_t total_ms;     /* for all questions of one report; 0: five minutes */
	pthread_mutex_t lock; /* private, as all that follows */
	atomic_bool is_old;   /* the time of a report runs */
	struct notify *notify;
	int64_t since_ms, until_ms;
	long bytes;
	bool late;
	bool gave_up;
};

void debug_server_init(struct debug_server *s, const char *urls);

/* Another report begins, which has all of its time.  Never waits. */
void debug_server_renew(struct debug_server *s);

/*
 * debug_server_fetch() asks for the file of a build id.  Returns where it is now, to be freed, or
 * NULL if there is none.  Where the server is not to be had, or takes too long, one warning to 'n'
 * says so, and it is not asked again; nor is it where it has sent a file with another build id,
 * which is not taken.  Any thread may call it; one is served at a time.
 */
char *debug_server_fetch(struct debug_server *s, enum debug_server_kind kind, struct str build_id,
			 struct notify *n);

/* The same for a source that the binary was made of; 'path' is the absolute one it was built with.
 */
char *debug_server_fetch_source(struct debug_server *s, struct str build_id, const char *path,
				struct notify *n);

#endif /* SYMBOL_DEBUG_SERVER_H */
