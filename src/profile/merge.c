/*
 * merge.c - several profiles become one, and one becomes tidy
 *
 * One walk over all samples, in order.  A location is looked at when a sample first uses it, and
 * remembered by its place in its own profile, so that nearly every stack entry costs one array
 * access.
 *
 * With a single source the result's stacks, samples, values and labels are the source's own
 * arrays.  Stacks and labels stay where they are, and samples move up where others went away.  Then
 * all cores take part: the order of first use is found in parts, which are put one behind the
 * other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/merge.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/par.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/labels.h"
#include "profile/merger.h"
#include "profile/scale.h"

#include <errno.h>
#include <stdatomic.h>

/* Fewer samples than this are not worth a second thread. */
enum { PARALLEL_SAMPLES = 4096, AHEAD = 16, STRIDE = 8192 };

/* ------------------------------------------------------------------ samples */

/* As map_string(), where NONE stands for "no string". */
static uint32_t map_optional(struct merger *m, uint32_t s)
{
	return s == NONE ? NONE : map_string(m, s);
}

static bool is_zero(const int64_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (values[i] != 0)
			return false;
	}
	return true;
}

/* Writes the stack of 'from' at the end of the result's, and returns its hash. */
static uint64_t map_stack(struct merger *m, const struct sample *from)
{
	uint32_t *to = m->out->stacks + m->out->nstacks;
	const uint32_t *stack = m->src->stacks + from->stack;

	for (uint32_t i = 0; i < from->depth; i++)
		to[i] = m->location_map[stack[i]];
	return hash_bytes(to, from->depth * sizeof(*to), 0);
}

static uint64_t map_labels(struct merger *m, const struct sample *from, uint64_t h)
{
	struct label *to = m->out->labels + m->out->nlabels;

	for (uint32_t i = 0; i < from->nlabels; i++) {
		struct label l = m->src->labels[from->label + i];

		to[i] = (struct label){ .key = map_string(m, l.key),
					.str = map_optional(m, l.str),
					.unit = map_optional(m, l.unit),
					.num = l.num };
	}
	return labels_hash(to, from->nlabels, h);
}

static bool same_sample(const struct profile *p, const struct sample *a, const struct sample *b)
{
	return a->depth == b->depth && a->nlabels == b->nlabels &&
	       memcmp(p->stacks + a->stack, p->stacks + b->stack, a->depth * sizeof(*p->stacks)) ==
		       0 &&
	       labels_same(p->labels + a->label, p->labels + b->label, a->nlabels);
}

static uint64_t hash_sample(uint32_t i, const void *ctx)
{
	return ((const struct merger *)ctx)->hashes[i];
}

/* Adds a sample whose stack and labels are in 'out' already; false if it was one more of the same.
 */
static bool add_sample(struct merger *m, struct sample to, const int64_t *values, uint64_t h)
{
	struct profile *out = m->out;
	struct probe at;

	table_reserve(&m->samples, hash_sample, m);
	at = table_probe(&m->samples, h);
	while (table_next(&m->samples, &at)) {
		int64_t *sum = sample_values(out, at.value);

		if (m->hashes[at.value] != h || !same_sample(out, &out->samples[at.value], &to))
			continue;
		for (uint32_t t = 0; t < out->ntypes; t++)
			sum[t] = wrap_add(sum[t], values[t]);
		return false;
	}
	table_put(&m->samples, &at, (uint32_t)out->nsamples);
	m->hashes[out->nsamples] = h;
	memmove(sample_values(out, out->nsamples), values, out->ntypes * sizeof(*values));
	out->samples[out->nsamples++] = to;
	return true;
}

static void copy_sample(struct merger *m, size_t i)
{
	struct profile *out = m->out;
	const struct sample *from = &m->src->samples[i];
	uint64_t h = map_labels(m, from, map_stack(m, from));
	struct sample to = { .stack = out->nstacks,
			     .depth = from->depth,
			     .label = out->nlabels,
			     .nlabels = from->nlabels };

	if (add_sample(m, to, sample_values(m->src, i), h)) {
		out->nstacks += to.depth;
		out->nlabels += to.nlabels;
	}
}

/* ------------------------------------------------------------------ in place, on all cores */

struct part {
	struct merger *m;
	size_t begin, end; /* samples of the source */
	uint32_t *used;    /* locations, in order of first use */
	size_t nused;
};

/* Which locations the samples of a part use. */
static void find_used(int t, void *ctx)
{
	struct part *part = &((struct part *)ctx)[t];
	const struct profile *src = part->m->src;
	AUTO(freep) uint8_t *seen = mem_zeroed(src->nlocations, 1);

	part->used = mem_new(src->nlocations, sizeof(*part->used));
	for (size_t i = part->begin; i < part->end; i++) {
		const struct sample *s = &src->samples[i];
		const uint32_t *stack = src->stacks + s->stack;

		if (is_zero(sample_values(src, i), src->ntypes))
			continue;
		for (uint32_t k = 0; k < s->depth; k++) {
			if (seen[stack[k]])
				continue;
			seen[stack[k]] = 1;
			part->used[part->nused++] = stack[k];
		}
	}
}

static void hash_one(struct merger *m, size_t i)
{
	const struct sample *s = &m->src->samples[i];
	uint64_t h = hash_bytes(m->out->stacks + s->stack, s->depth * sizeof(*m->out->stacks), 0);

	m->hashes[i] = labels_hash(m->src->labels + s->label, s->nlabels, h);
}

static void renumber(int t, void *ctx)
{
	struct part *part = &((struct part *)ctx)[t];
	struct merger *m = part->m;

	for (size_t i = part->begin; i < part->end; i++) {
		const struct sample *s = &m->src->samples[i];
		uint32_t *stack = m->out->stacks + s->stack;

		for (uint32_t k = 0; k < s->depth; k++)
			stack[k] = m->location_map[stack[k]];
		hash_one(m, i);
	}
}

/* The same for a source that is in order: locations most likely keep their numbers. */
struct in_order {
	struct merger *m;
	int width;
	atomic_size_t next; /* sample to be hashed */
};

/* One thread looks at the locations first; the others need not wait to see that they stay. */
static void tidy_in_order(int t, void *ctx)
{
	struct in_order *job = ctx;
	struct merger *m = job->m;
	size_t n = m->src->nsamples, i;

	if (t == job->width - 1)
		map_locations(m, NULL, m->src->nlocations);
	for (i = atomic_fetch_add(&job->next, STRIDE); i < n;
	     i = atomic_fetch_add(&job->next, STRIDE)) {
		size_t end = n - i < STRIDE ? n : i + STRIDE;

		for (size_t k = i; k < end; k++)
			hash_one(m, k);
	}
}

static bool stay_in_place(const struct merger *m)
{
	for (uint32_t i = 0; i < m->src->nlocations; i++) {
		if (m->location_map[i] != i)
			return false;
	}
	return true;
}

/* Whether there are two samples with the same stack and labels. */
struct twins {
	struct merger *m;
	int width;
	atomic_bool found;
};

/* Thread 't' looks at its share of the hashes. */
static void find_twins(int t, void *ctx)
{
	struct twins *job = ctx;
	const struct merger *m = job->m;
	const struct profile *p = m->out;
	size_t n = m->src->nsamples;
	struct table seen;

	table_init(&seen, n / (size_t)job->width + n / 16);
	for (size_t i = 0; i < n && !job->found; i++) {
		uint64_t h = m->hashes[i];
		struct probe at;

		table_prefetch(&seen, m->hashes[i + AHEAD < n ? i + AHEAD : i]);
		if ((int)((h >> 32) % (unsigned)job->width) != t)
			continue;
		table_reserve(&seen, hash_sample, m);
		at = table_probe(&seen, h);
		while (table_next(&seen, &at)) {
			if (m->hashes[at.value] == h &&
			    same_sample(p, &p->samples[at.value], &p->samples[i]))
				job->found = true;
		}
		table_put(&seen, &at, (uint32_t)i);
	}
	table_release(&seen);
}

static bool has_twins(struct merger *m, int width)
{
	struct twins job = { .m = m, .width = width };

	par_run(width, find_twins, &job);
	return job.found;
}

/* Drops those that another part has used already; returns how many are left. */
static size_t keep_new(const struct merger *m, uint32_t *used, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		used[kept] = used[i];
		kept += m->location_map[used[i]] == NONE;
	}
	return kept;
}

static void add_samples(struct merger *m)
{
	size_t n = m->src->nsamples;

	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			table_prefetch(&m->samples, m->hashes[i + AHEAD]);
		if (!is_zero(sample_values(m->src, i), m->src->ntypes))
			(void)add_sample(m, m->src->samples[i], sample_values(m->src, i),
					 m->hashes[i]);
	}
}

static void tidy_samples(struct merger *m)
{
	size_t n = m->src->nsamples;
	int width = n < PARALLEL_SAMPLES ? 1 : par_width();
	struct part parts[PAR_MOST];

	for (int t = 0; t < width; t++)
		parts[t] = (struct part){ .m = m,
					  .begin = n * (size_t)t / (size_t)width,
					  .end = n * (size_t)(t + 1) / (size_t)width };
	if (m->src->in_order) {
		par_run(width, tidy_in_order, &(struct in_order){ .m = m, .width = width });
	} else {
		par_run(width, find_used, parts);
		for (int t = 0; t < width; t++) {
			map_locations(m, parts[t].used, keep_new(m, parts[t].used, parts[t].nused));
			free(parts[t].used);
		}
	}
	if (!m->src->in_order || !stay_in_place(m))
		par_run(width, renumber, parts);
	if (m->src->in_order && !has_twins(m, width))
		m->out->nsamples = n;
	else
		add_samples(m);
	m->out->nstacks = m->src->nstacks;
	m->out->nlabels = m->src->nlabels;
}

static void copy_samples(struct merger *m)
{
	struct part all = { .m = m, .end = m->src->nsamples };

	if (m->src->in_order) {
		map_locations(m, NULL, m->src->nlocations);
	} else {
		find_used(0, &all);
		map_locations(m, all.used, all.nused);
		free(all.used);
	}
	for (size_t i = 0; i < m->src->nsamples; i++) {
		if (!is_zero(sample_values(m->src, i), m->src->ntypes))
			copy_sample(m, i);
	}
}

/* ------------------------------------------------------------------ the walk */

/* Room for 'more' items behind the 'n' of an array in the result. */
static void *grow(struct merger *m, void *array, size_t *cap, size_t n, size_t more, size_t size)
{
	if (array && n + more <= *cap)
		return array;
	*cap = n + more > *cap * 2 ? n + more : *cap * 2;
	return xarena_grow(&m->out->arena, array, n, *cap, size);
}

static uint32_t *none_map(size_t n)
{
	uint32_t *map = mem_new(n, sizeof(*map));

	memset(map, 0xff, n * sizeof(*map));
	return map;
}

static void add_source(struct merger *m, const struct profile *src)
{
	AUTO(freep) uint32_t *locations = none_map(src->nlocations);
	AUTO(freep) uint32_t *functions = none_map(src->nfunctions);
	AUTO(freep) uint32_t *mappings = none_map(src->nmappings);
	bool shared = src->strings == m->out->strings;
	AUTO(freep) uint32_t *strings = shared ? NULL : none_map(src->strings->n);

	m->src = src;
	m->location_map = locations;
	m->function_map = functions;
	m->mapping_map = mappings;
	m->string_map = strings;
	/* The first mapping is the program, whatever the samples use first. */
	if (m->out->nmappings == 0 && src->nmappings > 0)
		map_mapping(m, 0);
	if (m->in_place)
		tidy_samples(m);
	else
		copy_samples(m);
}

/* ------------------------------------------------------------------ what is not samples */

static uint64_t hash_comment(uint32_t i, const void *ctx)
{
	return hash_mix(((const struct profile *)ctx)->comments[i], 3);
}

static void add_comment(struct merger *m, uint32_t c)
{
	struct profile *out = m->out;
	struct probe at;

	table_reserve(&m->comments, hash_comment, out);
	at = table_probe(&m->comments, hash_mix(c, 3));
	while (table_next(&m->comments, &at)) {
		if (out->comments[at.value] == c)
			return;
	}
	table_put(&m->comments, &at, out->ncomments);
	out->comments =
		grow(m, out->comments, &m->cap.comments, out->ncomments, 1, sizeof(*out->comments));
	out->comments[out->ncomments++] = c;
}

static uint32_t copy_string(struct profile *out, const struct profile *src, uint32_t s)
{
	return out->strings == src->strings ? s : profile_intern_copy(out, profile_str(src, s));
}

static void first_header(struct profile *out, const struct profile *src)
{
	out->ntypes = src->ntypes;
	out->types = xarena(&out->arena, src->ntypes, sizeof(*out->types));
	for (uint32_t i = 0; i < src->ntypes; i++) {
		out->types[i].type = copy_string(out, src, src->types[i].type);
		out->types[i].unit = copy_string(out, src, src->types[i].unit);
	}
	out->drop_frames = copy_string(out, src, src->drop_frames);
	out->keep_frames = copy_string(out, src, src->keep_frames);
	out->period_type.type = copy_string(out, src, src->period_type.type);
	out->period_type.unit = copy_string(out, src, src->period_type.unit);
}

static void note_header(struct merger *m, const struct profile *src)
{
	struct header h = { .time = src->time_nanos,
			    .duration = src->duration_nanos,
			    .period = src->period,
			    .default_type = copy_string(m->out, src, src->default_type),
			    .doc_url = copy_string(m->out, src, src->doc_url) };

	vec_push(m->headers, m->nheaders, m->cap.headers, h);
	for (uint32_t i = 0; i < src->ncomments; i++)
		add_comment(m, copy_string(m->out, src, src->comments[i]));
}

/* In the order of the sources, on which a time of 0 depends. */
static void combine_headers(struct merger *m)
{
	struct profile *out = m->out;

	for (size_t i = 0; i < m->nheaders; i++) {
		const struct header *h = &m->headers[i];

		if (out->time_nanos == 0 || h->time < out->time_nanos)
			out->time_nanos = h->time;
		out->duration_nanos = wrap_add(out->duration_nanos, h->duration);
		if (out->period == 0 || out->period < h->period)
			out->period = h->period;
		if (out->default_type == 0)
			out->default_type = h->default_type;
		if (out->doc_url == 0)
			out->doc_url = h->doc_url;
	}
}

/* ------------------------------------------------------------------ one source after the other */

/* Every table gets as large as it can become with 'src'.  Untouched pages cost nothing. */
static void make_room(struct merger *m, const struct profile *src)
{
	struct profile *out = m->out;

	out->mappings = grow(m, out->mappings, &m->cap.mappings, out->nmappings, src->nmappings,
			     sizeof(*out->mappings));
	out->locations = grow(m, out->locations, &m->cap.locations, out->nlocations,
			      (size_t)src->nlocations + 1, sizeof(*out->locations));
	out->lines =
		grow(m, out->lines, &m->cap.lines, out->nlines, src->nlines, sizeof(*out->lines));
	out->functions = grow(m, out->functions, &m->cap.functions, out->nfunctions,
			      (size_t)src->nfunctions + 1, sizeof(*out->functions));
	if (m->cap.hashes < out->nsamples + src->nsamples) {
		m->cap.hashes = m->cap.hashes + out->nsamples + src->nsamples;
		m->hashes = mem_grow(m->hashes, m->cap.hashes, sizeof(*m->hashes));
	}
	if (m->in_place)
		return;
	out->samples = grow(m, out->samples, &m->cap.samples, out->nsamples, src->nsamples,
			    sizeof(*out->samples));
	out->values = grow(m, out->values, &m->cap.values, out->nsamples * out->ntypes,
			   src->nsamples * out->ntypes, sizeof(*out->values));
	out->stacks = grow(m, out->stacks, &m->cap.stacks, out->nstacks, src->nstacks,
			   sizeof(*out->stacks));
	out->labels = grow(m, out->labels, &m->cap.labels, out->nlabels, src->nlabels,
			   sizeof(*out->labels));
}

/* Profiles of one program have most in common: tables for the sum of all would only miss caches. */
static void make_tables(struct merger *m, const struct profile *first)
{
	table_init(&m->samples, m->in_place && first->in_order ? 0 : first->nsamples);
	table_init(&m->locations, first->nlocations);
	table_init(&m->functions, first->nfunctions);
	table_init(&m->mappings, first->nmappings);
	table_init(&m->comments, 0);
}

static void merger_release(struct merger *m)
{
	table_release(&m->samples);
	table_release(&m->locations);
	table_release(&m->functions);
	table_release(&m->mappings);
	table_release(&m->comments);
	free(m->hashes);
	free(m->headers);
}

struct merger *merge_new(const struct profile *first)
{
	struct merger *m = mem_zeroed(1, sizeof(*m));

	m->out = profile_new(first->strings);
	make_tables(m, first);
	first_header(m->out, first);
	return m;
}

bool merge_add(struct merger *m, struct profile *src)
{
	if (check_same_types(m->out, src, NULL) != 0)
		return false;
	make_room(m, src);
	note_header(m, src);
	add_source(m, src);
	profile_free(src);
	return true;
}

bool merge_join(struct merger *m, struct merger *other)
{
	struct profile *src = other->out;

	if (check_same_types(m->out, src, NULL) != 0)
		return false;
	make_room(m, src);
	for (size_t i = 0; i < other->nheaders; i++) {
		struct header h = other->headers[i];

		h.default_type = copy_string(m->out, src, h.default_type);
		h.doc_url = copy_string(m->out, src, h.doc_url);
		vec_push(m->headers, m->nheaders, m->cap.headers, h);
	}
	for (uint32_t i = 0; i < src->ncomments; i++)
		add_comment(m, copy_string(m->out, src, src->comments[i]));
	add_source(m, src);
	profile_free(src);
	merger_release(other);
	free(other);
	return true;
}

/* ------------------------------------------------------------------ the end */

/* The result of tidying 'p' in place: 'p' itself, emptied, with the arrays it had. */
static struct profile *hollow(struct profile *p)
{
	struct profile *out = mem_new(1, sizeof(*out));

	*out = (struct profile){ .arena = p->arena,
				 .strings = p->strings,
				 .samples = p->samples,
				 .values = p->values,
				 .stacks = p->stacks,
				 .labels = p->labels };
	return out;
}

static bool has_zero_sample(const struct profile *p)
{
	for (size_t i = 0; i < p->nsamples; i++) {
		if (is_zero(sample_values(p, i), p->ntypes))
			return true;
	}
	return false;
}

static struct profile *tidy(struct profile *p)
{
	AUTO(merger_release) struct merger m = { .in_place = true };

	m.out = hollow(p);
	make_tables(&m, p);
	first_header(m.out, p);
	make_room(&m, p);
	note_header(&m, p);
	add_source(&m, p);
	combine_headers(&m);
	free(p);
	return m.out;
}

struct profile *merge_end(struct merger *m)
{
	struct profile *out = m->out;

	combine_headers(m);
	merger_release(m);
	free(m);
	return has_zero_sample(out) ? tidy(out) : out;
}

static struct profile *merge(struct profile **srcs, size_t n)
{
	struct merger *m;

	if (n == 1)
		return tidy(srcs[0]);
	m = merge_new(srcs[0]);
	for (size_t i = 0; i < n; i++)
		(void)merge_add(m, srcs[i]);
	return merge_end(m);
}

int profile_combine(struct profile **srcs, size_t n, struct profile **out, struct err *err)
{
	int rc = n > 1 ? scale_to_common_units(srcs, n, err) : 0;

	for (size_t i = 1; rc == 0 && i < n; i++)
		rc = check_same_types(srcs[0], srcs[i], err);
	if (rc == 0) {
		*out = merge(srcs, n);
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		profile_free(srcs[i]);
	return rc;
}

void profile_set_label(struct profile *p, const char *key, const char *value)
{
	struct label mark = { .key = profile_intern_copy(p, str_of(key)),
			      .str = profile_intern_copy(p, str_of(value)),
			      .unit = NONE };
	struct label *labels = xarena(&p->arena, p->nlabels + p->nsamples, sizeof(*labels));
	uint64_t n = 0;

	for (size_t i = 0; i < p->nsamples; i++) {
		struct sample *s = &p->samples[i];
		uint64_t first = n;

		labels[n++] = mark;
		for (uint32_t k = 0; k < s->nlabels; k++) {
			if (!label_same_key(&p->labels[s->label + k], &mark))
				labels[n++] = p->labels[s->label + k];
		}
		s->label = first;
		s->nlabels = (uint32_t)(n - first);
		labels_normalize(p, labels + first, s->nlabels);
	}
	p->labels = labels;
	p->nlabels = n;
}

struct profile *profile_without_label(const struct profile *p, const char *key)
{
	struct profile *v = profile_view(p);
	uint32_t gone = profile_lookup(p, str_of(key));
	struct merger *m = merge_new(v);
	uint64_t n = 0;

	v->samples = xarena(&v->arena, p->nsamples, sizeof(*v->samples));
	v->labels = xarena(&v->arena, p->nlabels, sizeof(*v->labels));
	v->in_order = false;
	for (size_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];

		v->samples[i] = *s;
		v->samples[i].label = n;
		for (uint32_t k = 0; k < s->nlabels; k++) {
			if (p->labels[s->label + k].key != gone)
				v->labels[n++] = p->labels[s->label + k];
		}
		v->samples[i].nlabels = (uint32_t)(n - v->samples[i].label);
	}
	v->nlabels = n;
	(void)merge_add(m, v);
	return merge_end(m);
}
