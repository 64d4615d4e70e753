/*
 * str.h - borrowed runs of bytes
 *
 * Strings of a profile come from strangers: they may hold NUL bytes and need not be
 * UTF-8.  So the tool passes them as pointer and length, and never owns them: a
 * struct str lives as long as the buffer or arena it points into.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
	const char *p;
	size_t n;
};

#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })

/* For printf: "%.*s", STR_ARG(s).  Cuts at a NUL byte; use out_str() where that matters. */
#define STR_ARG(s) (int)(s).n, (s).p

static inline struct str str_of(const char *z)
{
	return (struct str){ z ? z : "", z ? strlen(z) : 0 };
}

static inline bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_is(struct str a, const char *z)
{
	return str_eq(a, str_of(z));
}

/* Bytewise order, a prefix before what it is a prefix of: negative, 0 or positive. */
int str_cmp(struct str a, struct str b);

bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);

/* Offset of the first 'needle' in 's', or -1. */
ptrdiff_t str_find(struct str s, struct str needle);
/* Offset of the last 'c' in 's', or -1. */
ptrdiff_t str_rfind_char(struct str s, char c);

/* 's' without its first 'n' bytes (all of it if there are fewer). */
struct str str_skip(struct str s, size_t n);
/* 's' without white space at both ends. */
struct str str_trim(struct str s);

/*
 * str_split() cuts the text up to the first 'sep' off '*rest' and returns it.  Without a
 * 'sep' it returns everything.  False once '*rest' has been used up:
 *
 *	for (struct str part, rest = list; str_split(&rest, ',', &part);)
 *
 * An empty list has one part, the empty one, as in Go's strings.Split.
 */
bool str_split(struct str *rest, char sep, struct str *part);

/* str_field() skips white space and cuts off one word.  False if there is none left. */
bool str_field(struct str *rest, struct str *word);

/* The part after the last '/', as Go's filepath.Base: "." for "", "/" for "///". */
struct str str_base(struct str path);

/* A 64-bit hash, the same in every run. */
uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);

static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 m =
		(unsigned __int128)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

#endif /* BASE_STR_H */
