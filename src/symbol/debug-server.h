/*
 * debug-server.h - binaries and debug information from debuginfod servers, by build id
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
#include <stdbool.h>
#include <stdint.h>

struct notify;

enum debug_server_kind {
	DEBUG_SERVER_EXECUTABLE,
	DEBUG_SERVER_DEBUGINFO,
};

struct debug_server {
	struct notify *notify;
	int64_t wait_ms;      /* without a single byte; 0: half a minute */
	int64_t total_ms;     /* for all questions of one report; 0: five minutes */
	pthread_mutex_t lock; /* private, as all that follows */
	int64_t since_ms, until_ms;
	long bytes;
	bool late;
	bool gave_up;
};

void debug_server_init(struct debug_server *s, struct notify *n);

/*
 * debug_server_fetch() asks for the file of a build id.  Returns where it is now, to be freed, or
 * NULL if there is none.  Where the server is not to be had, or takes too long, one warning says
 * so, and it is not asked again.  Any thread may call it; one is served at a time.
 */
char *debug_server_fetch(struct debug_server *s, enum debug_server_kind kind, struct str build_id);

#endif /* SYMBOL_DEBUG_SERVER_H */
