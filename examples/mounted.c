/*
 * mounted.c - profiles under a hand-written server's own port
 *
 *	cc mounted.c $(pkg-config --cflags --libs sonde) -o mounted
 *	./mounted 8080 &
 *	curl http://localhost:8080/hello
 *	sonde -top http://localhost:8080/debug/pprof/heap
 *
 * One thread per connection, because a CPU profile takes as long as was asked for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sonde.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the client has hung up; asked now and then while a profile is being taken. */
static int gone(void *context)
{
	struct pollfd p = { .fd = (int)(intptr_t)context, .events = POLLRDHUP };

	return poll(&p, 1, 0) > 0;
}

static void answer(void *context, int status, const struct sonde_header *headers, const void *body,
		   size_t nbody)
{
	int fd = (int)(intptr_t)context;

	dprintf(fd, "HTTP/1.1 %d .\r\nConnection: close\r\nContent-Length: %zu\r\n", status, nbody);
	for (; headers->name; headers++)
		dprintf(fd, "%s: %s\r\n", headers->name, headers->value);
	dprintf(fd, "\r\n");
	for (size_t at = 0; at < nbody;) {
		ssize_t n = write(fd, (const char *)body + at, nbody - at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
}

static void hello(int fd)
{
	static const struct sonde_header none[] = { { NULL, NULL } };

	answer((void *)(intptr_t)fd, 200, none, "hello\n", 6);
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char line[4096] = "", root[] = "/", *rest = line, *method, *path, *query;
	ssize_t n = read(fd, line, sizeof(line) - 1);

	line[n > 0 ? n : 0] = '\0';
	method = strsep(&rest, " ");
	path = rest ? strsep(&rest, " ") : root;
	query = strchr(path, '?');
	if (query)
		*query++ = '\0';
	if (strncmp(path, "/debug/pprof", 12) != 0)
		hello(fd);
	else
		sonde_handle(&(struct sonde_request){ SONDE_REQUEST, .method = method, .path = path,
						      .query = query, .gone = gone },
			     answer, arg);
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons(
					 (uint16_t)strtoul(argc > 1 ? argv[1] : "8080", NULL, 10)),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	signal(SIGPIPE, SIG_IGN);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s, (struct sockaddr *)&a, sizeof(a)) || listen(s, 16)) {
		perror("bind");
		return 1;
	}
	sonde_start(&(struct sonde_options){ SONDE_OPTIONS });
	for (;;) {
		int fd = accept(s, NULL, NULL);
		pthread_t t;

		if (fd >= 0 && pthread_create(&t, NULL, serve, (void *)(intptr_t)fd) == 0)
			pthread_detach(t);
	}
}
