/*
 * chance.h - the arithmetic of sampling, without the mathematics library
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_CHANCE_H
#define RUNTIME_CHANCE_H

#include <stdint.h>

/* Both to about 15 digits; 'x' is positive and finite, or for the exponential at least 0. */
double sonde__ln(double x);
double sonde__one_minus_exp(double x); /* 1 - exp(-x) */

/*
 * The byte, counted from 1, that is the next one to be sampled, if of 'rate' bytes one is on
 * average, from 64 random bits.
 */
uint64_t sonde__next_byte(uint64_t bits, uint64_t rate);

#endif /* RUNTIME_CHANCE_H */
