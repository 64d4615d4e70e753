/*
 * call-sort.h - the stacks of a call tree in order
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_CALL_SORT_H
#define REPORT_CALL_SORT_H

struct call_cursor;
struct call_tree;

/*
 * call_sort() sorts the cursors of all stacks of the tree, and fills in how many frames neighbours
 * share.  Unless 'widths', which each sample has one of, is NULL: ranges that are worth less than
 * 'cutoff' are not looked into: NONE.
 */
void call_sort(struct call_tree *t, struct call_cursor *cursors, const float *widths,
	       double cutoff);

#endif /* REPORT_CALL_SORT_H */
