/*
 * chance.c - the arithmetic of sampling, without the mathematics library
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/chance.h"

#include <stddef.h>
#include <string.h>

static const double ln2 = 0.693147180559945309417;

/* x = m * 2^e with m near 1; ln m from the series of the area tangent, which ends soon there. */
double sonde__ln(double x)
{
	static const double parts[] = { 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
					1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0 };
	uint64_t bits;
	double m, s, square, sum = 0;
	int e;

	memcpy(&bits, &x, sizeof(bits));
	e = (int)(bits >> 52 & 0x7ff) - 1023;
	bits = (bits & 0xfffffffffffffu) | 0x3ff0000000000000u;
	memcpy(&m, &bits, sizeof(m));
	if (m > 1.4142135623730951) {
		m /= 2;
		e++;
	}
	s = (m - 1) / (m + 1);
	square = s * s;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		sum = sum * square + parts[i];
	return 2 * s * sum + e * ln2;
}

/* Halved until it is small, then the series; 1 - q^2 = (1 - q)(2 - (1 - q)) leads back. */
double sonde__one_minus_exp(double x)
{
	double part = 0;
	int halved = 0;

	if (x > 40)
		return 1;
	while (x > 0.0625) {
		x /= 2;
		halved++;
	}
	for (int i = 11; i >= 1; i--)
		part = x / i * (1 - part);
	for (; halved > 0; halved--)
		part *= 2 - part;
	return part;
}

uint64_t sonde__next_byte(uint64_t bits, uint64_t rate)
{
	double u = ((double)(bits >> 11) + 1) * 0x1p-53; /* above 0, up to 1 */
	double x = -sonde__ln(u) * (double)rate;

	return x < 0x1p62 ? (uint64_t)x + 1 : (uint64_t)1 << 62;
}
