/*
 * serve.h - "sonde -http=:8080": a profile in the browser
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_SERVE_H
#define UI_SERVE_H

struct config;
struct err;
struct notify;
struct source_options;

/* 0 if 'address' is one to listen on: said before a profile is fetched for thirty seconds. */
int serve_check(const char *address, struct err *err);

/*
 * serve() brings in what is to be seen, answers at so->http, says where, opens a browser unless
 * so->no_browser, and then waits for the signal that ends the program.  Returns only if it cannot
 * begin.
 */
int serve(const struct config *cfg, const struct source_options *so, struct notify *n,
	  struct err *err);

#endif /* UI_SERVE_H */
