/*
 * sort.h - the orders in which nodes and edges appear
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_SORT_H
#define GRAPH_SORT_H

#include "graph/graph.h"

/* Heaviest first, by own or by cumulative value; then by name. */
void sort_by_weight(struct graph *g, bool cum);

/* Most interesting first: heavy nodes with many callers and callees.  Needs the edges. */
void sort_visually(struct graph *g);

#endif /* GRAPH_SORT_H */
