/*
 * endpoint.h - whether a program serves profiles, and what is to be known of it
 *
 * That a port is open, or a Service exists, says nothing: a build without profiling answers, too.
 * So a heap profile is fetched and read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_ENDPOINT_H
#define UI_ENDPOINT_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct source_request;

enum endpoint_state {
	ENDPOINT_SERVES,
	ENDPOINT_SILENT,       /* nothing answers */
	ENDPOINT_CLOSED,       /* it wants to know who we are */
	ENDPOINT_NOT_PROFILED, /* something else answers */
};

struct endpoint_row {
	struct str name;
	uint64_t count;
};

enum { ENDPOINT_ROWS = 64 };

struct endpoint {
	struct arena a;
	struct str url;     /* ".../debug/pprof/", to be shown */
	struct str address; /* the same to be asked, which may have a password in it */
	enum endpoint_state state;
	struct str why;     /* it is not ENDPOINT_SERVES */
	struct str runtime; /* "libsonde", "Go", or "" if that cannot be told */
	struct str version; /* or "" */
	struct str program; /* its command line, or "" */
	struct endpoint_row kinds[ENDPOINT_ROWS];
	size_t nkinds;
	struct str off[ENDPOINT_ROWS]; /* what is off, and why: "mutex: its rate is 0" */
	size_t noff;
	size_t samples; /* in its heap profile */
};

/*
 * Asks the program at 'where' (host:port, a URL, or kube://namespace/pod:port).  'rq' is how; its
 * source and limits do not count; 'headers' go with each request, or NULL.  -EINVAL if that is no
 * place; anything else that may be there is told in '*e'.  Release it in any case.
 */
int endpoint_check(const char *where, const struct source_request *rq, const char *const *headers,
		   struct endpoint *e, struct err *err);
void endpoint_release(struct endpoint *e);

/*
 * endpoint_get() gets one page of it ("/debug/pprof/cmdline"), of at most 'max' bytes.  Only 'rq'
 * counts besides.  Failure as of endpoint_check(), or that the answer is not what was asked for.
 */
struct http_response;
int endpoint_get(const char *where, const struct source_request *rq, const char *path, size_t max,
		 struct http_response *rs, struct err *err);

/* Parts of it, for tests: what an index page and a page of metrics tell. */
void endpoint_read_index(struct endpoint *e, struct str page);
void endpoint_read_metrics(struct endpoint *e, struct str text);

#endif /* UI_ENDPOINT_H */
