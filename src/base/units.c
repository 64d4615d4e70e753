/*
 * units.c - measurements: what "bytes" and "nanoseconds" mean, and how numbers are printed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/units.h"

#include "base/out.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

struct unit {
	const char *name;
	const char *aliases[3];
	double factor;
	bool old; /* no longer chosen or understood by the reference; see unit_target.minutes */
};

struct unit_family {
	const char *default_name;
	double default_factor;
	struct unit units[12];
};

static const struct unit_family families[] = {
	{ "B",
	  1,
	  { { "B", { "b", "byte" }, 1, false },
	    { "kB", { "kb", "kbyte", "kilobyte" }, 1024.0, false },
	    { "MB", { "mb", "mbyte", "megabyte" }, 1048576.0, false },
	    { "GB", { "gb", "gbyte", "gigabyte" }, 1073741824.0, false },
	    { "TB", { "tb", "tbyte", "terabyte" }, 1099511627776.0, false },
	    { "PB", { "pb", "pbyte", "petabyte" }, 1125899906842624.0, false } } },
	{ "s",
	  1e9,
	  { { "ns", { "ns", "nanosecond" }, 1, false },
	    { "us", { "\xce\xbcs", "us", "microsecond" }, 1e3, false },
	    { "ms", { "ms", "millisecond" }, 1e6, false },
	    { "s", { "s", "sec", "second" }, 1e9, false },
	    { "mins", { "min", "minute" }, 60e9, true },
	    { "hrs", { "hour", "hr" }, 3600e9, false },
	    { "days", { "day" }, 86400e9, true },
	    { "wks", { "wk", "week" }, 7 * 86400e9, true },
	    { "yrs", { "yr", "year" }, 365 * 86400e9, true } } },
	{ "GCU",
	  1,
	  { { "n*GCU", { "nanogcu" }, 1e-9, false },
	    { "u*GCU", { "microgcu" }, 1e-6, false },
	    { "m*GCU", { "milligcu" }, 1e-3, false },
	    { "GCU", { "gcu" }, 1, false },
	    { "k*GCU", { "kilogcu" }, 1e3, false },
	    { "M*GCU", { "megagcu" }, 1e6, false },
	    { "G*GCU", { "gigagcu" }, 1e9, false },
	    { "T*GCU", { "teragcu" }, 1e12, false },
	    { "P*GCU", { "petagcu" }, 1e15, false } } },
};

enum { NFAMILIES = sizeof(families) / sizeof(families[0]), LONGEST_ALIAS = 12 };

static bool has_alias(const struct unit *u, struct str name)
{
	for (int i = 0; i < 3 && u->aliases[i]; i++) {
		if (str_is(name, u->aliases[i]))
			return true;
	}
	return false;
}

/* The unit of 'family' that 'name' means, in any case and with or without a plural s. */
static const struct unit *find_unit(const struct unit_family *family, struct str name, bool old)
{
	char lower[LONGEST_ALIAS];
	struct str key = { lower, name.n };

	if (name.n == 0 || name.n > sizeof(lower))
		return NULL;
	for (size_t i = 0; i < name.n; i++)
		lower[i] = (char)tolower((unsigned char)name.p[i]);
	if (key.n > 2 && lower[key.n - 1] == 's')
		key.n--;
	for (const struct unit *u = family->units; u->name; u++) {
		if (has_alias(u, key) && (old || !u->old))
			return u;
	}
	return NULL;
}

static bool is_auto(struct str unit)
{
	return str_eq(unit, STR("minimum")) || str_eq(unit, STR("auto"));
}

/* The largest unit that leaves a value of at least 1, or NULL. */
static const struct unit *natural_unit(const struct unit_family *family, double v, bool old)
{
	const struct unit *best = NULL;

	for (const struct unit *u = family->units; u->name; u++) {
		if (v / u->factor >= 1.0 && (old || !u->old))
			best = u;
	}
	return best;
}

static double convert(const struct unit_family *family, double v, struct unit_target to,
		      struct str *unit)
{
	const struct unit *u = is_auto(to.unit) ? natural_unit(family, v, to.minutes)
						: find_unit(family, to.unit, to.minutes);

	*unit = str_of(u ? u->name : family->default_name);
	return v / (u ? u->factor : family->default_factor);
}

static bool is_uninteresting(struct str unit)
{
	return is_auto(unit) || str_eq(unit, STR("count")) || str_eq(unit, STR("sample")) ||
	       str_eq(unit, STR("unit"));
}

double unit_scale(int64_t value, struct str from, struct unit_target to, struct str *unit)
{
	if (value < 0 && value != INT64_MIN)
		return -unit_scale(-value, from, to, unit);
	for (int i = 0; i < NFAMILIES; i++) {
		const struct unit *u = find_unit(&families[i], from, to.minutes);

		if (u)
			return convert(&families[i], (double)value * u->factor, to, unit);
	}
	*unit = is_uninteresting(to.unit) ? STR("") : to.unit;
	return (double)value;
}

/*
 * "%.2f", which for a report of a million values is most of the work.  Hundredths are counted as an
 * integer where rounding cannot go wrong: a value that is not within a thousandth of a tie, and
 * small enough for a hundred times itself to be exact to less than that.
 */
static int print_hundredths(char *to, size_t size, double v)
{
	double hundredths = fabs(v) * 100, whole = floor(hundredths), rest = hundredths - whole;
	char reversed[24];
	uint64_t n;
	int len = 0, k = 0;

	if (!(hundredths < 1e11) || fabs(rest - 0.5) < 1e-3)
		return snprintf(to, size, "%.2f", v);
	n = (uint64_t)whole + (rest > 0.5);
	do {
		reversed[k++] = (char)('0' + n % 10);
		n /= 10;
		if (k == 2)
			reversed[k++] = '.';
	} while (n || k < 4);
	if (signbit(v))
		to[len++] = '-';
	while (k > 0)
		to[len++] = reversed[--k];
	to[len] = '\0';
	return len;
}

void unit_print(struct out *o, int64_t value, struct str from, struct unit_target to)
{
	struct str unit;
	double v = unit_scale(value, from, to, &unit);
	char digits[400];
	int n = print_hundredths(digits, sizeof(digits), v);

	if (n > 3 && strcmp(digits + n - 3, ".00") == 0)
		n -= 3;
	if ((n == 1 && digits[0] == '0') || (n == 2 && digits[0] == '-' && digits[1] == '0')) {
		out_char(o, '0');
		return;
	}
	out_bytes(o, digits, (size_t)n);
	out_str(o, unit);
}

bool unit_compatible(struct str a, struct str b)
{
	for (int i = 0; i < NFAMILIES; i++) {
		if (find_unit(&families[i], a, false) && find_unit(&families[i], b, false))
			return true;
	}
	return str_eq(a, b);
}

/* "%.2g" of what is less than 1, with the same care. */
static int print_two_digits(char *to, size_t size, double v)
{
	static const double tens[] = { 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10 };
	enum { MOST = sizeof(tens) / sizeof(tens[0]), DECIMALS = 4 };
	double scaled = 0, rest;
	int zeros, n, len = 0;

	if (v == 0) {
		to[0] = '0';
		return 1;
	}
	for (zeros = 0; zeros < MOST; zeros++) {
		scaled = v * tens[zeros];
		if (scaled >= 10)
			break;
	}
	n = (int)scaled;
	rest = scaled - n;
	n += rest > 0.5;
	if (zeros == MOST || n > 99 || fabs(rest - 0.5) < 1e-3)
		return snprintf(to, size, "%.2g", v);
	if (zeros < DECIMALS) {
		len = 2 + zeros;
		memcpy(to, "0.0000", (size_t)len);
	}
	to[len++] = (char)('0' + n / 10);
	if (zeros >= DECIMALS && n % 10)
		to[len++] = '.';
	if (n % 10)
		to[len++] = (char)('0' + n % 10);
	if (zeros >= DECIMALS) {
		to[len++] = 'e';
		to[len++] = '-';
		to[len++] = '0';
		to[len++] = (char)('0' + zeros + 1);
	}
	return len;
}

struct percentage percentage(int64_t value, int64_t total)
{
	double ratio = total ? fabs((double)value / (double)total) * 100 : 0;
	struct percentage p;
	char digits[sizeof(p.text)];
	int n, pad;

	if (ratio >= 99.95 && ratio <= 100.05) {
		memcpy(p.text, "  100%", sizeof("  100%"));
		return p;
	}
	n = ratio >= 1.0 ? print_hundredths(digits, sizeof(digits), ratio)
			 : print_two_digits(digits, sizeof(digits), ratio);
	n = n < (int)sizeof(digits) - 2 ? n : (int)sizeof(digits) - 2;
	pad = n < 5 ? 5 - n : 0;
	memset(p.text, ' ', (size_t)pad);
	memcpy(p.text + pad, digits, (size_t)n);
	memcpy(p.text + pad + n, "%", sizeof("%"));
	return p;
}

const char *percentage_trimmed(const struct percentage *p)
{
	return p->text + strspn(p->text, " ");
}

int64_t f64_to_i64(double v)
{
	if (v >= -9223372036854775808.0 && v < 9223372036854775808.0)
		return (int64_t)v;
	return INT64_MIN;
}
