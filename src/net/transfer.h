/*
 * transfer.h - one request and its answer over libcurl, without redirects
 *
 * Private to net/: http.h is what others use.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef NET_TRANSFER_H
#define NET_TRANSFER_H

#include "net/curl.h"
#include "net/http.h"
#include "net/url.h"

#include <sys/socket.h>

/* Why we ended a transfer that libcurl would have carried on with. */
enum transfer_end {
	END_NOT_YET,
	END_STOPPED,     /* the user asked */
	END_NO_HEADER,   /* the header did not come in time */
	END_STALLED,     /* the body did not come on */
	END_TOO_LARGE,   /* the body is larger than the limit */
	END_HEADER_SIZE, /* the header is */
	END_ENOUGH,      /* we have as much of an error page as we want */
	END_NO_MEMORY,
};

struct transfer {
	const struct http_request *rq;
	struct arena *mem; /* for what lives as long as the whole request */
	struct str proxy;  /* "" for none */

	/* These differ from what 'rq' has once a redirect has been followed. */
	struct url url;
	const char *method;
	struct str body;
	bool keep_secrets; /* headers that prove who we are stay at home */

	struct http_response rs; /* the answer, as far as it has come */
	struct str location;     /* where it sends us, as a whole URL, or "" */

	/* private to transfer.c and failure.c */
	const struct curl_calls *curl;
	CURL *easy;
	struct curl_slist *headers;
	size_t header_len, body_cap;
	bool header_done;
	enum transfer_end end;
	int64_t since_ms; /* when the wait began that a limit is put on */
	int64_t sent_ms, shown_ms;
	size_t window; /* size of the body at 'since_ms' */
	int64_t sent;  /* bytes of the request's body */
	bool dialled;
	struct sockaddr_storage dial; /* the first address tried */
	char why[CURL_ERROR_SIZE];
};

/*
 * transfer_run() makes the request.  Returns 0 with 't->rs' filled in, or a negative errno with
 * the sentence in 'err'.  In both cases the caller releases 't->rs'.
 */
int transfer_run(struct transfer *t, struct err *err);

/* Says in 'err', in Go's words, why the transfer ended with 'code' or 't->end'. */
int transfer_explain(struct transfer *t, CURLcode code, struct err *err);

/* err_set() with "Get "<url>": " in front. */
int transfer_fail(const struct transfer *t, struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static inline bool transfer_succeeded(const struct transfer *t)
{
	return t->rs.status >= 200 && t->rs.status <= 299;
}

#endif /* NET_TRANSFER_H */
