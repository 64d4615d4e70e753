/*
 * page.h - a report as a page with links to the others
 *
 * Complete without a script; where there is one, it finds its element by data-view.  Links keep the
 * parameters of the request, which have the reference's names.  Whatever comes from a profile is
 * made visible and escaped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include "base/out.h"

#include <stdbool.h>
#include <stddef.h>

struct compare;
struct err;
struct lines;
struct profile;
struct report;
struct trust;
struct web_request;

/* A configuration that has been saved under a name. */
struct page_config {
	const char *name;
	struct str query; /* "?..." of the link that has it */
	bool current;     /* it is what the page shows */
	bool saved;       /* by a person, who may delete it */
};

struct page {
	const struct web_request *rq;
	const struct profile *profile; /* which kinds of values it has */
	struct report *report;         /* NULL: none could be made */
	const char *view;              /* its path, without the slash */
	const char *home;              /* what the page is called that lists others; or NULL */
	bool has_base;                 /* it is a comparison with another profile */
	struct trust *trust;           /* what the report shows, or NULL; see page_begin() */
	struct str command;            /* that prints the same, in printable ASCII; or "" */
	struct str warnings;           /* lines */
	const struct page_config *configs;
	size_t nconfigs;
};

/* What pages load, as tools/bundle made it; under "static/" for page_begin().  The last has no
 * name. */
struct page_file {
	const char *name, *type, *tag; /* the tag is a hash of what is in it */
	const char *needs; /* names of the scripts that it imports, with blanks between */
	const unsigned char *p;
	size_t n;
};
extern const struct page_file page_files[];

void page_begin(const struct page *pg, struct out *o);
/* The same for a page that is about no profile; 'title' is its heading. */
void page_begin_plain(struct str title, struct out *o);
void page_end(struct out *o);
/* Has the script of a view loaded while the page still is: "flame".  Else only a script that has
 * been loaded asks for the next. */
void page_preload(const char *view, struct out *o);

/* The functions of 'r' with the most, as a table, with links to what the view 'to' has of each. */
void page_top(const struct page *pg, struct report *r, const char *to, struct out *o);
/* Source code of the functions that match; see web_listing_init(). */
int page_source(const struct page *pg, struct out *o, struct err *err);
/* What changed, by 'c', which is the report's own. */
void page_compare(const struct page *pg, struct report *r, const struct compare *c, struct out *o);
/* An attribute of a flame graph: where it learns which functions have changed beyond chance. */
void page_verdicts(const struct page *pg, struct out *o);
/* Labels and their values, with links that filter and group by them. */
void page_labels(const struct page *pg, struct out *o);
/*
 * A report that is text: what is put into l->text between the two goes to the page.  -EFBIG if that
 * were more than 'most' bytes.
 */
void page_text_begin(struct lines *l, struct out *to, size_t most);
int page_text_end(struct lines *l);
/* A drawing, which "<path>" with the request's parameters is. */
void page_drawing(const struct page *pg, const char *path, struct out *o);
/* The graph, which "graph.svg" with the request's parameters is. */
void page_graph(const struct page *pg, struct out *o);
/* One line that says what is the matter, with a link to another view if 'to' is not NULL. */
void page_note(const struct page *pg, struct str text, const char *to, const char *label,
	       struct out *o);

#endif /* WEB_PAGE_H */
