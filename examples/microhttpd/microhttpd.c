/*
 * microhttpd.c - profiles under the port of a server made with libmicrohttpd
 *
 *	cc microhttpd.c $(pkg-config --cflags --libs sonde libmicrohttpd) -o microhttpd
 *	./microhttpd 8080 &
 *	curl http://localhost:8080/hello
 *	sonde -top http://localhost:8080/debug/pprof/heap
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <microhttpd.h>
#include <signal.h>
#include <sonde.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is known of a request before its handler is called, and its body, as it comes in. */
struct request {
	char *query;
	char body[65536];
	size_t nbody;
	int begun;
};

static void *on_uri(void *context, const char *uri, struct MHD_Connection *c)
{
	struct request *r = calloc(1, sizeof(*r));
	const char *mark = strchr(uri, '?');

	(void)context;
	(void)c;
	if (r && mark)
		r->query = strdup(mark + 1);
	return r;
}

static void on_end(void *context, struct MHD_Connection *c, void **at,
		   enum MHD_RequestTerminationCode why)
{
	struct request *r = *at;

	(void)context;
	(void)c;
	(void)why;
	if (r)
		free(r->query);
	free(r);
}

static void answer(void *context, int status, const struct sonde_header *headers, const void *body,
		   size_t nbody)
{
	struct MHD_Response *rs = MHD_create_response_from_buffer(nbody, (void *)(uintptr_t)body,
								  MHD_RESPMEM_MUST_COPY);

	for (; headers->name; headers++)
		MHD_add_response_header(rs, headers->name, headers->value);
	MHD_queue_response(context, (unsigned)status, rs);
	MHD_destroy_response(rs);
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *ndata, void **at)
{
	static const struct sonde_header none[] = { { NULL, NULL } };
	struct request *r = *at;
	size_t room;

	(void)context;
	(void)version;
	if (!r)
		return MHD_NO;
	if (!r->begun) { /* called once with the headers, and then for the body */
		r->begun = 1;
		return MHD_YES;
	}
	if (*ndata) {
		room = sizeof(r->body) - r->nbody;
		memcpy(r->body + r->nbody, data, *ndata < room ? *ndata : room);
		r->nbody += *ndata < room ? *ndata : room;
		*ndata = 0;
		return MHD_YES;
	}
	if (strncmp(url, "/debug/pprof", 12) == 0)
		sonde_handle(&(struct sonde_request){ SONDE_REQUEST, .method = method, .path = url,
						      .query = r->query, .body = r->body,
						      .nbody = r->nbody },
			     answer, c);
	else
		answer(c, 200, none, "hello\n", 6);
	return MHD_YES;
}

int main(int argc, char **argv)
{
	uint16_t port = (uint16_t)strtoul(argc > 1 ? argv[1] : "8080", NULL, 10);
	struct MHD_Daemon *d = MHD_start_daemon(
		MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL,
		on_request, NULL, MHD_OPTION_URI_LOG_CALLBACK, on_uri, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_END);

	if (!d) {
		fprintf(stderr, "cannot listen on port %u\n", port);
		return 1;
	}
	sonde_start(&(struct sonde_options){ SONDE_OPTIONS });
	for (;;)
		pause();
}
