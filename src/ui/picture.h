/*
 * picture.h - have Graphviz lay out and draw a graph
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_PICTURE_H
#define UI_PICTURE_H

#include "base/str.h"

struct command;
struct err;
struct out;

/*
 * 0 if Graphviz is there.  Otherwise -ENOENT and one line that says what to install and what
 * does without; 'dash' is "-" on the command line and "" in the shell.
 */
int picture_check(const char *dash, struct err *err);

/*
 * picture_draw() writes 'graph', which is DOT text, as the kind of picture that 'c' stands for.
 * Graphviz is killed after 'seconds' (0: never), and when it wants more than its share of
 * the machine's memory.  On failure nothing is written.
 */
int picture_draw(const struct command *c, struct str graph, unsigned seconds, struct out *o,
		 struct err *err);

#endif /* UI_PICTURE_H */
