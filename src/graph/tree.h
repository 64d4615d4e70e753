/*
 * tree.h - a call tree: every place once for each way to reach it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_TREE_H
#define GRAPH_TREE_H

#include "graph/graph.h"

/* Fills in nodes, edges (one per node that has a caller) and, for a picture, tags of 'g'. */
void tree_build(struct graph *g, const struct nodes *n, const struct graph_options *o);

/*
 * tree_trim() takes the listed nodes for which kept is 0 out of the tree: their callees become
 * callees of their caller, over a residual edge, or roots.  The order is left to the caller.
 */
void tree_trim(struct graph *g, const uint8_t *kept);

#endif /* GRAPH_TREE_H */
