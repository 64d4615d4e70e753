/*
 * decode.c - from pprof protobuf bytes to a struct profile
 *
 * Two walks over the outer message find its parts: the first counts, so that every table is
 * allocated once at its final size; the second notes where each part lies.  Then the parts are
 * read in the order in which they refer to each other: strings, functions, mappings, locations,
 * samples.  Samples are nearly all of a large profile, so all cores read them, each into a part of
 * the stack array that is large enough for any content of its bytes; what is not filled is never
 * touched, and costs nothing.
 *
 * Nothing checks for errors in between.  The first failure sticks in the status all cursors
 * share (see wire/pb.h), and turns whatever follows into a no-op.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/decode.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/par.h"
#include "base/xalloc.h"
#include "profile/check.h"
#include "profile/labels.h"
#include "profile/profile.h"
#include "wire/pb.h"

#include <endian.h>
#include <errno.h>

/* Field numbers, from profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_DROP_FRAMES = 7,
	PROFILE_KEEP_FRAMES = 8,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
	PROFILE_DOC_URL = 15,
	PROFILE_FIELDS
};
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3, LABEL_UNIT = 4 };
enum {
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LOCATION_IS_FOLDED = 5
};
enum { LINE_FUNCTION = 1, LINE_LINE = 2, LINE_COLUMN = 3 };
enum {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
	FUNCTION_START_LINE = 5
};
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10
};

/* Fewer samples than this are not worth a second thread. */
enum { PARALLEL_SAMPLES = 4096 };

struct span {
	const uint8_t *p;
	size_t n;
};

/* From the ids in the file to places in a table: an array for small ids, a hash for others. */
struct id_map {
	uint32_t *small; /* ids 0 .. n */
	size_t n;
	bool dense; /* the ids are 1, 2, 3 ... n */
	struct table large;
	const uint64_t *ids; /* of the table's entries, 'stride' bytes apart */
	size_t stride;
};

struct decoder {
	struct profile *p;
	struct pb_status st;
	const uint8_t *end; /* of the whole input */
	size_t count[PROFILE_FIELDS];
	struct span *spans[PROFILE_FIELDS]; /* of the messages and strings */
	uint32_t *strings;                  /* from an index in the file to ours */
	struct id_map mappings, functions, locations;
	bool concatenated;
};

static bool is_message(uint64_t num)
{
	return (num >= PROFILE_SAMPLE_TYPE && num <= PROFILE_STRING);
}

static void *alloc(struct decoder *d, size_t n, size_t size)
{
	void *mem = arena_alloc(&d->p->arena, n, size);

	if (!mem && !d->st.why)
		d->st.why = "profile exceeds its memory budget";
	return mem;
}

static uint32_t string(struct decoder *d, const struct pb_field *f)
{
	uint64_t i = pb_u64(f);

	if (i < d->count[PROFILE_STRING])
		return d->strings[i];
	pb_fail(&f->body, "string index is out of range");
	return 0;
}

/* ------------------------------------------------------------------ the outer message */

static void count_parts(struct decoder *d, struct pb msg)
{
	struct pb_field f;

	while (pb_next(&msg, &f)) {
		if (f.num >= PROFILE_FIELDS)
			continue;
		d->count[f.num]++;
		if (is_message(f.num))
			(void)pb_msg(&f);
	}
}

static void note_parts(struct decoder *d, struct pb msg)
{
	size_t n[PROFILE_FIELDS] = { 0 };
	struct pb_field f;

	for (int i = PROFILE_SAMPLE_TYPE; i <= PROFILE_STRING; i++)
		d->spans[i] = xmalloc(d->count[i], sizeof(struct span));
	while (pb_next(&msg, &f)) {
		if (is_message(f.num))
			d->spans[f.num][n[f.num]++] =
				(struct span){ f.body.p, (size_t)(f.body.end - f.body.p) };
	}
}

static struct pb open_span(struct decoder *d, struct span s)
{
	return (struct pb){ s.p, s.p + s.n, &d->st };
}

static void read_strings(struct decoder *d)
{
	size_t n = d->count[PROFILE_STRING];

	d->strings = xmalloc(n, sizeof(*d->strings));
	for (size_t i = 0; i < n; i++) {
		struct span s = d->spans[PROFILE_STRING][i];

		d->strings[i] = profile_intern_copy(d->p, (struct str){ (const char *)s.p, s.n });
	}
	if (n > 0 && d->strings[0] != 0) {
		struct pb at = open_span(d, d->spans[PROFILE_STRING][0]);

		pb_fail(&at, "the first string is not empty");
	}
}

static struct value_type read_value_type(struct decoder *d, struct pb msg)
{
	struct value_type vt = { 0 };
	struct pb_field f;

	while (pb_next(&msg, &f)) {
		if (f.num == VALUE_TYPE_TYPE)
			vt.type = string(d, &f);
		else if (f.num == VALUE_TYPE_UNIT)
			vt.unit = string(d, &f);
	}
	return vt;
}

static void read_types(struct decoder *d)
{
	struct profile *p = d->p;

	p->ntypes = (uint32_t)d->count[PROFILE_SAMPLE_TYPE];
	p->types = alloc(d, p->ntypes, sizeof(*p->types));
	for (uint32_t i = 0; p->types && i < p->ntypes; i++)
		p->types[i] = read_value_type(d, open_span(d, d->spans[PROFILE_SAMPLE_TYPE][i]));
}

static void read_comments(struct decoder *d, struct pb body)
{
	struct profile *p = d->p;
	uint64_t i;

	while (!d->st.why && pb_varint(&body, &i)) {
		if (i < d->count[PROFILE_STRING])
			p->comments[p->ncomments++] = d->strings[i];
		else
			pb_fail(&body, "string index is out of range");
	}
}

/* A packed list of comments may hold as many as it has bytes. */
static void make_room_for_comments(struct decoder *d, struct pb msg)
{
	struct pb_field f;
	size_t n = 0;

	while (pb_next(&msg, &f)) {
		if (f.num == PROFILE_COMMENT)
			n += (size_t)(f.body.end - f.body.p);
	}
	d->p->comments = alloc(d, n, sizeof(*d->p->comments));
}

static void read_scalar(struct decoder *d, struct pb_field *f)
{
	struct profile *p = d->p;

	switch (f->num) {
	case PROFILE_DROP_FRAMES:
		p->drop_frames = string(d, f);
		break;
	case PROFILE_KEEP_FRAMES:
		p->keep_frames = string(d, f);
		break;
	case PROFILE_TIME_NANOS:
		d->concatenated |= p->time_nanos != 0;
		p->time_nanos = (int64_t)pb_u64(f);
		break;
	case PROFILE_DURATION_NANOS:
		p->duration_nanos = (int64_t)pb_u64(f);
		break;
	case PROFILE_PERIOD_TYPE:
		p->period_type = read_value_type(d, pb_msg(f));
		break;
	case PROFILE_PERIOD:
		p->period = (int64_t)pb_u64(f);
		break;
	case PROFILE_COMMENT:
		if (f->type != PB_BYTES)
			(void)pb_u64(f);
		read_comments(d, f->body);
		break;
	case PROFILE_DEFAULT_TYPE:
		p->default_type = string(d, f);
		break;
	case PROFILE_DOC_URL: /* unknown to the reference: never a reason to refuse */
		if (f->type == PB_VARINT && !d->st.why)
			p->doc_url = string(d, f);
		break;
	}
}

static void read_header(struct decoder *d, struct pb msg)
{
	struct pb_field f;

	make_room_for_comments(d, msg);
	read_types(d);
	while (pb_next(&msg, &f))
		read_scalar(d, &f);
}

/* ------------------------------------------------------------------ ids */

static uint64_t hash_id(uint64_t id)
{
	return hash_mix(id, 1);
}

static uint64_t id_of(const struct id_map *m, uint32_t i)
{
	return *(const uint64_t *)((const char *)m->ids + i * m->stride);
}

static uint64_t rehash_id(uint32_t i, const void *ctx)
{
	return hash_id(id_of(ctx, i));
}

static bool find_large(const struct id_map *m, uint64_t id, struct probe *at)
{
	while (table_next(&m->large, at)) {
		if (id_of(m, at->value) == id)
			return true;
	}
	return false;
}

/* As in the reference, the last of several entries with one id is the one that is meant. */
static void id_map_fill(struct id_map *m, const uint64_t *ids, size_t stride, size_t n)
{
	struct probe at;

	*m = (struct id_map){ .ids = ids, .stride = stride, .n = n, .dense = true };
	m->small = xmalloc(n + 1, sizeof(*m->small));
	memset(m->small, 0xff, (n + 1) * sizeof(*m->small));
	table_init(&m->large, 0);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t id = id_of(m, i);

		m->dense &= id == (uint64_t)i + 1;
		if (id <= n) {
			m->small[id] = i;
			continue;
		}
		table_reserve(&m->large, rehash_id, m);
		at = table_probe(&m->large, hash_id(id));
		if (find_large(m, id, &at))
			table_replace(&m->large, &at, i);
		else
			table_put(&m->large, &at, i);
	}
}

static uint32_t id_map_find_large(const struct id_map *m, uint64_t id)
{
	struct probe at = table_probe(&m->large, hash_id(id));

	return find_large(m, id, &at) ? at.value : NONE;
}

static inline uint32_t id_map_find(const struct id_map *m, uint64_t id)
{
	return id <= m->n ? m->small[id] : id_map_find_large(m, id);
}

static void id_map_release(struct id_map *m)
{
	free(m->small);
	table_release(&m->large);
}

/* ------------------------------------------------------------------ functions, mappings, locations
 */

static void read_function(struct decoder *d, struct pb msg, struct function *fn)
{
	struct pb_field f;

	while (pb_next(&msg, &f)) {
		switch (f.num) {
		case FUNCTION_ID:
			fn->id = pb_u64(&f);
			break;
		case FUNCTION_NAME:
			fn->name = string(d, &f);
			break;
		case FUNCTION_SYSTEM_NAME:
			fn->system_name = string(d, &f);
			break;
		case FUNCTION_FILE:
			fn->file = string(d, &f);
			break;
		case FUNCTION_START_LINE:
			fn->start_line = (int64_t)pb_u64(&f);
			break;
		}
	}
}

static void read_functions(struct decoder *d)
{
	struct profile *p = d->p;
	size_t n = d->count[PROFILE_FUNCTION];

	p->functions = alloc(d, n, sizeof(*p->functions));
	for (size_t i = 0; p->functions && i < n; i++)
		read_function(d, open_span(d, d->spans[PROFILE_FUNCTION][i]), &p->functions[i]);
	p->nfunctions = p->functions ? (uint32_t)n : 0;
	id_map_fill(&d->functions, p->functions ? &p->functions->id : NULL, sizeof(*p->functions),
		    p->nfunctions);
}

static void read_mapping(struct decoder *d, struct pb msg, struct mapping *m)
{
	struct pb_field f;

	while (pb_next(&msg, &f)) {
		switch (f.num) {
		case MAPPING_ID:
			m->id = pb_u64(&f);
			break;
		case MAPPING_START:
			m->start = pb_u64(&f);
			break;
		case MAPPING_LIMIT:
			m->limit = pb_u64(&f);
			break;
		case MAPPING_OFFSET:
			m->offset = pb_u64(&f);
			break;
		case MAPPING_FILE:
			m->file = string(d, &f);
			break;
		case MAPPING_BUILD_ID:
			m->build_id = string(d, &f);
			break;
		case MAPPING_HAS_FUNCTIONS:
			m->has_functions = pb_u64(&f) != 0;
			break;
		case MAPPING_HAS_FILENAMES:
			m->has_filenames = pb_u64(&f) != 0;
			break;
		case MAPPING_HAS_LINE_NUMBERS:
			m->has_line_numbers = pb_u64(&f) != 0;
			break;
		case MAPPING_HAS_INLINE_FRAMES:
			m->has_inline_frames = pb_u64(&f) != 0;
			break;
		}
	}
}

static void read_mappings(struct decoder *d)
{
	struct profile *p = d->p;
	size_t n = d->count[PROFILE_MAPPING];

	p->mappings = alloc(d, n, sizeof(*p->mappings));
	for (size_t i = 0; p->mappings && i < n; i++)
		read_mapping(d, open_span(d, d->spans[PROFILE_MAPPING][i]), &p->mappings[i]);
	p->nmappings = p->mappings ? (uint32_t)n : 0;
	id_map_fill(&d->mappings, p->mappings ? &p->mappings->id : NULL, sizeof(*p->mappings),
		    p->nmappings);
}

static void read_line(struct decoder *d, struct pb msg, struct line *ln)
{
	struct pb_field f;

	*ln = (struct line){ .function = NONE };
	while (pb_next(&msg, &f)) {
		if (f.num == LINE_FUNCTION) {
			uint64_t id = pb_u64(&f);

			ln->function = id ? id_map_find(&d->functions, id) : NONE;
		} else if (f.num == LINE_LINE) {
			ln->line = (int64_t)pb_u64(&f);
		} else if (f.num == LINE_COLUMN && f.type == PB_VARINT) {
			ln->column = (int64_t)pb_u64(&f);
		}
	}
}

static void read_location(struct decoder *d, struct pb msg, struct location *l)
{
	struct profile *p = d->p;
	struct pb_field f;

	*l = (struct location){ .mapping = NONE, .line = p->nlines };
	while (pb_next(&msg, &f)) {
		switch (f.num) {
		case LOCATION_ID:
			l->id = pb_u64(&f);
			break;
		case LOCATION_MAPPING:
			l->mapping = id_map_find(&d->mappings, pb_u64(&f));
			break;
		case LOCATION_ADDRESS:
			l->address = pb_u64(&f);
			break;
		case LOCATION_LINE:
			read_line(d, pb_msg(&f), &p->lines[p->nlines++]);
			l->nlines++;
			break;
		case LOCATION_IS_FOLDED:
			l->is_folded = pb_u64(&f) != 0;
			break;
		}
	}
}

static size_t count_lines(struct decoder *d)
{
	size_t n = 0;
	struct pb_field f;

	for (size_t i = 0; i < d->count[PROFILE_LOCATION]; i++) {
		struct pb msg = open_span(d, d->spans[PROFILE_LOCATION][i]);

		while (pb_next(&msg, &f))
			n += f.num == LOCATION_LINE;
	}
	return n;
}

static void read_locations(struct decoder *d)
{
	struct profile *p = d->p;
	size_t n = d->count[PROFILE_LOCATION];

	p->locations = alloc(d, n, sizeof(*p->locations));
	p->lines = alloc(d, count_lines(d), sizeof(*p->lines));
	for (size_t i = 0; !d->st.why && i < n; i++)
		read_location(d, open_span(d, d->spans[PROFILE_LOCATION][i]), &p->locations[i]);
	p->nlocations = p->locations ? (uint32_t)n : 0;
	id_map_fill(&d->locations, p->locations ? &p->locations->id : NULL, sizeof(*p->locations),
		    p->nlocations);
}

/* ------------------------------------------------------------------ samples */

/* One thread's share of the samples, and what went wrong in it. */
struct share {
	struct decoder *d;
	size_t begin, end;
	uint64_t stack; /* where the next stack goes */
	struct label *labels;
	size_t nlabels, cap_labels;

	struct pb_status st;
	bool unknown; /* a location does not exist */
	size_t bad;   /* the first sample that is not valid, or SIZE_MAX */
	size_t bad_nvalues;
};

/*
 * The number at 'p', if it is below 2^28, with eight bytes to read from: no branch depends on how
 * long it is.  Returns its length, or 0.
 */
static inline size_t short_varint(const uint8_t *p, uint32_t *v)
{
	uint64_t x, stop;
	unsigned bit;

	memcpy(&x, p, 8);
	stop = ~le64toh(x) & 0x80808080u;
	if (stop == 0)
		return 0;
	bit = (unsigned)__builtin_ctzll(stop);
	x = le64toh(x) & ((2ull << bit) - 1);
	*v = (uint32_t)((x & 0x7f) | (x >> 1 & 0x3f80) | (x >> 2 & 0x1fc000) |
			(x >> 3 & 0xfe00000));
	return bit / 8 + 1;
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
		uint32_t small;
		size_t len = short_varint(p, &small);

		if (len == 0 || len > (size_t)(end - p))
			break;
		p += len;
		small--;
		s->unknown |= small >= ids->n;
		to[n++] = small;
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

	if (!read_label(s, msg, &l))
		return;
	vec_push(s->labels, s->nlabels, s->cap_labels, l);
	to->nlabels++;
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

	*to = (struct sample){ .stack = s->stack, .label = s->nlabels };
	while (pb_next(&msg, &f)) {
		if (f.num == SAMPLE_LOCATION && check_numbers(&f))
			to->depth += (uint32_t)read_stack(s, &f, p->stacks + s->stack + to->depth);
		else if (f.num == SAMPLE_VALUE && check_numbers(&f))
			nvalues = read_values(&f, sample_values(p, i), nvalues, p->ntypes);
		else if (f.num == SAMPLE_LABEL)
			add_label(s, pb_msg(&f), to);
	}
	s->stack += to->depth;
	if (to->nlabels)
		labels_normalize(p, s->labels + to->label, to->nlabels);
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
					    .st = { .start = d->st.start },
					    .bad = SIZE_MAX };
		while (i < n && done < bytes * (size_t)(t + 1) / (size_t)width)
			done += d->spans[PROFILE_SAMPLE][i++].n;
		shares[t].end = t + 1 == width ? n : i;
	}
	return bytes;
}

/* Puts the labels of all shares into one array. */
static void join_labels(struct decoder *d, struct share *shares, int width)
{
	struct profile *p = d->p;
	uint64_t n = 0;

	for (int t = 0; t < width; t++)
		n += shares[t].nlabels;
	p->labels = alloc(d, n, sizeof(*p->labels));
	for (int t = 0; t < width; t++) {
		struct share *s = &shares[t];

		if (p->labels && s->nlabels)
			memcpy(p->labels + p->nlabels, s->labels, s->nlabels * sizeof(*s->labels));
		for (size_t i = s->begin; i < s->end; i++)
			p->samples[i].label += p->nlabels;
		p->nlabels += s->nlabels;
		free(s->labels);
	}
}

static void read_samples(struct decoder *d, struct share *worst)
{
	struct profile *p = d->p;
	size_t n = d->count[PROFILE_SAMPLE];
	int width = n < PARALLEL_SAMPLES ? 1 : par_width();
	struct share shares[PAR_MOST];

	p->samples = alloc(d, n, sizeof(*p->samples));
	p->values = alloc(d, n * p->ntypes, sizeof(*p->values));
	p->nstacks = divide(d, shares, width);
	p->stacks = alloc(d, p->nstacks, sizeof(*p->stacks));
	if (d->st.why)
		return;
	p->nsamples = n;
	par_run(width, read_share, shares);
	join_labels(d, shares, width);
	for (int t = width - 1; t >= 0; t--) {
		if (shares[t].st.why)
			d->st = shares[t].st;
		if (shares[t].bad != SIZE_MAX)
			*worst = shares[t];
	}
}

/* ------------------------------------------------------------------ the whole */

static int check_samples(const struct profile *p, const struct share *worst, struct err *err)
{
	if (p->ntypes == 0 && p->nsamples)
		return err_set(err, -EILSEQ, "missing sample type information");
	if (worst->bad == SIZE_MAX)
		return 0;
	if (worst->bad_nvalues != p->ntypes)
		return err_set(err, -EILSEQ, "mismatch: sample has %zu values vs. %u types",
			       worst->bad_nvalues, p->ntypes);
	return err_set(err, -EILSEQ, "sample has nil location");
}

static void decoder_release(struct decoder *d)
{
	for (int i = 0; i < PROFILE_FIELDS; i++)
		free(d->spans[i]);
	free(d->strings);
	id_map_release(&d->mappings);
	id_map_release(&d->functions);
	id_map_release(&d->locations);
	profile_free(d->p);
}

static int read_all(struct decoder *d, struct pb msg, struct err *err)
{
	struct share worst = { .bad = SIZE_MAX };
	int rc;

	count_parts(d, msg);
	if (!d->st.why)
		note_parts(d, msg);
	if (!d->st.why)
		read_strings(d);
	if (!d->st.why)
		read_header(d, msg);
	if (d->concatenated && !d->st.why)
		return err_set(err, -ENOTUNIQ, "concatenated profiles detected");
	if (!d->st.why) {
		read_functions(d);
		read_mappings(d);
		read_locations(d);
	}
	if (!d->st.why)
		read_samples(d, &worst);
	if (d->st.why)
		return err_set(err, -EBADMSG, "byte %zu: %s", d->st.offset, d->st.why);
	rc = check_samples(d->p, &worst, err);
	return rc ? rc : profile_check_tables(d->p, err);
}

int profile_decode(struct str bytes, struct profile **out, struct err *err)
{
	AUTO(decoder_release) struct decoder d = { 0 };
	struct pb msg = pb_open(bytes.p, bytes.n, &d.st);
	int rc;

	if (bytes.n == 0)
		return err_set(err, -ENODATA, "empty input file");
	if (bytes.n > UINT32_MAX)
		return err_set(err, -ENOMEM, "profile is larger than 4 GiB");
	d.p = profile_new();
	d.end = msg.end;
	rc = read_all(&d, msg, err);
	if (rc == 0)
		*out = TAKE(d.p);
	return rc;
}
