/*
 * html.h - text in a page
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RENDER_HTML_H
#define RENDER_HTML_H

#include "base/str.h"

struct out;

/* 's' so that nothing in it is markup, in text and in quoted attributes; as Go's html/template. */
void html_text(struct out *o, struct str s);

#endif /* RENDER_HTML_H */
