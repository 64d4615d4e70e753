/*
 * inline.h - which nodes can be marked as inlined at all
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_INLINE_H
#define GRAPH_INLINE_H

#include "graph/walk.h"

/*
 * inline_candidates() leaves in 'wanted' (per node, not 0) only those nodes that some edge could
 * mark as inlined: one that stands for inlined calls and weighs 'cutoff' or more.  'weights' is
 * what walk_nodes() returned.  Looking for
 * edges is the dearest part of a table of functions: leaving out half of the nodes, as in the large
 * profile of bench/, takes a fifth off the whole report.  Returns whether any node is left.
 */
bool inline_candidates(const struct nodes *n, const uint64_t *weights, const uint8_t *kept,
		       uint8_t *wanted, int64_t cutoff);

#endif /* GRAPH_INLINE_H */
