/*
 * legacy-maps.h - the memory map in an old profile, and what follows from it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_LEGACY_MAPS_H
#define PROFILE_LEGACY_MAPS_H

#include "base/str.h"

#include <stdbool.h>

struct builder;
struct err;
struct lines;

/* Whether the memory map begins after this line. */
bool maps_begin_at(struct str line);

/*
 * maps_find() looks for that line, from the current one on, and then does what maps_read()
 * does: it reads the rest as a memory map, and finds the mapping of every location.  Lines
 * that are not part of a map are skipped.  -EMSGSIZE for a line that is too long, -E2BIG if
 * $variables expand to too much.
 */
int maps_find(struct lines *l, struct builder *b, struct err *err);
int maps_read(struct lines *l, struct builder *b, struct err *err);

/* One line of a memory map.  Words that are not there are empty. */
struct maps_entry {
	struct str start, limit, permissions, offset, file, build_id;
};

/* False if 'line' is neither like /proc/self/maps nor of the brief form. */
bool maps_parse_entry(struct str line, struct maps_entry *e);

/* Joins mappings that were split, and puts the program's first. */
void mappings_tidy(struct builder *b);
/* Gives every location with an address a mapping: a made-up one if no other fits. */
void mappings_attach(struct builder *b);

#endif /* PROFILE_LEGACY_MAPS_H */
