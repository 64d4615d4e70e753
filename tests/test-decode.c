/*
 * test-decode.c - from profile.proto bytes to a profile and back
 *
 * Messages are written by hand, so that the test does not depend on our own encoder.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "profile/decode.h"
#include "profile/encode.h"
#include "profile/profile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* "", "cpu", "ns", "main", "a.c", "key", "value" */
#define STRINGS                                                                                    \
	"\x32\x00\x32\x03"                                                                         \
	"cpu\x32\x02ns\x32\x04main\x32\x03"                                                        \
	"a.c\x32\x03key\x32\x05value"
#define TYPE "\x0a\x04\x08\x01\x10\x02"
/* function 1: main in a.c; location 1: line 7 of it at 0x10; location 2 likewise at 0x20 */
#define FUNCTION  "\x2a\x06\x08\x01\x10\x03\x20\x04"
#define LOCATION1 "\x22\x0a\x08\x01\x18\x10\x22\x04\x08\x01\x10\x07"
#define LOCATION2 "\x22\x0a\x08\x02\x18\x20\x22\x04\x08\x01\x10\x08"
/* stack 1 2, value 5 */
#define SAMPLE "\x12\x06\x08\x01\x08\x02\x10\x05"

#define BYTES(literal) ((struct str){ literal, sizeof(literal) - 1 })

static struct profile *decode(struct str bytes)
{
	struct profile *p = NULL;
	struct err err = { "" };

	if (profile_decode(bytes, NULL, NULL, &p, &err) != 0)
		fail_msg("%s", err.msg);
	return p;
}

static void refuse(struct str bytes, int code, const char *why)
{
	struct profile *mark = (struct profile *)&mark, *p = mark;
	struct err err = { "" };

	assert_int_equal(profile_decode(bytes, NULL, NULL, &p, &err), code);
	assert_ptr_equal(p, mark);
	assert_string_equal(err.msg, why);
}

static void strings_may_follow_their_use(void **state)
{
	AUTO(profile_freep) struct profile *p = decode(BYTES(TYPE STRINGS));

	(void)state;
	assert_true(str_is(profile_str(p, p->types[0].type), "cpu"));
	assert_true(str_is(profile_str(p, p->types[0].unit), "ns"));
}

static void a_sample_has_its_stack_value_and_names(void **state)
{
	AUTO(profile_freep)
	struct profile *p = decode(BYTES(TYPE SAMPLE LOCATION1 LOCATION2 FUNCTION STRINGS));
	const struct location *leaf = &p->locations[p->stacks[p->samples[0].stack]];

	(void)state;
	assert_int_equal(p->nsamples, 1);
	assert_int_equal(p->samples[0].depth, 2);
	assert_int_equal(sample_values(p, 0)[0], 5);
	assert_int_equal(leaf->address, 0x10);
	assert_int_equal(p->lines[leaf->line].line, 7);
	assert_true(str_is(profile_str(p, p->functions[0].name), "main"));
}

static void packed_and_single_numbers_mean_the_same(void **state)
{
	AUTO(profile_freep)
	struct profile *p = decode(BYTES(
		TYPE "\x12\x07\x0a\x02\x01\x02\x12\x01\x05" LOCATION1 LOCATION2 FUNCTION STRINGS));

	(void)state;
	assert_int_equal(p->samples[0].depth, 2);
	assert_int_equal(p->locations[p->stacks[p->samples[0].stack + 1]].address, 0x20);
	assert_int_equal(sample_values(p, 0)[0], 5);
}

static void ids_need_not_count_from_one(void **state)
{
	/* location ids 2^40 and 3 */
	AUTO(profile_freep)
	struct profile *p = decode(BYTES(TYPE "\x12\x0b\x08\x80\x80\x80\x80\x80\x20\x08\x03\x10\x05"
					      "\x22\x07\x08\x80\x80\x80\x80\x80\x20"
					      "\x22\x02\x08\x03" STRINGS));

	(void)state;
	assert_int_equal(p->locations[p->stacks[p->samples[0].stack]].id, 1ull << 40);
	assert_int_equal(p->locations[p->stacks[p->samples[0].stack + 1]].id, 3);
}

static void equal_strings_have_one_number(void **state)
{
	AUTO(profile_freep)
	struct profile *p = decode(BYTES("\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x01x\x32\x01x"));

	(void)state;
	assert_int_equal(p->types[0].type, p->types[0].unit);
}

static void labels_come_in_order_and_empty_ones_not_at_all(void **state)
{
	/* {key: value "key"}, {cpu: 3 ns}, {cpu: 0}, {key: "value"} */
	AUTO(profile_freep)
	struct profile *p = decode(BYTES(TYPE "\x12\x1a\x10\x05"
					      "\x1a\x06\x08\x01\x18\x03\x20\x02"
					      "\x1a\x02\x08\x01"
					      "\x1a\x04\x08\x05\x10\x06"
					      "\x1a\x04\x08\x03\x10\x01" STRINGS));
	const struct label *l = p->labels + p->samples[0].label;

	(void)state;
	assert_int_equal(p->samples[0].nlabels, 3);
	assert_true(str_is(profile_str(p, l[0].key), "key"));
	assert_true(str_is(profile_str(p, l[0].str), "value"));
	assert_true(str_is(profile_str(p, l[1].key), "main"));
	assert_int_equal(l[2].num, 3);
	assert_true(str_is(profile_str(p, l[2].unit), "ns"));
}

static void unknown_fields_are_skipped(void **state)
{
	AUTO(profile_freep)
	struct profile *p = decode(BYTES("\xba\x06\x02hi" TYPE "\xc0\x06\x01" STRINGS));

	(void)state;
	assert_int_equal(p->ntypes, 1);
}

static void what_is_not_a_message_is_refused_with_its_place(void **state)
{
	(void)state;
	refuse(BYTES(""), -ENODATA, "empty input file");
	refuse(BYTES("\x0a\x02\x08\x63" STRINGS), -EBADMSG, "byte 3: string index is out of range");
	refuse(BYTES("\x0a\x7f"), -EBADMSG, "byte 0: field reaches past the end of its message");
	refuse(BYTES("\x0b"), -EBADMSG, "byte 1: unknown wire type");
	refuse(BYTES("\x50\xff\xff"), -EBADMSG,
	       "byte 1: number is cut short, or longer than ten bytes");
	refuse(BYTES("\x50\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), -EBADMSG,
	       "byte 1: number is cut short, or longer than ten bytes");
	refuse(BYTES("\0\0\0\0"), -EBADMSG, "byte 0: there are no strings");
	refuse(BYTES("\x08\x01"), -EBADMSG, "byte 1: expected a message");
	refuse(BYTES("\x32\x01x"), -EBADMSG, "byte 2: the first string is not empty");
}

static void two_profiles_in_one_file_are_refused(void **state)
{
	(void)state;
	refuse(BYTES(TYPE STRINGS "\x48\x01"
				  "\x48\x02"),
	       -ENOTUNIQ, "concatenated profiles detected");
}

static void what_is_not_a_valid_profile_is_refused(void **state)
{
	(void)state;
	refuse(BYTES(SAMPLE STRINGS), -EILSEQ, "missing sample type information");
	refuse(BYTES(TYPE SAMPLE STRINGS), -EILSEQ, "sample has nil location");
	refuse(BYTES(TYPE "\x12\x04\x10\x05\x10\x06" STRINGS), -EILSEQ,
	       "mismatch: sample has 2 values vs. 1 types");
	refuse(BYTES("\x22\x00" STRINGS), -EILSEQ, "found location with reserved id=0");
	refuse(BYTES("\x1a\x00" STRINGS), -EILSEQ, "found mapping with reserved ID=0");
	refuse(BYTES(FUNCTION FUNCTION STRINGS), -EILSEQ, "multiple functions with same id: 1");
	refuse(BYTES("\x22\x06\x08\x01\x22\x02\x10\x07" STRINGS), -EILSEQ,
	       "location id: 1 has a line with nil function");
}

static void what_is_read_is_written_again(void **state)
{
	/* In the reference's order: types, samples, locations, functions, strings, default type. */
	static const char bytes[] =
		TYPE SAMPLE LOCATION1 LOCATION2 "\x2a\x06\x08\x01\x10\x03\x20\x04"
						"\x32\x00\x32\x03"
						"cpu\x32\x02ns\x32\x04main\x32\x03"
						"a.c\x70\x00";
	AUTO(profile_freep) struct profile *p = decode(BYTES(bytes));
	struct out o;

	(void)state;
	out_init(&o, 0);
	profile_encode(p, &o);
	assert_int_equal(o.n, sizeof(bytes) - 1);
	assert_memory_equal(o.p, bytes, o.n);
	out_release(&o);
}

static void a_truncated_profile_is_never_accepted_by_accident(void **state)
{
	static const char bytes[] = STRINGS FUNCTION LOCATION1 LOCATION2 TYPE SAMPLE;

	(void)state;
	for (size_t n = 1; n < sizeof(bytes) - 1; n++) {
		AUTO(profile_freep) struct profile *p = NULL;
		AUTO(freep) char *exact = malloc(n);

		memcpy(exact, bytes, n);
		if (profile_decode((struct str){ exact, n }, NULL, NULL, &p, NULL) == 0)
			assert_int_equal(p->nsamples, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_may_follow_their_use),
		cmocka_unit_test(a_sample_has_its_stack_value_and_names),
		cmocka_unit_test(packed_and_single_numbers_mean_the_same),
		cmocka_unit_test(ids_need_not_count_from_one),
		cmocka_unit_test(equal_strings_have_one_number),
		cmocka_unit_test(labels_come_in_order_and_empty_ones_not_at_all),
		cmocka_unit_test(unknown_fields_are_skipped),
		cmocka_unit_test(what_is_not_a_message_is_refused_with_its_place),
		cmocka_unit_test(two_profiles_in_one_file_are_refused),
		cmocka_unit_test(what_is_not_a_valid_profile_is_refused),
		cmocka_unit_test(what_is_read_is_written_again),
		cmocka_unit_test(a_truncated_profile_is_never_accepted_by_accident),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
