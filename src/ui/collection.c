/*
 * collection.c - several profiles behind one address
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/collection.h"

#include "base/err.h"
#include "base/xalloc.h"
#include "profile/compact.h"
#include "profile/profile.h"
#include "ui/web-views.h"
#include "ui/web-visit.h"
#include "web/web-server.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

/* As many stay in memory if nobody reads them, and more only while somebody does. */
enum { KEPT = 6, NAME_MOST = 512 };

static const char under[] = "/of/";

struct book {
	char *name;
	struct collection_item item;
	struct web_views views;
	size_t readers;
	uint64_t asked; /* when, by the collection's clock */
	bool opened;    /* or it failed */
	int rc;
	struct err err;
};

struct collection {
	const struct config *cfg;
	const char *settings, *home;
	int (*open)(void *ctx, struct str name, struct collection_item *to, struct err *err);
	void *ctx;
	pthread_mutex_t lock;
	pthread_cond_t opened;
	struct book **books;
	size_t n, cap;
	uint64_t clock;
};

struct collection *collection_new(const struct config *cfg, const char *settings, const char *home,
				  int (*open)(void *ctx, struct str name,
					      struct collection_item *to, struct err *err),
				  void *ctx)
{
	struct collection *s = mem_zeroed(1, sizeof(*s));

	*s = (struct collection){ .cfg = cfg,
				  .settings = settings,
				  .home = home,
				  .open = open,
				  .ctx = ctx,
				  .lock = PTHREAD_MUTEX_INITIALIZER,
				  .opened = PTHREAD_COND_INITIALIZER };
	return s;
}

static void free_book(struct book *b)
{
	if (b->opened && b->rc == 0)
		web_views_release(&b->views);
	if (b->item.both != b->item.profile)
		profile_free(b->item.both);
	profile_free(b->item.profile);
	for (size_t i = 0; i < b->item.nsources; i++)
		free(b->item.sources[i]);
	free(b->item.sources);
	free(b->name);
	free(b);
}

/* The one that nobody reads and nobody has asked for longest, or NULL. */
static struct book **oldest(struct collection *s)
{
	struct book **found = NULL;

	for (size_t i = 0; i < s->n; i++) {
		if (s->books[i]->readers == 0 && (!found || s->books[i]->asked < (*found)->asked))
			found = &s->books[i];
	}
	return found;
}

static void make_room(struct collection *s)
{
	struct book **b = s->n >= KEPT ? oldest(s) : NULL;

	for (; b && s->n >= KEPT; b = oldest(s)) {
		free_book(*b);
		*b = s->books[--s->n];
	}
}

static struct book *find_book(struct collection *s, struct str name)
{
	for (size_t i = 0; i < s->n; i++) {
		if (str_is(name, s->books[i]->name))
			return s->books[i];
	}
	return NULL;
}

/* Others go on meanwhile; who wants the same waits. */
static void open_book(struct collection *s, struct book *b)
{
	pthread_mutex_unlock(&s->lock);
	b->rc = s->open(s->ctx, str_of(b->name), &b->item, &b->err);
	if (b->rc == 0) {
		profile_compact(b->item.profile);
		if (b->item.both && b->item.both != b->item.profile)
			profile_compact(b->item.both);
		web_views_init(&b->views, b->item.profile, s->cfg, s->settings);
		b->views.both = b->item.both;
		b->views.sides = &b->item.sides;
		b->views.home = s->home;
		b->views.source = b->item.nsources ? &b->item.source : NULL;
	}
	pthread_mutex_lock(&s->lock);
	b->opened = true;
	pthread_cond_broadcast(&s->opened);
}

static struct book *take(struct collection *s, struct str name)
{
	struct book *b;

	pthread_mutex_lock(&s->lock);
	b = find_book(s, name);
	if (b) {
		b->readers++;
		while (!b->opened)
			pthread_cond_wait(&s->opened, &s->lock);
	} else {
		make_room(s);
		b = mem_zeroed(1, sizeof(*b));
		b->name = mem_str(name);
		b->readers = 1;
		vec_push(s->books, s->n, s->cap, b);
		open_book(s, b);
	}
	b->asked = ++s->clock;
	pthread_mutex_unlock(&s->lock);
	return b;
}

/* What could not be opened is forgotten: it may be there the next time. */
static void put_back(struct collection *s, struct book *b)
{
	pthread_mutex_lock(&s->lock);
	b->readers--;
	for (size_t i = 0; i < s->n && b->rc && b->readers == 0; i++) {
		if (s->books[i] != b)
			continue;
		s->books[i] = s->books[--s->n];
		free_book(b);
		break;
	}
	pthread_mutex_unlock(&s->lock);
}

static void answer_book(struct collection *s, struct str name, const struct web_request *rq,
			const char *path, struct web_reply *reply)
{
	struct web_request inside = *rq;
	struct book *b = take(s, name);

	inside.path = path;
	if (b->rc)
		web_say(reply, VISIT_NOT_FOUND, b->err.msg);
	else
		web_views_answer(&inside, reply, &b->views);
	put_back(s, b);
}

bool collection_answer(struct collection *s, const struct web_request *rq, struct web_reply *reply)
{
	struct str path = str_of(rq->path), name;
	ptrdiff_t end;

	if (str_starts(path, STR("/static/"))) {
		web_views_send_file(rq, rq->path + strlen("/static/"), reply);
		return true;
	}
	if (!str_starts(path, str_of(under)))
		return false;
	name = str_skip(path, strlen(under));
	end = str_find(name, STR("/"));
	if (end <= 0 || end > NAME_MOST) {
		web_say(reply, VISIT_NOT_FOUND, "404 page not found");
		return true;
	}
	name.n = (size_t)end;
	answer_book(s, name, rq, name.p + end, reply);
	return true;
}
