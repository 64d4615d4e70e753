/*
 * parts.c - a long text, made in parts on all processors
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/parts.h"

#include "base/par.h"

#include <pthread.h>
#include <stdatomic.h>

/* ------------------------------------------------------------------ lines */

/* Lines go on as soon as they are whole. */
static void take_text(void *lines, const char *p, size_t n)
{
	struct lines *l = lines;
	size_t end = n;

	while (end > 0 && p[end - 1] != '\n')
		end--;
	if (end > 0 && l->rest.n > 0) {
		size_t first = (size_t)((const char *)memchr(p, '\n', n) - p) + 1;

		out_bytes(&l->rest, p, first);
		l->put(l->to, out_view(&l->rest));
		l->rest.n = 0;
		l->put(l->to, (struct str){ p + first, end - first });
	} else {
		l->put(l->to, (struct str){ p, end });
	}
	out_bytes(&l->rest, p + end, n - end);
}

void lines_begin(struct lines *l, struct out *to, void (*put)(struct out *to, struct str lines),
		 size_t most)
{
	l->to = to;
	l->put = put;
	out_init(&l->rest, 0);
	out_init_to(&l->text, take_text, l, most);
}

int lines_end(struct lines *l)
{
	int rc = out_finish(&l->text);

	l->put(l->to, out_view(&l->rest));
	out_release(&l->text);
	out_release(&l->rest);
	return rc;
}

/* ------------------------------------------------------------------ parts */

struct parts {
	struct out *o;
	struct lines *lines; /* that 'o' is a part of, or NULL */
	void (*print)(void *ctx, size_t i, struct out *o);
	void *ctx;
	size_t n;
	atomic_size_t next; /* to be made */
	atomic_bool failed;
	pthread_mutex_t lock;
	pthread_cond_t turned;
	size_t turn; /* to be put */
};

/* Puts a part where it belongs; 'made' is what its lines have become. */
static void put_part(struct parts *p, const struct out *text, const struct out *made)
{
	struct out *o = p->o;

	if (text->error || made->error)
		out_fail(o, text->error ? text->error : made->error);
	out_expect(o, text->n);
	if (o->error) {
		atomic_store(&p->failed, true);
	} else if (p->lines) {
		o->taken += text->n;
		out_str(p->lines->to, out_view(made));
	} else {
		out_str(o, out_view(text));
	}
}

static void wait_for_turn(struct parts *p, size_t i)
{
	pthread_mutex_lock(&p->lock);
	while (p->turn != i)
		pthread_cond_wait(&p->turned, &p->lock);
}

static void end_turn(struct parts *p)
{
	p->turn++;
	pthread_cond_broadcast(&p->turned);
	pthread_mutex_unlock(&p->lock);
}

/* Parts are alike: the first one tells how much room all of them take. */
static void make_room(struct parts *p, const struct out *part)
{
	out_reserve(p->lines ? p->lines->to : p->o, part->n * p->n);
}

static void make_parts(int t, void *parts)
{
	struct parts *p = parts;
	struct out text, made;

	(void)t;
	out_init(&text, p->o->max);
	out_init(&made, 0);
	for (size_t i = atomic_fetch_add(&p->next, 1); i < p->n;
	     i = atomic_fetch_add(&p->next, 1)) {
		text.n = made.n = 0;
		if (!atomic_load(&p->failed)) {
			p->print(p->ctx, i, &text);
			if (p->lines)
				p->lines->put(&made, out_view(&text));
		}
		wait_for_turn(p, i);
		if (i == 0)
			make_room(p, p->lines ? &made : &text);
		put_part(p, &text, &made);
		end_turn(p);
	}
	out_release(&text);
	out_release(&made);
}

/* The lines that 'o' takes, if nothing is left of those before. */
static struct lines *lines_of(struct out *o)
{
	struct lines *l = o->take == take_text ? o->ctx : NULL;

	return l && out_finish(o) == 0 && l->rest.n == 0 ? l : NULL;
}

void parts_print(struct out *o, size_t n, void (*print)(void *ctx, size_t i, struct out *o),
		 void *ctx)
{
	struct parts p = { .o = o,
			   .lines = lines_of(o),
			   .print = print,
			   .ctx = ctx,
			   .n = n,
			   .lock = PTHREAD_MUTEX_INITIALIZER,
			   .turned = PTHREAD_COND_INITIALIZER };
	int width = par_width();

	if (n > 1 && width > 1) {
		par_run(n < (size_t)width ? (int)n : width, make_parts, &p);
		return;
	}
	for (size_t i = 0; i < n && !o->error; i++)
		print(ctx, i, o);
}
