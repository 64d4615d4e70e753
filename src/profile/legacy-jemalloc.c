/*
 * legacy-jemalloc.c - heap profiles of jemalloc
 *
 *	heap_v2/524288
 *	  t*: 320: 99559 [0: 0]			all threads together
 *	  t0: 1: 81920 [0: 0]			one thread
 *	@ 0x<address> ...
 *	  t*: 34: 12301 [0: 0]
 *	  t1: 34: 12301 [0: 0]
 *	...
 *	MAPPED_LIBRARIES:
 *	<memory map>
 *
 * The reference does not read these; the numbers are to be those of jemalloc's own jeprof.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "profile/build.h"
#include "profile/legacy-formats.h"
#include "profile/legacy-maps.h"
#include "profile/legacy-text.h"

#include <errno.h>

struct reader {
	struct lines lines;
	size_t line; /* its number */
	struct builder *b;
	struct heap_rules rules;
	struct addresses stack;
	bool in_stack; /* else still in the totals */
	struct err *err;
};

static bool read_rate(struct str line, int64_t *rate)
{
	struct str digits;

	return text_eat(&line, "heap_v2/") && text_digits(&line, &digits) &&
	       text_trim(line).n == 0 && go_parse_int(digits, 10, 64, rate, NULL) == 0;
}

/* "t*: 1: 2 [3: 4]" or "t7: ...", which may be followed by a thread's name. */
static bool parse_counts(struct str s, bool *all, struct heap_counts *n)
{
	if (!text_eat(&s, "t"))
		return false;
	*all = text_eat(&s, "*");
	if (!*all && !text_digits(&s, NULL))
		return false;
	return text_eat(&s, ":") && text_blanks(&s) && heap_eat_counts(&s, false, n);
}

static int bad_line(struct reader *r, const char *why)
{
	return err_set(r->err, -EBADMSG, "heap_v2: line %zu: %s", r->line, why);
}

static int read_counts(struct reader *r, struct str line)
{
	struct heap_counts n;
	struct heap_values v;
	bool all;
	int rc;

	if (!parse_counts(line, &all, &n))
		return bad_line(r, "neither a stack nor a count");
	if (!all)
		return 0;
	if (!r->in_stack) {
		r->rules.with_alloc = heap_has_alloc(&n);
		return 0;
	}
	if (r->b->p->ntypes == 0)
		heap_types(r->b, r->rules.with_alloc, r->rules.rate);
	rc = heap_values(&r->rules, &n, line, &v, r->err);
	if (rc)
		return rc;
	heap_sample(r->b, &r->stack, &v);
	return 0;
}

static int read_line(struct reader *r, struct str line)
{
	if (!text_eat(&line, "@"))
		return read_counts(r, line);
	r->in_stack = true;
	r->stack.n = 0;
	if (addresses_read(&r->stack, line, r->err))
		return text_bad_line(r->err, "malformed sample:", line);
	return 0;
}

static int read_lines(struct reader *r)
{
	int rc = 0;

	while (rc == 0 && lines_next(&r->lines)) {
		struct str line = text_trim(r->lines.line);

		r->line++;
		if (maps_begin_at(line))
			break;
		if (!text_is_comment(line))
			rc = read_line(r, line);
	}
	return rc;
}

int legacy_read_jemalloc(struct str data, struct builder *b, struct err *err)
{
	struct reader r = { .lines = lines_of(data), .line = 1, .b = b, .err = err };
	int rc;

	lines_next(&r.lines);
	rc = lines_error(&r.lines, err);
	if (rc)
		return rc;
	if (!read_rate(r.lines.line, &r.rules.rate))
		return text_unrecognized(err);

	r.rules.unsample = true;
	rc = read_lines(&r);
	addresses_release(&r.stack);
	if (rc == 0)
		rc = maps_find(&r.lines, b, err);
	if (rc == 0 && b->p->ntypes == 0)
		heap_types(b, r.rules.with_alloc, r.rules.rate);
	return rc;
}
