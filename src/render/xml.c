/*
 * xml.c - names of strangers as text in XML and HTML
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "render/xml.h"

#include "base/gotext.h"
#include "base/out.h"

#include <stdbool.h>
#include <stdint.h>

#define ELLIPSIS    "\xe2\x80\xa6"
#define REPLACEMENT "\xef\xbf\xbd"

/* Marks, embeddings, overrides and isolates of writing direction; separators; no width. */
static bool is_invisible(uint32_t c)
{
	return c == 0xad || c == 0x61c || c == 0x180e || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

static bool is_forbidden(uint32_t c)
{
	return (c >= 0x80 && c < 0xa0) || (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef);
}

static void put_rune(struct out *o, uint32_t c, struct str bytes)
{
	if (c < 0x20 || c == 0x7f)
		out_printf(o, "\xe2\x90%c", (char)(0x80 + (c == 0x7f ? 0x21 : c)));
	else if (is_invisible(c))
		out_printf(o, "<U+%04X>", c);
	else if (is_forbidden(c) || (c == GO_RUNE_ERROR && bytes.n == 1))
		out_text(o, REPLACEMENT);
	else
		out_str(o, bytes);
}

/* How many of the first bytes are what they look like. */
static size_t plain_run(struct str s, size_t most)
{
	size_t n = 0;

	while (n < s.n && n < most && s.p[n] >= ' ' && s.p[n] < 0x7f)
		n++;
	return n;
}

void text_visible(struct out *o, struct str s, size_t most)
{
	for (;;) {
		size_t bytes = plain_run(s, most);
		uint32_t c;

		out_bytes(o, s.p, bytes);
		s = str_skip(s, bytes);
		most -= bytes;
		if (s.n == 0)
			return;
		if (most-- == 0) {
			out_text(o, ELLIPSIS);
			return;
		}
		c = go_rune(s, &bytes);
		put_rune(o, c, (struct str){ s.p, bytes });
		s = str_skip(s, bytes);
	}
}

static const char *entity(char c)
{
	switch (c) {
	case '\0':
		return REPLACEMENT; /* neither XML nor HTML has NUL */
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&#34;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

typedef unsigned char bytes __attribute__((vector_size(16)));

/* 0 for each that is printable and not one of entity(), or a tab. */
static bytes specials(bytes c)
{
	return (bytes)((c < ' ') & (c != '\t')) | (bytes)(c >= 0x7f) | (bytes)(c == '&') |
	       (bytes)(c == '<') | (bytes)(c == '>') | (bytes)(c == '"') | (bytes)(c == '\'');
}

bool xml_is_plain_line(struct str s)
{
	bytes all = { 0 }, some;
	uint64_t found[2];

	for (; s.n > sizeof(some); s = str_skip(s, sizeof(some))) {
		memcpy(&some, s.p, sizeof(some));
		all |= specials(some);
	}
	memset(&some, ' ', sizeof(some));
	if (s.n)
		memcpy(&some, s.p, s.n);
	all |= specials(some);
	memcpy(found, &all, sizeof(found));
	return (found[0] | found[1]) == 0;
}

bool xml_is_plain(struct str s)
{
	return xml_is_plain_line(s) && (s.n == 0 || !memchr(s.p, '\t', s.n));
}

void xml_escape(struct out *o, struct str s)
{
	size_t done = 0;

	for (size_t i = 0; i < s.n; i++) {
		const char *e = entity(s.p[i]);

		if (!e)
			continue;
		out_bytes(o, s.p + done, i - done);
		out_text(o, e);
		done = i + 1;
	}
	out_bytes(o, s.p + done, s.n - done);
}
