/*
 * trend.c - is it a trend, or chance?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/trend.h"

#include <math.h>

/* Finite series for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4). */
static double within_t(double t, size_t freedom)
{
	double v = (double)freedom, angle = atan(t / sqrt(v)), cos2 = cos(angle) * cos(angle);
	double term = freedom % 2 ? cos(angle) : 1, sum = 0;

	for (size_t k = freedom % 2 ? 3 : 2; k <= freedom; k += 2) {
		sum += term;
		term *= cos2 * (double)(k - 1) / (double)k;
	}
	if (freedom % 2 == 0)
		return sin(angle) * sum;
	return 2 / M_PI * (angle + sin(angle) * sum);
}

/* Beyond all doubt the series has only rounding errors left: the tail by its first term. */
static double tail_of_t(double t, double v)
{
	double log_c = lgamma((v + 1) / 2) - lgamma(v / 2) - 0.5 * log(v * M_PI);

	return exp(log_c + (v + 1) / 2 * log(v) - v * log(t) - log(v));
}

double chance_of_t(double t, size_t freedom)
{
	double two_sided;

	if (t <= 0)
		return 0.5 + 0.5 * within_t(-t, freedom);
	two_sided = 1 - within_t(t, freedom);
	if (two_sided < 1e-9)
		return tail_of_t(t, (double)freedom);
	return two_sided / 2;
}

double t_of_confidence(size_t freedom)
{
	double low = 1, high = 1000;

	for (int i = 0; i < 100; i++) {
		double t = (low + high) / 2;

		if (chance_of_t(t, freedom) > 0.025)
			low = t;
		else
			high = t;
	}
	return high;
}

struct line {
	double slope, sum_of_squares, sxx;
};

/* Least squares; what is flat before 'begin' has the level that the line has there. */
static struct line fit(const double *x, const double *y, size_t n, size_t begin)
{
	double mx = 0, my = 0, sxy = 0;
	struct line l = { 0 };

	for (size_t i = 0; i < n; i++) {
		mx += x[i < begin ? begin : i] / (double)n;
		my += y[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		double dx = x[i < begin ? begin : i] - mx;

		l.sxx += dx * dx;
		sxy += dx * (y[i] - my);
	}
	l.slope = l.sxx > 0 ? sxy / l.sxx : 0;
	for (size_t i = 0; i < n; i++) {
		double off = y[i] - my - l.slope * (x[i < begin ? begin : i] - mx);

		l.sum_of_squares += off * off;
	}
	return l;
}

struct trend trend_fit(const double *x, const double *y, size_t n)
{
	struct line best = fit(x, y, n, 0);
	struct trend t = { .chance = 1 };
	size_t freedom = n - 2;
	double error;

	/* A bend must be worth it, and leave enough points behind it. */
	for (size_t i = 1; i + 3 <= n; i++) {
		struct line l = fit(x, y, n, i);

		if (l.sum_of_squares < best.sum_of_squares * 0.5) {
			best = l;
			t.begin = i;
		}
	}
	if (t.begin && freedom > 1)
		freedom--;
	t.slope = best.slope;
	error = sqrt(best.sum_of_squares / (double)freedom / (best.sxx > 0 ? best.sxx : 1));
	t.error = error;
	/* Points that lie on the line to the last digit are still only so many points. */
	if (error < fabs(t.slope) * 1e-9)
		error = fabs(t.slope) * 1e-9;
	if (error > 0)
		t.chance = chance_of_t(t.slope / error, freedom);
	if (t.begin)
		t.chance = fmin(1, t.chance * (double)(n - 2));
	return t;
}
