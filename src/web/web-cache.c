/*
 * web-cache.c - answers that have been given, for whoever asks the same again
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "web/web-cache.h"

#include "base/xalloc.h"
#include "web/web-server.h"

#include <pthread.h>
#include <stdlib.h>

enum { OK = 200 };

struct kept {
	struct kept *next; /* asked for less recently */
	char *key;
	size_t nkey;
	char *body;
	size_t n;
	const char *type, *policy, *tag;
	bool packed, forever;
};

struct web_cache {
	pthread_mutex_t lock;
	size_t budget, used;
	struct kept *first;
};

static size_t size_of(const struct kept *k)
{
	return sizeof(*k) + k->nkey + k->n;
}

static void free_kept(struct kept *k)
{
	free(k->key);
	free(k->body);
	free(k);
}

struct web_cache *web_cache_new(size_t budget)
{
	struct web_cache *c = mem_zeroed(1, sizeof(*c));

	c->budget = budget;
	(void)pthread_mutex_init(&c->lock, NULL);
	return c;
}

void web_cache_free(struct web_cache *c)
{
	if (!c)
		return;
	while (c->first) {
		struct kept *next = c->first->next;

		free_kept(c->first);
		c->first = next;
	}
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}

/* Takes the answer to 'key' out of the list, or the one asked for least recently if it is NULL. */
static struct kept *take(struct web_cache *c, const struct str *key)
{
	struct kept **at = &c->first, *found;

	while (*at &&
	       (key ? !str_eq((struct str){ (*at)->key, (*at)->nkey }, *key) : (*at)->next != NULL))
		at = &(*at)->next;
	found = *at;
	if (!found)
		return NULL;
	*at = found->next;
	c->used -= size_of(found);
	return found;
}

static void put_first(struct web_cache *c, struct kept *k)
{
	k->next = c->first;
	c->first = k;
	c->used += size_of(k);
}

static struct kept *copy(struct str key, const struct web_reply *reply)
{
	struct kept *k = mem_new(1, sizeof(*k));

	*k = (struct kept){ .key = mem_str(key),
			    .nkey = key.n,
			    .body = mem_str(out_view(&reply->body)),
			    .n = reply->body.n,
			    .type = reply->type,
			    .policy = reply->policy,
			    .tag = reply->tag,
			    .packed = reply->packed,
			    .forever = reply->forever };
	return k;
}

void web_cache_put(struct web_cache *c, struct str key, const struct web_reply *reply)
{
	struct kept *new, *old;

	if (reply->status != OK || reply->file_name || reply->body.error ||
	    reply->body.n + key.n > c->budget / 4)
		return;
	new = copy(key, reply);
	pthread_mutex_lock(&c->lock);
	old = take(c, &key);
	if (old)
		free_kept(old);
	put_first(c, new);
	while (c->used > c->budget)
		free_kept(take(c, NULL));
	pthread_mutex_unlock(&c->lock);
}

bool web_cache_get(struct web_cache *c, struct str key, struct web_reply *reply)
{
	struct kept *k;

	pthread_mutex_lock(&c->lock);
	k = take(c, &key);
	if (k) {
		put_first(c, k);
		reply->status = OK;
		reply->type = k->type;
		reply->policy = k->policy;
		reply->tag = k->tag;
		reply->forever = k->forever;
		reply->packed = k->packed;
		out_bytes(&reply->body, k->body, k->n);
	}
	pthread_mutex_unlock(&c->lock);
	return k != NULL;
}
