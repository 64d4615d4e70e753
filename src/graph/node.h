/*
 * node.h - the places a report talks about
 *
 * A node is a function, a file, a line or an address, as the granularity says: whatever lines of
 * locations have in common once the rest is left out.  There is one node per such place; a frame
 * is one line of one location, and every frame has a node.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_NODE_H
#define GRAPH_NODE_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct config;
struct out;
struct profile;

struct node_info {
	uint64_t address;
	int64_t start_line, line, column;
	uint32_t name, file, objfile; /* strings of the profile */
};

struct node_options {
	bool functions, files, lines, addresses; /* what tells nodes apart */
	bool columns;
	bool no_inlines; /* only the outermost line of a location */
	bool objfiles;   /* the binary and the start of a function tell nodes apart, too */
	bool trim;       /* cut file names as trim_path and source_path say */
	struct str trim_path, source_path;
};

struct nodes {
	struct profile *p; /* new strings go into its table */
	struct node_info *info;
	uint32_t n;

	uint32_t *first;  /* per location: its first frame, none if it is hidden; one more */
	uint32_t *frame;  /* the node of each frame, innermost line first */
	uint32_t *lead;   /* per location: the node of its first frame, and NODE_MANY; or NONE */
	uint8_t *inlined; /* per node: a frame that is not the outermost of its location has it */
};

/* In nodes.lead: there are more frames. */
#define NODE_MANY 0x80000000u

/* Of a location, by its lead: there is one frame, whose node is the lead. */
static inline bool node_is_single(uint32_t lead)
{
	return !(lead & NODE_MANY);
}

/* From granularity, noinlines, showcolumns and the paths.  False for an unknown granularity. */
bool node_options_init(struct node_options *o, const struct config *cfg);

/* Makes the nodes of all locations of 'p', in order of first appearance. */
void nodes_init(struct nodes *n, struct profile *p, const struct node_options *o);
void nodes_release(struct nodes *n);

/* "0000000000401000 main /src/main.c:12": what the reference prints for a node. */
void node_print(struct out *o, const struct profile *p, const struct node_info *i);

/* The order of two nodes whose names are equal: that of all their parts, printed. */
int node_compare(const struct profile *p, const struct node_info *a, const struct node_info *b);

/*
 * trim_path() cuts 'path' as trim_path and source_path (lists of folders with colons between them)
 * say, and returns the rest of it.
 */
struct str trim_path(struct str path, struct str trim, struct str search);

#endif /* GRAPH_NODE_H */
