/*
 * decode.c - from pprof protobuf bytes to a struct profile
 *
 * A walk over the outer message notes where its parts lie.  Then they are read in the order in
 * which they refer to each other: strings, functions, mappings, locations, samples
 * (decode-samples.c).
 *
 * Nothing checks for errors in between.  The first failure sticks in the status all cursors
 * share (see wire/pb.h), and turns whatever follows into a no-op.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/decode.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/xalloc.h"
#include "profile/check.h"
#include "profile/decoder.h"

#include <errno.h>

/* Field numbers, from profile.proto; those of the outer message are in decoder.h. */
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
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

static bool is_message(uint64_t num)
{
	return (num >= PROFILE_SAMPLE_TYPE && num <= PROFILE_STRING);
}

static void *check_memory(struct decoder *d, void *mem)
{
	if (!mem && !d->st.why)
		d->st.why = "profile exceeds its memory budget";
	return mem;
}

void *decoder_alloc(struct decoder *d, size_t n, size_t size)
{
	return check_memory(d, arena_alloc(&d->p->arena, n, size));
}

void *decoder_alloc_sparse(struct decoder *d, size_t n, size_t size)
{
	return check_memory(d, arena_alloc_sparse(&d->p->arena, n, size));
}

/* A string as the file calls it, which our own strings need not be known for. */
static uint32_t index_of(struct decoder *d, const struct pb_field *f)
{
	uint64_t i = pb_u64(f);

	if (i < d->count[PROFILE_STRING])
		return (uint32_t)i;
	pb_fail(&f->body, "string index is out of range");
	return 0;
}

static uint32_t string(struct decoder *d, const struct pb_field *f)
{
	uint32_t i = index_of(d, f);

	return d->count[PROFILE_STRING] ? d->strings[i] : 0;
}

/* ------------------------------------------------------------------ the outer message */

void decoder_note(struct decoder *d, uint64_t field, struct str part)
{
	vec_push(d->spans[field], d->count[field], d->cap[field], part);
}

void decoder_note_other(struct decoder *d, uint64_t field, const uint8_t *start)
{
	if (field < PROFILE_DROP_FRAMES || field >= PROFILE_FIELDS)
		return;
	vec_push(d->others, d->nothers, d->cap_others, start);
}

/* Finds the parts of the message that are messages or strings themselves. */
static void note_parts(struct decoder *d)
{
	struct pb_field f;

	for (;;) {
		const uint8_t *start = d->rest.p;
		struct pb body;

		if (!pb_next(&d->rest, &f))
			return;
		if (!is_message(f.num)) {
			decoder_note_other(d, f.num, start);
			continue;
		}
		body = pb_msg(&f);
		decoder_note(d, f.num,
			     (struct str){ (const char *)body.p, (size_t)(body.end - body.p) });
	}
}

static struct pb open_span(struct decoder *d, struct str s)
{
	const uint8_t *p = (const uint8_t *)s.p;

	return (struct pb){ p, p + s.n, &d->st };
}

void decode_strings(struct decoder *d)
{
	size_t n = d->count[PROFILE_STRING];

	d->strings = mem_new(n, sizeof(*d->strings));
	strings_intern(d->p->strings, d->spans[PROFILE_STRING], n, d->strings);
}

static void check_strings(struct decoder *d)
{
	size_t n = d->count[PROFILE_STRING];

	/* Every message names some string, if only by leaving its number out, which means the
	 * first. */
	if (n == 0)
		pb_fail(&d->message, "there are no strings");
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

	p->types = decoder_alloc(d, p->ntypes, sizeof(*p->types));
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

/* The 'i'-th part of the outer message that is neither a table's entry nor a sample. */
static bool open_other(struct decoder *d, size_t i, struct pb_field *f)
{
	struct pb msg = { d->others[i], d->message.end, &d->st };

	return pb_next(&msg, f);
}

/* A packed list of comments may hold as many as it has bytes. */
static void make_room_for_comments(struct decoder *d)
{
	struct pb_field f;
	size_t n = 0;

	for (size_t i = 0; i < d->nothers; i++) {
		if (open_other(d, i, &f) && f.num == PROFILE_COMMENT)
			n += (size_t)(f.body.end - f.body.p);
	}
	d->p->comments = decoder_alloc(d, n, sizeof(*d->p->comments));
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

static void read_header(struct decoder *d)
{
	struct pb_field f;

	make_room_for_comments(d);
	read_types(d);
	for (size_t i = 0; i < d->nothers; i++) {
		if (open_other(d, i, &f))
			read_scalar(d, &f);
	}
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
			fn->name = index_of(d, &f);
			break;
		case FUNCTION_SYSTEM_NAME:
			fn->system_name = index_of(d, &f);
			break;
		case FUNCTION_FILE:
			fn->file = index_of(d, &f);
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

	p->functions = decoder_alloc(d, n, sizeof(*p->functions));
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
			m->file = index_of(d, &f);
			break;
		case MAPPING_BUILD_ID:
			m->build_id = index_of(d, &f);
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

	p->mappings = decoder_alloc(d, n, sizeof(*p->mappings));
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

/* The next line of the profile; NULL when there is no memory for it. */
static struct line *new_line(struct decoder *d)
{
	struct profile *p = d->p;

	if (p->nlines == d->most_lines) {
		struct line *lines =
			check_memory(d, arena_grow(&p->arena, p->lines, p->nlines,
						   d->most_lines * 2, sizeof(*p->lines)));

		if (!lines)
			return NULL;
		p->lines = lines;
		d->most_lines *= 2;
	}
	return &p->lines[p->nlines++];
}

static void read_location(struct decoder *d, struct pb msg, struct location *l)
{
	struct line *line;
	struct pb_field f;

	*l = (struct location){ .mapping = NONE, .line = d->p->nlines };
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
			line = new_line(d);
			if (!line)
				return;
			read_line(d, pb_msg(&f), line);
			l->nlines++;
			break;
		case LOCATION_IS_FOLDED:
			l->is_folded = pb_u64(&f) != 0;
			break;
		}
	}
}

static void read_locations(struct decoder *d)
{
	struct profile *p = d->p;
	size_t n = d->count[PROFILE_LOCATION];

	p->locations = decoder_alloc(d, n, sizeof(*p->locations));
	d->most_lines = n + n / 2 + 1;
	p->lines = decoder_alloc(d, d->most_lines, sizeof(*p->lines));
	for (size_t i = 0; !d->st.why && i < n; i++)
		read_location(d, open_span(d, d->spans[PROFILE_LOCATION][i]), &p->locations[i]);
	p->nlocations = p->locations ? (uint32_t)n : 0;
	id_map_fill(&d->locations, p->locations ? &p->locations->id : NULL, sizeof(*p->locations),
		    p->nlocations);
}

/* ------------------------------------------------------------------ the whole */

static int check_samples(const struct profile *p, const struct sample_verdict *verdict,
			 struct err *err)
{
	if (p->ntypes == 0 && p->nsamples)
		return err_set(err, -EILSEQ, "missing sample type information");
	if (!verdict->bad)
		return 0;
	if (verdict->nvalues != p->ntypes)
		return err_set(err, -EILSEQ, "mismatch: sample has %zu values vs. %u types",
			       verdict->nvalues, p->ntypes);
	return err_set(err, -EILSEQ, "sample has nil location");
}

void decoder_release(struct decoder *d)
{
	for (int i = 0; i < PROFILE_FIELDS; i++)
		free(d->spans[i]);
	free(d->strings);
	free(d->others);
	id_map_release(&d->mappings);
	id_map_release(&d->functions);
	id_map_release(&d->locations);
	profile_free(d->p);
}

void decode_tables(struct decoder *d)
{
	read_functions(d);
	read_mappings(d);
	read_locations(d);
}

void decode_names(struct decoder *d)
{
	struct profile *p = d->p;

	check_strings(d);
	if (!d->st.why)
		read_header(d);
	if (d->st.why)
		return;
	for (uint32_t i = 0; i < p->nfunctions; i++) {
		struct function *f = &p->functions[i];

		f->name = d->strings[f->name];
		f->system_name = d->strings[f->system_name];
		f->file = d->strings[f->file];
	}
	for (uint32_t i = 0; i < p->nmappings; i++) {
		p->mappings[i].file = d->strings[p->mappings[i].file];
		p->mappings[i].build_id = d->strings[p->mappings[i].build_id];
	}
}

static int read_all(struct decoder *d, struct err *err)
{
	struct sample_verdict verdict = { 0 };
	int rc;

	note_parts(d);
	if (!d->st.why)
		decode_samples(d, &verdict);
	if (d->st.why)
		return err_set(err, -EBADMSG, "byte %zu: %s", d->st.offset, d->st.why);
	if (d->concatenated)
		return err_set(err, -ENOTUNIQ, "concatenated profiles detected");
	rc = check_samples(d->p, &verdict, err);
	return rc ? rc : profile_check_tables(d->p, err);
}

void decoder_init(struct decoder *d, struct strings *strings)
{
	*d = (struct decoder){ .p = profile_new(strings) };
}

int profile_decode(struct str bytes, struct strings *strings, struct head_start *ahead,
		   struct profile **out, struct err *err)
{
	AUTO(decoder_release) struct decoder d = { 0 };
	int rc;

	if (!ahead || !head_start_take(ahead, &d))
		decoder_init(&d, strings);
	if (bytes.n == 0)
		return err_set(err, -ENODATA, "empty input file");
	if (bytes.n > UINT32_MAX)
		return err_set(err, -ENOMEM, "profile is larger than 4 GiB");
	d.message = pb_open(bytes.p, bytes.n, &d.st);
	d.rest = d.rest.p ? (struct pb){ d.rest.p, d.message.end, &d.st } : d.message;
	rc = read_all(&d, err);
	if (rc == 0)
		*out = TAKE(d.p);
	return rc;
}
