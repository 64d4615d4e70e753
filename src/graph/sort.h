/*
 * sort.h - the orders in which nodes and edges appear
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_SORT_H
#define GRAPH_SORT_H

#include "graph/graph.h"

/* The 'first' nodes of the order: heaviest first, by own or by cumulative value; then by name. */
void sort_by_weight(struct graph *g, uint32_t first, bool cum);

/* Most interesting first: heavy nodes with many callers and callees.  Needs the edges. */
void sort_visually(struct graph *g);

#endif /* GRAPH_SORT_H */
