/*
 * lines.h - put new lines into a profile, with functions that equal ones share
 *
 * Local and remote symbolization both end here.  Nothing changes in the profile but its
 * locations until line_adder_finish(), which appends all functions and lines at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_LINES_H
#define SYMBOL_LINES_H

#include "base/table.h"
#include "profile/profile.h"

struct err;

struct line_adder {
	struct profile *p;
	struct table index;         /* private, as all that follows: of 'functions' */
	struct function *functions; /* the profile's and then new ones, as are lines */
	size_t nfunctions, functions_cap;
	struct line *lines;
	size_t nlines, lines_cap;
	size_t expected; /* new lines */
	size_t shared;   /* functions from here on may be shared */
};

/* 'expected' is about how many lines there will be. */
void line_adder_init(struct line_adder *a, struct profile *p, size_t expected);
/* Makes room for 'n' new functions at once. */
void line_adder_expect(struct line_adder *a, size_t n);

/* The function that is like 'f', new if there is none; for line_add().  The id is of no matter. */
uint32_t line_adder_function(struct line_adder *a, struct function f);
/* The same for one that is known to be like no other. */
uint32_t line_adder_new(struct line_adder *a, struct function f);

/* Functions that were made so far are not used for what comes. */
void line_adder_forget(struct line_adder *a);

/* Gives the location 'n' new lines in place of those it has: to be filled in, innermost first. */
struct line *line_adder_lines(struct line_adder *a, struct location *l, uint32_t n);

/* Appends it all to the profile.  0, or -EOVERFLOW where the profile has no room for it. */
int line_adder_finish(struct line_adder *a, struct err *err);

#endif /* SYMBOL_LINES_H */
