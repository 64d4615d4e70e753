/*
 * web-compare.h - the page that tells what changed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_WEB_COMPARE_H
#define UI_WEB_COMPARE_H

struct err;
struct page;
struct visit;

/* The body of the page. */
int web_compare_show(struct visit *v, const struct page *pg, struct err *err);

/* The same as JSON, with every function. */
void web_compare_send(struct visit *v);

#endif /* UI_WEB_COMPARE_H */
