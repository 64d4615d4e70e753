/*
 * http.c - one HTTP or HTTPS request, with limits on everything
 *
 * A request is a chain of transfers, one for each redirect.  We follow them ourselves because
 * each may need another proxy, and because Go's limits and messages differ from libcurl's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/http.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "net/proxy.h"
#include "net/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

enum {
	REQUESTS_MAX = 10,
	URL_MEMORY = 16 << 20,
	DEFAULT_WAIT_MS = 60000,
	DEFAULT_BODY_MAX = 1 << 30,
	ERROR_TEXT_MAX = 3500, /* of a server's explanation */
	TOKEN_MAX = 64 << 10,
};

struct str http_header(const struct http_response *r, const char *name)
{
	struct str rest = str_of(r->header), line;
	size_t n = strlen(name);

	while (str_split(&rest, '\n', &line))
		if (line.n > n && line.p[n] == ':' && strncasecmp(line.p, name, n) == 0)
			return str_trim(str_skip(line, n + 1));
	return STR("");
}

int http_token(const char *file, char **header, struct err *err)
{
	struct file_bytes b;
	int rc = file_read(file, TOKEN_MAX, &b, err);

	if (rc < 0)
		return rc;
	*header = mem_printf("Authorization: Bearer %.*s",
			     STR_ARG(str_trim((struct str){ b.p, b.n })));
	file_bytes_release(&b);
	return 0;
}

void http_response_release(struct http_response *r)
{
	free(r->url);
	free(r->header);
	free(r->body);
	*r = (struct http_response){ 0 };
}

/* What the server says went wrong may be shown, but not obeyed by the terminal. */
static void print_harmless(struct out *o, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		bool harmless = (c >= ' ' && c != 0x7f) || c == '\n' || c == '\t';

		out_char(o, harmless ? (char)c : '?');
	}
}

int http_refusal(const struct http_response *r, struct err *err)
{
	struct str text = { r->body, r->nbody < ERROR_TEXT_MAX ? r->nbody : ERROR_TEXT_MAX };
	struct out o;

	out_init(&o, 0);
	if (http_header(r, "X-Go-Pprof").n &&
	    str_find(http_header(r, "Content-Type"), STR("text/plain")) >= 0) {
		out_text(&o, " - ");
		print_harmless(&o, text);
	}
	err_set(err, -EREMOTEIO, "server response: %s%.*s", r->status_text, (int)o.n,
		o.p ? o.p : "");
	out_release(&o);
	return -EREMOTEIO;
}

/* "host:" is "host". */
static void drop_empty_port(struct url *u)
{
	ptrdiff_t colon = str_rfind_char(u->host, ':');

	if (colon >= 0 && (size_t)colon + 1 == u->host.n && u->host.n > 0)
		u->host.n--;
}

static bool is_port_number(struct str port)
{
	unsigned v = 0;

	for (size_t i = 0; i < port.n && v < 65536; i++)
		v = v * 10 + (unsigned)(port.p[i] - '0');
	return v < 65536;
}

/* Refuses what cannot be fetched, in Go's words, before libcurl does it in its own. */
static int check_url(struct transfer *t, struct err *err)
{
	struct str q, port = url_port(&t->url);

	if (!str_is(t->url.scheme, "http") && !str_is(t->url.scheme, "https")) {
		q = url_quote(t->url.scheme, t->mem);
		return transfer_fail(t, err, -EPROTONOSUPPORT, "unsupported protocol scheme %.*s",
				     STR_ARG(q));
	}
	if (t->url.host.n == 0)
		return transfer_fail(t, err, -EINVAL, "http: no Host in request URL");
	if (!is_port_number(port))
		return transfer_fail(t, err, -EINVAL, "dial tcp: address %.*s: invalid port",
				     STR_ARG(port));
	return 0;
}

static int run_one(struct transfer *t, struct err *err)
{
	struct err why = { "" };
	int rc = check_url(t, err);

	if (rc)
		return rc;
	rc = proxy_for(t->rq->proxy, &t->url, t->mem, &t->proxy, &why);
	if (rc)
		return transfer_fail(t, err, rc, "%s", *why.msg ? why.msg : "out of memory");
	return transfer_run(t, err);
}

static bool is_redirect(const struct transfer *t)
{
	int s = t->rs.status;

	return t->location.n && (s == 301 || s == 302 || s == 303 || s == 307 || s == 308);
}

/* Makes 't' the request that its answer asks for. */
static int follow(struct transfer *t, struct err *err)
{
	struct transfer next = { .rq = t->rq,
				 .mem = t->mem,
				 .curl = t->curl,
				 .method = t->method,
				 .body = t->body,
				 .keep_secrets = t->keep_secrets };
	struct err why = { "" };
	int rc = url_parse(t->location, t->mem, &next.url, &why);

	if (rc)
		return transfer_fail(t, err, rc, "failed to parse Location header: %s", why.msg);
	if (t->rs.status != 307 && t->rs.status != 308) {
		next.body = STR("");
		if (strcmp(t->method, "HEAD") != 0)
			next.method = "GET";
	}
	if (!str_eq(url_hostname(&next.url), url_hostname(&t->url)))
		next.keep_secrets = true;
	http_response_release(&t->rs);
	*t = next;
	return 0;
}

/* Go names the place it would have gone to as the server wrote it. */
static int too_many(struct transfer *t, struct err *err)
{
	struct str where = http_header(&t->rs, "Location");
	struct url u;

	if (url_parse(where, t->mem, &u, NULL) == 0)
		t->url = u;
	return transfer_fail(t, err, -ELOOP, "stopped after %d redirects", REQUESTS_MAX);
}

static int run_all(struct transfer *t, struct err *err)
{
	int rc = run_one(t, err);

	for (int n = 1; rc == 0 && is_redirect(t); n++) {
		if (n == REQUESTS_MAX)
			return too_many(t, err);
		rc = follow(t, err);
		if (rc == 0)
			rc = run_one(t, err);
	}
	return rc;
}

static struct http_request with_defaults(const struct http_request *rq)
{
	struct http_request r = *rq;

	if (!r.method)
		r.method = r.body.n ? "POST" : "GET";
	if (r.wait_ms <= 0)
		r.wait_ms = DEFAULT_WAIT_MS;
	if (r.stall_ms <= 0)
		r.stall_ms = DEFAULT_WAIT_MS;
	if (r.max_body == 0)
		r.max_body = DEFAULT_BODY_MAX;
	return r;
}

static int prepare(struct transfer *t, struct err *err)
{
	int rc = curl_load(&t->curl, err);

	if (rc == 0)
		rc = url_parse(str_of(t->rq->url), t->mem, &t->url, err);
	if (rc == 0)
		drop_empty_port(&t->url);
	return rc;
}

int http_fetch(const struct http_request *rq, struct http_response *out, struct err *err)
{
	struct http_request full = with_defaults(rq);
	struct arena mem;
	struct transfer t = { .rq = &full, .mem = &mem, .method = full.method, .body = full.body };
	struct str url;
	int rc;

	arena_init(&mem, URL_MEMORY);
	rc = prepare(&t, err);
	if (rc == 0)
		rc = run_all(&t, err);
	if (rc == 0) {
		url = url_print(&t.url, &mem);
		t.rs.url = url.p ? strdup(url.p) : NULL;
		if (!t.rs.url)
			rc = err_set(err, -ENOMEM, "out of memory");
	}
	if (rc)
		http_response_release(&t.rs);
	else
		*out = t.rs;
	arena_release(&mem);
	return rc;
}
