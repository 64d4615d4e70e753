/*
 * web-server.c - answers for a browser
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "web/web-server.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/lazy.h"
#include "base/xalloc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>

/* 'HEADERS' is bytes for one request with all of its headers, 'FORM' for what is sent with it. */
enum { CONNECTIONS = 512, TIMEOUT_S = 30, HEADERS = 64 << 10, FORM = 64 << 10, BACKLOG = 64 };

/* A page loads its script, its style sheet and its data from here, and has none of them inline. */
static const char page_policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; "
				  "img-src 'self' data:; connect-src 'self'; frame-src 'self'; "
				  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const char web_drawing_policy[] = "sandbox allow-scripts; default-src 'none'; "
				  "script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
				  "frame-ancestors 'self'";

struct web_server {
	struct MHD_Daemon *daemon;
	bool local; /* for this machine only */
	uint16_t port;
	void (*answer)(const struct web_request *rq, struct web_reply *reply, void *ctx);
	void *ctx;
};

static struct {
	struct MHD_Daemon *(*start)(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback policy,
				    void *policy_ctx, MHD_AccessHandlerCallback handler, void *ctx,
				    ...);
	struct MHD_Response *(*response)(size_t n, void *p, enum MHD_ResponseMemoryMode mode);
	enum MHD_Result (*header)(struct MHD_Response *r, const char *name, const char *value);
	enum MHD_Result (*queue)(struct MHD_Connection *c, unsigned status, struct MHD_Response *r);
	void (*destroy)(struct MHD_Response *r);
	int (*values)(struct MHD_Connection *c, enum MHD_ValueKind kind, MHD_KeyValueIterator each,
		      void *ctx);
	const char *(*lookup)(struct MHD_Connection *c, enum MHD_ValueKind kind, const char *name);
	const union MHD_ConnectionInfo *(*info)(struct MHD_Connection *c,
						enum MHD_ConnectionInfoType type, ...);
} calls;

static int bind_calls(struct lazy_lib *lib, struct err *err)
{
	(void)err;
	*(void **)&calls.start = lazy_sym(lib, "MHD_start_daemon");
	*(void **)&calls.response = lazy_sym(lib, "MHD_create_response_from_buffer");
	*(void **)&calls.header = lazy_sym(lib, "MHD_add_response_header");
	*(void **)&calls.queue = lazy_sym(lib, "MHD_queue_response");
	*(void **)&calls.destroy = lazy_sym(lib, "MHD_destroy_response");
	*(void **)&calls.values = lazy_sym(lib, "MHD_get_connection_values");
	*(void **)&calls.lookup = lazy_sym(lib, "MHD_lookup_connection_value");
	*(void **)&calls.info = lazy_sym(lib, "MHD_get_connection_info");
	return 0;
}

static struct lazy_lib library = { "libmicrohttpd.so.12", "libmicrohttpd12", .bind = bind_calls };

#define ALLOWED "GET, HEAD, POST, DELETE"

/* ------------------------------------------------------------------ answers */

static void put_caching(struct MHD_Response *r, const struct web_reply *reply)
{
	char tag[64];

	if (!reply->tag) {
		(void)calls.header(r, "Cache-Control", "no-store");
		return;
	}
	snprintf(tag, sizeof(tag), "\"%s\"", reply->tag);
	(void)calls.header(r, "ETag", tag);
	(void)calls.header(r, "Cache-Control",
			   reply->forever ? "private, max-age=31536000, immutable" : "no-cache");
}

/* A browser that has it already is told so. */
static void answer_unchanged(struct MHD_Connection *c, struct web_reply *reply)
{
	struct str had = str_of(calls.lookup(c, MHD_HEADER_KIND, "If-None-Match"));

	if (!reply->tag || reply->status != MHD_HTTP_OK || str_find(had, str_of(reply->tag)) < 0)
		return;
	reply->status = MHD_HTTP_NOT_MODIFIED;
	reply->body.n = 0;
}

/* Hands the body over: it is freed when it has been sent. */
static enum MHD_Result send_body(struct MHD_Connection *c, const struct web_reply *reply,
				 struct out *body)
{
	struct MHD_Response *r = calls.response(body->n, body->p, MHD_RESPMEM_MUST_FREE);
	char file[128];
	enum MHD_Result done;

	if (!r)
		return MHD_NO;
	body->p = NULL;
	snprintf(file, sizeof(file), "attachment;filename=%s",
		 reply->file_name ? reply->file_name : "");
	(void)calls.header(r, "Content-Type", reply->type);
	(void)calls.header(r, "Content-Security-Policy",
			   reply->policy ? reply->policy : page_policy);
	(void)calls.header(r, "X-Content-Type-Options", "nosniff");
	(void)calls.header(r, "Referrer-Policy", "same-origin"); /* or forms have no origin */
	(void)calls.header(r, "Cross-Origin-Resource-Policy", "same-origin");
	(void)calls.header(r, "Vary", "Accept-Encoding");
	if (reply->packed)
		(void)calls.header(r, "Content-Encoding", "gzip");
	put_caching(r, reply);
	if (reply->file_name)
		(void)calls.header(r, "Content-Disposition", file);
	if (reply->location)
		(void)calls.header(r, "Location", reply->location);
	if (reply->allow)
		(void)calls.header(r, "Allow", reply->allow);
	done = calls.queue(c, reply->status, r);
	calls.destroy(r);
	return done;
}

static enum MHD_Result send_reply(struct MHD_Connection *c, struct web_reply *reply)
{
	enum MHD_Result done = send_body(c, reply, &reply->body);

	out_release(&reply->body);
	free(reply->location);
	return done;
}

void web_say(struct web_reply *reply, unsigned status, const char *line)
{
	reply->status = status;
	reply->type = "text/plain; charset=utf-8";
	reply->policy = NULL;
	reply->file_name = NULL;
	reply->packed = false;
	reply->body.n = 0;
	out_printf(&reply->body, "%s\n", line);
}

static enum MHD_Result send_line(struct MHD_Connection *c, unsigned status, const char *line)
{
	struct web_reply reply = { .allow =
					   status == MHD_HTTP_METHOD_NOT_ALLOWED ? ALLOWED : NULL };

	out_init(&reply.body, 0);
	web_say(&reply, status, line);
	return send_reply(c, &reply);
}

/* ------------------------------------------------------------------ who may ask */

static bool is_local_name(struct str host)
{
	static const char *const names[] = { "localhost", "127.0.0.1", "[::1]", "::1" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (str_is(host, names[i]))
			return true;
	}
	return false;
}

static bool is_local_peer(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = calls.info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *a = info ? info->client_addr : NULL;

	if (a && a->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, a, sizeof(in));
		return ntohl(in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	}
	if (a && a->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, a, sizeof(in6));
		return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
	}
	return false;
}

static bool is_local_request(struct MHD_Connection *c)
{
	struct str host = str_of(calls.lookup(c, MHD_HEADER_KIND, "Host"));
	ptrdiff_t colon = str_rfind_char(host, ':');

	if (colon >= 0 && !str_ends(host, STR("]")))
		host.n = (size_t)colon;
	return is_local_peer(c) && is_local_name(host);
}

/*
 * Whether a page of another site has the browser ask.  Browsers say so by themselves, and no page
 * can keep them from it; whoever says nothing is no browser.
 */
static bool is_foreign(struct MHD_Connection *c)
{
	const char *site = calls.lookup(c, MHD_HEADER_KIND, "Sec-Fetch-Site");
	const char *origin = calls.lookup(c, MHD_HEADER_KIND, "Origin");
	struct str host = str_of(calls.lookup(c, MHD_HEADER_KIND, "Host"));
	const char *name;

	if (site && strcmp(site, "same-origin") != 0)
		return true;
	if (!origin)
		return false;
	name = strstr(origin, "://");
	return !name || !str_is(host, name + 3);
}

/* ------------------------------------------------------------------ requests */

/* What has come of one so far. */
struct incoming {
	struct out form;
};

static void on_end(void *ctx, struct MHD_Connection *c, void **state,
		   enum MHD_RequestTerminationCode why)
{
	struct incoming *in = *state;

	(void)ctx;
	(void)c;
	(void)why;
	if (!in)
		return;
	out_release(&in->form);
	free(in);
	*state = NULL;
}

struct collected {
	struct web_request *rq;
	bool too_many;
};

static enum MHD_Result collect(void *ctx, enum MHD_ValueKind kind, const char *name,
			       const char *value)
{
	struct collected *all = ctx;
	struct web_request *rq = all->rq;

	(void)kind;
	all->too_many = rq->nargs == WEB_ARGS;
	if (all->too_many)
		return MHD_NO;
	rq->args[rq->nargs++] = (struct web_arg){ name, value ? value : "" };
	return MHD_YES;
}

/* "a=b&c=d" of a form, which is changed to strings. */
static void collect_form(struct out *form, struct collected *all)
{
	char *rest;

	out_char(form, '\0');
	rest = form->error ? NULL : form->p;
	for (char *pair = strsep(&rest, "&"); pair; pair = strsep(&rest, "&")) {
		char *value = strchr(pair, '=');

		if (value)
			*value++ = '\0';
		web_decode(pair);
		if (value)
			web_decode(value);
		if (*pair)
			(void)collect(all, MHD_POSTDATA_KIND, pair, value);
	}
}

/* Everything but the pages is redirected to them, with its parameters. */
static enum MHD_Result redirect(struct MHD_Connection *c, const struct web_request *rq,
				const char *url)
{
	bool slash_only = strcmp(url, "/ui") == 0;
	struct web_reply reply = { 0 };
	struct out to;

	out_init(&to, 0);
	out_text(&to, slash_only ? "/ui/" : "/ui");
	web_query(rq, NULL, NULL, STR(""), &to);
	out_init(&reply.body, 0);
	web_say(&reply, slash_only ? MHD_HTTP_MOVED_PERMANENTLY : MHD_HTTP_TEMPORARY_REDIRECT,
		"see /ui/");
	reply.location = mem_str(out_view(&to));
	out_release(&to);
	return send_reply(c, &reply);
}

/* Whether "gzip" is among what the client says it can unpack. */
static bool can_unpack(struct MHD_Connection *c)
{
	struct str rest = str_of(calls.lookup(c, MHD_HEADER_KIND, "Accept-Encoding")), one, name;

	while (str_split(&rest, ',', &one)) {
		if (!str_split(&one, ';', &name) || !str_is(str_trim(name), "gzip"))
			continue;
		return !str_is(str_trim(one), "q=0") && !str_is(str_trim(one), "q=0.0");
	}
	return false;
}

static enum MHD_Result answer_whole(const struct web_server *s, struct MHD_Connection *c,
				    const char *url, bool changes, struct incoming *in)
{
	struct web_request rq = { .path = url, .changes = changes, .unpacks = can_unpack(c) };
	struct collected all = { &rq, false };
	struct web_reply reply = { .status = MHD_HTTP_OK, .type = "text/html; charset=utf-8" };

	calls.values(c, MHD_GET_ARGUMENT_KIND, collect, &all);
	if (changes)
		collect_form(&in->form, &all);
	if (all.too_many)
		return send_line(c, MHD_HTTP_BAD_REQUEST, "too many parameters");
	if (in->form.error)
		return send_line(c, MHD_HTTP_CONTENT_TOO_LARGE, "this is too much for a form");
	if (strncmp(url, "/ui/", 4) != 0)
		return redirect(c, &rq, url);
	rq.path = url + 3;
	out_init(&reply.body, 0);
	s->answer(&rq, &reply, s->ctx);
	answer_unchanged(c, &reply);
	return send_reply(c, &reply);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *size, void **state)
{
	const struct web_server *s = ctx;
	bool changes = strcmp(method, "POST") == 0 || strcmp(method, "DELETE") == 0;
	struct incoming *in = *state;

	(void)version;
	if (in && *size > 0) {
		out_bytes(&in->form, upload, *size);
		*size = 0;
		return MHD_YES;
	}
	if (s->local && !is_local_request(c))
		return send_line(c, MHD_HTTP_FORBIDDEN, "permission denied");
	if (!changes && strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return send_line(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only " ALLOWED);
	if (changes && is_foreign(c))
		return send_line(c, MHD_HTTP_FORBIDDEN, "not for other sites");
	if (!in) { /* answered before the request has ended, the connection would end, too */
		in = mem_zeroed(1, sizeof(*in));
		out_init(&in->form, FORM);
		*state = in;
		return MHD_YES;
	}
	return answer_whole(s, c, url, changes, in);
}

/* ------------------------------------------------------------------ listening */

static int refuse(const struct web_address *at, const char *step, int error, struct err *err)
{
	char why[128];

	return err_set(err, -error, "listen tcp %s:%u: %s: %s", at->host, at->port, step,
		       errno_text(error, why, sizeof(why)));
}

/* One address of the name; the older kind if it has both, as Go does. */
static int resolve(const struct web_address *at, struct sockaddr_storage *to, socklen_t *n,
		   struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *found = NULL, *best;
	char port[8];
	int rc;

	snprintf(port, sizeof(port), "%u", at->port);
	rc = getaddrinfo(at->host, port, &hints, &found);
	if (rc != 0 || !found)
		return err_set(err, -EINVAL, "listen tcp: lookup %s: %s", at->host,
			       gai_strerror(rc));
	best = found;
	for (struct addrinfo *a = found; a; a = a->ai_next) {
		if (a->ai_family == AF_INET && best->ai_family != AF_INET)
			best = a;
	}
	memcpy(to, best->ai_addr, best->ai_addrlen);
	*n = best->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

/* Whether 'fd' listens at 'sa' now; '*port' is then which port that is. */
static bool listens(int fd, struct sockaddr_storage *sa, socklen_t n, uint16_t *port)
{
	char digits[8] = "";
	int on = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)sa, n) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)sa, &n) < 0)
		return false;
	(void)getnameinfo((struct sockaddr *)sa, n, NULL, 0, digits, sizeof(digits),
			  NI_NUMERICSERV);
	*port = (uint16_t)strtoul(digits, NULL, 10);
	return true;
}

/* A descriptor, or a negative errno. */
static int listen_at(const struct web_address *at, uint16_t *port, struct err *err)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t n = 0;
	int fd, rc = resolve(at, &sa, &n, err);

	if (rc)
		return rc;
	fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return refuse(at, "socket", errno, err);
	if (!listens(fd, &sa, n, port)) {
		rc = refuse(at, "bind", errno, err);
		close(fd);
		return rc;
	}
	return fd;
}

int web_serve(const struct web_address *at,
	      void (*answer)(const struct web_request *rq, struct web_reply *reply, void *ctx),
	      void *ctx, struct web_server **out, struct err *err)
{
	AUTO(freep) struct web_server *s = mem_zeroed(1, sizeof(*s));
	int fd, rc = lazy_open(&library, err);

	if (rc)
		return rc;
	fd = listen_at(at, &s->port, err);
	if (fd < 0)
		return fd;
	s->local = is_local_name(str_of(at->host));
	s->answer = answer;
	s->ctx = ctx;
	s->daemon = calls.start(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL, 0,
		NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)TIMEOUT_S, MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL, MHD_OPTION_END);
	if (!s->daemon) {
		close(fd);
		return err_set(err, -EIO, "cannot start the web server on %s:%u", at->host,
			       s->port);
	}
	*out = TAKE(s);
	return 0;
}

uint16_t web_port(const struct web_server *s)
{
	return s->port;
}
