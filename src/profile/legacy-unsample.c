/*
 * legacy-unsample.c - arithmetic on sampled counts, to the reference's last bit
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/units.h"
#include "profile/legacy-text.h"

#include <math.h>

/*
 * The counts are cut to whole numbers, so a difference in the last bit of exp() shows.  Go
 * does not round as libm does: its amd64 code takes n = round(x/ln 2), evaluates the Taylor
 * series of degree 8 for (x - n*ln 2)/16, squares four times in the form (1+e)^2-1 = e*(e+2),
 * and scales by 2^n.  Where the processor has fused multiply-add, Go uses it, and so do we.
 */
#define LOG2E  1.4426950408889634073599246810018920
#define LN2_HI 0.69314718055966295651160180568695068359375
#define LN2_LO 0.28235290563031577122588448175013436025525412068e-12

/* 1/8!, 1/7!, ... 1/1! */
static const double factorials[] = {
	2.4801587301587301587e-5,
	1.9841269841269841270e-4,
	1.3888888888888888889e-3,
	8.3333333333333333333e-3,
	4.1666666666666666667e-2,
	1.6666666666666666667e-1,
	0.5,
	1.0,
};

static bool use_fma(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_cpu_supports("avx") && __builtin_cpu_supports("fma");
#else
	return true;
#endif
}

/* a*b + c, with one rounding or two. */
static double mul_add(bool fused, double a, double b, double c)
{
	volatile double product; /* keeps the compiler from fusing the two */

	if (fused)
		return fma(a, b, c);
	product = a * b;
	return product + c;
}

static double go_exp(double x)
{
	bool fused = use_fma();
	double n, r, sum;

	if (isnan(x) || x > 7.09782712893384e+02)
		return isnan(x) ? x : INFINITY;
	if (x < -746)
		return 0;
	n = nearbyint(x * LOG2E);
	r = mul_add(fused, -n, LN2_HI, x);
	r = mul_add(fused, -n, LN2_LO, r) * 0.0625;
	sum = factorials[0];
	for (size_t i = 1; i < sizeof(factorials) / sizeof(factorials[0]); i++)
		sum = mul_add(fused, sum, r, factorials[i]);
	r *= sum;
	for (int i = 0; i < 3; i++)
		r *= r + 2;
	r = mul_add(fused, r + 2, r, 1);
	return ldexp(r, (int)n);
}

void legacy_unsample(int64_t *count, int64_t *size, int64_t rate)
{
	double average, scale;

	if (*count == 0 || *size == 0) {
		*count = *size = 0;
		return;
	}
	if (rate <= 1)
		return; /* everything was counted, or nobody knows */
	average = (double)*size / (double)*count;
	scale = 1 / (1 - go_exp(-average / (double)rate));
	*count = f64_to_i64((double)*count * scale);
	*size = f64_to_i64((double)*size * scale);
}
