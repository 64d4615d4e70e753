/*
 * significance.c - do two numbers that were sampled differ, or is it chance?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/significance.h"

#include "base/cleanup.h"
#include "base/xalloc.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* From so many events on the normal distribution is as good. */
static const double many = 1e6;

/* ------------------------------------------------------------------ tails */

static double normal_tail(double z)
{
	return 0.5 * erfc(z / M_SQRT2);
}

/* The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	f = d;
	for (int m = 1; m < 100000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		f *= c * d;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		step = c * d;
		f *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return f;
}

/* The regularized incomplete beta function. */
static double beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double chance_of_many(double k, double n, double p)
{
	if (k <= 0)
		return 1;
	if (k > n)
		return 0;
	if (n > many)
		return normal_tail((k - 0.5 - n * p) / sqrt(n * p * (1 - p)));
	return beta(k, n - k + 1, p);
}

static double log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Of 'n' drawn from 'red' and 'blue' together: the chance of at least 'k' red ones. */
static double chance_of_red(double k, double n, double red, double blue)
{
	double all = red + blue, mean = n * red / all, most = fmin(n, red), sum = 0, term;

	if (k <= fmax(0, n - blue))
		return 1;
	if (n > many)
		return normal_tail((k - 0.5 - mean) /
				   sqrt(mean * blue / all * (all - n) / (all - 1)));
	term = exp(log_choose(red, k) + log_choose(blue, n - k) - log_choose(all, n));
	for (; k <= most && term > sum * 1e-16; k++) {
		sum += term;
		term *= (red - k) * (n - k) / ((k + 1) * (blue - n + k + 1));
	}
	return fmin(1, sum);
}

/* ------------------------------------------------------------------ differences */

/* What one event of many that are equal would weigh. */
static double weight_of(const struct evidence *e, double spread)
{
	double sum = e->sum[0] + e->sum[1];

	return sum > 0 ? (e->squares[0] + e->squares[1]) / sum * spread : 0;
}

void effective_events(const struct evidence *e, double spread, double events[2])
{
	double weight = weight_of(e, spread);

	events[0] = weight > 0 ? e->sum[0] / weight : 0;
	events[1] = weight > 0 ? e->sum[1] / weight : 0;
}

static double chance_of_parts(const double events[2], const double all[2], double weight)
{
	double k[2] = { round(events[0]), round(events[1]) };
	double whole[2] = { fmax(k[0], round(all[0] / weight)),
			    fmax(k[1], round(all[1] / weight)) };
	double n = k[0] + k[1];

	return fmin(chance_of_red(k[0], n, whole[0], whole[1]),
		    chance_of_red(k[1], n, whole[1], whole[0]));
}

double chance_of_difference(const struct evidence *e, const struct exposure *x)
{
	double events[2], n, tail;

	effective_events(e, x->spread, events);
	n = events[0] + events[1];
	if (!(n > 0) || !(x->share > 0) || !(x->share < 1))
		return 1;
	if (x->parts)
		tail = chance_of_parts(events, x->all, weight_of(e, x->spread));
	else
		tail = fmin(chance_of_many(events[0], n, x->share),
			    chance_of_many(events[1], n, 1 - x->share));
	return fmin(1, 2 * tail);
}

double least_chance(double events, double share)
{
	return fmin(1, 2 * pow(fmin(share, 1 - share), events));
}

/* ------------------------------------------------------------------ many of them */

struct ranked {
	double chance;
	size_t at;
};

static int by_chance(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->chance < y->chance ? -1 : x->chance > y->chance;
}

void false_discoveries(const double *chances, double *q, size_t n)
{
	AUTO(freep) struct ranked *order = mem_new(n, sizeof(*order));
	double least = 1;

	for (size_t i = 0; i < n; i++)
		order[i] = (struct ranked){ chances[i], i };
	qsort(order, n, sizeof(*order), by_chance);
	for (size_t i = n; i-- > 0;) {
		least = fmin(least, order[i].chance * (double)n / (double)(i + 1));
		q[order[i].at] = least;
	}
}
