/*
 * load.h - bring a profile in
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_LOAD_H
#define UI_LOAD_H

struct compare_sides;
struct err;
struct notify;
struct profile;
struct source_options;

/*
 * load() fetches all sources and bases, merges them, subtracts the bases, finds names, drops what
 * the profile calls uninteresting, and saves a copy of what came over the network.  A source that
 * fails is named through 'n'; the others count.  Returns 0 and the profile, which the caller frees,
 * or a negative errno and the reference's message.
 */
int load(const struct source_options *so, struct notify *n, struct profile **out, struct err *err);

/*
 * load_sides() is the same where there is a base, whose samples can be told apart afterwards even
 * if -base did not ask for that; 'sides' is what a comparison needs to know beyond the profile, as
 * long as that lives.
 */
int load_sides(const struct source_options *so, struct notify *n, struct profile **out,
	       struct compare_sides *sides, struct err *err);

#endif /* UI_LOAD_H */
