/*
 * remote.h - ask the server a profile came from for the names of its functions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_REMOTE_H
#define SYMBOL_REMOTE_H

#include "net/http.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;
struct proxy_rules;

/* A mapping of a profile that came from a server: 'key' is its build id or, without one, file. */
struct remote_source {
	char *key, *url;
	uint64_t start;
};

struct remote_sources {
	struct remote_source *at;
	size_t n, cap;
};

/*
 * remote_sources_add() notes that 'p' came from 'url'.  A mapping that has neither file nor build
 * id gets the URL for a file, so that it can be told apart when profiles are merged.
 */
void remote_sources_add(struct remote_sources *s, struct profile *p, const char *url);
/* Moves what 'from' has to the end of 's'. */
void remote_sources_move(struct remote_sources *s, struct remote_sources *from);
void remote_sources_release(struct remote_sources *s);

struct remote_options {
	const struct remote_sources *sources;
	struct http_tls tls;
	const struct proxy_rules *proxy;
	struct notify *notify;
};

/*
 * symbolize_remotely() sends the addresses of every mapping that has no functions yet (or, with
 * 'force', of any) and came from a server to that server: "0x1234+0x5678" by POST to "symbol" in
 * the folder of the profile, or to "/symbolz" where the profile's path is not one of Go's or
 * gperftools'.  The answer has a line "0x1234 name" for each.
 *
 * Returns 0, or a negative errno and the reference's message where a server fails: it is then the
 * last that could have known.
 */
int symbolize_remotely(struct profile *p, const struct remote_options *o, bool force,
		       struct err *err);

#endif /* SYMBOL_REMOTE_H */
