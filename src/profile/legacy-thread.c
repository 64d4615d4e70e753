/*
 * legacy-thread.c - threadz: where every thread is
 *
 *	--- threadz 1 ---
 *
 *	--- Thread 7f5e0c4a8700 (name: main/14748) stack: ---
 *	  PC: 0x40be31 ...
 *	  0x7f5e ...
 *	--- Thread ...
 *	  [same as previous thread]
 *	--- Memory map: ---
 *
 * A file that has neither a memory map nor a line "---- no stack trace for" after its stacks
 * is not one of these, says the reference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "profile/build.h"
#include "profile/legacy-formats.h"
#include "profile/legacy-maps.h"
#include "profile/legacy-text.h"

/* Searches for 'literal' and cuts off everything up to its end. */
static bool skip_past(struct str *s, struct str literal)
{
	ptrdiff_t at = str_find(*s, literal);

	if (at < 0)
		return false;
	*s = str_skip(*s, (size_t)at + literal.n);
	return true;
}

/* "--- threadz \d+ ---", anywhere in the line. */
static bool is_file_header(struct str line)
{
	while (skip_past(&line, STR("--- threadz "))) {
		struct str rest = line;

		if (text_digits(&rest, NULL) && text_eat(&rest, " ---"))
			return true;
	}
	return false;
}

/* "/(\d+)\) stack: ---", anywhere in 's'. */
static bool has_thread_tail(struct str s)
{
	for (struct str rest = s; skip_past(&rest, STR(") stack: ---"));) {
		size_t end = s.n - rest.n - sizeof(") stack: ---") + 1, at = end;

		while (at > 0 && text_is_digit(s.p[at - 1]))
			at--;
		if (at < end && at > 0 && s.p[at - 1] == '/')
			return true;
	}
	return false;
}

/* "--- Thread [[:xdigit:]]+ \(name: .*" and the tail, anywhere in the line. */
static bool is_thread_header(struct str line)
{
	while (skip_past(&line, STR("--- Thread "))) {
		struct str rest = line;

		if (text_hex(&rest, NULL) && text_eat(&rest, " (name: "))
			return has_thread_tail(rest);
	}
	return false;
}

/* Leaves the first thread's header in '*line'. */
static bool find_first_thread(struct lines *l, struct str *line)
{
	while (lines_next(l) && text_is_comment(l->line))
		;
	*line = l->line;
	if (!is_file_header(*line))
		return is_thread_header(*line);
	while (lines_next(l)) {
		*line = l->line;
		if (maps_begin_at(*line) || str_starts(*line, STR("-")))
			break;
	}
	return true;
}

/*
 * Reads one thread's stack, and leaves in '*line' the line after it.  'a' stays empty for a
 * thread that does what the one before it does.
 */
static int read_stack(struct lines *l, struct addresses *a, struct str *line, struct err *err)
{
	bool same = false;

	*line = STR("");
	while (lines_next(l)) {
		*line = text_trim(l->line);
		if (str_starts(*line, STR("---")))
			break;
		if (str_find(*line, STR("same as previous thread")) >= 0) {
			same = true;
			continue;
		}
		if (addresses_read(a, *line, err))
			return text_bad_line(err, "malformed sample:", *line);
	}
	if (same)
		a->n = 0;
	return lines_error(l, err);
}

static void add_thread(struct builder *b, struct addresses *a)
{
	const int64_t one = 1;
	struct profile *p = b->p;

	if (a->n)
		addresses_sample(a, 1, b, &one);
	else if (p->nsamples)
		p->values[p->nsamples - 1]++;
}

static int read_threads(struct lines *l, struct str line, struct builder *b, struct err *err)
{
	AUTO(addresses_release) struct addresses a = { 0 };
	int rc;

	while (!maps_begin_at(line)) {
		if (str_starts(line, STR("---- no stack trace for")))
			break;
		if (!is_thread_header(line))
			return text_unrecognized(err);
		rc = read_stack(l, &a, &line, err);
		if (rc)
			return rc;
		add_thread(b, &a);
	}
	return 0;
}

int legacy_read_threads(struct str data, struct builder *b, struct err *err)
{
	struct lines l = lines_of(data);
	struct str line;
	int rc;

	if (!find_first_thread(&l, &line))
		return text_unrecognized(err);

	builder_period(b, STR("thread"), STR("count"), 1);
	builder_type(b, STR("thread"), STR("count"));
	rc = read_threads(&l, line, b, err);
	if (rc == 0)
		rc = maps_find(&l, b, err);
	if (rc == 0)
		legacy_drop_doubled_leaf(b);
	return rc;
}
