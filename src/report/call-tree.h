/*
 * call-tree.h - all stacks of a report, sorted: every frame of their call tree is a range of them
 *
 * A frame is a place (graph/node.h) reached in one way from the root.  Stacks that begin alike
 * stand side by side once they are sorted by their frames, root first.  So a frame is where its
 * stacks are, from one to another, and how many frames these have in common, which is its level;
 * what it is worth is the difference of two running sums; and its callees begin where neighbours
 * have no more in common than its level.  There is no table of nodes, of which a profile of 400,000
 * stacks has millions: a stack costs some 20 bytes here, however deep it is, and as many for the
 * order.
 *
 * The width of a frame is the sum of the absolute values of its stacks.  Where all values have one
 * sign that is the frame's value; in a comparison it is what both sides took together, so that what
 * only the base has can be seen, too, and callees never stick out from under their caller.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_CALL_TREE_H
#define REPORT_CALL_TREE_H

#include "graph/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct report;

/* A frame of the tree, as what it is found by. */
struct call_range {
	uint32_t from, to; /* stacks */
	uint32_t level;    /* 0: the root, which is no place */
};

struct call_frame {
	struct call_range at;
	uint32_t place;    /* of the tree's nodes, or NONE for the root */
	uint32_t caller;   /* which of the frames, or NONE */
	double more, less; /* its width: positive and negative values apart */
	struct weight w;
	uint32_t callees; /* how many it has */
	uint32_t hidden;  /* how many of these are not shown */
	double hidden_width;
	bool inlined; /* every time it was called here */
};

/* Where in a stack the part of it begins that counts. */
struct call_start {
	uint32_t left, frames; /* of struct call_cursor */
};

/*
 * The stacks of a report in order, whatever they are worth: what the trees of its sample types have
 * in common.
 */
struct call_order {
	int users;
	size_t nsamples;                           /* of the view that was sorted */
	uint32_t nplaces;                          /* of its nodes */
	uint32_t n;                                /* stacks with a value of some type */
	uint32_t *sample, *length, *shared, *bits; /* as in struct call_tree */
	uint64_t *inlined;
};

struct call_tree {
	struct report *r;
	struct nodes nodes;
	uint32_t n;               /* stacks with a value */
	uint32_t *sample;         /* of the report's view */
	uint32_t *length;         /* frames */
	uint32_t *shared;         /* frames in common with the one before; n + 1, both ends are 0 */
	int64_t *sum;             /* running: of stacks [0, i); n + 1 */
	int64_t *divisor;         /* the same; NULL without a mean */
	double *more, *less;      /* the same, apart; NULL while the sums tell */
	struct call_start *start; /* per sample, or NULL: at the root */
	bool upwards;             /* from there towards the root */
	uint32_t *bits; /* per stack: its first bit among 'inlined'; NULL if no call was inlined */
	uint64_t *inlined;                /* a bit per frame */
	struct call_order *order;         /* whose that is, and the arrays if all count; or NULL */
	uint32_t nleaves, nroots;         /* what the view adds to stacks: profile/stack.h */
	bool shares_nodes, shares_bits;   /* with another tree, which outlives it */
	bool compared;                    /* some values are negative, or samples are of a base */
	bool has_base;                    /* the base's samples can be told apart: 'less' is it */
	size_t nsamples, nsamples_before; /* with a value; before filters, with or without one */
};

/*
 * call_tree_init() sorts the stacks of the report, which must outlive the tree.  Frames narrower
 * than the share 'narrowest' of all are not looked into: what is below them is not to be asked for.
 */
void call_tree_init(struct call_tree *t, struct report *r, double narrowest);
void call_tree_release(struct call_tree *t);

/*
 * call_tree_init_ordered() makes the whole tree from '*order', which must come from a report with
 * the same configuration but for the sample type and mean.  If that is NULL, the stacks are sorted
 * first, and there it is.  An order has users, of which each lets go of it.
 */
void call_tree_init_ordered(struct call_tree *t, struct report *r, struct call_order **order);
struct call_order *call_order_use(struct call_order *o);
void call_order_release(struct call_order *o);

/*
 * call_tree_around() makes the trees of what calls, and what is called by, the places of 'base'
 * that are 'hit': of each stack, what is above its outermost such frame, nearest first, and what
 * begins with it.  Of a function that calls itself that counts each stack once.
 */
void call_tree_around(const struct call_tree *base, const uint8_t *hit, struct call_tree *callers,
		      struct call_tree *callees);

struct call_range call_tree_root(const struct call_tree *t);

/* The places of stack 'i' up to level 'n', which is at most its length. */
void call_tree_path(const struct call_tree *t, uint32_t i, uint32_t n, uint32_t *places);

/* The frame that has stack 'i' at 'level'. */
struct call_range call_tree_range(const struct call_tree *t, uint32_t i, uint32_t level);
/* The same for the caller of 'r', which is no root. */
struct call_range call_tree_caller(const struct call_tree *t, struct call_range r);

/* What a frame is worth; neither its place nor its callees. */
void call_tree_frame(const struct call_tree *t, struct call_range at, struct call_frame *f);

/* What is shown of a tree. */
struct call_frames {
	struct call_frame *at; /* depth first, widest callee first */
	size_t n;
	size_t narrow, deep, negative; /* left out: too narrow, too deep, drop_negative says so */
	double narrowest;              /* what was left out is narrower than this, as a value */
	bool over_the_top;             /* that was raised, as there were too many frames */
};

struct call_limits {
	double narrowest; /* as a value */
	size_t most;
	uint32_t levels; /* below 'top' */
};

/* The frame 'top' and what is below it, within limits; free 'at' of the result. */
void call_tree_show(const struct call_tree *t, struct call_range top,
		    const struct call_limits *limits, struct call_frames *out);

/*
 * call_tree_count() adds up stacks [from, to) that have a place that is 'hit', however many of
 * them: once each.
 */
struct weight call_tree_count(const struct call_tree *t, const uint8_t *hit, uint32_t from,
			      uint32_t to);

#endif /* REPORT_CALL_TREE_H */
