/*
 * decode-samples.c - the samples of a profile: nearly all of a large one
 *
 * All cores read them, each into a part of the arrays that is large enough for any content of its
 * bytes; what is not filled is never touched, and costs nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/par.h"
#include "base/xalloc.h"
#include "profile/decoder.h"
#include "profile/labels.h"

#include <endian.h>
#include <stdlib.h>

/* Field numbers, from profile.proto. */
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3, LABEL_UNIT = 4 };

/* A label that says anything takes two bytes for itself, and two for a number in it. */
enum { SHORTEST_LABEL = 4 };

/* Fewer samples than this are not worth a second thread. */
enum { PARALLEL_SAMPLES = 4096 };

/* One thread's share of the samples, and what went wrong in it. */
struct share {
	struct decoder *d;
	size_t begin, end;
	uint64_t stack, label; /* where the next ones go */

	struct pb_status st;
	bool unknown; /* a location does not exist */
	size_t bad;   /* the first sample that is not valid, or SIZE_MAX */
	size_t bad_nvalues;
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

/*
 * Writes the places of the locations in a packed list, NONE for an unknown one.  Nearly every file
 * numbers its locations 1, 2, 3 ...: then the place is the id less one.
 */
static size_t read_stack(struct share *s, const struct pb_field *f, uint32_t *to)
{
	const struct id_map *ids = &s->d->locations;
	const uint8_t *p = f->body.p, *end = f->body.end;
	struct pb rest = f->body;
	uint64_t id;
	size_t n = 0;

	while (ids->dense && p < end && s->d->end - p >= 8) {
		uint32_t v[2];
		size_t len = two_varints(p, v);

		if (len == 0 || len > (size_t)(end - p))
			break;
		p += len;
		s->unknown |= v[0] - 1 >= ids->n || v[1] - 1 >= ids->n;
		to[n] = v[0] - 1;
		to[n + 1] = v[1] - 1;
		n += 2;
	}
	rest.p = p;
	while (pb_varint(&rest, &id)) {
		to[n] = id_map_find(ids, id);
		s->unknown |= to[n++] == NONE;
	}
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

static uint32_t label_string(struct share *s, const struct pb *at, uint64_t i, uint32_t none)
{
	if (i == 0)
		return none;
	if (i < s->d->count[PROFILE_STRING])
		return s->d->strings[i];
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
static bool read_label(struct share *s, struct pb msg, struct label *l)
{
	uint64_t num, v = 0;

	*l = (struct label){ .str = NONE, .unit = NONE };
	while (next_label_field(&msg, &num, &v)) {
		if (num == LABEL_KEY)
			l->key = label_string(s, &msg, v, 0);
		else if (num == LABEL_STR)
			l->str = label_string(s, &msg, v, NONE);
		else if (num == LABEL_NUM)
			l->num = (int64_t)v;
		else if (num == LABEL_UNIT)
			l->unit = label_string(s, &msg, v, NONE);
	}
	return l->str != NONE || l->num != 0 || l->unit != NONE;
}

static void add_label(struct share *s, struct pb msg, struct sample *to)
{
	struct label l;

	/* Not read in place: beyond the last label there may be another thread's first. */
	if (read_label(s, msg, &l))
		s->d->p->labels[s->label + to->nlabels++] = l;
}

static void judge(struct share *s, size_t i, size_t nvalues)
{
	if ((s->unknown || nvalues != s->d->p->ntypes) && s->bad == SIZE_MAX) {
		s->bad = i;
		s->bad_nvalues = nvalues;
	}
}

static void read_sample(struct share *s, size_t i)
{
	struct profile *p = s->d->p;
	struct span span = s->d->spans[PROFILE_SAMPLE][i];
	struct pb msg = { span.p, span.p + span.n, &s->st };
	struct sample *to = &p->samples[i];
	struct pb_field f;
	size_t nvalues = 0;

	*to = (struct sample){ .stack = s->stack, .label = s->label };
	while (pb_next(&msg, &f)) {
		if (f.num == SAMPLE_LOCATION && check_numbers(&f))
			to->depth += (uint32_t)read_stack(s, &f, p->stacks + s->stack + to->depth);
		else if (f.num == SAMPLE_VALUE && check_numbers(&f))
			nvalues = read_values(&f, sample_values(p, i), nvalues, p->ntypes);
		else if (f.num == SAMPLE_LABEL)
			add_label(s, pb_msg(&f), to);
	}
	s->stack += to->depth;
	s->label += to->nlabels;
	if (to->nlabels)
		labels_normalize(p, p->labels + to->label, to->nlabels);
	judge(s, i, nvalues);
}

static void read_share(int t, void *ctx)
{
	struct share *s = &((struct share *)ctx)[t];

	for (size_t i = s->begin; i < s->end && !s->st.why; i++)
		read_sample(s, i);
}

/* Shares of about the same number of bytes.  Returns how many bytes there are. */
static size_t divide(struct decoder *d, struct share *shares, int width)
{
	size_t n = d->count[PROFILE_SAMPLE], bytes = 0, done = 0, i = 0;

	for (size_t k = 0; k < n; k++)
		bytes += d->spans[PROFILE_SAMPLE][k].n;
	for (int t = 0; t < width; t++) {
		shares[t] = (struct share){ .d = d,
					    .begin = i,
					    .stack = done,
					    .label = done / SHORTEST_LABEL,
					    .st = { .start = d->st.start },
					    .bad = SIZE_MAX };
		while (i < n && done < bytes * (size_t)(t + 1) / (size_t)width)
			done += d->spans[PROFILE_SAMPLE][i++].n;
		shares[t].end = t + 1 == width ? n : i;
	}
	return bytes;
}

void decode_samples(struct decoder *d, struct sample_verdict *verdict)
{
	struct profile *p = d->p;
	size_t n = d->count[PROFILE_SAMPLE];
	int width = n < PARALLEL_SAMPLES ? 1 : par_width();
	struct share shares[PAR_MOST];

	p->samples = decoder_alloc(d, n, sizeof(*p->samples));
	p->values = decoder_alloc(d, n * p->ntypes, sizeof(*p->values));
	p->nstacks = divide(d, shares, width);
	p->stacks = decoder_alloc(d, p->nstacks, sizeof(*p->stacks));
	p->nlabels = p->nstacks / SHORTEST_LABEL + 1;
	p->labels = decoder_alloc(d, p->nlabels, sizeof(*p->labels));
	if (d->st.why)
		return;
	p->nsamples = n;
	par_run(width, read_share, shares);
	for (int t = width - 1; t >= 0; t--) {
		if (shares[t].st.why)
			d->st = shares[t].st;
		if (shares[t].bad != SIZE_MAX)
			*verdict = (struct sample_verdict){ true, shares[t].bad_nvalues };
	}
}
