/*
 * str.c - borrowed runs of bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/str.h"

int str_cmp(struct str a, struct str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	if (c)
		return c;
	return (a.n > b.n) - (a.n < b.n);
}

bool str_starts(struct str s, struct str prefix)
{
	return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0;
}

bool str_ends(struct str s, struct str suffix)
{
	return s.n >= suffix.n && memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0;
}

ptrdiff_t str_find(struct str s, struct str needle)
{
	const char *at;

	if (needle.n == 0)
		return 0;
	at = s.n ? memmem(s.p, s.n, needle.p, needle.n) : NULL;
	return at ? at - s.p : -1;
}

ptrdiff_t str_rfind_char(struct str s, char c)
{
	const char *at = s.n ? memrchr(s.p, c, s.n) : NULL;

	return at ? at - s.p : -1;
}

struct str str_skip(struct str s, size_t n)
{
	if (n > s.n)
		n = s.n;
	/* Nothing may be nowhere, and then there is no place behind it. */
	return n ? (struct str){ s.p + n, s.n - n } : s;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
	while (s.n && is_space(s.p[0]))
		s = str_skip(s, 1);
	while (s.n && is_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

bool str_split(struct str *rest, char sep, struct str *part)
{
	const char *at;

	if (!rest->p)
		return false;
	at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
	if (!at) {
		*part = *rest;
		*rest = (struct str){ NULL, 0 };
		return true;
	}
	*part = (struct str){ rest->p, (size_t)(at - rest->p) };
	*rest = str_skip(*rest, part->n + 1);
	return true;
}

bool str_field(struct str *rest, struct str *word)
{
	size_t n = 0;

	while (rest->n && is_space(rest->p[0]))
		*rest = str_skip(*rest, 1);
	while (n < rest->n && !is_space(rest->p[n]))
		n++;
	*word = (struct str){ rest->p, n };
	*rest = str_skip(*rest, n);
	return n > 0;
}

struct str str_base(struct str path)
{
	ptrdiff_t slash;

	if (path.n == 0)
		return STR(".");
	while (path.n && path.p[path.n - 1] == '/')
		path.n--;
	slash = str_rfind_char(path, '/');
	path = str_skip(path, (size_t)(slash + 1));
	return path.n ? path : STR("/");
}

static uint64_t load(const unsigned char *p, size_t n)
{
	uint64_t v = 0;

	if (n) /* nothing may be at no address */
		memcpy(&v, p, n);
	return v;
}

uint64_t hash_bytes(const void *data, size_t n, uint64_t seed)
{
	const unsigned char *p = data;
	uint64_t h = seed ^ (n * 0xa0761d6478bd642fu);

	for (; n > 16; p += 16, n -= 16)
		h = hash_mix(load(p, 8) ^ h, load(p + 8, 8));
	if (n > 8)
		return hash_mix(load(p, 8) ^ h, load(p + 8, n - 8) + 1);
	return hash_mix(load(p, n) ^ h, 0xe7037ed1a0b428dbu);
}
