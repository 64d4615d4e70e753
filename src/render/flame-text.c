/*
 * flame-text.c - how wide text is, without a font to measure it with
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "render/flame-text.h"

#include "base/gotext.h"

enum { SHORTEST = 3 }; /* bytes of what is cut, or it says nothing */

/*
 * How wide characters are at most in a sans-serif font of 12 pixels, in tenths: DejaVu Sans is the
 * widest of those in use, and Arial has a few that are wider.  flame.js measures and fits again.
 */
static const uint8_t ascii_width[95] = {
	38, 48,  55, 101, 76, 114, 94, 33,  47, 47,  60,  101, 38, 43,  38, 40, 76, 76,  76,
	76, 76,  76, 76,  76, 76,  76, 40,  40, 101, 101, 101, 67, 122, 82, 82, 87, 92,  80,
	73, 93,  90, 35,  60, 80,  67, 104, 90, 94,  80,  94,  87, 80,  73, 88, 82, 119, 82,
	80, 82,  47, 40,  47, 101, 67, 60,  74, 76,  66,  76,  74, 42,  76, 76, 33, 33,  69,
	33, 117, 76, 73,  76, 76,  49, 63,  47, 76,  71,  98,  71, 71,  63, 76, 40, 76,  101,
};

static double rune_width(uint32_t c)
{
	if (c >= ' ' && c < 0x7f)
		return ascii_width[c - ' '] / 10.0;
	return c < 0x1100 ? 9 : 12.5;
}

double text_width(struct str s)
{
	double w = 0;

	while (s.n) {
		size_t bytes;

		w += rune_width(go_rune(s, &bytes));
		s = str_skip(s, bytes);
	}
	return w;
}

struct str text_fit(struct str s, double width, bool *all)
{
	double w = 0, with_dots = width - rune_width(0x2026);
	size_t at = 0, room = 0;

	while (at < s.n) {
		size_t bytes;

		w += rune_width(go_rune(str_skip(s, at), &bytes));
		if (w > width) {
			*all = false;
			return (struct str){ s.p, room < SHORTEST ? 0 : room };
		}
		at += bytes;
		if (w <= with_dots)
			room = at;
	}
	*all = true;
	return s;
}
