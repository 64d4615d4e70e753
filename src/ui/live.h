/*
 * live.h - "sonde -http=:8080 http://host:6060": a program as it runs, in the browser
 *
 * Lists the program's profiles, takes one when asked to, and shows its memory and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_LIVE_H
#define UI_LIVE_H

#include <stdbool.h>

struct config;
struct live;
struct source_options;
struct web_reply;
struct web_request;

/*
 * Whether the source is a program, and not one of its profiles: a URL with a scheme, but without a
 * path other than that of the list of profiles.  A length, a base, or the name "pprof" ask for what
 * the reference does: a CPU profile at once.
 */
bool live_is(const struct source_options *so);

/* Everything must live as long as the program. */
struct live *live_new(const struct config *cfg, const struct source_options *so,
		      const char *settings);

/* For web_serve(), with what live_new() gave. */
void live_answer(const struct web_request *rq, struct web_reply *reply, void *ctx);

#endif /* UI_LIVE_H */
