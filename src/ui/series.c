/*
 * series.c - profiles of programs over time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/series.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/decode.h"
#include "profile/profile.h"
#include "source/rounds.h"
#include "source/source.h"
#include "source/unpack.h"
#include "store/dumps.h"
#include "store/place.h"
#include "ui/environment.h"
#include "ui/options.h"
#include "view/config.h"
#include "view/select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* So often what there is may be looked at; so many profiles are looked at for growth. */
enum { LOOK_MS = 3000, GROWTH_MOST = 2000 };
static const size_t memory = (size_t)4 << 30;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool is_store(const char *where)
{
	struct str s = str_of(where);

	return str_starts(s, STR("dir:")) ||
	       (str_starts(s, STR("kube:")) && !str_starts(s, STR("kube://")));
}

static bool is_folder(const char *where)
{
	struct stat st;

	return stat(where, &st) == 0 && S_ISDIR(st.st_mode);
}

bool series_is(const struct source_options *so)
{
	return so->nsources == 1 && !*so->base &&
	       (is_folder(so->sources[0]) || is_store(so->sources[0]));
}

/* ------------------------------------------------------------------ what there is */

struct series_line *series_find(struct series *s, struct str component, struct str kind)
{
	for (size_t i = 0; i < s->n; i++) {
		if (str_is(component, s->lines[i]->component) && str_is(kind, s->lines[i]->kind))
			return s->lines[i];
	}
	return NULL;
}

static struct series_line *line_for(struct series *s, struct str component, struct str kind)
{
	struct series_line *l = series_find(s, component, kind);

	if (l)
		return l;
	l = mem_zeroed(1, sizeof(*l));
	l->component = mem_str(component);
	l->kind = mem_str(kind);
	if (str_is(kind, "heap"))
		l->growth = growth_new();
	vec_push(s->lines, s->n, s->cap, l);
	return l;
}

/* Where a moment of that time is, or would be. */
static size_t place_of(const struct series_line *l, int64_t seconds)
{
	size_t low = 0, high = l->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (l->at[middle].seconds < seconds)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct series_line *l, size_t at, int64_t seconds)
{
	return at < l->n && l->at[at].seconds == seconds;
}

static void add_moment(struct series *s, struct str component, struct str kind,
		       const struct moment *m)
{
	struct series_line *l = line_for(s, component, kind);
	int64_t seconds = m->seconds;
	size_t at = place_of(l, seconds);

	/* Of dumps in one second, the later ones count as a second later: addresses are times. */
	for (; is_at(l, at, seconds) && l->at[at].generation != m->generation; at++)
		seconds++;
	if (is_at(l, at, seconds)) {
		l->at[at].seen = true;
		return;
	}
	vec_push(l->at, l->n, l->cap, *m);
	memmove(&l->at[at + 1], &l->at[at], (l->n - 1 - at) * sizeof(*m));
	l->at[at] = *m;
	l->at[at].seconds = seconds;
	l->at[at].path = m->path ? mem_str(str_of(m->path)) : NULL;
	l->at[at].seen = true;
	s->unread++;
}

static void add_file(void *ctx, const char *path, const char *name)
{
	struct moment m = { .path = (char *)(size_t)path };
	struct round_file f;

	if (!round_file_parse(str_of(name), &f))
		return;
	m.seconds = f.seconds;
	add_moment(ctx, f.component, f.kind, &m);
}

static void add_dump(struct series *s, struct str prefix, const struct dump *d)
{
	struct moment m = { .seconds = d->stored, .generation = d->generation };

	if (d->names.n)
		add_moment(s, prefix, STR("heap"), &m);
}

static int look_in_store(struct series *s, struct err *err)
{
	AUTO(arena_release) struct arena a;
	struct str *prefixes = NULL;
	size_t n = 0;
	int rc;

	arena_init(&a, memory);
	rc = s->store->calls->prefixes(s->store, &a, &prefixes, &n, err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct record r;

		if (record_read(s->store, prefixes[i], &a, &r, err) < 0)
			continue;
		pthread_mutex_lock(&s->lock);
		for (size_t k = r.nolder; k-- > 0;)
			add_dump(s, prefixes[i], &r.older[k]);
		add_dump(s, prefixes[i], &r.newest);
		pthread_mutex_unlock(&s->lock);
	}
	return rc;
}

static void expect_nothing(struct series *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t k = 0; k < s->lines[i]->n; k++)
			s->lines[i]->at[k].seen = false;
	}
}

/* What a collector or a person has removed meanwhile. */
static void drop_unseen(struct series *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct series_line *l = s->lines[i];
		size_t kept = 0;

		for (size_t k = 0; k < l->n; k++) {
			if (l->at[k].seen) {
				l->at[kept++] = l->at[k];
				continue;
			}
			s->unread -= l->at[k].state == MOMENT_UNREAD;
			free(l->at[k].path);
		}
		l->n = kept;
	}
}

void series_look(struct series *s)
{
	struct err err;
	bool complete = true;

	pthread_mutex_lock(&s->lock);
	if (s->looked_ms && now_ms() - s->looked_ms < LOOK_MS) {
		pthread_mutex_unlock(&s->lock);
		return;
	}
	s->looked_ms = now_ms();
	expect_nothing(s);
	if (!s->store)
		rounds_walk(s->where, add_file, s);
	pthread_mutex_unlock(&s->lock);
	if (s->store) {
		pthread_mutex_lock(&s->storing);
		complete = look_in_store(s, &err) == 0;
		pthread_mutex_unlock(&s->storing);
	}
	pthread_mutex_lock(&s->lock);
	if (complete)
		drop_unseen(s);
	pthread_cond_signal(&s->wanted);
	pthread_mutex_unlock(&s->lock);
}

/* ------------------------------------------------------------------ what is in it */

/* The bytes of a dump, as they were stored. */
static int get_dump(struct series *s, struct str prefix, uint64_t generation, struct out *to,
		    struct err *err)
{
	AUTO(arena_release) struct arena a;
	int rc;

	arena_init(&a, memory);
	pthread_mutex_lock(&s->storing);
	rc = dumps_get(s->store, prefix, generation, &a, to, NULL, err);
	pthread_mutex_unlock(&s->storing);
	return rc;
}

static int read_dump(struct series *s, const char *prefix, uint64_t generation,
		     struct file_bytes *b, struct err *err)
{
	struct out bytes;
	int rc;

	out_init(&bytes, memory);
	rc = get_dump(s, str_of(prefix), generation, &bytes, err);
	if (rc == 0) {
		*b = (struct file_bytes){ .p = mem_new(bytes.n + 1, 1), .n = bytes.n };
		memcpy(b->p, bytes.p, bytes.n);
		rc = unpack(b, memory, NULL, NULL, err);
	}
	out_release(&bytes);
	return rc;
}

static int read_profile(struct series *s, const char *component, const struct moment *m,
			struct profile **p, struct err *err)
{
	struct source_request rq = { .source = m->path };
	struct source_bytes file = { 0 };
	struct file_bytes b = { 0 };
	int rc;

	if (m->path) {
		rc = source_read(&rq, &file, err);
		if (rc == 0)
			rc = profile_parse((struct str){ file.bytes.p, file.bytes.n }, NULL, NULL,
					   p, err);
		source_bytes_release(&file);
		return rc;
	}
	rc = read_dump(s, component, m->generation, &b, err);
	if (rc == 0)
		rc = profile_parse((struct str){ b.p, b.n }, NULL, NULL, p, err);
	file_bytes_release(&b);
	return rc;
}

static void note(struct series_line *l, struct moment *m, const struct profile *p)
{
	int type = p->ntypes ? profile_sample_index(p, STR(""), NULL) : -1;

	if (type < 0) {
		m->state = MOMENT_BROKEN;
		return;
	}
	m->state = MOMENT_READ;
	m->duration = p->duration_nanos;
	m->value = 0;
	for (size_t i = 0; i < p->nsamples; i++)
		m->value = wrap_add(m->value, sample_values(p, i)[type]);
	if (l->type)
		return;
	l->type = mem_str(profile_str(p, p->types[type].type));
	l->unit = mem_str(profile_str(p, p->types[type].unit));
}

/* The newest that has not been read; 'lock' is held. */
static struct series_line *next_unread(struct series *s, struct moment *m)
{
	struct series_line *found = NULL;

	for (size_t i = 0; i < s->n; i++) {
		struct series_line *l = s->lines[i];

		for (size_t k = l->n; k-- > 0;) {
			if (l->at[k].state != MOMENT_UNREAD)
				continue;
			if (!found || l->at[k].seconds > m->seconds) {
				found = l;
				*m = l->at[k];
			}
			break;
		}
	}
	if (found)
		m->path = m->path ? mem_str(str_of(m->path)) : NULL;
	return found;
}

/* Lines stay where they are; moments may move while one of them is read.  'grows': for growth. */
static void read_one(struct series *s, struct series_line *l, struct moment *m, bool grows)
{
	AUTO(profile_freep) struct profile *p = NULL;
	struct err err;
	int rc = read_profile(s, l->component, m, &p, &err);
	size_t at;

	if (rc == 0 && grows)
		(void)growth_add(l->growth, p, m->seconds * 1000000000, &err);
	pthread_mutex_lock(&s->lock);
	at = place_of(l, m->seconds);
	if (is_at(l, at, m->seconds) && l->at[at].state == MOMENT_UNREAD) {
		if (rc == 0)
			note(l, &l->at[at], p);
		else
			l->at[at].state = MOMENT_BROKEN;
		s->unread--;
		l->stale = l->growth != NULL;
	}
	pthread_mutex_unlock(&s->lock);
	free(m->path);
}

/* What grows, once all has been read; 'lock' is held. */
static void judge(struct series *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct series_line *l = s->lines[i];
		struct err err = { "" };

		if (!l->stale)
			continue;
		l->stale = false;
		l->judged = growth_find(l->growth, &l->result, &err) == 0;
		(void)snprintf(l->why, sizeof(l->why), "%s", l->judged ? "" : err.msg);
	}
}

static void *read_on(void *arg)
{
	struct series *s = arg;

	for (;;) {
		struct series_line *l;
		struct moment m;
		bool grows;

		pthread_mutex_lock(&s->lock);
		for (l = next_unread(s, &m); !l; l = next_unread(s, &m)) {
			judge(s);
			pthread_cond_wait(&s->wanted, &s->lock);
		}
		grows = l->growth && l->n <= GROWTH_MOST;
		pthread_mutex_unlock(&s->lock);
		read_one(s, l, &m, grows);
	}
	return NULL;
}

/* A folder may be a tree or a store: that of a store has records. */
static int open_place(struct series *s, struct err *err)
{
	int rc;

	if (is_store(s->where))
		return store_open(s->where, environment_place(), &s->store, err);
	rounds_walk(s->where, add_file, s);
	if (s->n)
		return 0;
	rc = store_open_dir(s->where, &s->store, err);
	if (rc == 0)
		rc = look_in_store(s, err);
	if (rc == 0 && s->n == 0)
		rc = err_set(err, -ENOENT,
			     "%s has no profiles: files called NAME-KIND-DATE.pprof, or stored "
			     "dumps",
			     s->where);
	return rc;
}

int series_new(const struct source_options *so, struct series **out, struct err *err)
{
	struct series *s = mem_zeroed(1, sizeof(*s));
	pthread_t thread;
	int rc;

	*s = (struct series){ .where = so->sources[0],
			      .so = so,
			      .storing = PTHREAD_MUTEX_INITIALIZER,
			      .lock = PTHREAD_MUTEX_INITIALIZER,
			      .wanted = PTHREAD_COND_INITIALIZER };
	rc = open_place(s, err);
	if (rc)
		return rc;
	if (pthread_create(&thread, NULL, read_on, s) != 0)
		return err_set(err, -EAGAIN, "there is no thread to read with");
	pthread_detach(thread);
	*out = s;
	return 0;
}

/* ------------------------------------------------------------------ opening some of it */

static int keep_dump(struct series *s, struct str prefix, uint64_t generation, char **path,
		     struct err *err)
{
	struct out bytes;
	int fd = -1, rc;

	out_init(&bytes, memory);
	rc = get_dump(s, prefix, generation, &bytes, err);
	if (rc == 0)
		fd = memfd_create("dump", MFD_CLOEXEC);
	if (rc == 0 && (fd < 0 || write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n))
		rc = err_set(err, -errno, "no memory for the dump: %m");
	out_release(&bytes);
	if (rc == 0)
		*path = mem_printf("/proc/self/fd/%d", fd);
	else if (fd >= 0)
		close(fd);
	return rc;
}

/* Copies what is needed of the moments, since dumps are fetched without the lock. */
static struct moment *choose(struct series *s, struct str component, struct str kind, int64_t from,
			     int64_t to, size_t *n)
{
	struct moment *chosen = NULL;
	struct series_line *l;

	*n = 0;
	pthread_mutex_lock(&s->lock);
	l = series_find(s, component, kind);
	if (l) {
		size_t begin = place_of(l, from), end = place_of(l, to + 1);

		chosen = mem_new(end > begin ? end - begin : 1, sizeof(*chosen));
		for (size_t i = begin; i < end; i++) {
			chosen[*n] = l->at[i];
			if (l->at[i].path)
				chosen[*n].path = mem_str(str_of(l->at[i].path));
			(*n)++;
		}
	}
	pthread_mutex_unlock(&s->lock);
	return chosen;
}

int series_paths(struct series *s, struct str component, struct str kind, int64_t from, int64_t to,
		 size_t most, struct series_paths *out, struct err *err)
{
	size_t n;
	AUTO(freep) struct moment *chosen = choose(s, component, kind, from, to, &n);
	int rc = 0;

	*out = (struct series_paths){ .at = mem_new(n ? n : 1, sizeof(char *)) };
	if (n == 0)
		rc = err_set(err, -ENOENT, "There is no such profile any more.");
	if (n > most)
		rc = err_set(err, -E2BIG, "These are %zu profiles; at most %zu at a time.", n,
			     most);
	for (size_t i = 0; i < n; i++) {
		char *path = chosen[i].path;

		if (rc == 0 && !path) {
			rc = keep_dump(s, component, chosen[i].generation, &path, err);
			out->dumps = true;
		}
		if (path)
			out->at[out->n++] = path;
	}
	if (rc)
		series_paths_free(out);
	return rc;
}

void series_paths_free(struct series_paths *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->dumps)
			close((int)strtol(p->at[i] + strlen("/proc/self/fd/"), NULL, 10));
		free(p->at[i]);
	}
	free(p->at);
	*p = (struct series_paths){ 0 };
}
