/*
 * merger.h - what the parts of the merge share (private to merge*.c)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_MERGER_H
#define PROFILE_MERGER_H

#include "base/table.h"
#include "profile/profile.h"

/* What a source says of itself, with strings of the result. */
struct header {
	int64_t time, duration, period;
	uint32_t default_type, doc_url;
};

struct merger {
	struct profile *out;
	struct {
		size_t samples, values, stacks, labels, mappings, locations, lines, functions;
		size_t comments, hashes, headers;
	} cap; /* how many there is room for */
	struct header *headers;
	size_t nheaders;
	struct table samples, locations, functions, mappings, comments;
	uint64_t *hashes; /* of the samples in 'out'; in place, of those in the source first */
	bool in_place;

	/* About the source being read: where its parts went, NONE for not yet. */
	const struct profile *src;
	uint32_t *location_map, *function_map, *mapping_map;
	uint32_t *string_map; /* NULL: the strings are those of 'out' */
};

uint32_t map_string(struct merger *m, uint32_t s);
uint32_t map_mapping(struct merger *m, uint32_t i);

/*
 * map_locations() finds or makes, in the result, the 'n' locations of the source that 'used' lists,
 * each of them once, in that order; and their functions and mappings.  NULL lists the first 'n'.
 */
void map_locations(struct merger *m, const uint32_t *used, size_t n);

#endif /* PROFILE_MERGER_H */
