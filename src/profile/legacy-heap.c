/*
 * legacy-heap.c - heap profiles as text
 *
 *	heap profile: <in use>: <bytes> [<allocated>: <bytes>] @ heap_v2/<rate>
 *	<in use>: <bytes> [<allocated>: <bytes>] @ 0x<address> ...
 *	...
 *	MAPPED_LIBRARIES:
 *	<memory map>
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/wrap.h"
#include "profile/build.h"
#include "profile/legacy-formats.h"
#include "profile/legacy-maps.h"
#include "profile/legacy-text.h"

#include <errno.h>

/* "-?\d+" or "\d+". */
static bool eat_number(struct str *s, bool minus, struct str *number)
{
	struct str rest = *s;

	if (minus)
		text_eat(&rest, "-");
	if (!text_digits(&rest, NULL))
		return false;
	*number = (struct str){ s->p, (size_t)(rest.p - s->p) };
	*s = rest;
	return true;
}

bool heap_eat_counts(struct str *s, bool minus, struct heap_counts *n)
{
	return eat_number(s, minus, &n->text[0]) && text_eat(s, ":") && text_blanks(s) &&
	       eat_number(s, minus, &n->text[1]) && text_blanks(s) && text_eat(s, "[") &&
	       text_blanks(s) && eat_number(s, false, &n->text[2]) && text_eat(s, ":") &&
	       text_blanks(s) && eat_number(s, false, &n->text[3]) && text_blanks(s) &&
	       text_eat(s, "]");
}

bool heap_has_alloc(const struct heap_counts *n)
{
	const struct str *t = n->text;

	return (!str_eq(t[2], t[0]) && !str_is(t[2], "0")) ||
	       (!str_eq(t[3], t[1]) && !str_is(t[3], "0"));
}

void heap_types(struct builder *b, bool with_alloc, int64_t period)
{
	builder_period(b, STR("space"), STR("bytes"), period);
	if (with_alloc) {
		/* The last type is the one shown unless asked otherwise. */
		builder_type(b, STR("alloc_objects"), STR("count"));
		builder_type(b, STR("alloc_space"), STR("bytes"));
		builder_type(b, STR("inuse_objects"), STR("count"));
		builder_type(b, STR("inuse_space"), STR("bytes"));
	} else {
		builder_type(b, STR("objects"), STR("count"));
		builder_type(b, STR("space"), STR("bytes"));
	}
}

/* One pair of values, count and size; 'block' becomes the size of one of them. */
static int read_pair(const struct heap_rules *rules, const struct str *text, const char *label,
		     int64_t *value, int64_t *block, struct err *err)
{
	int rc = go_parse_int(text[0], 10, 64, &value[0], err);

	if (rc == 0)
		rc = go_parse_int(text[1], 10, 64, &value[1], err);
	if (rc)
		return rc;
	if (value[0] == 0 && value[1] != 0)
		return err_set(err, -EBADMSG, "%s count was 0 but %s bytes was %lld", label, label,
			       (long long)value[1]);
	if (value[0] == 0)
		return 0;
	*block = wrap_div(value[1], value[0]);
	if (rules->unsample)
		legacy_unsample(&value[0], &value[1], rules->rate);
	return 0;
}

int heap_values(const struct heap_rules *rules, const struct heap_counts *n, struct str line,
		struct heap_values *v, struct err *err)
{
	int64_t *next = v->at;
	int rc = 0;

	*v = (struct heap_values){ 0 };
	if (rules->with_alloc) {
		rc = read_pair(rules, n->text + 2, "allocation", next, &v->block, err);
		next += 2;
	}
	if (rc == 0)
		rc = read_pair(rules, n->text, "inuse", next, &v->block, err);
	if (rc == 0 || rc == -EBADMSG)
		return rc;
	return text_bad_line(err, "malformed sample:", line);
}

void heap_sample(struct builder *b, struct addresses *a, const struct heap_values *v)
{
	addresses_sample(a, 0, b, v->at);
	builder_num_label(b, STR("bytes"), v->block, (struct str){ 0 });
}

/*
 * The first "heap profile: 1: 2 [3: 4]" in 'line' that 'tail' accepts what follows of; 'tail'
 * may keep what it has read in 'ctx'.
 */
static bool find_header(struct str line, struct heap_counts *n,
			bool (*tail)(struct str rest, void *ctx), void *ctx)
{
	ptrdiff_t at;

	for (;;) {
		at = str_find(line, STR("heap profile:"));
		if (at < 0)
			return false;
		line = str_skip(line, (size_t)at + 13);
		struct str rest = line;

		text_blanks(&rest);
		if (heap_eat_counts(&rest, false, n) && tail(rest, ctx))
			return true;
	}
}

/* " *@ *(heap[_a-z0-9]*)/?(\d*)" */
struct heap_kind {
	struct str name, rate;
};

static bool is_kind_char(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || text_is_digit(c);
}

static bool heap_tail(struct str s, void *ctx)
{
	struct heap_kind *kind = ctx;
	size_t n = 0;

	text_blanks(&s);
	if (!text_eat(&s, "@"))
		return false;
	text_blanks(&s);
	if (!str_starts(s, STR("heap")))
		return false;
	while (n < s.n && is_kind_char(s.p[n]))
		n++;
	kind->name = (struct str){ s.p, n };
	s = str_skip(s, n);
	text_eat(&s, "/");
	text_digits(&s, &kind->rate);
	return true;
}

static bool other_tail(struct str s, void *ctx)
{
	(void)ctx;
	return text_eat(&s, " @ growth") || text_eat(&s, " @ fragmentation");
}

static int read_kind(const struct heap_kind *kind, struct heap_rules *rules, struct err *err)
{
	if (kind->rate.n && go_parse_int(kind->rate, 10, 64, &rules->rate, NULL))
		return text_unrecognized(err);
	rules->unsample = true;
	if (str_is(kind->name, "heapz_v2") || str_is(kind->name, "heap_v2"))
		return 0;
	if (str_is(kind->name, "heap")) {
		/* Go writes twice its rate here. */
		rules->rate /= 2;
		return 0;
	}
	if (!str_is(kind->name, "heapprofile"))
		return text_unrecognized(err);
	rules->unsample = false;
	rules->rate = 1;
	return 0;
}

static int read_header(struct str line, struct heap_rules *rules, struct err *err)
{
	struct heap_counts totals;
	struct heap_kind kind;

	if (find_header(line, &totals, heap_tail, &kind)) {
		rules->with_alloc = heap_has_alloc(&totals);
		return read_kind(&kind, rules, err);
	}
	if (!find_header(line, &totals, other_tail, NULL))
		return text_unrecognized(err);
	rules->rate = 1;
	return 0;
}

/* "(-?\d+): *(-?\d+) *\[ *(\d+): *(\d+) *] @([ x0-9a-f]*)", anywhere in the line. */
static bool find_sample(struct str line, struct heap_counts *n, struct str *addresses)
{
	struct str at = line;

	while (text_next_digit(&at)) {
		bool minus = at.p > line.p && at.p[-1] == '-';
		struct str rest = { at.p - minus, at.n + minus };

		if (heap_eat_counts(&rest, true, n) && text_eat(&rest, " @")) {
			*addresses = addresses_text(&rest);
			return true;
		}
		text_digits(&at, NULL);
	}
	return false;
}

static int read_sample(struct builder *b, const struct heap_rules *rules, struct addresses *a,
		       struct str line, struct err *err)
{
	struct heap_counts n;
	struct heap_values v;
	struct str text;
	int rc;

	if (!find_sample(line, &n, &text))
		return err_set(err, -EBADMSG, "unexpected number of sample values: got 0, want 6");
	rc = heap_values(rules, &n, line, &v, err);
	if (rc)
		return rc;
	if (addresses_read(a, text, err))
		return text_bad_line(err, "malformed sample:", line);
	heap_sample(b, a, &v);
	return 0;
}

int legacy_read_heap(struct str data, struct builder *b, struct err *err)
{
	AUTO(addresses_release) struct addresses a = { 0 };
	struct heap_rules rules = { 0 };
	struct lines l = lines_of(data);
	int rc;

	lines_next(&l);
	rc = lines_error(&l, err);
	if (rc == 0)
		rc = read_header(l.line, &rules, err);
	if (rc)
		return rc;

	heap_types(b, rules.with_alloc, rules.rate);
	while (rc == 0 && lines_next(&l)) {
		struct str line = text_trim(l.line);

		if (text_is_comment(line))
			continue;
		if (maps_begin_at(line))
			break;
		rc = read_sample(b, &rules, &a, line, err);
	}
	return rc ? rc : maps_find(&l, b, err);
}
