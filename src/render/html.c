/*
 * html.c - text in a page
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "render/html.h"

#include "base/out.h"

static const char *escape(char c)
{
	switch (c) {
	case '\0':
		return "\xef\xbf\xbd"; /* U+FFFD: HTML has no NUL */
	case '"':
		return "&#34;";
	case '\'':
		return "&#39;";
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	default:
		return NULL;
	}
}

void html_text(struct out *o, struct str s)
{
	size_t from = 0;

	for (size_t i = 0; i < s.n; i++) {
		const char *instead = escape(s.p[i]);

		if (!instead)
			continue;
		out_bytes(o, s.p + from, i - from);
		out_text(o, instead);
		from = i + 1;
	}
	out_bytes(o, s.p + from, s.n - from);
}
