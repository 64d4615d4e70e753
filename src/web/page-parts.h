/*
 * page-parts.h - what the parts of a page have in common; for web/ only
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WEB_PAGE_PARTS_H
#define WEB_PAGE_PARTS_H

#include "base/str.h"

#include <stdint.h>

struct out;
struct page;

/* Text of a stranger: visible, escaped, and no longer than anybody reads. */
void page_safe(struct out *o, struct str s);

/*
 * page_link() begins a link to a view, with the parameters of the request but for 'name' (may be
 * NULL), which is 'value': its last byte is the quote behind the address.
 */
void page_link(struct out *o, const struct page *pg, const char *path, const char *name,
	       struct str value);

/* A regular expression for 'name' and nothing else; peek puts a line number behind it. */
void page_quote(struct out *o, struct str name);

/* Links to the other views and kinds of values; forms for filters and saved configurations. */
void page_menus(const struct page *pg, struct out *o);

/* A bar as long as the share that 'part' is of 'all', to be behind a number. */
void page_bar(struct out *o, int64_t part, int64_t all);

/* What is lost, left out and without a name; and the command that prints the same. */
void page_trust(const struct page *pg, struct out *o);

#endif /* WEB_PAGE_PARTS_H */
