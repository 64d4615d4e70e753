/*
 * quote-json.c - a string of JSON
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/quote-json.h"

#include "base/gotext.h"
#include "base/out.h"

#include <stdbool.h>

/* Characters that Go writes as numbers, as what it writes may become part of a page. */
static bool is_numbered_by_go(uint32_t rune)
{
	return rune == '<' || rune == '>' || rune == '&' || rune == 0x2028 || rune == 0x2029;
}

static void print_rune(struct out *o, uint32_t rune, struct str bytes, enum json_dialect dialect)
{
	bool broken = rune == GO_RUNE_ERROR && bytes.n == 1;

	if (rune == '"' || rune == '\\')
		out_printf(o, "\\%c", (char)rune);
	else if (rune == '\n' || rune == '\r' || rune == '\t')
		out_printf(o, "\\%c", rune == '\n' ? 'n' : rune == '\r' ? 'r' : 't');
	else if (rune < 0x20 || (dialect == JSON_AS_GO && (broken || is_numbered_by_go(rune))))
		out_printf(o, "\\u%04x", rune);
	else if (broken)
		out_text(o, "\xef\xbf\xbd");
	else
		out_str(o, bytes);
}

void quote_json(struct out *o, struct str s, enum json_dialect dialect)
{
	out_char(o, '"');
	while (s.n) {
		size_t bytes;
		uint32_t rune = go_rune(s, &bytes);

		print_rune(o, rune, (struct str){ s.p, bytes }, dialect);
		s = str_skip(s, bytes);
	}
	out_char(o, '"');
}
