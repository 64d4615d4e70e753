/*
 * filter.h - what of a profile a person wants to see
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef VIEW_FILTER_H
#define VIEW_FILTER_H

struct config;
struct err;
struct label_units;
struct notify;
struct profile;

/*
 * filter_apply() changes the view 'v' as the filters of 'cfg' say, in the reference's order: focus,
 * ignore, hide and show together; show_from; tagfocus and tagignore; tagshow and taghide;
 * prune_from.  Samples without a stack go in any case.  It warns of filters that match nothing.
 * Failure: -EINVAL for an expression that does not compile; the view is then of no use.
 */
int filter_apply(struct profile *v, const struct config *cfg, const struct label_units *units,
		 struct notify *notify, struct err *err);

#endif /* VIEW_FILTER_H */
