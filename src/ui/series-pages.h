/*
 * series-pages.h - "sonde -http=:8080 TREE": profiles over time, in the browser
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_SERIES_PAGES_H
#define UI_SERIES_PAGES_H

struct config;
struct series;
struct series_pages;
struct web_reply;
struct web_request;

/* Everything must live as long as the program. */
struct series_pages *series_pages_new(struct series *s, const struct config *cfg,
				      const char *settings);

/*
 * For web_serve(), with what series_pages_new() gave.  A profile is /ui/of/web:heap:1600000000/, a
 * range has a second time behind a dash, and a comparison a second one of these behind a tilde.
 */
void series_pages_answer(const struct web_request *rq, struct web_reply *reply, void *ctx);

#endif /* UI_SERIES_PAGES_H */
