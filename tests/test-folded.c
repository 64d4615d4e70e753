/*
 * test-folded.c - folded stacks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "profile/legacy-folded.h"
#include "profile/legacy.h"
#include "profile/profile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* "count: leaf|...|root" for every sample. */
static void assert_stacks(struct str text, const char *expected)
{
	AUTO(profile_freep) struct profile *p = NULL;
	struct err err = { "" };
	struct out o;

	if (folded_parse(text, &p, &err))
		fail_msg("%s", err.msg);
	out_init(&o, 0);
	for (size_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];

		out_printf(&o, "%lld:", (long long)p->values[i]);
		for (uint32_t k = 0; k < s->depth; k++) {
			const struct location *l = &p->locations[p->stacks[s->stack + k]];

			assert_int_equal(l->nlines, 1);
			out_char(&o, k ? '|' : ' ');
			out_str(&o, profile_str(p, p->functions[p->lines[l->line].function].name));
		}
		out_char(&o, '\n');
	}
	out_char(&o, '\0');
	assert_string_equal(o.p, expected);
	out_release(&o);
}

static void assert_refused(struct str text, int code, const char *message)
{
	struct profile *untouched = (struct profile *)&text, *p = untouched;
	struct err err = { "" };
	int rc = folded_parse(text, &p, &err);

	assert_string_equal(err.msg, message);
	assert_int_equal(rc, code);
	assert_ptr_equal(p, untouched);
}

static void the_leaf_comes_last_in_the_text_and_first_in_the_stack(void **state)
{
	(void)state;
	assert_stacks(STR("a;b;c 12\na;b 3"), "12: c|b|a\n3: b|a\n");
}

static void names_may_have_blanks_and_annotations(void **state)
{
	(void)state;
	assert_stacks(STR("main;operator new[](unsigned long);do_page_fault_[k];go_[i] 7\n"
			  "a b;c 12 34\n"),
		      "7: go_[i]|do_page_fault_[k]|operator new[](unsigned long)|main\n"
		      "34: c 12|a b\n");
}

static void comments_and_empty_lines_and_other_line_ends_are_fine(void **state)
{
	(void)state;
	assert_stacks(STR("# a;b\n\n  \t\na;b\t1\r\n  a 2  \r\n#"), "1: b|a\n2: a\n");
}

static void empty_frames_are_left_out(void **state)
{
	(void)state;
	assert_stacks(STR(";a;;b; 1\n"), "1: b|a\n");
}

static void a_name_is_one_function_and_one_location(void **state)
{
	AUTO(profile_freep) struct profile *p = NULL;

	(void)state;
	assert_int_equal(folded_parse(STR("a;b;a 1\nb;a 2\n"), &p, NULL), 0);
	assert_int_equal(p->nfunctions, 2);
	assert_int_equal(p->nlocations, 2);
	assert_int_equal(p->nmappings, 1);
	assert_true(p->mappings[0].has_functions);
	assert_int_equal(p->ntypes, 1);
	assert_true(str_is(profile_str(p, p->types[0].type), "samples"));
	assert_true(str_is(profile_str(p, p->types[0].unit), "count"));
	assert_int_equal(p->period, 1);
	for (uint32_t i = 0; i < p->nlocations; i++) {
		assert_int_equal(p->locations[i].address, 0);
		assert_int_equal(p->locations[i].mapping, 0);
	}
}

static void a_line_that_does_not_fit_is_named(void **state)
{
	static const struct {
		struct str text;
		const char *message;
	} cases[] = {
		{ STR("a;b 1\n\nc;d\n"), "folded stacks: line 3 does not end in a count" },
		{ STR("a;b 1\nc;d 1.5\n"), "folded stacks: line 2 does not end in a count" },
		{ STR("a;b 1\nc;d -1\n"), "folded stacks: line 2 does not end in a count" },
		{ STR("a;b 1\n12\n"), "folded stacks: line 2 has a count but no stack" },
		{ STR("a;b 1\n;; 12\n"), "folded stacks: line 2 has a count but no stack" },
		{ STR("a;b 9223372036854775808\n"), "unrecognized profile format" },
		{ STR("a;b 1\na;b 9223372036854775808\n"),
		  "folded stacks: line 2 has a count that is too large" },
		{ STR("a;b 1\na\0b 1\n"), "folded stacks: line 2 is not text" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_refused(cases[i].text,
			       str_is(str_of(cases[i].message), "unrecognized profile format")
				       ? -ENOTSUP
				       : -EBADMSG,
			       cases[i].message);
}

static void prose_is_not_recognized(void **state)
{
	static const char *const cases[] = {
		"",     "\n",       "# only a comment\n",
		"12\n", "<html>\n", "chapter 1\nIt was a dark night\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_refused(str_of(cases[i]), -ENOTSUP, "unrecognized profile format");
}

static void any_reader_finds_them(void **state)
{
	AUTO(profile_freep) struct profile *p = NULL;

	(void)state;
	assert_int_equal(legacy_parse(STR("a;b 1\n"), &p, NULL), 0);
	assert_int_equal(p->nsamples, 1);
	assert_int_equal(p->drop_frames, 0);
}

static void stacks_may_be_longer_than_a_line_of_other_formats(void **state)
{
	AUTO(profile_freep) struct profile *p = NULL;
	size_t depth = 50000;
	AUTO(freep) char *text = mem_new(depth * 2 + 3, 1);

	(void)state;
	for (size_t i = 0; i < depth; i++)
		memcpy(text + i * 2, "a;", 2);
	memcpy(text + depth * 2 - 1, " 7\n", 4);
	assert_int_equal(legacy_parse(str_of(text), &p, NULL), 0);
	assert_int_equal(p->samples[0].depth, depth);
}

static void a_heading_that_ends_in_a_number_is_not_a_stack(void **state)
{
	struct profile *p = NULL;

	(void)state;
	assert_int_equal(folded_parse(STR("heap profile: 1: 2\n"), &p, NULL), -ENOTSUP);
	assert_null(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_heading_that_ends_in_a_number_is_not_a_stack),
		cmocka_unit_test(the_leaf_comes_last_in_the_text_and_first_in_the_stack),
		cmocka_unit_test(names_may_have_blanks_and_annotations),
		cmocka_unit_test(comments_and_empty_lines_and_other_line_ends_are_fine),
		cmocka_unit_test(empty_frames_are_left_out),
		cmocka_unit_test(a_name_is_one_function_and_one_location),
		cmocka_unit_test(a_line_that_does_not_fit_is_named),
		cmocka_unit_test(prose_is_not_recognized),
		cmocka_unit_test(any_reader_finds_them),
		cmocka_unit_test(stacks_may_be_longer_than_a_line_of_other_formats),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
