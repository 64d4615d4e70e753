/*
 * flame.h - what is drawn of a call tree: every frame as wide as what it took
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_FLAME_H
#define REPORT_FLAME_H

#include "graph/graph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct report;

enum {
	FLAME_MOST_FRAMES = 10000, /* what a browser lays out at once, and a mail may carry */
	FLAME_MOST_LEVELS = 1000,
};

struct flame_frame {
	uint32_t place;    /* of flame.nodes, or NONE for the root of all */
	uint32_t level;    /* 0 is the root */
	double x, width;   /* in units of the sample value, from the left */
	double more, less; /* width = more + less: positive and negative values apart */
	struct weight w;
	bool inlined; /* every time it was called here */
};

/* What is not in the picture. */
struct flame_cuts {
	double narrowest;  /* frames below this share of the width are left out */
	size_t narrow;     /* how many such frames hang below a frame that is drawn */
	size_t deep;       /* how many would be below the last level */
	size_t negative;   /* left out because drop_negative says so */
	bool over_the_top; /* 'narrowest' was raised, as there were too many frames */
};

struct flame {
	struct nodes nodes;         /* places */
	struct flame_frame *frames; /* the root, then depth first, widest callee first */
	size_t n;
	uint32_t levels;
	size_t nsamples, nsamples_before; /* with a value; before filters, with or without one */
	bool compared;                    /* some values are negative, or samples are of a base */
	bool has_base;                    /* the base's samples can be told apart: 'less' is it */
	struct flame_cuts cuts;
};

/*
 * flame_init() makes the tree of the report's view.  'narrowest' is the share of the whole width
 * below which a frame is not worth drawing; nodefraction and nodecount may ask for fewer frames.
 *
 * It is kept small (call-tree.h): the tree of graph/tree.h, which has every branch, takes
 * gigabytes for a profile of 300,000 stacks.
 */
void flame_init(struct flame *f, struct report *r, double narrowest);
void flame_release(struct flame *f);

#endif /* REPORT_FLAME_H */
