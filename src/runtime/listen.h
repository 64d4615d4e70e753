/*
 * listen.h - the places where the server listens
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_LISTEN_H
#define RUNTIME_LISTEN_H

#include "runtime/fd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { SONDE__LISTENERS = 4 };

struct sonde__place {
	struct sockaddr_storage at;
	socklen_t size;
};

struct sonde__listen {
	struct sonde__place places[SONDE__LISTENERS];
	struct sonde__fd fds[SONDE__LISTENERS];
	size_t nplaces, nfds;
	bool exposed; /* not only to this machine */
	bool bound;   /* a unix socket of ours has a file, to be removed */
};

/*
 * Reads "host:port", ":port", "unix:/path" or "unix:@name".  Names other than localhost are looked
 * up in /etc/hosts, nowhere else: asking a name server takes code we do not want in the host.
 * NULL, or what is wrong.
 */
const char *sonde__listen_parse(struct sonde__listen *l, const char *addr);
/* Opens what it can: 0, or a negative errno if not one place could be opened. */
int sonde__listen_open(struct sonde__listen *l);
/* Closes; 'remove' also the file of a unix socket, if it is ours. */
void sonde__listen_close(struct sonde__listen *l, bool remove);

/* "127.0.0.1:8070", "[::1]:8070" or "unix:/path". */
void sonde__place_text(const struct sockaddr_storage *at, char *to, size_t cap);

#endif /* RUNTIME_LISTEN_H */
