/*
 * legacy-folded.c - folded stacks: one line per stack, as flame graphs are made from
 *
 * Every name becomes one function with one location.  Frames have no address, and a mapping
 * without a file says that there is nothing to look up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/legacy-folded.h"

#include "base/err.h"
#include "base/gotext.h"
#include "base/xalloc.h"
#include "profile/build.h"

#include <errno.h>
#include <stdlib.h>

struct reader {
	struct builder b;
	uint32_t *location_of; /* by the number of the name's string; plus one, 0 is none */
	size_t nstrings;
	uint32_t *stack;
	size_t depth, cap_stack;
	bool sure; /* a stack of several frames has been seen */
	const char *why;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct str trim_blanks(struct str s)
{
	while (s.n && (is_blank(s.p[s.n - 1]) || s.p[s.n - 1] == '\r'))
		s.n--;
	while (s.n && is_blank(s.p[0]))
		s = str_skip(s, 1);
	return s;
}

/* Cuts the number off the end of the line. */
static bool split_count(struct str *line, int64_t *count, const char **why)
{
	struct str number = { NULL, 0 };
	size_t at = line->n;

	while (at > 0 && !is_blank(line->p[at - 1]))
		at--;
	number = str_skip(*line, at);
	*why = "does not end in a count";
	for (size_t i = 0; i < number.n; i++) {
		if (number.p[i] < '0' || number.p[i] > '9')
			return false;
	}
	*why = "has a count but no stack";
	line->n = at;
	*line = trim_blanks(*line);
	if (line->n == 0)
		return false;
	*why = "has a count that is too large";
	return go_parse_int(number, 10, 64, count, NULL) == 0;
}

static uint32_t add_location(struct reader *r, struct str name)
{
	uint32_t location = builder_new_location(&r->b);

	r->b.p->locations[location].mapping = 0;
	builder_line(&r->b, location, builder_function(&r->b, name, name, STR("")), 0);
	return location;
}

static uint32_t location_of(struct reader *r, struct str name)
{
	uint32_t string = profile_intern_copy(r->b.p, name);

	if (string >= r->nstrings) {
		size_t n = (size_t)string * 2 + 64;

		r->location_of = mem_grow(r->location_of, n, sizeof(*r->location_of));
		memset(r->location_of + r->nstrings, 0,
		       (n - r->nstrings) * sizeof(*r->location_of));
		r->nstrings = n;
	}
	if (r->location_of[string] == 0)
		r->location_of[string] = add_location(r, name) + 1;
	return r->location_of[string] - 1;
}

static void push_frame(struct reader *r, struct str name)
{
	uint32_t location = location_of(r, name);

	vec_push(r->stack, r->depth, r->cap_stack, location);
}

/* From the last frame, the leaf, to the first; empty ones say nothing and are left out. */
static void read_stack(struct reader *r, struct str stack)
{
	r->depth = 0;
	for (;;) {
		ptrdiff_t at = str_rfind_char(stack, ';');
		struct str name = str_skip(stack, (size_t)(at + 1));

		if (name.n)
			push_frame(r, name);
		if (at < 0)
			return;
		stack.n = (size_t)at;
	}
}

static bool read_line(struct reader *r, struct str line)
{
	int64_t count;

	r->why = "is not text";
	if (memchr(line.p, '\0', line.n) || !split_count(&line, &count, &r->why))
		return false;
	r->sure = r->sure || str_find(line, STR(";")) >= 0;
	r->why = "has a count but no stack";
	read_stack(r, line);
	if (r->depth == 0)
		return false;
	builder_sample(&r->b, r->stack, r->depth, &count);
	return true;
}

/* 0, or the number of the line that does not fit. */
static size_t read_lines(struct reader *r, struct str data)
{
	size_t number = 0;

	for (struct str line; str_split(&data, '\n', &line);) {
		number++;
		line = trim_blanks(line);
		if (line.n == 0 || line.p[0] == '#')
			continue;
		if (!read_line(r, line))
			return number;
	}
	return 0;
}

static void reader_init(struct reader *r)
{
	*r = (struct reader){ 0 };
	builder_init(&r->b);
	builder_type(&r->b, STR("samples"), STR("count"));
	builder_period(&r->b, STR("samples"), STR("count"), 1);
	builder_mapping(&r->b)->has_functions = true;
}

static void reader_release(struct reader *r)
{
	builder_release(&r->b);
	free(r->location_of);
	free(r->stack);
}

int folded_parse(struct str data, struct profile **out, struct err *err)
{
	struct reader r;
	size_t bad;
	int rc = 0;

	if (data.n == 0)
		data = STR("");
	reader_init(&r);
	bad = read_lines(&r, data);
	if (bad && r.sure)
		rc = err_set(err, -EBADMSG, "folded stacks: line %zu %s", bad, r.why);
	else if (bad || !r.sure) /* "heap profile: 1: 2" ends in a number, too */
		rc = err_set(err, -ENOTSUP, "unrecognized profile format");
	else
		*out = builder_finish(&r.b);
	reader_release(&r);
	return rc;
}
