/*
 * http.h - one HTTP or HTTPS request, with limits on everything
 *
 * libcurl does the work, and is loaded when the first request is made.  Redirects, proxies and
 * the words of a failure are Go's, because that is what users of the reference tool know.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include "base/str.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct http_line;
struct notify;
struct proxy_rules;

/* PEM files; NULL or "" for none. */
struct http_tls {
	const char *cert, *key; /* of this client; both or neither */
	const char *ca;         /* trust these instead of the system's */
	bool insecure;          /* believe any server */
};

struct http_request {
	const char *method;         /* NULL: GET, or POST when there is a body */
	const char *url;            /* http or https */
	const char *const *headers; /* "Name: value", the last one NULL; NULL: none */
	struct str body;

	/*
	 * Limits.  Connecting (with name lookup and TLS) and waiting for the response's header
	 * may each take 'wait_ms'; the body must bring at least a kilobyte every 'stall_ms'.
	 * 0: a minute.  A body larger than 'max_body' is a failure (0: a gigabyte).
	 */
	int64_t wait_ms, stall_ms;
	size_t max_body;

	struct http_tls tls;
	struct http_line *line;          /* to keep connections on; NULL: one for this request */
	const struct proxy_rules *proxy; /* NULL: none */
	struct notify *notify;
	int64_t expect_s;        /* for progress: how many seconds the server needs; 0: unknown */
	const atomic_bool *stop; /* if not NULL: give up when its owner has set it */
};

struct http_response {
	int status;
	char status_text[128]; /* "404 Not Found", as the server wrote it */
	char *url;             /* where the answer came from, after redirects */
	char *header;          /* private: lines of the response's header */
	char *body;            /* from malloc(), NULL if empty; not NUL-terminated */
	size_t nbody;
};

/*
 * http_fetch() makes the request and follows up to nine redirects.  Any status is a success;
 * of a body that does not come with a status of 200 to 299 at most 64 kB are kept, and what is
 * missing of it is no failure.  Release '*out' with http_response_release().
 *
 * On failure returns a negative errno, with '*out' untouched and in 'err' what Go would say:
 * "Get "http://host/": dial tcp 127.0.0.1:80: connect: connection refused".  -EINTR: 'stop'
 * was set; -ETIMEDOUT: a limit passed; -EFBIG: 'max_body'; -ENOENT: no libcurl.
 *
 * Any thread may call it, except that the first call must not race with a change of locale or
 * environment.  'notify' is called from this thread only.
 */
int http_fetch(const struct http_request *rq, struct http_response *out, struct err *err);

/*
 * A line keeps the connections of its requests open for the next ones.  One request at a time: a
 * thread that makes requests beside others has a line of its own.  NULL when there is no memory.
 */
struct http_line *http_line_open(struct err *err);
void http_line_close(struct http_line *line); /* may be NULL */

/* "Authorization: Bearer ...", with the token that is in a file now; from malloc(). */
int http_token(const char *file, char **header, struct err *err);

/* The value of a header ("Content-Type"), the first if there are several, or "". */
struct str http_header(const struct http_response *r, const char *name);

/*
 * http_refusal() says in 'err' that the answer is not what was asked for, as the reference does:
 * "server response: 404 Not Found", with the server's own words behind it where they are meant
 * for people.  Returns -EREMOTEIO.
 */
int http_refusal(const struct http_response *r, struct err *err);

void http_response_release(struct http_response *r);

#endif /* NET_HTTP_H */
