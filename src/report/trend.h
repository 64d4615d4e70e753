/*
 * trend.h - is it a trend, or chance?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_TREND_H
#define REPORT_TREND_H

#include <stddef.h>

/* A line through points. */
struct trend {
	double slope, error; /* and its standard error */
	double chance;       /* of a slope like this or steeper where there is none */
	size_t begin;        /* the first point that it holds for: before that it was flat */
};

/*
 * The line through (x, y), n of at least 3; or, if that fits better, one that is flat up to some
 * point and rises from there on.  For having looked for that point 'chance' is larger.
 */
struct trend trend_fit(const double *x, const double *y, size_t n);

/* The chance that Student's t with 'freedom' degrees is at least 't'. */
double chance_of_t(double t, size_t freedom);
/* The t that is exceeded with a chance of 2.5 %. */
double t_of_confidence(size_t freedom);

#endif /* REPORT_TREND_H */
