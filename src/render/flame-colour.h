/*
 * flame-colour.h - the colours of frames, and what they stand for
 *
 * Every colour is light enough for dark text (at least 7:1), and the hues can be told apart by
 * people who see two of the three primary colours.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RENDER_FLAME_COLOUR_H
#define RENDER_FLAME_COLOUR_H

#include "base/str.h"

#include <stdint.h>

struct nodes;

/* "#rrggbb" */
struct colour {
	char text[8];
};

/* The colour of the frame that stands for everything. */
#define COLOUR_ROOT ((struct colour){ "#d9dce0" })

/*
 * What a function belongs to, which gives it its hue: the package in a Go or Java name, the
 * outermost namespace of a C++ or Rust name, else 'binary'.  Part of the arguments.
 */
struct str module_of(struct str name, struct str binary);

/* There are so many hues; a module has the same in every run and for every profile, */
enum { COLOUR_HUES = 8 };
unsigned int colour_hue(struct str module);
/* unless another stands beside it: whoever draws may choose.  The shade is the function's, or "".
 */
struct colour colour_of(unsigned int hue, struct str name);

/* Steps of change: 0 is none, negative is less, positive is more. */
enum { COLOUR_STEPS = 4 };

/* How much 'more' and 'less' differ, in steps. */
int colour_step(double more, double less);
struct colour colour_of_step(int step);

#endif /* RENDER_FLAME_COLOUR_H */
