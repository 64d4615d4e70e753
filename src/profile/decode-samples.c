/*
 * decode-samples.c - the samples of a profile: nearly all of a large one
 *
 * All cores read them, block by block, each block into a part of the arrays that is large enough
 * for any content of its bytes; what is not filled is never touched, and costs nothing.
 *
 * One of the cores first reads the other tables.  The others do not wait for it: they take location
 * ids for places (1, 2, 3 ... is how nearly every file numbers them) and strings for what the file
 * calls them.  Where the first turns out wrong, the samples are read again; the second is put right
 * at the end.  For the same reasons samples can be read while the end of the file is still being
 * unpacked (head-start.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/par.h"
#include "base/xalloc.h"
#include "profile/decoder.h"
#include "profile/labels.h"

#include <endian.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Field numbers, from profile.proto. */
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3, LABEL_UNIT = 4 };

/* A label that says anything takes two bytes for itself, and two for a number in it. */
enum { SHORTEST_LABEL = 4 };

/* Fewer samples than this are not worth a second thread. */
enum { PARALLEL_SAMPLES = 4096, BLOCKS = 4 };

struct job {
	struct decoder *d;
	struct block blocks[BLOCKS];
	int nblocks, width;
	bool with_tables; /* the last thread reads the tables first, the first one the strings */
	atomic_int next;
	void (*each)(struct block *b);
};

/* The numbers in 'x', of which each byte has seven bits: below 2^28, so at most four bytes. */
static inline uint32_t squeeze(uint64_t x)
{
	return (uint32_t)((x & 0x7f) | (x >> 1 & 0x3f80) | (x >> 2 & 0x1fc000) |
			  (x >> 3 & 0xfe00000));
}

/*
 * The two numbers at 'p', with eight bytes to read from, if both are below 2^28: where the second
 * one starts is found without waiting for the first, and no branch depends on how long they are.
 * Returns the length of both, or 0.
 */
static inline size_t two_varints(const uint8_t *p, uint32_t v[2])
{
	uint64_t x, stops, rest;
	unsigned first, second;

	memcpy(&x, p, 8);
	x = le64toh(x);
	stops = ~x & 0x8080808080808080u;
	rest = stops & (stops - 1);
	if (rest == 0)
		return 0;
	first = (unsigned)__builtin_ctzll(stops);
	second = (unsigned)__builtin_ctzll(rest);
	if (first > 31 || second - first > 32)
		return 0;
	v[0] = squeeze(x & ((2ull << first) - 1));
	v[1] = squeeze(x >> (first + 1) & ((2ull << (second - first - 1)) - 1));
	return second / 8 + 1;
}

/* The ids of a packed list, taken for places from 1 on.  Returns where it stopped. */
static const uint8_t *read_places(struct block *b, const struct pb_field *f, uint32_t *to,
				  size_t *n)
{
	const uint8_t *p = f->body.p, *end = f->body.end;
	uint32_t top = b->top_place;
	bool disorder = b->disorder;

	while (p < end && b->st.limit - p >= 8) {
		uint32_t v[2];
		size_t len = two_varints(p, v);

		if (len == 0 || len > (size_t)(end - p))
			break;
		p += len;
		to[*n] = v[0] - 1;
		to[*n + 1] = v[1] - 1;
		disorder |= to[*n] > top + 1;
		top = to[*n] > top ? to[*n] : top;
		disorder |= to[*n + 1] > top + 1;
		top = to[*n + 1] > top ? to[*n + 1] : top;
		*n += 2;
	}
	b->top_place = top;
	b->disorder = disorder;
	return p;
}

static size_t read_stack(struct block *b, const struct pb_field *f, uint32_t *to)
{
	const struct id_map *ids = b->d->ids_known ? &b->d->locations : NULL;
	struct pb rest = f->body;
	uint64_t id;
	size_t n = 0;

	if (!ids)
		rest.p = read_places(b, f, to, &n);
	while (pb_varint(&rest, &id)) {
		uint64_t place = ids ? id_map_find(ids, id) : id - 1;

		b->disorder |= place > (uint64_t)b->top_place + 1;
		if (place > b->top_place)
			b->top_place = place > NONE ? NONE : (uint32_t)place;
		to[n++] = (uint32_t)place;
	}
	b->unknown |= b->top_place >= b->nplaces;
	return n;
}

/* How many values there are; those that there is room for are stored. */
static size_t read_values(const struct pb_field *f, int64_t *to, size_t have, size_t room)
{
	struct pb body = f->body;
	uint64_t v;

	for (; pb_varint(&body, &v); have++) {
		if (have < room)
			to[have] = (int64_t)v;
	}
	return have;
}

/* A lone number must be a varint; a packed list anything length-delimited. */
static bool check_numbers(const struct pb_field *f)
{
	if (f->type != PB_BYTES && f->type != PB_VARINT)
		pb_fail(&f->body, "expected a number");
	return !f->body.st->why;
}

/* A string as the file calls it. */
static uint32_t label_string(struct block *b, const struct pb *at, uint64_t i, uint32_t none)
{
	if (i == 0)
		return none;
	if (i < b->nstrings) {
		b->top_string = i > b->top_string ? (uint32_t)i : b->top_string;
		return (uint32_t)i;
	}
	pb_fail(at, "string index is out of range");
	return none;
}

/* The next field of a label: a number from 0 (other fields) to LABEL_UNIT, and its value. */
static bool next_label_field(struct pb *msg, uint64_t *num, uint64_t *v)
{
	struct pb_field f;

	if (msg->p < msg->end && *msg->p < 0x80 && (*msg->p & 7) == PB_VARINT && !msg->st->why) {
		*num = *msg->p++ >> 3;
		if (pb_varint(msg, v))
			return true;
		pb_fail(msg, "number is cut short");
		return false;
	}
	if (!pb_next(msg, &f))
		return false;
	*num = f.num;
	if (f.num >= LABEL_KEY && f.num <= LABEL_UNIT)
		*v = pb_u64(&f);
	return true;
}

/* False for a label that says nothing: no text, number 0, no unit. */
static bool read_label(struct block *b, struct pb msg, struct label *l)
{
	uint64_t num, v = 0;

	*l = (struct label){ .str = NONE, .unit = NONE };
	while (next_label_field(&msg, &num, &v)) {
		if (num == LABEL_KEY)
			l->key = label_string(b, &msg, v, 0);
		else if (num == LABEL_STR)
			l->str = label_string(b, &msg, v, NONE);
		else if (num == LABEL_NUM)
			l->num = (int64_t)v;
		else if (num == LABEL_UNIT)
			l->unit = label_string(b, &msg, v, NONE);
	}
	return l->str != NONE || l->num != 0 || l->unit != NONE;
}

static void add_label(struct block *b, struct pb msg, struct sample *to)
{
	struct label l;

	/* Not read in place: beyond the last label there may be another block's first. */
	if (read_label(b, msg, &l))
		b->d->p->labels[b->label + to->nlabels++] = l;
}

static bool is_zero(const int64_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (values[i] != 0)
			return false;
	}
	return true;
}

static void judge(struct block *b, size_t i, size_t nvalues)
{
	b->zero |= is_zero(sample_values(b->d->p, i), b->d->p->ntypes);
	if ((b->unknown || nvalues != b->d->p->ntypes) && b->bad == SIZE_MAX) {
		b->bad = i;
		b->bad_nvalues = nvalues;
	}
}

static void read_sample(struct block *b, size_t i)
{
	struct profile *p = b->d->p;
	struct str span = b->d->spans[PROFILE_SAMPLE][i];
	const uint8_t *start = (const uint8_t *)span.p;
	struct pb msg = { start, start + span.n, &b->st };
	struct sample *to = &p->samples[i];
	struct pb_field f;
	size_t nvalues = 0;

	*to = (struct sample){ .stack = b->stack, .label = b->label };
	while (pb_next(&msg, &f)) {
		if (f.num == SAMPLE_LOCATION && check_numbers(&f))
			to->depth += (uint32_t)read_stack(b, &f, p->stacks + b->stack + to->depth);
		else if (f.num == SAMPLE_VALUE && check_numbers(&f))
			nvalues = read_values(&f, sample_values(p, i), nvalues, p->ntypes);
		else if (f.num == SAMPLE_LABEL)
			add_label(b, pb_msg(&f), to);
	}
	b->stack += to->depth;
	b->label += to->nlabels;
	judge(b, i, nvalues);
}

static void read_block(struct block *b)
{
	for (size_t i = b->begin; i < b->end && !b->st.why; i++)
		read_sample(b, i);
}

/* From strings as the file calls them to ours. */
static void resolve_block(struct block *b)
{
	const uint32_t *strings = b->d->strings;
	struct profile *p = b->d->p;

	for (size_t i = b->begin; i < b->end; i++) {
		const struct sample *s = &p->samples[i];
		struct label *l = p->labels + s->label;

		for (uint32_t k = 0; k < s->nlabels; k++) {
			l[k].key = l[k].key ? strings[l[k].key] : 0;
			l[k].str = l[k].str == NONE ? NONE : strings[l[k].str];
			l[k].unit = l[k].unit == NONE ? NONE : strings[l[k].unit];
		}
		if (s->nlabels)
			labels_normalize(p, l, s->nlabels);
	}
}

static void work(int t, void *ctx)
{
	struct job *job = ctx;
	int i;

	if (job->with_tables && t == 0)
		decode_strings(job->d);
	if (job->with_tables && t == job->width - 1)
		decode_tables(job->d);
	for (i = atomic_fetch_add(&job->next, 1); i < job->nblocks;
	     i = atomic_fetch_add(&job->next, 1))
		job->each(&job->blocks[i]);
}

static void run(struct job *job, void (*each)(struct block *b), bool with_tables)
{
	job->each = each;
	job->with_tables = with_tables;
	atomic_store(&job->next, 0);
	par_run(job->width, work, job);
}

static size_t bytes_of(const struct decoder *d, size_t from, size_t to)
{
	size_t bytes = 0;

	for (size_t i = from; i < to; i++)
		bytes += d->spans[PROFILE_SAMPLE][i].n;
	return bytes;
}

/* What has not been read ahead, in blocks of about the same number of bytes. */
static void divide(struct job *job)
{
	struct decoder *d = job->d;
	size_t n = d->count[PROFILE_SAMPLE], i = d->ahead.end;
	size_t done = bytes_of(d, 0, i), start = done, bytes = bytes_of(d, i, n);

	for (int t = 0; t < job->nblocks; t++) {
		job->blocks[t] =
			(struct block){ .d = d,
					.begin = i,
					.stack = done,
					.label = done / SHORTEST_LABEL,
					.top_place = d->ahead.top_place,
					.nplaces = d->count[PROFILE_LOCATION],
					.nstrings = d->count[PROFILE_STRING],
					.st = { .start = d->st.start, .limit = d->st.limit },
					.bad = SIZE_MAX };
		while (i < n && done - start < bytes * (size_t)(t + 1) / (size_t)job->nblocks)
			done += d->spans[PROFILE_SAMPLE][i++].n;
		job->blocks[t].end = t + 1 == job->nblocks ? n : i;
	}
}

/* All samples, in blocks of about the same number. */
static void share(struct job *job)
{
	size_t n = job->d->count[PROFILE_SAMPLE];

	for (int t = 0; t < job->nblocks; t++) {
		job->blocks[t].begin = n * (size_t)t / (size_t)job->nblocks;
		job->blocks[t].end = n * (size_t)(t + 1) / (size_t)job->nblocks;
	}
}

/* Room for 'n' samples that take 'bytes' in the file. */
static void make_room(struct decoder *d, size_t n, size_t bytes)
{
	struct profile *p = d->p;

	d->room = n;
	d->bytes = bytes;
	p->ntypes = (uint32_t)d->count[PROFILE_SAMPLE_TYPE];
	p->samples = decoder_alloc(d, n, sizeof(*p->samples));
	p->values = decoder_alloc(d, n * p->ntypes, sizeof(*p->values));
	p->stacks = decoder_alloc(d, bytes, sizeof(*p->stacks));
	p->labels = decoder_alloc_sparse(d, bytes / SHORTEST_LABEL + 1, sizeof(*p->labels));
}

/* ------------------------------------------------------------------ ahead of the others */

/*
 * The next part of the message, if it is there as a whole.  Returns how long it is, 0 if it is not,
 * or SIZE_MAX if it is of an unusual kind.
 */
static size_t next_part(const uint8_t *p, const uint8_t *end, struct str *part)
{
	size_t left = (size_t)(end - p), head = 1, len;

	if (left < 16)
		return 0;
	if ((p[0] & 0x87) == PB_VARINT) {
		len = pb_varint_size(p + 1);
		return len > 8 ? SIZE_MAX : 1 + len;
	}
	if ((p[0] & 0x87) != PB_BYTES)
		return SIZE_MAX;
	len = p[head++] & 0x7f;
	for (unsigned shift = 7; p[head - 1] >= 0x80; shift += 7) {
		if (shift > 21)
			return SIZE_MAX;
		len |= (size_t)(p[head++] & 0x7f) << shift;
	}
	*part = (struct str){ (const char *)p + head, len };
	return head + len <= left ? head + len : 0;
}

static bool note_ahead(struct decoder *d, const uint8_t *end)
{
	for (;;) {
		struct str part = { 0 };
		const uint8_t *p = d->rest.p;
		size_t len = next_part(p, end, &part);

		if (len == 0 || len == SIZE_MAX)
			return len == 0;
		if (part.p && p[0] >> 3 <= PROFILE_STRING && p[0] >> 3 >= PROFILE_SAMPLE_TYPE)
			decoder_note(d, p[0] >> 3, part);
		else
			decoder_note_other(d, p[0] >> 3, p);
		d->rest.p += len;
	}
}

static bool make_room_ahead(struct decoder *d, size_t expected)
{
	/* A sample with a stack, a value and what announces them takes more than this. */
	enum { SMALL_SAMPLE = 16 };

	if (d->count[PROFILE_SAMPLE_TYPE] == 0)
		return false;
	make_room(d, expected / SMALL_SAMPLE, expected);
	d->ahead = (struct block){ .d = d,
				   .nplaces = NONE,
				   .nstrings = NONE,
				   .st = { .start = d->st.start },
				   .bad = SIZE_MAX };
	return !d->st.why;
}

bool decode_ahead(struct decoder *d, const uint8_t *end, size_t expected, const atomic_bool *over)
{
	struct block *b = &d->ahead;

	if (!note_ahead(d, end))
		return false;
	if (d->count[PROFILE_SAMPLE] == 0)
		return true;
	if (!d->p->samples && !make_room_ahead(d, expected))
		return false;
	b->st.limit = end;
	while (b->end < d->count[PROFILE_SAMPLE] && b->end < d->room && !*over) {
		/* The bytes of a sample bound what it takes in each array. */
		if (d->spans[PROFILE_SAMPLE][b->end].p + d->spans[PROFILE_SAMPLE][b->end].n >
		    (const char *)d->st.start + d->bytes)
			return false;
		read_sample(b, b->end++);
		if (b->st.why || b->bad != SIZE_MAX)
			return false;
	}
	return b->end < d->room;
}

/* Whether what was read ahead can stay, as far as can be said before the tables are read. */
static bool is_of_use(const struct decoder *d, size_t bytes)
{
	return d->ahead.end > 0 && !d->ahead.st.why && d->ahead.bad == SIZE_MAX &&
	       d->room >= d->count[PROFILE_SAMPLE] && d->bytes >= bytes &&
	       d->p->ntypes == d->count[PROFILE_SAMPLE_TYPE];
}

static bool is_wrong(const struct decoder *d)
{
	return d->ahead.end > 0 && (d->ahead.top_place >= d->count[PROFILE_LOCATION] ||
				    d->ahead.top_string >= d->count[PROFILE_STRING]);
}

/* ------------------------------------------------------------------ all together */

/* Whether samples use all locations, for the first time in the order of the table. */
static bool is_in_order(const struct job *job)
{
	const struct profile *p = job->d->p;
	const struct sample *first = p->samples;
	uint32_t top = job->d->ahead.top_place;
	bool good = !job->d->ahead.disorder && !job->d->ahead.zero;

	/* Blocks do not tell whether place 0 or place 1 came first. */
	if (p->nsamples == 0 || first->depth == 0 || p->stacks[first->stack] != 0)
		return false;
	for (int t = 0; t < job->nblocks; t++) {
		const struct block *b = &job->blocks[t];

		good &= !b->disorder && !b->zero;
		top = b->top_place > top ? b->top_place : top;
	}
	return good && top + 1 == p->nlocations;
}

static void collect(struct job *job, struct sample_verdict *verdict)
{
	for (int t = job->nblocks - 1; t >= 0; t--) {
		if (job->blocks[t].st.why)
			job->d->st = job->blocks[t].st;
		if (job->blocks[t].bad != SIZE_MAX)
			*verdict = (struct sample_verdict){ true, job->blocks[t].bad_nvalues };
	}
}

void decode_samples(struct decoder *d, struct sample_verdict *verdict)
{
	struct job job = { .d = d };
	size_t n = d->count[PROFILE_SAMPLE], bytes = bytes_of(d, 0, n);
	bool many = n >= PARALLEL_SAMPLES;

	if (!is_of_use(d, bytes)) {
		d->ahead = (struct block){ 0 };
		make_room(d, n, bytes);
	}
	if (d->st.why)
		return;
	d->p->nsamples = n;
	d->p->nstacks = bytes;
	d->p->nlabels = bytes / SHORTEST_LABEL + 1;
	job.width = many ? par_width() : 1;
	job.nblocks = many ? BLOCKS : 1;
	divide(&job);
	run(&job, read_block, true);
	if (!d->st.why)
		decode_names(d);
	if (d->st.why || d->concatenated)
		return;
	if (!d->locations.dense || is_wrong(d)) {
		d->ids_known = true;
		d->ahead = (struct block){ 0 };
		divide(&job);
		run(&job, read_block, false);
	}
	collect(&job, verdict);
	if (d->st.why)
		return;
	d->p->in_order = is_in_order(&job);
	share(&job);
	run(&job, resolve_block, false);
}
