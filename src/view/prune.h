/*
 * prune.h - cut the uninteresting end off stacks
 *
 * Both functions change 'p' in place: the ranges of its samples' stacks and of its locations'
 * lines.  For a view, own_samples() and own_locations() come first (see own.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef VIEW_PRUNE_H
#define VIEW_PRUNE_H

struct matcher;
struct profile;

/*
 * prune_uninteresting() removes what the profile itself calls uninteresting: from each stack the
 * frame that matches its drop_frames (and not keep_frames) and everything it called, but never
 * frames above the first one that does not match.  An expression that does not compile is ignored.
 */
void prune_uninteresting(struct profile *p);

/* prune_from() removes everything called by the lowest frame that matches, and keeps the frame. */
void prune_from(struct profile *p, struct matcher *m);

#endif /* VIEW_PRUNE_H */
