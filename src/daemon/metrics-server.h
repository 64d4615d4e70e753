/*
 * metrics-server.h - numbers about sonded itself, for Prometheus
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DAEMON_METRICS_SERVER_H
#define DAEMON_METRICS_SERVER_H

struct err;
struct metrics_server;
struct out;

/*
 * Answers GET /metrics on 'addr' ("localhost:9104", ":9104") with what 'write' writes, called from
 * a thread of the server.  libmicrohttpd does the work, and is loaded for it.
 */
int metrics_serve(const char *addr, void (*write)(struct out *o, void *ctx), void *ctx,
		  struct metrics_server **out, struct err *err);
void metrics_stop(struct metrics_server *m); /* may be NULL */

#endif /* DAEMON_METRICS_SERVER_H */
