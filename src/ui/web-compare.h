/*
 * web-compare.h - the page that tells what changed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_WEB_COMPARE_H
#define UI_WEB_COMPARE_H

struct err;
struct out;
struct page;
struct profile;
struct visit;

/*
 * What a report is made of, for this thread.  Of a comparison the parameter "side" may choose:
 * "before" and "after" alone, or "both", told apart even if -base does not.
 */
struct profile *web_compare_side(struct visit *v);

/* The body of the page. */
int web_compare_show(struct visit *v, const struct page *pg, struct err *err);

/* "sonde compare --all ...", which prints the same. */
void web_compare_command(const struct visit *v, struct out *o);

/* The same as JSON, with every function; "changed" leaves only those that have. */
void web_compare_send(struct visit *v);

#endif /* UI_WEB_COMPARE_H */
