/*
 * significance.h - do two numbers that were sampled differ, or is it chance?
 *
 * A sampled number is a sum of weights, one per event that the sampler caught.  Events are taken to
 * come independently of each other (Poisson).  If nothing has changed, then of all events on both
 * sides together each fell on the first side with a chance that is known beforehand, so their
 * division is that of a coin, which has an exact answer for any count, however small.  Where events
 * weigh differently - a sampled object of 10 MB stands for one, a sampled one of 16 bytes for
 * 32768 - as many equal events are put in their place as have the same sum and the same variance
 * (the scaled Poisson distribution of Bohm and Zech, 2014).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_SIGNIFICANCE_H
#define REPORT_SIGNIFICANCE_H

#include <stdbool.h>
#include <stddef.h>

/* One number before [0] and after [1]. */
struct evidence {
	double sum[2];     /* of weights */
	double squares[2]; /* of weights, each squared: the variance of the sum */
};

/* What is known of both sides before looking at the number. */
struct exposure {
	double share;  /* of the events that fall on the first side if nothing has changed */
	double all[2]; /* sum of everything, if that is given and only parts of it are compared */
	bool parts;    /* it is: shares are compared, not amounts */
	double spread; /* variance between profiles of one side compared with Poisson's; >= 1 */
};

/* How many equal events there are in place of the real ones; both 0 if there are none. */
void effective_events(const struct evidence *e, double spread, double events[2]);

/*
 * The chance of a division at least as uneven as this, to either side, where nothing has changed:
 * twice the smaller tail of a binomial distribution or, for parts of a whole, a hypergeometric one.
 * Beyond a million events both are taken to be normal.
 */
double chance_of_difference(const struct evidence *e, const struct exposure *x);

/* The smallest chance that so many events could have had, however they were divided. */
double least_chance(double events, double share);

/* The chance of at least 'k' heads in 'n' throws of a coin with the chance 'p' of heads. */
double chance_of_many(double k, double n, double p);

/*
 * Benjamini and Hochberg: q[i] is the share of false discoveries to expect among all whose chance
 * is chances[i] or less.  'q' may be 'chances'.
 */
void false_discoveries(const double *chances, double *q, size_t n);

#endif /* REPORT_SIGNIFICANCE_H */
