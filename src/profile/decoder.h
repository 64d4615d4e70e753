/*
 * decoder.h - what the parts of the decoder share (private to decode*.c)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_DECODER_H
#define PROFILE_DECODER_H

#include "base/table.h"
#include "profile/profile.h"
#include "wire/pb.h"

#include <stdatomic.h>

/* Field numbers, of the outer message, from profile.proto. */
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

/* From the ids in the file to places in a table: an array for small ids, a hash for others. */
struct id_map {
	uint32_t *small; /* ids 0 .. n */
	size_t n;
	bool dense; /* the ids are 1, 2, 3 ... n */
	struct table large;
	const uint64_t *ids; /* of the table's entries, 'stride' bytes apart */
	size_t stride;
};

struct decoder;

/* Samples that one thread reads, and what went wrong with them. */
struct block {
	struct decoder *d;
	size_t begin, end;
	uint64_t stack, label; /* where the next ones go */
	size_t nplaces;        /* there are so many locations, */
	size_t nstrings;       /* and so many strings */

	uint32_t top_place, top_string; /* the largest that were used */
	bool disorder;                  /* some place was used before the one before it */
	bool zero;                      /* some sample has no value but 0 */
	struct pb_status st;
	bool unknown; /* a location does not exist */
	size_t bad;   /* the first sample that is not valid, or SIZE_MAX */
	size_t bad_nvalues;
};

struct decoder {
	struct profile *p;
	struct pb_status st;
	struct pb message;  /* the outer one */
	struct pb rest;     /* what of it has not been divided into parts yet */
	struct block ahead; /* samples 0 .. ahead.end have been read before all bytes were there */
	size_t room, bytes; /* for samples, and for bytes of samples, then */
	size_t count[PROFILE_FIELDS], cap[PROFILE_FIELDS];
	struct str *spans[PROFILE_FIELDS]; /* of the messages and strings */
	uint32_t *strings;                 /* from an index in the file to ours */
	const uint8_t **others;            /* where other parts start */
	size_t nothers, cap_others;
	struct id_map mappings, functions, locations;
	size_t most_lines; /* there is room for */
	bool concatenated;
	bool ids_known; /* 'locations' is filled in */
};

void decoder_init(struct decoder *d, struct strings *strings);
void decoder_release(struct decoder *d);

/* Memory of the profile; NULL, and a failure in d->st, when there is none. */
void *decoder_alloc(struct decoder *d, size_t n, size_t size);
void *decoder_alloc_sparse(struct decoder *d, size_t n, size_t size);

/*
 * id_map_fill() takes the ids of a table of 'n' entries, 'stride' bytes apart.  Of several entries
 * with one id the last one is meant, as in the reference.
 */
void id_map_fill(struct id_map *m, const uint64_t *ids, size_t stride, size_t n);
void id_map_release(struct id_map *m);
uint32_t id_map_find_large(const struct id_map *m, uint64_t id);

/* The place of the entry with 'id', or NONE. */
static inline uint32_t id_map_find(const struct id_map *m, uint64_t id)
{
	return id <= m->n ? m->small[id] : id_map_find_large(m, id);
}

/* What CheckValid would say of the samples. */
struct sample_verdict {
	bool bad;
	size_t nvalues; /* of the first sample that is not valid */
};

/* Reads everything; each step in a thread of its own, if that pays. */
void decode_samples(struct decoder *d, struct sample_verdict *verdict);

/*
 * The rest in three steps: decode_strings() and decode_tables() need not wait for each other;
 * decode_names() then gives the tables their strings, and reads what is there only once.
 */
void decode_strings(struct decoder *d);
void decode_tables(struct decoder *d);
void decode_names(struct decoder *d);

/* Remembers where the next part of the outer message is. */
void decoder_note(struct decoder *d, uint64_t field, struct str part);
/* The same for a part that is not one of many; unknown ones are forgotten. */
void decoder_note_other(struct decoder *d, uint64_t field, const uint8_t *start);

/*
 * decode_ahead() reads the samples in that part of the message that is there already, up to 'end',
 * or some of them if 'over' becomes true.  'expected' is how large the whole is likely to be.
 * Returns whether there is any point in going on: only what is as usual can be read ahead.
 */
bool decode_ahead(struct decoder *d, const uint8_t *end, size_t expected, const atomic_bool *over);

#endif /* PROFILE_DECODER_H */
