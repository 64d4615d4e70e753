/*
 * metrics-server.c - numbers about sonded itself, for Prometheus
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "daemon/metrics-server.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/lazy.h"
#include "base/out.h"
#include "base/xalloc.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdlib.h>

enum { CONNECTIONS = 16, TIMEOUT_S = 10 };

struct metrics_server {
	struct MHD_Daemon *daemon;
	void (*write)(struct out *o, void *ctx);
	void *ctx;
};

static struct {
	struct MHD_Daemon *(*start)(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback policy,
				    void *policy_ctx, MHD_AccessHandlerCallback handler, void *ctx,
				    ...);
	void (*stop)(struct MHD_Daemon *d);
	struct MHD_Response *(*response)(size_t n, void *p, enum MHD_ResponseMemoryMode mode);
	enum MHD_Result (*header)(struct MHD_Response *r, const char *name, const char *value);
	enum MHD_Result (*queue)(struct MHD_Connection *c, unsigned status, struct MHD_Response *r);
	void (*destroy)(struct MHD_Response *r);
} calls;

static int bind_calls(struct lazy_lib *lib, struct err *err)
{
	(void)err;
	*(void **)&calls.start = lazy_sym(lib, "MHD_start_daemon");
	*(void **)&calls.stop = lazy_sym(lib, "MHD_stop_daemon");
	*(void **)&calls.response = lazy_sym(lib, "MHD_create_response_from_buffer");
	*(void **)&calls.header = lazy_sym(lib, "MHD_add_response_header");
	*(void **)&calls.queue = lazy_sym(lib, "MHD_queue_response");
	*(void **)&calls.destroy = lazy_sym(lib, "MHD_destroy_response");
	return 0;
}

static struct lazy_lib library = { "libmicrohttpd.so.12", "libmicrohttpd12", .bind = bind_calls };

static enum MHD_Result send_text(struct MHD_Connection *c, unsigned status, struct str text)
{
	struct MHD_Response *r = calls.response(text.n, (void *)text.p, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result done;

	if (!r)
		return MHD_NO;
	(void)calls.header(r, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
	done = calls.queue(c, status, r);
	calls.destroy(r);
	return done;
}

static enum MHD_Result answer(void *ctx, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *size, void **state)
{
	const struct metrics_server *m = ctx;
	enum MHD_Result done;
	struct out o;

	(void)version;
	(void)upload;
	(void)state;
	*size = 0;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return send_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, STR("only GET\n"));
	if (strcmp(url, "/metrics") != 0)
		return send_text(c, MHD_HTTP_NOT_FOUND, STR("only /metrics\n"));
	out_init(&o, 0);
	m->write(&o, m->ctx);
	done = send_text(c, MHD_HTTP_OK, out_view(&o));
	out_release(&o);
	return done;
}

/* "host:port", ":port", "[::1]:port"; to be freed with freeaddrinfo(). */
static struct addrinfo *resolve(const char *addr, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *found = NULL;
	struct str host = str_of(addr);
	ptrdiff_t colon = str_rfind_char(host, ':');
	AUTO(freep) char *name = NULL;
	int rc;

	if (colon < 0) {
		err_set(err, -EINVAL, "'%s' is no address: host:port or :port", addr);
		return NULL;
	}
	host.n = (size_t)colon;
	if (host.n > 1 && host.p[0] == '[' && host.p[host.n - 1] == ']')
		host = (struct str){ host.p + 1, host.n - 2 };
	name = mem_str(host);
	rc = getaddrinfo(host.n ? name : NULL, addr + colon + 1, &hints, &found);
	if (rc != 0)
		err_set(err, -EINVAL, "'%s' is no address: %s", addr, gai_strerror(rc));
	return rc == 0 ? found : NULL;
}

int metrics_serve(const char *addr, void (*write)(struct out *o, void *ctx), void *ctx,
		  struct metrics_server **out, struct err *err)
{
	struct metrics_server *m;
	struct addrinfo *at;
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD;
	int rc = lazy_open(&library, err);

	if (rc < 0)
		return rc;
	at = resolve(addr, err);
	if (!at)
		return -EINVAL;
	m = mem_zeroed(1, sizeof(*m));
	m->write = write;
	m->ctx = ctx;
	if (at->ai_family == AF_INET6)
		flags |= MHD_USE_DUAL_STACK;
	m->daemon = calls.start(flags, 0, NULL, NULL, answer, m, MHD_OPTION_SOCK_ADDR, at->ai_addr,
				MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
				MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S, MHD_OPTION_END);
	freeaddrinfo(at);
	if (!m->daemon) {
		free(m);
		return err_set(err, -EADDRINUSE, "cannot listen on %s", addr);
	}
	*out = m;
	return 0;
}

void metrics_stop(struct metrics_server *m)
{
	if (m)
		calls.stop(m->daemon);
	free(m);
}
