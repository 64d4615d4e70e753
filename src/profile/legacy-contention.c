/*
 * legacy-contention.c - waiting for locks, as C++ programs and Go write it
 *
 *	--- contentionz 1 ---
 *	cycles/second = 3201000000
 *	sampling period = 100
 *	ms since reset = 16502830
 *	<cycles waited> <times> @ 0x<address> ...
 *	--- Memory map: ---
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/gotext.h"
#include "base/units.h"
#include "base/wrap.h"
#include "profile/build.h"
#include "profile/legacy-formats.h"
#include "profile/legacy-maps.h"
#include "profile/legacy-text.h"

#include <errno.h>

static bool is_header(struct str line)
{
	return str_starts(line, STR("--- contentionz ")) || str_starts(line, STR("--- mutex:")) ||
	       str_starts(line, STR("--- contention:"));
}

/* -ENOTSUP also for attributes that only Java writes: format and resolution. */
static int read_attribute(struct str key, struct str value, struct builder *b, int64_t *hz)
{
	int64_t ms;

	if (str_is(key, "discarded samples"))
		return 0;
	if (str_is(key, "cycles/second"))
		return go_parse_int(value, 0, 64, hz, NULL) ? -ENOTSUP : 0;
	if (str_is(key, "sampling period"))
		return go_parse_int(value, 0, 64, &b->p->period, NULL) ? -ENOTSUP : 0;
	if (!str_is(key, "ms since reset") || go_parse_int(value, 0, 64, &ms, NULL))
		return -ENOTSUP;
	b->p->duration_nanos = wrap_mul(ms, 1000000);
	return 0;
}

/* Stops at the first line that is not "key = value". */
static int read_attributes(struct lines *l, struct builder *b, int64_t *hz, struct err *err)
{
	while (lines_next(l)) {
		struct str value = text_trim(l->line), key;

		if (text_is_comment(value))
			continue;
		if (str_starts(value, STR("---")) || str_find(value, STR("=")) < 0)
			break;
		str_split(&value, '=', &key);
		if (read_attribute(text_trim(key), text_trim(value), b, hz))
			return text_unrecognized(err);
	}
	return lines_error(l, err);
}

/*
 * "(\d+) *(\d+) @([ x0-9a-f]*)", anywhere in the line.  Of "123 @" the expression makes the
 * numbers 12 and 3.
 */
static bool find_sample(struct str line, struct str *delay, struct str *times,
			struct str *addresses)
{
	while (text_next_digit(&line)) {
		struct str rest;

		text_digits(&line, delay);
		rest = line;
		text_blanks(&rest);
		if (!text_digits(&rest, times)) {
			rest = line;
			*times = str_skip(*delay, delay->n - 1);
			delay->n--;
		}
		if (delay->n && text_eat(&rest, " @")) {
			*addresses = addresses_text(&rest);
			return true;
		}
	}
	return false;
}

/* Unsamples if the header said how, and cycles to nanoseconds. */
static void scale(int64_t *values, int64_t period, int64_t hz)
{
	if (period <= 0)
		return;
	if (hz > 0)
		values[1] = f64_to_i64((double)values[1] * (double)period / ((double)hz / 1e9));
	values[0] = wrap_mul(values[0], period);
}

static int read_sample(struct str line, struct builder *b, struct addresses *a, int64_t hz,
		       struct err *err)
{
	struct str delay, times, text;
	int64_t values[2];

	if (!find_sample(line, &delay, &times, &text))
		return text_unrecognized(err);
	if (go_parse_int(delay, 10, 64, &values[1], err) ||
	    go_parse_int(times, 10, 64, &values[0], err) || addresses_read(a, text, err))
		return text_bad_line(err, "malformed sample:", line);
	scale(values, b->p->period, hz);
	addresses_sample(a, 0, b, values);
	return 0;
}

/* From the current line on. */
static int read_samples(struct lines *l, struct builder *b, int64_t hz, struct err *err)
{
	AUTO(addresses_release) struct addresses a = { 0 };
	int rc;

	do {
		struct str line = text_trim(l->line);

		if (str_starts(line, STR("---")))
			break;
		if (text_is_comment(line))
			continue;
		rc = read_sample(line, b, &a, hz, err);
		if (rc)
			return rc;
	} while (lines_next(l));
	return lines_error(l, err);
}

int legacy_read_contention(struct str data, struct builder *b, struct err *err)
{
	struct lines l = lines_of(data);
	int64_t hz = 0;
	int rc;

	lines_next(&l);
	rc = lines_error(&l, err);
	if (rc)
		return rc;
	if (!is_header(l.line))
		return text_unrecognized(err);

	builder_period(b, STR("contentions"), STR("count"), 1);
	builder_type(b, STR("contentions"), STR("count"));
	builder_type(b, STR("delay"), STR("nanoseconds"));
	rc = read_attributes(&l, b, &hz, err);
	if (rc == 0)
		rc = read_samples(&l, b, hz, err);
	return rc ? rc : maps_find(&l, b, err);
}
