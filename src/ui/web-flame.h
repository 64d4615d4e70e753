/*
 * web-flame.h - the flame graph of the web interface
 *
 * The page is a canvas that its script fills; without one, the drawing.  Trees are made once per
 * configuration and kept for the next request.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_WEB_FLAME_H
#define UI_WEB_FLAME_H

#include <stdbool.h>

struct err;
struct flame_shelf;
struct page;
struct visit;

/* The trees that are kept. */
struct flame_shelf *flame_shelf_new(void);
void flame_shelf_free(struct flame_shelf *s);

/*
 * Lets go of what can be made again and is more than the tree of a whole profile, or of that, too
 * ('whole'), unless somebody is using it: before a report that takes much memory itself.
 */
void flame_shelf_lighten(struct flame_shelf *s, bool whole);

/* Makes the tree that is most likely asked for first, of a struct web_views. */
void web_flame_prepare(void *views);

/* For the tables of web-views.c. */
int web_flame_page(struct visit *v, const struct page *pg, struct err *err);
/*
 * What a window can show (render/flame-json.h).  Parameters beside those of all pages:
 *
 *	px	how wide it is
 *	p	callers and callees of the functions that match
 *	z	the frame on top, as "level.hash.stack"; "u" before it for one among the callers.
 *The hash tells it wherever its stacks are, which are only tried first.
 */
void web_flame_data(struct visit *v);
/* "q": which places match, and what the stacks with them are worth; or an "error", as of somebody
 * who is still typing. */
void web_flame_search(struct visit *v);
/* "place": its name, however long it is. */
void web_flame_name(struct visit *v);

#endif /* UI_WEB_FLAME_H */
