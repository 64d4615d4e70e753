/*
 * storage.c - a service with profiles under its own port, when its configuration says so
 *
 * Either HEKETI_PROFILING in the environment or "profiling": true in the configuration is enough.
 * The library reads the variable by itself; the service reads its configuration, and passes
 * requests for /debug/pprof/ on.  While profiling is off these get what any unknown path gets.
 * What goes wrong: the headers of every request are kept.
 *
 * One thread for each connection, because a CPU profile takes as long as was asked for.
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

enum { HEADERS = 16 << 10 };

struct request {
	struct request *next;
	char text[HEADERS];
};

static struct request *contexts; /* of requests that were answered long ago */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Whether a text has "profiling": true; a real service has a parser. */
static int says_profiling(const char *json)
{
	const char *at = strstr(json, "\"profiling\"");

	if (!at)
		return 0;
	at += strlen("\"profiling\"");
	at += strspn(at, " \t\n:");
	return strncmp(at, "true", 4) == 0;
}

static int read_config(const char *path)
{
	char text[4096] = "";
	FILE *f = fopen(path, "r");

	if (!f)
		return 0;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return says_profiling(text);
}

__attribute__((noinline)) static char *read_headers(int fd)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r || read(fd, r->text, sizeof(r->text) - 1) <= 0) {
		free(r);
		return NULL;
	}
	pthread_mutex_lock(&lock);
	r->next = contexts;
	contexts = r;
	pthread_mutex_unlock(&lock);
	return r->text;
}

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

static void answer_text(void *context, int status, const char *text)
{
	static const struct sonde_header none[] = { { NULL, NULL } };

	answer(context, status, none, text, strlen(text));
}

/* 0 if it was a request for a profile and is answered. */
static int answer_profile(void *context, const char *method, const char *path, const char *query)
{
	if (strncmp(path, "/debug/pprof/", 13) != 0)
		return -1;
	return sonde_handle(&(struct sonde_request){ SONDE_REQUEST, .method = method, .path = path,
						     .query = query, .gone = gone },
			    answer, context);
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char *rest = read_headers(fd), *method = strsep(&rest, " "), *path = strsep(&rest, " ");
	char *query = path ? strchr(path, '?') : NULL;

	if (query)
		*query++ = '\0';
	if (path && answer_profile(arg, method, path, query) != 0) {
		if (strncmp(path, "/volumes/", 9) == 0)
			answer_text(arg, 200, "{\"size\": 100}\n");
		else
			answer_text(arg, 404, "404 page not found\n");
	}
	close(fd);
	return NULL;
}

static int listen_on(const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(s, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(s, 64) == 0)
		return s;
	perror("cannot listen");
	exit(1);
}

int main(int argc, char **argv)
{
	int s = listen_on(argc > 2 ? argv[2] : "8080");

	signal(SIGPIPE, SIG_IGN);
	/* Returns -EALREADY, and changes nothing, if the environment has switched it on. */
	if (argc > 1 && read_config(argv[1]))
		sonde_start(&(struct sonde_options){ SONDE_OPTIONS, .preset = "profiling-config" });
	for (;;) {
		int fd = accept(s, NULL, NULL);
		pthread_t t;

		if (fd < 0)
			continue;
		if (pthread_create(&t, NULL, serve, (void *)(intptr_t)fd) == 0)
			pthread_detach(t);
		else
			close(fd);
	}
}
