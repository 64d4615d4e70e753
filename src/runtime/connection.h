/*
 * connection.h - one client of the server, from accept() to close()
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_CONNECTION_H
#define RUNTIME_CONNECTION_H

#include "runtime/fd.h"
#include "runtime/http.h"
#include "runtime/job.h"

#include <sys/socket.h>

enum { SONDE__HEAD_MAX = 16 << 10, SONDE__BODY_MAX = 4 << 20 };

enum sonde__connection_state {
	SONDE__FREE,
	SONDE__READ_HEAD,
	SONDE__READ_BODY,
	SONDE__WAIT, /* for the time of a profile to pass */
	SONDE__WRITE,
	SONDE__LINGER, /* all is said; what still comes in is thrown away, then closed */
};

struct sonde__connection {
	enum sonde__connection_state state;
	struct sonde__fd fd;
	uint64_t since;    /* in this state */
	uint64_t progress; /* when it last moved */
	char peer[80];
	char in[SONDE__HEAD_MAX];
	size_t nin;
	struct sonde__http http;
	struct sonde__buf body;
	struct sonde__chunks chunks;
	struct sonde__job job;
	/* what goes out: head, body of the job's response, tail */
	char out[1024];
	const char *tail;
	size_t nout, nbody, ntail, sent;
	bool close;
};

void sonde__connection_open(struct sonde__connection *c, struct sonde__fd fd,
			    const struct sockaddr_storage *peer);
void sonde__connection_close(struct sonde__connection *c);
short sonde__connection_events(const struct sonde__connection *c);
/* When to look at it even if nothing happens. */
uint64_t sonde__connection_deadline(const struct sonde__connection *c);
void sonde__connection_work(struct sonde__connection *c, short revents, uint64_t now);
/* Ends the profile that is running, now. */
void sonde__connection_hurry(struct sonde__connection *c);

#endif /* RUNTIME_CONNECTION_H */
