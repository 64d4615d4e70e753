/*
 * legacy-count.c - what Go counts: goroutines, threads, and profiles a program has made up
 *
 *	# comments
 *	goroutine profile: total 5
 *	<count> @ 0x<address> ...
 *	...
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/gotext.h"
#include "profile/build.h"
#include "profile/legacy-formats.h"
#include "profile/legacy-maps.h"
#include "profile/legacy-text.h"

/* "(\S+) profile: total \d+", and nothing else. */
static bool read_header(struct str line, struct str *name)
{
	return text_word(&line, name) && text_eat(&line, " profile: total ") &&
	       text_digits(&line, NULL) && line.n == 0;
}

/* One " 0x[0-9a-f]+". */
static bool eat_address(struct str *s, uint64_t *address)
{
	struct str start, digits;

	if (!text_eat(s, " "))
		return false;
	start = *s;
	if (!text_eat(s, "0x") || !text_hex(s, &digits))
		return false;
	for (size_t i = 0; i < digits.n; i++) {
		if (digits.p[i] >= 'A' && digits.p[i] <= 'F')
			return false;
	}
	start.n = digits.n + 2;
	return go_parse_uint(start, 0, 64, address, NULL) == 0;
}

static bool read_sample(struct str line, struct addresses *a, int64_t *count)
{
	struct str digits;
	uint64_t address;

	if (!text_digits(&line, &digits) || !text_eat(&line, " @") || line.n == 0)
		return false;
	while (line.n) {
		if (!eat_address(&line, &address))
			return false;
		addresses_add(a, address);
	}
	return go_parse_int(digits, 0, 64, count, NULL) == 0;
}

static int read_samples(struct lines *l, struct builder *b, struct err *err)
{
	AUTO(addresses_release) struct addresses a = { 0 };
	int64_t count;

	while (lines_next(l)) {
		if (text_is_comment(l->line))
			continue;
		if (str_starts(l->line, STR("---")))
			break;
		if (!read_sample(l->line, &a, &count))
			return text_malformed(err);
		addresses_sample(&a, 0, b, &count);
	}
	return 0;
}

int legacy_read_count(struct str data, struct builder *b, struct err *err)
{
	struct lines l = lines_of(data);
	struct str name;
	int rc;

	while (lines_next(&l) && text_is_comment(l.line))
		;
	rc = lines_error(&l, err);
	if (rc)
		return rc;
	if (!read_header(l.line, &name))
		return text_unrecognized(err);

	builder_period(b, name, STR("count"), 1);
	builder_type(b, name, STR("count"));
	rc = read_samples(&l, b, err);
	return rc ? rc : maps_find(&l, b, err);
}
