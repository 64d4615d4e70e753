/*
 * flame-json.h - what a window can show of call trees, for the script of the page
 *
 * One object: "total" and "text" of it, "compared", "base" (the base can be told apart), and
 *
 *	"trees"		a list; each has "up" (callers below callees), "trail" (how many of its
 *first frames lead to the one on top), "narrow" (how many frames were left out), "cut" (below which
 *value) and columns, one entry per frame, depth first: "place", "level", "from", "to", "value",
 *"self", "text", "own" (texts of these), "callees", "hidden" (callees that were left out), "rest"
 *(their width) and "inlined"; in a comparison also "more" and "less", and "before" and "after" as
 *texts "places"	columns, one entry per place that occurs: "id", "name", "label", "hash",
 *			"module", and "cut", the list of those whose names are longer
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RENDER_FLAME_JSON_H
#define RENDER_FLAME_JSON_H

#include "report/call-tree.h"

struct captions;
struct out;

/* A tree, and which of its frames is on top. */
struct flame_part {
	const struct call_tree *tree;
	struct call_range top;
};

/* 'pixels' is how wide the window is: frames of less than half of one are left out. */
void render_flame_json(struct captions *c, const struct flame_part *parts, size_t nparts,
		       double pixels, struct out *o);

#endif /* RENDER_FLAME_JSON_H */
