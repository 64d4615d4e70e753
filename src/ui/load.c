/*
 * load.c - bring a profile in
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/load.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/notify.h"
#include "base/par.h"
#include "base/xalloc.h"
#include "net/url.h"
#include "profile/decode.h"
#include "profile/labels.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "profile/scale.h"
#include "report/compare.h"
#include "source/source.h"
#include "source/unpack.h"
#include "symbol/locate.h"
#include "symbol/remote.h"
#include "symbol/symbolize.h"
#include "ui/environment.h"
#include "ui/options.h"
#include "ui/save.h"
#include "view/prune.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* So many servers are asked at once; the reference does the same. */
enum { CHUNK = 64 };

/* Smaller profiles are read before a thread has started. */
enum { WORTH_A_THREAD = 4 << 20 };

extern char **environ;

/* One source, and what became of it. */
struct grab {
	const char *address;
	struct profile *p;
	struct remote_sources sources;
	bool remote;
	int rc;
	struct err err;
};

struct grabber {
	const struct source_options *so;
	struct notify *notify;
	struct grab *grabs;
	size_t n;
	bool files; /* all of them */
};

/*
 * Neighbours that one thread brings in, one after the other, and merges at once, so that they need
 * not all stay in memory.
 */
struct grab_range {
	struct grabber *g;
	size_t begin, end;
	pthread_t thread;
	struct grab *first;    /* that could be had */
	struct merger *merger; /* of the first and all that were 'merged'; NULL before the second */
	bool mixed;            /* they are not of the same types: the rest stays as it is */
};

/* ------------------------------------------------------------------ one source */

static struct http_tls tls_files(const struct source_options *so)
{
	return (struct http_tls){ .cert = so->tls_cert, .key = so->tls_key, .ca = so->tls_ca };
}

static struct source_request request_for(const struct grabber *g, const struct grab *one)
{
	return (struct source_request){
		.source = one->address,
		.seconds = g->so->seconds,
		.timeout = g->so->timeout,
		.tls = tls_files(g->so),
		.proxy = environment_proxy(),
		.notify = g->notify,
		.tmpdir = getenv("TMPDIR"),
		.environment = environ,
		.env = environment_value,
		.stop = g->so->stop,
	};
}

static void locate(const struct source_options *so, struct profile *p, struct notify *n)
{
	const char *path = getenv("PPROF_BINARY_PATH"), *home = getenv("HOME");
	AUTO(freep) char *fallback = NULL;

	if (!path || !*path) {
		fallback = mem_printf("%s%spprof/binaries", home ? home : "", home ? "/" : "");
		path = fallback;
	}
	binaries_locate(p, path, n);
	if (*so->exec_name)
		p->mappings[0].file = profile_intern_copy(p, str_of(so->exec_name));
	if (*so->build_id)
		p->mappings[0].build_id = profile_intern_copy(p, str_of(so->build_id));
}

/* Reads a profile while it is being unpacked. */
struct reader {
	struct unpack_watcher watcher;
	struct head_start *ahead;
};

static void reader_grown(struct unpack_watcher *w, const char *p, size_t n, size_t expected)
{
	if (expected >= WORTH_A_THREAD)
		head_start_feed(((struct reader *)w)->ahead, p, n, expected);
}

static void reader_lost(struct unpack_watcher *w)
{
	head_start_cancel(((struct reader *)w)->ahead);
}

static void grab_one(const struct grabber *g, struct grab *one, struct strings *strings)
{
	struct source_request rq = request_for(g, one);
	struct reader reader = { .watcher = { reader_grown, reader_lost },
				 .ahead = head_start_new(strings) };
	struct source_bytes bytes = { 0 };
	bool got;

	/* With several sources, all cores have something to do anyway. */
	rq.watcher = g->n == 1 ? &reader.watcher : NULL;
	one->rc = source_read(&rq, &bytes, &one->err);
	got = one->rc == 0;
	if (got)
		one->rc = profile_parse((struct str){ bytes.bytes.p, bytes.bytes.n }, strings,
					reader.ahead, &one->p, &one->err);
	head_start_free(reader.ahead);
	if (!got)
		return;
	file_bytes_release(&bytes.bytes);
	if (one->rc == 0) {
		locate(g->so, one->p, g->notify);
		one->remote = bytes.remote;
		if (bytes.url)
			remote_sources_add(&one->sources, one->p, bytes.url);
	}
	source_bytes_release(&bytes);
}

/* ------------------------------------------------------------------ many sources */

static void merge_neighbour(struct grab_range *r, struct grab *one)
{
	if (!r->first) {
		r->first = one;
		return;
	}
	if (!r->merger) {
		r->merger = merge_new(r->first->p);
		(void)merge_add(r->merger, r->first->p);
		r->first->p = NULL;
	}
	if (!r->mixed && merge_add(r->merger, one->p))
		one->p = NULL;
	else
		r->mixed = true;
}

/* Profiles of one program have nearly all strings in common, so a range shares them. */
static void *grab_range(void *arg)
{
	struct grab_range *r = arg;
	struct strings *strings = strings_new();

	for (size_t i = r->begin; i < r->end; i++) {
		struct grab *one = &r->g->grabs[i];

		grab_one(r->g, one, strings);
		if (one->rc == 0)
			merge_neighbour(r, one);
	}
	strings_release(strings);
	return NULL;
}

/*
 * Files keep a core busy each; servers make us wait, all at the same time: what is not a file gets
 * a thread of its own, so that profiles of several servers cover the same seconds.
 */
static size_t threads_for(const struct grabber *g)
{
	size_t width = (size_t)par_width();

	return g->n < width || !g->files ? g->n : width;
}

static void grab_ranges(struct grabber *g, struct grab_range *ranges, size_t n)
{
	size_t started = 0;

	for (size_t t = 0; t < n; t++)
		ranges[t] = (struct grab_range){ .g = g,
						 .begin = g->n * t / n,
						 .end = g->n * (t + 1) / n };
	while (started + 1 < n &&
	       pthread_create(&ranges[started].thread, NULL, grab_range, &ranges[started]) == 0)
		started++;
	for (size_t t = started; t < n; t++)
		grab_range(&ranges[t]);
	for (size_t t = 0; t < started; t++)
		pthread_join(ranges[t].thread, NULL);
}

/* Merges what the ranges have merged; false if that is not all there is, or of different types. */
static bool join_ranges(struct grab_range *ranges, size_t n)
{
	for (size_t t = 0; t < n; t++) {
		if (!ranges[t].merger || ranges[t].mixed)
			return false;
	}
	for (size_t t = 1; t < n; t++) {
		if (!merge_join(ranges[0].merger, ranges[t].merger))
			return false;
		ranges[t].merger = NULL;
	}
	return true;
}

/* Merges all there is, of any types. */
static int combine_ranges(struct grab_range *ranges, size_t n, struct profile **out,
			  struct err *err)
{
	const struct grabber *g = ranges[0].g;
	AUTO(freep) struct profile **good = mem_new(g->n, sizeof(struct profile *));
	size_t ngood = 0;

	for (size_t t = 0; t < n; t++) {
		if (ranges[t].merger)
			good[ngood++] = merge_end(ranges[t].merger);
		for (size_t i = ranges[t].begin; i < ranges[t].end; i++) {
			if (g->grabs[i].p)
				good[ngood++] = g->grabs[i].p;
		}
	}
	return ngood ? profile_combine(good, ngood, out, err) : 0;
}

static int grab_all(struct grabber *g, struct profile **out, struct err *err)
{
	size_t n = threads_for(g);
	AUTO(freep) struct grab_range *ranges = mem_new(n, sizeof(*ranges));

	grab_ranges(g, ranges, n);
	notify_progress(g->notify, NULL, 0, 0, NULL);
	if (!join_ranges(ranges, n))
		return combine_ranges(ranges, n, out, err);
	*out = merge_end(ranges[0].merger);
	return 0;
}

/* What came of a list of sources. */
struct harvest {
	struct profile *p; /* merged; NULL if none could be had */
	struct remote_sources sources;
	size_t count;
	bool remote;
};

static bool are_files(const char *const *sources, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (access(sources[i], F_OK) != 0)
			return false;
	}
	return true;
}

static int grab_chunk(const struct source_options *so, const char *const *sources, size_t n,
		      struct notify *notify, struct harvest *h, struct err *err)
{
	struct grab *grabs = mem_zeroed(n, sizeof(*grabs));
	struct grabber g = {
		.so = so, .notify = notify, .grabs = grabs, .n = n, .files = are_files(sources, n)
	};
	int rc;

	for (size_t i = 0; i < n; i++)
		grabs[i].address = sources[i];
	rc = grab_all(&g, &h->p, err);
	for (size_t i = 0; i < n; i++) {
		if (grabs[i].rc) {
			notify_warn(notify, "%s: %s", grabs[i].address, grabs[i].err.msg);
			continue;
		}
		h->remote |= grabs[i].remote;
		remote_sources_move(&h->sources, &grabs[i].sources);
		h->count++;
	}
	free(grabs);
	return rc;
}

static int grab_sources(const struct source_options *so, const char *const *sources, size_t n,
			struct notify *notify, struct harvest *h, struct err *err)
{
	size_t most = are_files(sources, n) ? n : CHUNK;
	struct harvest chunk;
	int rc = 0;

	*h = (struct harvest){ 0 };
	for (size_t i = 0; rc == 0 && i < n; i += most) {
		size_t count = n - i < most ? n - i : most;

		chunk = (struct harvest){ 0 };
		rc = grab_chunk(so, sources + i, count, notify, &chunk, err);
		if (rc)
			profile_free(h->p);
		h->count += chunk.count;
		h->remote |= chunk.remote;
		remote_sources_move(&h->sources, &chunk.sources);
		if (rc == 0 && h->p && chunk.p)
			rc = profile_combine((struct profile *[]){ h->p, chunk.p }, 2, &h->p, err);
		else if (chunk.p)
			h->p = chunk.p;
		if (rc)
			h->p = NULL;
	}
	return rc;
}

/* ------------------------------------------------------------------ sources and bases */

struct base_thread {
	const struct source_options *so;
	struct notify *notify;
	struct harvest h;
	struct err err;
	int rc;
};

static void *grab_base(void *arg)
{
	struct base_thread *b = arg;

	if (*b->so->base)
		b->rc = grab_sources(b->so, &b->so->base, 1, b->notify, &b->h, &b->err);
	return NULL;
}

static int check_harvests(const struct source_options *so, const struct harvest *src,
			  const struct base_thread *base, struct notify *notify, struct err *err)
{
	if (base->rc)
		return err_set(err, base->rc, "problem fetching base profiles: %s,", base->err.msg);
	if (src->count == 0)
		return err_set(err, -ENOENT, "failed to fetch any source profiles");
	if (base->h.count == 0 && *so->base)
		return err_set(err, -ENOENT, "failed to fetch any base profiles");
	if (src->count != so->nsources)
		notify_warn(notify, "Fetched %zu source profiles out of %zu", src->count,
			    so->nsources);
	return 0;
}

static double total_of(const struct profile *p, uint32_t type)
{
	double sum = 0;

	for (size_t i = 0; i < p->nsamples; i++)
		sum += (double)sample_values(p, i)[type];
	return sum;
}

/* Makes the totals equal; returns what they were multiplied with, for the caller to free. */
static double *normalize(struct profile *p, const struct profile *base, int *rc, struct err *err)
{
	double *ratios = mem_new(p->ntypes, sizeof(*ratios));

	for (uint32_t t = 0; t < p->ntypes; t++)
		ratios[t] = total_of(p, t);
	*rc = profile_normalize(p, base, err);
	for (uint32_t t = 0; t < p->ntypes; t++)
		ratios[t] = ratios[t] > 0 ? total_of(p, t) / ratios[t] : 1;
	return ratios;
}

/* The old one comes second, as it does in the profile. */
static void note_sides(struct compare_sides *sides, const struct profile *p,
		       const struct profile *base)
{
	*sides = (struct compare_sides){ .n = 2 };
	sides->profiles[0] = (struct compare_side){ false, p->duration_nanos, p->period };
	sides->profiles[1] = (struct compare_side){ true, base->duration_nanos, base->period };
}

static int subtract(const struct source_options *so, struct harvest *src, struct profile *base,
		    struct compare_sides *sides, struct err *err)
{
	AUTO(freep) double *ratios = NULL;
	int rc = 0;

	if (so->diff_base || sides)
		profile_set_label(base, "pprof::base", "true");
	if (sides)
		note_sides(sides, src->p, base);
	if (so->normalize)
		ratios = normalize(src->p, base, &rc, err);
	if (rc) {
		profile_free(base);
		return rc;
	}
	profile_scale(base, -1);
	rc = profile_combine((struct profile *[]){ src->p, base }, 2, &src->p, err);
	if (rc)
		src->p = NULL;
	else if (sides && ratios)
		sides->ratios = memcpy(xarena(&src->p->arena, src->p->ntypes, sizeof(*ratios)),
				       ratios, src->p->ntypes * sizeof(*ratios));
	return rc;
}

/* The base is read at the same time as the sources; both cores have something to do. */
static int grab_both(const struct source_options *so, struct notify *notify, struct harvest *src,
		     struct compare_sides *sides, struct err *err)
{
	struct base_thread base = { .so = so, .notify = notify };
	struct err why;
	pthread_t thread;
	bool started = *so->base && pthread_create(&thread, NULL, grab_base, &base) == 0;
	int rc = grab_sources(so, so->sources, so->nsources, notify, src, &why);

	if (started)
		pthread_join(thread, NULL);
	else
		grab_base(&base);
	if (rc)
		err_set(err, rc, "problem fetching source profiles: %s", why.msg);
	else
		rc = check_harvests(so, src, &base, notify, err);
	if (rc) {
		profile_free(base.h.p);
		remote_sources_release(&base.h.sources);
		return rc;
	}
	src->remote |= base.h.remote;
	remote_sources_move(&src->sources, &base.h.sources);
	return base.h.p ? subtract(so, src, base.h.p, sides, err) : 0;
}

/* ------------------------------------------------------------------ finishing */

/* Undoes what remote_sources_add() did to names; as in the reference, any file name that is a URL
 * goes. */
static void unname_mappings(struct profile *p)
{
	struct arena a;
	struct url u;

	arena_init(&a, PROFILE_BUDGET);
	for (uint32_t i = 0; i < p->nmappings; i++) {
		struct mapping *m = &p->mappings[i];

		if (m->build_id == 0 && url_parse(profile_str(p, m->file), &a, &u, NULL) == 0 &&
		    u.scheme.n)
			m->file = 0;
	}
	arena_release(&a);
}

static void add_comment(struct profile *p, const char *comment)
{
	uint32_t *comments;

	if (!*comment)
		return;
	comments = xarena(&p->arena, (size_t)p->ncomments + 1, sizeof(*comments));
	if (p->ncomments)
		memcpy(comments, p->comments, p->ncomments * sizeof(*comments));
	comments[p->ncomments++] = profile_intern_copy(p, str_of(comment));
	p->comments = comments;
}

/*
 * Where names are kept from run to run: NULL if nowhere; the caller frees it.  Who has no home, as
 * a service, has no cache and hears no complaint; a folder that was asked for is another matter.
 */
static char *cache_folder(const struct source_options *so)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (so->no_cache)
		return NULL;
	if (cache && *cache == '/')
		return mem_printf("%s/sonde/symbols", cache);
	if (!home || *home != '/' || access(home, F_OK) != 0)
		return NULL;
	return mem_printf("%s/.cache/sonde/symbols", home);
}

static int symbolize(const struct source_options *so, struct harvest *h, struct notify *n,
		     struct err *err)
{
	struct proxy_rules proxy = environment_proxy();
	AUTO(freep) char *folder = cache_folder(so);
	struct symbolize_options o = {
		.mode = so->symbolize,
		.notify = n,
		.cache_folder = folder,
		.server = environment_debug_server(),
		.remote = { .sources = &h->sources,
			    .tls = tls_files(so),
			    .proxy = &proxy,
			    .notify = n },
	};

	return profile_symbolize(h->p, &o, err);
}

/* With -base, samples do not say which side they are of. */
static int save(const struct profile *p, bool merged, struct notify *n, struct err *err)
{
	AUTO(profile_freep)
	struct profile *plain = merged ? profile_without_label(p, "pprof::base") : NULL;

	return save_copy(plain ? plain : p, n, err);
}

int load_sides(const struct source_options *so, struct notify *n, struct profile **out,
	       struct compare_sides *sides, struct err *err)
{
	struct harvest h = { 0 };
	int rc = grab_both(so, n, &h, sides, err);

	assert(rc || h.p);
	if (rc == 0)
		rc = symbolize(so, &h, n, err);
	remote_sources_release(&h.sources);
	if (rc) {
		profile_free(h.p);
		return rc;
	}
	if (!so->all_frames)
		prune_uninteresting(h.p);
	unname_mappings(h.p);
	add_comment(h.p, so->comment);
	if (h.remote) {
		rc = save(h.p, sides && !so->diff_base, n, err);
		if (rc) {
			profile_free(h.p);
			return rc;
		}
	}
	labels_settle(h.p);
	*out = h.p;
	return 0;
}

int load(const struct source_options *so, struct notify *n, struct profile **out, struct err *err)
{
	return load_sides(so, n, out, NULL, err);
}
