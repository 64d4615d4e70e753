/*
 * target.h - a program whose profiles are fetched over HTTP
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DAEMON_TARGET_H
#define DAEMON_TARGET_H

#include "base/str.h"
#include "net/http.h"

#include <stdatomic.h>
#include <stdint.h>

struct err;

enum { KINDS_MOST = 16 };

struct target {
	struct str name;
	struct str
		*urls; /* of its replicas: one of them is asked each time; or kube://ns/pod:port */
	size_t nurls;
	struct str process; /* ask only if a process of this name runs here; "": always */
	struct str kinds[KINDS_MOST];
	size_t nkinds;
	int64_t seconds;          /* of a CPU profile, and of windows with rates */
	int64_t timeout_ms;       /* beside that */
	uint64_t mutex, block;    /* rates for the window only; 0: as the program has them */
	struct str token_file;    /* read for each request */
	struct str ca, cert, key; /* files; "": none */
	bool insecure;
};

/* The URL of a profile: "http://host:8080" and "heap" are "http://host:8080/debug/pprof/heap". */
char *target_url(const struct target *t, struct str base, struct str kind);

/*
 * Fetches one profile.  What is returned is whole and can be read: a page with an error, an empty
 * body, a text or half of a profile are failures.  '*rs' is the caller's to release.
 */
int target_fetch(const struct target *t, struct str base, struct str kind, struct http_line *line,
		 const atomic_bool *stop, struct http_response *rs, struct err *err);

/* Fetches a page that is no profile, of a few megabytes at most; "heap?debug=1". */
int target_text(const struct target *t, struct str base, struct str kind, struct http_line *line,
		const atomic_bool *stop, struct http_response *rs, struct err *err);

/* Whether a process of that name runs on this machine. */
bool process_runs(struct str name);

#endif /* DAEMON_TARGET_H */
