/*
 * svg.h - from Graphviz' drawing to a page that pans and zooms
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RENDER_SVG_H
#define RENDER_SVG_H

#include "base/str.h"

struct out;

/*
 * render_svg_page() writes what "dot -Tsvg" drew with the changes the reference makes, for a
 * browser: the drawing fills the window, at half its size; dragging moves it and the wheel zooms.
 * What does not look like Graphviz' output is passed on as it is.
 */
void render_svg_page(struct str svg, struct out *o);

#endif /* RENDER_SVG_H */
