/*
 * legacy-java.c - heap, contention and CPU profiles of Java programs
 *
 *	--- contentionz 1 ---
 *	format = java
 *	resolution = microseconds
 *	sampling period = 100
 *	ms since reset = 6019923
 *	<delay> <times> @ 0x<address> ...
 *	...
 *	0x<address> com.example.Class.method (Class.java:123)
 *
 * Addresses only tie the last part to the samples, and do not survive.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/build.h"
#include "profile/legacy-formats.h"
#include "profile/legacy-maps.h"
#include "profile/legacy-text.h"

#include <errno.h>
#include <stdlib.h>

#define HEAP_RATE (512 << 10)

struct reader {
	struct str rest;
	bool heap; /* else contention */
	struct builder *b;
	struct err *err;
};

/*
 * The next line without white space around it; a last line without "\n" is none.  Stays where
 * it is: skip_line() goes on.
 */
static bool peek_line(const struct reader *r, struct str *line)
{
	struct str rest = r->rest;

	if (rest.n == 0 || !memchr(rest.p, '\n', rest.n))
		return false;
	str_split(&rest, '\n', line);
	*line = text_trim(*line);
	return true;
}

static void skip_line(struct reader *r)
{
	struct str line;

	str_split(&r->rest, '\n', &line);
}

static bool is_attribute_char(char c)
{
	return c == ' ' || c == '_' || text_is_digit(c) || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* "([\w ]+)=([\w ]+)", anywhere in the line. */
static bool find_attribute(struct str line, struct str *key, struct str *value)
{
	for (size_t start = 0, i = 0; i < line.n; i++) {
		if (is_attribute_char(line.p[i]))
			continue;
		if (line.p[i] == '=' && i > start && i + 1 < line.n &&
		    is_attribute_char(line.p[i + 1])) {
			size_t end = i + 1;

			while (end < line.n && is_attribute_char(line.p[end]))
				end++;
			*key = str_trim((struct str){ line.p + start, i - start });
			*value = str_trim((struct str){ line.p + i + 1, end - i - 1 });
			return true;
		}
		start = i + 1;
	}
	return false;
}

static int read_number(struct reader *r, struct str value, int64_t *n, struct str line)
{
	if (go_parse_int(value, 0, 64, n, r->err))
		return text_bad_line(r->err, "failed to parse attribute", line);
	return 0;
}

static void set_types(struct reader *r, struct str unit)
{
	r->b->p->ntypes = 0;
	builder_type(r->b, r->heap ? STR("inuse_objects") : STR("contentions"), STR("count"));
	builder_type(r->b, r->heap ? STR("inuse_space") : STR("delay"), unit);
}

static int read_attribute(struct reader *r, struct str key, struct str value, struct str line)
{
	struct profile *p = r->b->p;
	int64_t ms = 0;
	int rc;

	if (str_is(key, "format"))
		return str_is(value, "java") ? 0 : text_unrecognized(r->err);
	if (str_is(key, "resolution")) {
		set_types(r, value);
		return 0;
	}
	if (!r->heap && str_is(key, "sampling period")) {
		builder_period(r->b, STR("contentions"), STR("count"), 0);
		return read_number(r, value, &p->period, line);
	}
	if (r->heap || !str_is(key, "ms since reset"))
		return text_unrecognized(r->err);
	rc = read_number(r, value, &ms, line);
	p->duration_nanos = wrap_mul(ms, 1000000);
	return rc;
}

static int read_attributes(struct reader *r)
{
	struct str line, key, value;
	int rc = 0;

	for (; rc == 0 && peek_line(r, &line); skip_line(r)) {
		if (line.n == 0)
			continue;
		if (!find_attribute(line, &key, &value))
			return 0;
		rc = read_attribute(r, key, value, line);
	}
	return rc;
}

/* " *(\d+) +(\d+) +@ +([ x0-9a-f]*)", anywhere in the line. */
static bool find_sample(struct str line, struct str number[2], struct str *addresses)
{
	while (text_next_digit(&line)) {
		struct str rest;

		text_digits(&line, &number[0]);
		rest = line;
		if (text_eat(&rest, " ") && text_blanks(&rest) && text_digits(&rest, &number[1]) &&
		    text_eat(&rest, " ") && text_blanks(&rest) && text_eat(&rest, "@ ")) {
			text_blanks(&rest);
			*addresses = addresses_text(&rest);
			return true;
		}
	}
	return false;
}

static int add_heap_sample(struct reader *r, struct addresses *a, int64_t *values, struct str line)
{
	int64_t block;

	if (values[0] == 0) {
		err_set(r->err, -EBADMSG, "second value must be non-zero");
		return text_bad_line(r->err, "parsing sample", line);
	}
	block = values[1] / values[0];
	legacy_unsample(&values[0], &values[1], HEAP_RATE);
	addresses_sample(a, a->n, r->b, values);
	builder_num_label(r->b, STR("bytes"), block, (struct str){ 0 });
	return 0;
}

static int read_sample(struct reader *r, struct addresses *a, const struct str number[2],
		       struct str addresses, struct str line)
{
	int64_t period = r->b->p->period, values[2];

	if (addresses_read(a, addresses, r->err))
		return text_bad_line(r->err, "malformed sample:", line);
	if (go_parse_int(number[1], 0, 64, &values[0], r->err) ||
	    go_parse_int(number[0], 0, 64, &values[1], r->err))
		return text_bad_line(r->err, "parsing sample", line);
	if (r->heap)
		return add_heap_sample(r, a, values, line);
	if (period) {
		values[0] = wrap_mul(values[0], period);
		values[1] = wrap_mul(values[1], period);
	}
	addresses_sample(a, a->n, r->b, values);
	return 0;
}

static int read_samples(struct reader *r)
{
	AUTO(addresses_release) struct addresses a = { 0 };
	struct str line, number[2], addresses;
	int rc = 0;

	for (; rc == 0 && peek_line(r, &line); skip_line(r)) {
		if (line.n == 0)
			continue;
		if (!find_sample(line, number, &addresses))
			return 0;
		rc = read_sample(r, &a, number, addresses, line);
	}
	return rc;
}

/* What a location turned out to be. */
struct place {
	struct str function, file;
	int64_t line;
};

/*
 * The last "(" in 's' behind white space and before 'end': ".*\s+\(" takes all it can.  The
 * expression leaves all but one of the spaces to the name.
 */
static bool split_at_paren(struct str s, size_t end, struct str *before, struct str *after)
{
	for (size_t i = end; i-- > 1;) {
		if (s.p[i] != '(' || !text_is_space(s.p[i - 1]))
			continue;
		*before = (struct str){ s.p, i - 1 };
		*after = (struct str){ s.p + i + 1, end - i - 1 };
		return true;
	}
	return false;
}

/* "(.*)\s+\((.+):(-?[[:digit:]]+)\)", all of 's'. */
static bool parse_file_line(struct str s, struct place *at)
{
	size_t end = s.n, colon;

	if (end == 0 || s.p[--end] != ')')
		return false;
	for (colon = end; colon > 0 && text_is_digit(s.p[colon - 1]);)
		colon--;
	if (colon == end || colon == 0)
		return false;
	if (s.p[colon - 1] == '-')
		colon--;
	if (colon < 2 || s.p[colon - 1] != ':')
		return false;
	colon--;
	/* One character between "(" and ":" at least. */
	if (!split_at_paren(s, colon - 1, &at->function, &at->file))
		return false;
	at->file.n++;
	if (go_parse_int((struct str){ s.p + colon + 1, end - colon - 1 }, 10, 64, &at->line,
			 NULL) ||
	    at->line < 0)
		at->line = 0;
	return true;
}

/* "(.*)\s+\((.*)\)", all of 's': a shared library, whose folder does not matter. */
static bool parse_library(struct str s, struct place *at)
{
	if (s.n == 0 || s.p[s.n - 1] != ')')
		return false;
	if (!split_at_paren(s, s.n - 1, &at->function, &at->file))
		return false;
	at->file = str_base(at->file);
	return true;
}

static void parse_place(struct str s, struct place *at)
{
	*at = (struct place){ 0 };
	if (parse_file_line(s, at))
		return;
	*at = (struct place){ 0 };
	if (parse_library(s, at))
		return;
	*at = (struct place){ .function = s };
	if (str_find(s, STR("generated stub/JIT")) >= 0)
		at->function = STR("STUB");
}

/*
 * Functions by name: the first place that names one decides on its file.  Made only once it is
 * known which locations they belong to, because of their order.
 */
struct names {
	struct names_function {
		struct str name, file;
		uint32_t index; /* in the profile, or NONE */
	} * functions;
	size_t n, cap;
	struct table by_name;
	struct names_line {
		uint32_t function; /* plus one; 0 is none */
		int64_t line;
	} * lines; /* one for each location */
};

static void names_release(struct names *n)
{
	free(n->functions);
	free(n->lines);
	table_release(&n->by_name);
}

static uint64_t rehash_name(uint32_t i, const void *functions)
{
	struct str name = ((const struct names_function *)functions)[i].name;

	return hash_bytes(name.p, name.n, 0);
}

static uint32_t names_add(struct names *n, const struct place *at)
{
	struct names_function f = { at->function, at->file, NONE };
	struct probe slot;

	table_reserve(&n->by_name, rehash_name, n->functions);
	slot = table_probe(&n->by_name, hash_bytes(f.name.p, f.name.n, 0));
	while (table_next(&n->by_name, &slot)) {
		if (str_eq(n->functions[slot.value].name, f.name))
			return slot.value;
	}
	table_put(&n->by_name, &slot, (uint32_t)n->n);
	vec_push(n->functions, n->n, n->cap, f);
	return (uint32_t)n->n - 1;
}

/* "\s*0x([[:xdigit:]]+)\s+(.*)\s*", all of the line. */
static int read_name(struct str line, struct builder *b, struct names *n, struct err *err)
{
	struct str rest = line, digits;
	struct place at;
	uint64_t address;
	uint32_t location;

	if (!text_eat(&rest, "0x") || !text_hex(&rest, &digits) || !text_spaces(&rest))
		return 0;
	if (go_parse_uint(digits, 16, 64, &address, err))
		return text_bad_line(err, "parsing sample", line);
	location = builder_find_location(b, address);
	if (location == NONE)
		return 0;
	parse_place(rest, &at);
	n->lines[location].function = names_add(n, &at) + 1;
	n->lines[location].line = at.line;
	return 0;
}

static void apply_names(struct builder *b, struct names *n)
{
	struct profile *p = b->p;

	for (uint32_t i = 0; i < p->nlocations; i++) {
		struct names_function *f;

		if (n->lines[i].function == 0)
			continue;
		f = &n->functions[n->lines[i].function - 1];
		if (f->index == NONE)
			f->index = builder_function(b, f->name, f->name, f->file);
		builder_line(b, i, f->index, n->lines[i].line);
		p->locations[i].address = 0;
	}
}

int java_read_locations(struct str text, struct builder *b, struct err *err)
{
	AUTO(names_release) struct names n = { 0 };
	struct profile *p = b->p;

	n.lines = mem_zeroed(p->nlocations, sizeof(*n.lines));
	table_init(&n.by_name, 0);
	for (struct str line; str_split(&text, '\n', &line);) {
		int rc = read_name(text_trim(line), b, &n, err);

		if (rc)
			return rc;
	}
	apply_names(b, &n);
	mappings_attach(b);
	for (uint32_t i = 0; i < p->nlocations; i++)
		p->locations[i].address = 0;
	if (p->ntypes == 0 && p->nsamples)
		return err_set(err, -EBADMSG, "missing sample type information");
	return 0;
}

int legacy_read_java(struct str data, struct builder *b, struct err *err)
{
	struct reader r = { .rest = data, .b = b, .err = err };
	struct str header;
	int rc;

	if (!peek_line(&r, &header))
		return text_unrecognized(err);
	r.heap = str_is(header, "--- heapz 1 ---");
	if (!r.heap && !str_is(header, "--- contentionz 1 ---"))
		return text_unrecognized(err);
	skip_line(&r);

	rc = read_attributes(&r);
	if (rc == 0)
		rc = read_samples(&r);
	return rc ? rc : java_read_locations(r.rest, b, err);
}
