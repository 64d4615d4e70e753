/*
 * eh-cursor.h - reading numbers from bytes that may end or lie
 *
 * The first failure sticks: everything read afterwards is 0, and 'bad' says so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_EH_CURSOR_H
#define RUNTIME_EH_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct eh_cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline bool eh_more(const struct eh_cursor *c)
{
	return !c->bad && c->p < c->end;
}

/* Stays where it is if there are not 'n' bytes left. */
static inline const uint8_t *eh_bytes(struct eh_cursor *c, uint64_t n)
{
	const uint8_t *p = c->p;

	if (c->bad || n > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	return p;
}

static inline uint64_t eh_unsigned(struct eh_cursor *c, size_t n)
{
	const uint8_t *p = eh_bytes(c, n);
	uint64_t v = 0;

	if (p != NULL)
		memcpy(&v, p, n); /* both architectures are little-endian */
	return v;
}

static inline int64_t eh_signed(struct eh_cursor *c, size_t n)
{
	uint64_t v = eh_unsigned(c, n);
	uint64_t sign = 1ull << (n * 8 - 1);

	return (int64_t)((v ^ sign) - sign);
}

static inline uint8_t eh_u8(struct eh_cursor *c)
{
	return (uint8_t)eh_unsigned(c, 1);
}

/* LEB128; more than 64 bits are a failure. */
static inline uint64_t eh_leb(struct eh_cursor *c, bool is_signed)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = eh_u8(c);

		v |= (uint64_t)(b & 0x7f) << shift;
		if ((b & 0x80) != 0)
			continue;
		if (is_signed && shift + 7 < 64 && (b & 0x40) != 0)
			v |= ~0ull << (shift + 7);
		return v;
	}
	c->bad = true;
	return 0;
}

static inline uint64_t eh_uleb(struct eh_cursor *c)
{
	return eh_leb(c, false);
}

static inline int64_t eh_sleb(struct eh_cursor *c)
{
	return (int64_t)eh_leb(c, true);
}

#endif /* RUNTIME_EH_CURSOR_H */
