/*
 * digits.c - numbers as text, where there is room for them already
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/digits.h"

const char digits_pairs[200] = "0001020304050607080910111213141516171819"
			       "2021222324252627282930313233343536373839"
			       "4041424344454647484950515253545556575859"
			       "6061626364656667686970717273747576777879"
			       "8081828384858687888990919293949596979899";

char *digits_decimal_large(char *p, uint64_t v)
{
	char text[DIGITS_MOST];
	size_t at = sizeof(text), n;

	for (; v >= 100; v /= 100) {
		at -= 2;
		memcpy(text + at, digits_pairs + v % 100 * 2, 2);
	}
	if (v >= 10) {
		at -= 2;
		memcpy(text + at, digits_pairs + v * 2, 2);
	} else {
		text[--at] = (char)('0' + v);
	}
	n = sizeof(text) - at;
	memcpy(p, text + at, n);
	return p + n;
}
