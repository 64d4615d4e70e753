/*
 * nodelets.h - the small boxes next to a node of a picture: labels, and sizes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RENDER_NODELETS_H
#define RENDER_NODELETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph;
struct out;
struct report;
struct tag;

struct nodelets {
	struct report *r;
	struct graph *g;
	const struct tag **tags; /* those that survived trimming, by node */
	size_t *first;           /* per node, and one more */
};

void nodelets_init(struct nodelets *n, struct report *r, struct graph *g);
void nodelets_release(struct nodelets *n);

/* Writes the boxes of 'node', which is N<id>; false if it has none. */
bool nodelets_print(struct nodelets *n, uint32_t node, uint32_t id, struct out *o);

#endif /* RENDER_NODELETS_H */
