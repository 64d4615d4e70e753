/*
 * trust.h - what a report does not show, and what its profile never had
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_TRUST_H
#define REPORT_TRUST_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph;
struct report;

/* Why code of a binary has no names. */
enum trust_cause {
	TRUST_NO_FILE,   /* there is none: it was made at run time, or is the kernel's */
	TRUST_NOT_HERE,  /* the file is not on this machine */
	TRUST_NO_SYMBOLS /* it is, and does not say */
};

struct trust_binary {
	struct str file, build_id;
	struct str package; /* that has the names, if a package has the file; see packages.h */
	enum trust_cause cause;
	int64_t value; /* of samples with a frame in it that has no name */
};

/*
 * Values are sums of absolute values of the sample type that the report is about, of all samples
 * before any filter, unless it says otherwise.
 */
struct trust {
	size_t samples, filtered_samples; /* in the profile; and left out by filters */
	int64_t value, filtered;

	/* What those who took the profile say of it: as a value, and in comments, as numbers. */
	int64_t lost;
	uint64_t samples_lost, stacks_lost, waits_lost, stacks_cut, labels_lost;
	struct str *notes; /* other comments of the runtime */
	size_t nnotes;

	int64_t unnamed;               /* of samples with a frame that has no name */
	struct trust_binary *binaries; /* whose frames these are, the most first */
	size_t nbinaries;

	/*
	 * After trust_graph(): how much of what filters leave its nodes show.  In a difference that
	 * is less than all samples, without anything left out: old and new ones are in one node.
	 */
	bool trimmed;
	int64_t shown, whole;
	uint32_t nodes, dropped_nodes; /* nodes shown; and left out as too small or too many */
};

/* Everything lives in the report's arena. */
void trust_init(struct trust *t, struct report *r);
void trust_graph(struct trust *t, const struct graph *g);

#endif /* REPORT_TRUST_H */
