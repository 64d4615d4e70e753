/*
 * compact.h - a profile that stays takes no more memory than it needs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_COMPACT_H
#define PROFILE_COMPACT_H

struct profile;

/*
 * profile_compact() closes the gaps between stacks, leaves one copy of each list of labels, and
 * gives back what that frees.  From then on samples may share labels; their number in p->nlabels
 * stays: it is what copying the labels of all samples takes.
 */
void profile_compact(struct profile *p);

#endif /* PROFILE_COMPACT_H */
