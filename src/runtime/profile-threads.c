/*
 * profile-threads.c - the profiles of threads: goroutine (or threads) and threadcreate
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/creators.h"
#include "runtime/http.h"
#include "runtime/labels.h"
#include "runtime/os.h"
#include "runtime/profiles.h"
#include "runtime/sort.h"
#include "runtime/stacks.h"
#include "runtime/thread-dump.h"
#include "runtime/thread.h"

#include <string.h>

static const uint64_t second = 1000000000;

/* Threads that are in the same place, and look the same. */
struct group {
	const struct sonde__dump_thread *first;
	const char *state;
	uint64_t cpu;
	uint32_t count;
};

struct groups {
	struct sonde__buf all; /* struct group */
	struct sonde__index by_stack;
};

static struct group *group_at(const struct groups *g, size_t i)
{
	return (struct group *)(void *)g->all.p + i;
}

static size_t group_count(const struct groups *g)
{
	return g->all.n / sizeof(struct group);
}

static bool belongs(const struct group *g, const struct sonde__dump_thread *t, const char *state)
{
	return g->first->stack == t->stack && g->first->labels == t->labels && g->state == state &&
	       g->first->answer == t->answer && strcmp(g->first->task.name, t->task.name) == 0;
}

static struct group *find_group(struct groups *g, const struct sonde__dump_thread *t)
{
	const char *state = sonde__dump_state(t);
	uint32_t hash = t->stack * 0x9e3779b1u, id;
	struct group *more;

	for (size_t at = hash; (id = sonde__index_next(&g->by_stack, hash, &at)) != 0;)
		if (belongs(group_at(g, id - 1), t, state))
			return group_at(g, id - 1);
	more = sonde__buf_more(&g->all, sizeof(*more));
	if (!more)
		return NULL;
	*more = (struct group){ .first = t, .state = state };
	id = (uint32_t)group_count(g);
	return sonde__index_put(&g->by_stack, hash, id) ? more : NULL;
}

static void make_groups(struct groups *g, const struct sonde__dump *d)
{
	for (size_t i = 0; i < d->n; i++) {
		struct group *to = find_group(g, &d->at[i]);

		if (!to)
			continue;
		to->count++;
		to->cpu += d->at[i].task.cpu;
	}
}

static void release_groups(struct groups *g)
{
	sonde__buf_release(&g->all);
	sonde__index_release(&g->by_stack);
}

/* A difference over some seconds is between equal labels: time would make all of them unequal. */
static bool is_delta(const struct sonde__request *rq)
{
	char text[8];

	return sonde__param(rq, "seconds", text, sizeof(text)) && text[0];
}

static void add_group(struct sonde__output *o, const struct group *g, bool delta)
{
	struct sonde__label labels[SONDE__LABELS];
	const char *note = sonde__dump_note(g->first);
	int64_t values[SONDE__TYPES] = { g->count };
	size_t n = sonde__labels_expand(g->first->labels, labels, SONDE__LABEL_SET);

	labels[n++] = (struct sonde__label){ .key = "thread", .text = g->first->task.name };
	labels[n++] = (struct sonde__label){ .key = "state", .text = g->state };
	if (!delta)
		labels[n++] = (struct sonde__label){ .key = "cpu",
						     .number = (int64_t)g->cpu,
						     .unit = "nanoseconds" };
	if (note)
		labels[n++] = (struct sonde__label){ .key = "note", .text = note };
	sonde__output_add(o, g->first->stack, values, labels, n);
}

static void add_threads(struct sonde__output *o, const struct sonde__request *rq)
{
	struct sonde__dump *d = sonde__dump_take();
	struct groups g = { 0 };
	uint64_t silent = 0;

	if (!d) {
		sonde__output_comment(o, "sonde: no memory for a list of the threads");
		return;
	}
	make_groups(&g, d);
	for (size_t i = 0; i < group_count(&g); i++) {
		const struct group *group = group_at(&g, i);

		add_group(o, group, is_delta(rq));
		silent += group->first->answer < SONDE__ANSWER_CUT ? group->count : 0;
	}
	sonde__comment_count(o, silent, "threads are listed without their stack, see label note");
	if (silent)
		sonde__comment_off(o, SONDE__CPU, "asking threads by signal is");
	release_groups(&g);
	sonde__dump_free(d);
}

static void count_one(int tid, void *context)
{
	size_t *n = context;

	*n += !sonde__thread_is_ours(tid);
}

static size_t count_threads(void)
{
	size_t n = 0;

	sonde__tasks(count_one, &n);
	return n;
}

/* Most threads first; a stable order for the rest. */
static bool comes_before(const void *one, const void *other)
{
	const struct group *a = one, *b = other;

	if (a->count != b->count)
		return a->count > b->count;
	return a->first->task.tid < b->first->task.tid;
}

static void add_quoted(struct sonde__buf *b, const char *text)
{
	sonde__buf_text(b, "\"");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c == 0x7f)
			sonde__buf_format(b, "\\x%02x", (unsigned)c);
		else
			sonde__buf_format(b, c == '"' || c == '\\' ? "\\%c" : "%c", (int)c);
	}
	sonde__buf_text(b, "\"");
}

static void add_seconds(struct sonde__buf *b, uint64_t ns)
{
	sonde__buf_format(b, "%llu.%03llus", (unsigned long long)(ns / second),
			  (unsigned long long)(ns % second / 1000000));
}

/* As Go has them: {"key":"value", "key":"value"}, by key. */
static void labels_line(struct sonde__buf *b, const struct group *g)
{
	struct sonde__label labels[SONDE__LABEL_SET];
	size_t n = sonde__labels_expand(g->first->labels, labels, SONDE__LABEL_SET);
	const char *note = sonde__dump_note(g->first);

	sonde__buf_text(b, "# labels: {\"cpu\":\"");
	add_seconds(b, g->cpu);
	sonde__buf_text(b, "\"");
	if (note)
		sonde__buf_format(b, ", \"note\":\"%s\"", note);
	sonde__buf_format(b, ", \"state\":\"%s\", \"thread\":", g->state);
	add_quoted(b, g->first->task.name);
	for (size_t i = 0; i < n; i++) {
		sonde__buf_text(b, ", ");
		add_quoted(b, labels[i].key);
		sonde__buf_text(b, ":");
		add_quoted(b, labels[i].text);
	}
	sonde__buf_text(b, "}\n");
}

static void counts_text(struct sonde__buf *b, const struct sonde__dump *d)
{
	struct groups g = { 0 };

	make_groups(&g, d);
	sonde__sort(g.all.p, group_count(&g), sizeof(struct group), comes_before);
	sonde__buf_format(b, "goroutine profile: total %zu\n", d->n);
	for (size_t i = 0; i < group_count(&g); i++) {
		const struct group *group = group_at(&g, i);

		sonde__buf_format(b, "%u @", group->count);
		sonde__text_addresses(b, group->first->stack);
		labels_line(b, group);
		sonde__text_frames(b, group->first->stack);
	}
	sonde__text_mappings(b);
	release_groups(&g);
}

static void add_waiter(struct sonde__buf *b, const struct sonde__dump *d, size_t i)
{
	const struct sonde__dump_thread *t = &d->at[i], *holder = &d->at[t->blocker - 1];

	sonde__buf_format(b, "#\tgoroutine %d ", t->task.tid);
	add_quoted(b, t->task.name);
	sonde__buf_format(b, " waits for mutex 0x%llx, held by goroutine %d ",
			  (unsigned long long)sonde__dump_mutex(t), holder->task.tid);
	add_quoted(b, holder->task.name);
	sonde__buf_text(b, "\n");
}

static void deadlock_text(struct sonde__buf *b, struct sonde__dump *d)
{
	size_t n = sonde__dump_find_deadlocks(d);

	if (n == 0)
		return;
	if (n == 1)
		sonde__buf_text(b, "# deadlock: a thread waits for itself\n");
	else
		sonde__buf_format(b, "# deadlock: %zu threads wait for each other\n", n);
	for (size_t i = 0; i < d->n; i++)
		if (d->at[i].blocker)
			add_waiter(b, d, i);
	sonde__buf_text(b, "\n");
}

/* Who reads such dumps by program skips lines between goroutines that are none. */
static void dump_thread(struct sonde__buf *b, const struct sonde__dump_thread *t)
{
	const char *note = sonde__dump_note(t);

	sonde__buf_text(b, "# thread ");
	add_quoted(b, t->task.name);
	sonde__buf_text(b, ", cpu ");
	add_seconds(b, t->task.cpu);
	if (note)
		sonde__buf_format(b, ", %s", note);
	if (t->labels) {
		sonde__buf_text(b, ", labels ");
		sonde__labels_text(b, t->labels);
	}
	sonde__buf_format(b, "\ngoroutine %d [%s]:\n", t->task.tid,
			  t->blocker ? "deadlock" : sonde__dump_state(t));
	sonde__text_dump(b, t->stack);
	sonde__text_created_by(b, t->creator);
	sonde__buf_text(b, "\n");
}

/* Threads of a pool are alike, and come one after the other. */
static void want_thread(struct sonde__buf *pcs, const struct sonde__dump_thread *t,
			const struct sonde__dump_thread *last)
{
	if (!last || last->stack != t->stack)
		sonde__text_want(pcs, t->stack);
	if (!last || last->creator != t->creator)
		sonde__text_want(pcs, t->creator);
}

static void goroutine_text(struct sonde__buf *b, const struct sonde__request *rq, int64_t debug)
{
	struct sonde__dump *d = sonde__dump_take();
	struct sonde__buf pcs = { 0 };

	(void)rq;
	if (!d) {
		b->full = true;
		return;
	}
	for (size_t i = 0; i < d->n; i++)
		want_thread(&pcs, &d->at[i], i ? &d->at[i - 1] : NULL);
	sonde__text_find(&pcs);
	if (debug < 2)
		counts_text(b, d);
	else
		deadlock_text(b, d);
	for (size_t i = 0; debug >= 2 && i < d->n; i++)
		dump_thread(b, &d->at[i]);
	sonde__dump_free(d);
}

/* threadcreate */

static uint64_t count_unseen(void)
{
	sonde__threads_scan();
	return sonde__threads_unseen();
}

static uint32_t before_us(void)
{
	const uint64_t pc = SONDE__BEFORE_US;

	return sonde__stack_intern(&pc, 1, true);
}

static void add_creator(uint32_t stack, uint64_t n, void *context)
{
	int64_t values[SONDE__TYPES] = { (int64_t)n };

	sonde__output_add(context, stack, values, NULL, 0);
}

static void add_created(struct sonde__output *o, const struct sonde__request *rq)
{
	uint64_t unseen = count_unseen();

	(void)rq;
	sonde__creators(add_creator, o);
	if (unseen)
		add_creator(before_us(), unseen, o);
}

static void add_to_sum(uint32_t stack, uint64_t n, void *context)
{
	uint64_t *sum = context;

	(void)stack;
	*sum += n;
}

static size_t count_created(void)
{
	uint64_t n = count_unseen();

	sonde__creators(add_to_sum, &n);
	return (size_t)n;
}

struct creator {
	uint64_t n;
	uint32_t stack;
};

static void list_creator(uint32_t stack, uint64_t n, void *context)
{
	struct creator *more = sonde__buf_more(context, sizeof(*more));

	if (more)
		*more = (struct creator){ n, stack };
}

static bool starts_more(const void *one, const void *other)
{
	const struct creator *a = one, *b = other;

	return a->n != b->n ? a->n > b->n : a->stack < b->stack;
}

static void threadcreate_text(struct sonde__buf *b, const struct sonde__request *rq, int64_t debug)
{
	uint64_t unseen = count_unseen(), total = 0;
	struct sonde__buf list = { 0 }, pcs = { 0 };
	const struct creator *c;
	size_t n;

	(void)rq;
	(void)debug;
	sonde__creators(list_creator, &list);
	if (unseen)
		list_creator(before_us(), unseen, &list);
	n = list.n / sizeof(*c);
	sonde__sort(list.p, n, sizeof(*c), starts_more);
	c = (const struct creator *)(void *)list.p;
	for (size_t i = 0; i < n; i++) {
		sonde__text_want(&pcs, c[i].stack);
		total += c[i].n;
	}
	sonde__text_find(&pcs);
	sonde__buf_format(b, "threadcreate profile: total %llu\n", (unsigned long long)total);
	for (size_t i = 0; i < n; i++) {
		sonde__buf_format(b, "%llu @", (unsigned long long)c[i].n);
		sonde__text_stack(b, c[i].stack);
	}
	sonde__text_mappings(b);
	sonde__buf_release(&list);
}

#define THREADS                                                                                    \
	.types = { { "goroutine", "count" } }, .ntypes = 1,                                        \
	.period_type = { "goroutine", "count" }, .add = add_threads, .text = goroutine_text,       \
	.count = count_threads

const struct sonde__kind sonde__kind_goroutine = {
	.name = "goroutine",
	THREADS,
};

const struct sonde__kind sonde__kind_threads = {
	.name = "threads",
	THREADS,
};

const struct sonde__kind sonde__kind_threadcreate = {
	.name = "threadcreate",
	.types = { { "threadcreate", "count" } },
	.ntypes = 1,
	.period_type = { "threadcreate", "count" },
	.add = add_created,
	.text = threadcreate_text,
	.count = count_created,
};
