/*
 * dwarf-read.h - numbers out of debug information, never past the end of it
 *
 * A cursor walks over bytes.  The first read that does not fit makes it bad and moves it to the
 * end; from then on every read gives 0.  So loops end by themselves, and callers look once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ELF_DWARF_READ_H
#define ELF_DWARF_READ_H

#include "base/str.h"

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A section, or a part of one. */
struct bytes {
	const uint8_t *p;
	size_t n;
};

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

/* A cursor over all of it, at the start. */
static inline struct cursor cursor_over(struct bytes b)
{
	return (struct cursor){ b.p, b.n ? b.p + b.n : b.p, false };
}

/* A cursor at 'offset'; bad if there is nothing. */
static inline struct cursor cursor_at(struct bytes b, uint64_t offset)
{
	if (offset >= b.n)
		return (struct cursor){ NULL, NULL, true };
	return (struct cursor){ b.p + offset, b.p + b.n, false };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->p);
}

static inline void cursor_fail(struct cursor *c)
{
	c->p = c->end;
	c->bad = true;
}

/* Steps over 'n' bytes; false if there are not that many. */
static inline bool cursor_skip(struct cursor *c, uint64_t n)
{
	if (n > cursor_left(c)) {
		cursor_fail(c);
		return false;
	}
	c->p += n;
	return true;
}

static inline uint8_t read_u8(struct cursor *c)
{
	if (c->p == c->end) {
		cursor_fail(c);
		return 0;
	}
	return *c->p++;
}

static inline uint16_t read_u16(struct cursor *c)
{
	uint16_t v;

	if (!cursor_skip(c, sizeof(v)))
		return 0;
	memcpy(&v, c->p - sizeof(v), sizeof(v));
	return le16toh(v);
}

static inline uint32_t read_u32(struct cursor *c)
{
	uint32_t v;

	if (!cursor_skip(c, sizeof(v)))
		return 0;
	memcpy(&v, c->p - sizeof(v), sizeof(v));
	return le32toh(v);
}

static inline uint64_t read_u64(struct cursor *c)
{
	uint64_t v;

	if (!cursor_skip(c, sizeof(v)))
		return 0;
	memcpy(&v, c->p - sizeof(v), sizeof(v));
	return le64toh(v);
}

/* A number of 'size' bytes: 1, 2, 3, 4 or 8. */
static inline uint64_t read_sized(struct cursor *c, unsigned size)
{
	uint64_t low;

	switch (size) {
	case 1:
		return read_u8(c);
	case 2:
		return read_u16(c);
	case 3:
		low = read_u16(c);
		return low | (uint64_t)read_u8(c) << 16;
	case 4:
		return read_u32(c);
	case 8:
		return read_u64(c);
	default:
		cursor_fail(c);
		return 0;
	}
}

/* Bits beyond the 64th are dropped; '*shift' becomes how many there are. */
static inline uint64_t read_leb(struct cursor *c, unsigned *shift)
{
	uint64_t v = 0;
	uint8_t b;

	*shift = 0;
	do {
		if (c->p == c->end) {
			cursor_fail(c);
			return 0;
		}
		b = *c->p++;
		if (*shift < 64)
			v |= (uint64_t)(b & 0x7f) << *shift;
		*shift += 7;
	} while (b & 0x80);
	return v;
}

/* Nearly all of them have one byte. */
static inline uint64_t read_uleb(struct cursor *c)
{
	unsigned shift;

	if (c->p != c->end && *c->p < 0x80)
		return *c->p++;
	return read_leb(c, &shift);
}

static inline int64_t read_sleb(struct cursor *c)
{
	unsigned shift;
	uint64_t v = read_leb(c, &shift);

	if (!c->bad && shift < 64 && v >> (shift - 1) & 1)
		v |= ~(uint64_t)0 << shift;
	return (int64_t)v;
}

/* Text up to a NUL byte; without one, nothing. */
static inline struct str read_text(struct cursor *c)
{
	const uint8_t *nul = c->p == c->end ? NULL : memchr(c->p, 0, cursor_left(c));
	struct str s = { (const char *)c->p, 0 };

	if (!nul) {
		cursor_fail(c);
		return STR("");
	}
	s.n = (size_t)(nul - c->p);
	c->p = nul + 1;
	return s;
}

/* The first number of a unit: its length, which says whether offsets in it have 4 or 8 bytes. */
static inline uint64_t read_length(struct cursor *c, bool *is64)
{
	uint64_t n = read_u32(c);

	*is64 = n == 0xffffffff;
	return *is64 ? read_u64(c) : n;
}

#endif /* ELF_DWARF_READ_H */
