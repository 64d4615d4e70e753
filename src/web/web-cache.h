/*
 * web-cache.h - answers that have been given, for whoever asks the same again
 *
 * Any number of threads may use one.  It never holds more than its budget: what has not been asked
 * for longest goes first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WEB_WEB_CACHE_H
#define WEB_WEB_CACHE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct web_cache;
struct web_reply;

/* An empty one for 'budget' bytes. */
struct web_cache *web_cache_new(size_t budget);
void web_cache_free(struct web_cache *c);

/*
 * web_cache_put() keeps a copy of the answer to 'key', if it is a success, no larger than a quarter
 * of the budget, and not to be saved as a file.  Type and policy of the reply must live as long as
 * the cache.  web_cache_get() fills in a reply that has an empty body; false if there is none.
 */
void web_cache_put(struct web_cache *c, struct str key, const struct web_reply *reply);
bool web_cache_get(struct web_cache *c, struct str key, struct web_reply *reply);

#endif /* WEB_WEB_CACHE_H */
