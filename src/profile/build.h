/*
 * build.h - put a profile together piece by piece
 *
 * For the parsers of text formats, which learn the size of nothing in advance.  (The protobuf
 * decoder counts first and fills tables of the final size; see decode.c.)
 *
 *	struct builder b;
 *	builder_init(&b);
 *	builder_type(&b, STR("samples"), STR("count"));
 *	loc = builder_location(&b, 0x4005d0);
 *	builder_sample(&b, stack, nstack, values);
 *	builder_num_label(&b, STR("bytes"), 32, (struct str){0});
 *	p = builder_finish(&b);
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_BUILD_H
#define PROFILE_BUILD_H

#include "profile/profile.h"

struct builder {
	struct profile *p; /* header fields may be set directly; arrays are the builder's */
	size_t cap_types, cap_samples, cap_values, cap_stacks, cap_labels, cap_mappings,
		cap_locations, cap_lines, cap_functions, cap_comments, nvalues;
	struct table by_address; /* locations made by builder_location() */
};

void builder_init(struct builder *b);

/* All strings are copied. */
void builder_type(struct builder *b, struct str type, struct str unit);
void builder_period(struct builder *b, struct str type, struct str unit, int64_t period);
void builder_comment(struct builder *b, struct str text);

/* The location for 'address', made on first use.  Returns its index. */
uint32_t builder_location(struct builder *b, uint64_t address);
/* The same, but NONE where builder_location() was never asked for 'address'. */
uint32_t builder_find_location(const struct builder *b, uint64_t address);
/* A location of its own, without an address. */
uint32_t builder_new_location(struct builder *b);
/* Appends a function; its id is its place from 1 on.  Returns its index. */
uint32_t builder_function(struct builder *b, struct str name, struct str system_name,
			  struct str file);
/*
 * Appends a line to 'location', which must be the one that got a line last, or have none yet.
 */
void builder_line(struct builder *b, uint32_t location, uint32_t function, int64_t line);
/* Appends a mapping, which stays where it is until the next one is appended. */
struct mapping *builder_mapping(struct builder *b);

/*
 * Appends a sample with one value per type; labels that follow belong to it.  Until
 * builder_finish() a parser may shorten its stack in place.
 */
void builder_sample(struct builder *b, const uint32_t *stack, size_t depth, const int64_t *values);
void builder_str_label(struct builder *b, struct str key, struct str value);
/* An empty unit is none. */
void builder_num_label(struct builder *b, struct str key, int64_t num, struct str unit);

/*
 * Numbers the locations in the order in which samples use them, and forgets those that none
 * uses.  No location can be made or found by its address afterwards.
 */
void builder_renumber(struct builder *b);

/*
 * Hands over the profile: tables at their final size, labels in order, ids of locations and
 * mappings set to their place from 1 on.
 */
struct profile *builder_finish(struct builder *b);
/* For a parser that gives up; does nothing after builder_finish(). */
void builder_release(struct builder *b);

#endif /* PROFILE_BUILD_H */
