/*
 * digits.h - numbers as text, where there is room for them already
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_DIGITS_H
#define BASE_DIGITS_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Room that any number needs.  Bytes behind its last digit may change, too. */
enum { DIGITS_MOST = 24 };

/* "00" up to "99". */
extern const char digits_pairs[200];

/* digits_decimal() for 10000 and above. */
char *digits_decimal_large(char *p, uint64_t v);

/* Puts a number at 'p', and returns the end of it. */
static inline char *digits_decimal(char *p, uint64_t v)
{
	uint32_t few = (uint32_t)v, zeros = (few < 10) + (few < 100) + (few < 1000), digits;
	uint16_t high, low;

	if (v >= 10000)
		return digits_decimal_large(p, v);
	/* All four at once: most numbers in reports are that small. */
	memcpy(&high, digits_pairs + few / 100 * 2, sizeof(high));
	memcpy(&low, digits_pairs + few % 100 * 2, sizeof(low));
	digits = (le16toh(high) | (uint32_t)le16toh(low) << 16) >> 8 * zeros;
	digits = htole32(digits);
	memcpy(p, &digits, sizeof(digits));
	return p + sizeof(digits) - zeros;
}

/* The same in base 16, behind "0x". */
static inline char *digits_hex(char *p, uint64_t v)
{
	int bits = v ? 64 - __builtin_clzll(v) : 1;
	char *end = p + 2 + (bits + 3) / 4, *at = end;

	p[0] = '0';
	p[1] = 'x';
	do {
		*--at = "0123456789abcdef"[v & 0xf];
		v >>= 4;
	} while (v);
	return end;
}

#endif /* BASE_DIGITS_H */
