/*
 * flame-captions.h - what is said about a place, however often it is drawn
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RENDER_FLAME_CAPTIONS_H
#define RENDER_FLAME_CAPTIONS_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nodes;
struct report;

struct caption {
	struct str name;  /* visible, and not longer than captions_init() was told */
	struct str label; /* short: of the text on a frame */
	struct str module;
	struct str function; /* which gives the colour its shade */
	uint32_t hash;       /* of the name as it is */
	bool cut;            /* the name is longer */
};

struct captions {
	struct report *r;
	const struct nodes *nodes;
	struct caption *at; /* per place; made when needed */
	uint32_t *mapping;  /* per place: that of a location which has it, or NONE */
	size_t longest;
};

/* Texts are kept in the report's arena.  'nodes' must outlive the captions. */
void captions_init(struct captions *c, struct report *r, const struct nodes *nodes, size_t longest);
void captions_release(struct captions *c);

const struct caption *captions_get(struct captions *c, uint32_t place);

#endif /* RENDER_FLAME_CAPTIONS_H */
