/*
 * text.h - pieces that the text reports share
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RENDER_TEXT_H
#define RENDER_TEXT_H

#include "base/str.h"

#include <stdint.h>

struct legend;
struct out;
struct report;

/* The lines with newlines between them and one at the end (one even if there are no lines). */
void text_legend(struct out *o, const struct legend *l);

/* A value, right-aligned in 'width' columns. */
void text_value(const struct report *r, struct out *o, int64_t v, int width);

/* A value in ten columns, or a dot for none. */
void text_value_or_dot(const struct report *r, struct out *o, int64_t v);

/*
 * Columns: 'text' is lines of cells that end in tabs.  Cells of one column in adjacent lines are
 * right-aligned to the widest of them and one blank; what follows the last tab of a line stays as
 * it is.
 */
void text_columns(struct out *o, struct str text);

#endif /* RENDER_TEXT_H */
