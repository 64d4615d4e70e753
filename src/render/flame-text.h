/*
 * flame-text.h - how wide text is, without a font to measure it with
 *
 * Estimates are on the safe side for any sans-serif font in use, at 12 pixels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RENDER_FLAME_TEXT_H
#define RENDER_FLAME_TEXT_H

#include "base/str.h"

/* Pixels. */
double text_width(struct str s);

/*
 * The beginning of 's' that fits into 'width' pixels, with room for three dots if '*all' is then
 * false; empty if it would be too short to say anything.
 */
struct str text_fit(struct str s, double width, bool *all);

#endif /* RENDER_FLAME_TEXT_H */
