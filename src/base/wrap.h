/*
 * wrap.h - 64-bit arithmetic that wraps around instead of being undefined
 *
 * Sample values come from strangers and may be anything; sums of them wrap, as they do in the
 * reference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_WRAP_H
#define BASE_WRAP_H

#include <stdint.h>

static inline int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrap_mul(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

/* 'b' must not be 0. */
static inline int64_t wrap_div(int64_t a, int64_t b)
{
	return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

#endif /* BASE_WRAP_H */
