/*
 * node-names.h - the printed names of all nodes at once
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_NODE_NAMES_H
#define GRAPH_NODE_NAMES_H

#include "graph/graph.h"

void names_init(struct graph *g);
void names_release(struct graph *g);

/*
 * names_make() makes all nodes from 'info', with their names, and asks o->is_about: 1 per node for
 * which that is true, else 0.  Freed by the caller.
 */
uint8_t *names_make(struct graph *g, const struct graph_options *o, const struct node_info *info);

#endif /* GRAPH_NODE_NAMES_H */
