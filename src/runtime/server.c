/*
 * server.c - our own HTTP server: listeners, and who is served when
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/server.h"

#include "runtime/connection.h"
#include "runtime/listen.h"
#include "runtime/os.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

static const uint64_t second = 1000000000;
enum { RETRY_S = 3, BREATH_S = 1 };

static struct {
	struct sonde__listen listen;
	char addr[sizeof(((struct sonde__config *)0)->addr)];
	const char *why; /* the address makes no sense */
	int first;       /* how the first attempt to listen ended */
	bool wanted, told;
	uint64_t retry; /* when to try to listen again; 0: not */
	uint64_t pause; /* no accept() before: there were no file descriptors */
	struct sonde__connection *connections;
} server;

static void announce(bool token)
{
	struct sonde__listen *l = &server.listen;

	for (size_t i = 0; i < l->nfds; i++) {
		struct sockaddr_storage at = { 0 };
		socklen_t size = sizeof(at);
		char text[160];

		if (sonde__syscall(SYS_getsockname, l->fds[i].fd, (long)&at, (long)&size, 0, 0, 0) <
		    0)
			continue;
		sonde__place_text(&at, text, sizeof(text));
		if (at.ss_family == AF_UNIX)
			sonde__log("serving /debug/pprof/ on %s", text);
		else
			sonde__log("serving http://%s/debug/pprof/", text);
	}
	if (l->exposed)
		sonde__log("warning: profiles of this program can be fetched from other machines%s",
			   token ? " by those who know the token"
				 : "; give localhost as the host, or set SONDE_TOKEN");
}

static void tell(int rc)
{
	if (rc == 0) {
		announce(sonde__agent_config()->token[0] != '\0');
		return;
	}
	if (!server.told)
		sonde__log("cannot listen on %s: %s; trying again every %d seconds", server.addr,
			   sonde__error_text(-rc), RETRY_S);
	server.told = true;
	server.retry = sonde__now() + RETRY_S * second;
}

static void try_to_listen(void)
{
	server.retry = 0;
	tell(sonde__listen_open(&server.listen));
}

int sonde__server_init(const struct sonde__config *c)
{
	memset(&server, 0, sizeof(server));
	if (c->addr[0] == '\0')
		return 0;
	memcpy(server.addr, c->addr, sizeof(server.addr));
	server.why = sonde__listen_parse(&server.listen, c->addr);
	if (server.why)
		return -EINVAL;
	server.connections = sonde__map(SONDE__CONNECTIONS * sizeof(*server.connections));
	if (!server.connections) {
		server.why = "out of memory";
		return -ENOMEM;
	}
	server.wanted = true;
	server.first = sonde__listen_open(&server.listen);
	return server.first;
}

void sonde__server_begin(void)
{
	if (server.why)
		sonde__log("cannot listen on %s: %s", server.addr, server.why);
	if (server.wanted)
		tell(server.first);
}

static void sooner(uint64_t *until, uint64_t when)
{
	if (when && when < *until)
		*until = when;
}

/* Programs close what they do not know: then we listen again. */
static void check_listeners(void)
{
	for (size_t i = 0; i < server.listen.nfds; i++) {
		if (sonde__fd_is_ours(&server.listen.fds[i]))
			continue;
		sonde__log("the program has closed our socket");
		sonde__listen_close(&server.listen, true);
		server.retry = sonde__now();
	}
}

size_t sonde__server_wait(struct pollfd *fds, uint64_t *until)
{
	size_t n = 0;

	if (!server.wanted)
		return 0;
	check_listeners();
	sooner(until, server.retry);
	sooner(until, server.pause);
	for (size_t i = 0; i < server.listen.nfds && !server.pause; i++)
		fds[n++] = (struct pollfd){ .fd = server.listen.fds[i].fd, .events = POLLIN };
	for (size_t i = 0; i < SONDE__CONNECTIONS; i++) {
		struct sonde__connection *c = &server.connections[i];

		if (c->state != SONDE__FREE && !sonde__fd_is_ours(&c->fd))
			sonde__connection_close(c);
		if (c->state == SONDE__FREE)
			continue;
		sooner(until, sonde__connection_deadline(c));
		fds[n++] = (struct pollfd){ .fd = c->fd.fd, .events = sonde__connection_events(c) };
	}
	return n;
}

/* A free connection, or that of the client we have been waiting for longest. */
static struct sonde__connection *make_room(void)
{
	struct sonde__connection *oldest = NULL;

	for (size_t i = 0; i < SONDE__CONNECTIONS; i++) {
		struct sonde__connection *c = &server.connections[i];
		bool waiting = c->state == SONDE__READ_HEAD || c->state == SONDE__READ_BODY ||
			       c->state == SONDE__LINGER;

		if (c->state == SONDE__FREE)
			return c;
		if (waiting && (!oldest || c->since < oldest->since))
			oldest = c;
	}
	if (oldest)
		sonde__connection_close(oldest);
	return oldest;
}

/* Takes those that are waiting, up to a bound: the next round takes the others. */
static void accept_some(const struct sonde__fd *listener)
{
	for (int i = 0; i < SONDE__CONNECTIONS && sonde__fd_is_ours(listener); i++) {
		struct sockaddr_storage peer = { 0 };
		socklen_t size = sizeof(peer);
		struct sonde__connection *c;
		struct sonde__fd own;
		long fd = sonde__syscall(SYS_accept4, listener->fd, (long)&peer, (long)&size,
					 SOCK_CLOEXEC | SOCK_NONBLOCK, 0, 0);

		if (fd == -EMFILE || fd == -ENFILE || fd == -ENOBUFS || fd == -ENOMEM)
			server.pause = sonde__now() + BREATH_S * second;
		if (fd < 0)
			return;
		c = sonde__fd_take(&own, fd) ? make_room() : NULL;
		if (c)
			sonde__connection_open(c, own, &peer);
		else
			sonde__fd_close(&own);
	}
}

static short revents_of(const struct pollfd *fds, size_t n, int fd)
{
	for (size_t i = 0; i < n; i++)
		if (fds[i].fd == fd)
			return fds[i].revents;
	return 0;
}

void sonde__server_work(const struct pollfd *fds, size_t n)
{
	uint64_t now = sonde__now();

	if (!server.wanted)
		return;
	if (server.retry && now >= server.retry)
		try_to_listen();
	for (size_t i = 0; i < SONDE__CONNECTIONS; i++) {
		struct sonde__connection *c = &server.connections[i];

		if (c->state != SONDE__FREE)
			sonde__connection_work(c, revents_of(fds, n, c->fd.fd), now);
	}
	for (size_t i = 0; i < server.listen.nfds; i++)
		if (server.pause ? now >= server.pause
				 : revents_of(fds, n, server.listen.fds[i].fd) & POLLIN) {
			server.pause = 0;
			accept_some(&server.listen.fds[i]);
		}
}

/* Waits for clients to take what is theirs. */
static void drain(uint64_t until)
{
	while (sonde__now() < until) {
		struct pollfd fds[SONDE__CONNECTIONS];
		size_t n = 0;
		uint64_t now = sonde__now();

		for (size_t i = 0; i < SONDE__CONNECTIONS; i++) {
			struct sonde__connection *c = &server.connections[i];

			if (c->state == SONDE__WRITE)
				sonde__connection_work(c, POLLOUT, now);
			if (c->state == SONDE__WRITE)
				fds[n++] = (struct pollfd){ .fd = c->fd.fd, .events = POLLOUT };
		}
		if (n == 0)
			return;
		sonde__sys_poll(fds, n, until - now);
	}
}

void sonde__server_close(uint64_t until)
{
	struct sonde__connection *connections;

	sonde__listen_close(&server.listen, true);
	if (!server.connections)
		return;
	for (size_t i = 0; i < SONDE__CONNECTIONS; i++)
		if (server.connections[i].state == SONDE__WAIT)
			sonde__connection_hurry(&server.connections[i]);
	drain(until);
	for (size_t i = 0; i < SONDE__CONNECTIONS; i++)
		if (server.connections[i].state != SONDE__FREE)
			sonde__connection_close(&server.connections[i]);
	/* A child of a fork() right now must not look for them. */
	connections = server.connections;
	memset(&server, 0, sizeof(server));
	sonde__unmap(connections, SONDE__CONNECTIONS * sizeof(*connections));
}

void sonde__server_forget(void)
{
	sonde__listen_close(&server.listen, false);
	for (size_t i = 0; i < SONDE__CONNECTIONS && server.connections; i++)
		if (server.connections[i].state != SONDE__FREE)
			sonde__fd_close(&server.connections[i].fd);
	memset(&server, 0, sizeof(server));
}
