/*
 * server.h - our own HTTP server: sockets and connections
 *
 * No call blocks.  A client that is slow, huge or mad costs one of a few connections for a limited
 * time; when all are taken, the one that has been waiting longest for its request makes room.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_SERVER_H
#define RUNTIME_SERVER_H

#include "runtime/agent.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SONDE__CONNECTIONS = 32,
	SONDE__POLL_FDS = SONDE__CONNECTIONS + 8,
};

/*
 * Takes the address of 'c', and listens there if that can be had: 0 or a negative errno.  Logs
 * nothing: the host waits for it.
 */
int sonde__server_init(const struct sonde__config *c);
/* What is to be said about it; by the agent. */
void sonde__server_begin(void);
/* Adds what to wait for to 'fds' and returns how many; lowers '*until' to when to come back. */
size_t sonde__server_wait(struct pollfd *fds, uint64_t *until);
/* Does what can be done now. */
void sonde__server_work(const struct pollfd *fds, size_t n);
/* Ends what is running, delivers it as far as that is possible by 'until', and closes all. */
void sonde__server_close(uint64_t until);
/* In the child of a fork: closes everything, tells nobody. */
void sonde__server_forget(void);

#endif /* RUNTIME_SERVER_H */
