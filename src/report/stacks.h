/*
 * stacks.h - the stacks that go through a function, heaviest first, and how often each appears
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_STACKS_H
#define REPORT_STACKS_H

#include "base/str.h"
#include "graph/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct report;

/* A function that matched, at the leaf of so many samples of one value, or above the leaf. */
struct stack_line {
	size_t count;
	bool is_leaf;
	int64_t value; /* of each sample; 0 if it is not the leaf */
	struct str name;
	bool inlined;
};

struct stack {
	size_t count;  /* samples with this stack */
	int64_t value; /* of all of them */
	const struct stack_frame {
		struct str name;
		bool inlined;
	} * frames; /* leaf first */
	size_t n;
};

/* Everything lives in the report's arena. */
struct stacks {
	struct stack_line *lines; /* leaves by value, then zeros, then callers */
	size_t nlines;
	struct stack *stacks; /* by value */
	size_t nstacks;
};

/* -ENOENT and a message if no function matches the report's parameter. */
int stacks_init(struct stacks *s, struct report *r, struct err *err);

#endif /* REPORT_STACKS_H */
