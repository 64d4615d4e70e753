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
#include <unistd.h>

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

/* Decodes with a head start: as if the bytes came in so many pieces. */
static int decode_in_pieces(struct str bytes, size_t pieces, size_t expected, struct profile **p,
			    struct err *err)
{
	struct head_start *h = head_start_new(NULL);
	int rc;

	for (size_t i = 1; i <= pieces; i++) {
		head_start_feed(h, bytes.p, bytes.n * i / pieces, expected);
		usleep(1000); /* the reader may come first, or not: neither must matter */
	}
	rc = profile_decode(bytes, NULL, h, p, err);
	head_start_free(h);
	return rc;
}

static void assert_same_profile(struct profile *a, struct profile *b)
{
	struct out x, y;

	out_init(&x, 0);
	out_init(&y, 0);
	profile_encode(a, &x);
	profile_encode(b, &y);
	assert_int_equal(x.n, y.n);
	assert_memory_equal(x.p, y.p, x.n);
	out_release(&x);
	out_release(&y);
}

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

/* 'n' samples, one after the other, and what they need. */
static struct str make_long(const char *sample, size_t len, size_t n, struct out *o)
{
	out_init(o, 0);
	out_str(o, BYTES(TYPE));
	for (size_t i = 0; i < n; i++)
		out_str(o, (struct str){ sample, len });
	out_str(o, BYTES(LOCATION1 LOCATION2 FUNCTION STRINGS));
	return out_view(o);
}

static void a_head_start_makes_no_difference(void **state)
{
	/* stack 1 2, value 5, label key:value */
	static const char sample[] = "\x12\x0d\x0a\x02\x01\x02\x12\x01\x05\x1a\x04\x08\x05\x10\x06";
	struct out o;
	struct str bytes = make_long(sample, 2 + 13, 9000, &o);

	(void)state;
	AUTO(profile_freep) struct profile *whole = decode(bytes);

	assert_int_equal(whole->nsamples, 9000);
	for (size_t pieces = 1; pieces < 9; pieces += 3) {
		static const size_t expected[] = { 0, 100, 20000, 135100, 10 << 20 };

		for (size_t e = 0; e < sizeof(expected) / sizeof(expected[0]); e++) {
			AUTO(profile_freep) struct profile *p = NULL;

			struct err err = { "" };

			if (decode_in_pieces(bytes, pieces, expected[e], &p, &err) != 0)
				fail_msg("%zu pieces, %zu expected: %s", pieces, expected[e],
					 err.msg);
			assert_same_profile(whole, p);
		}
	}
	out_release(&o);
}

static void what_a_head_start_took_for_granted_may_be_wrong(void **state)
{
	/* Location 3, string 99, two values, a group: none of which there is. */
	static const char *const wrong[] = {
		"\x12\x07\x0a\x02\x01\x03\x12\x01\x05",
		"\x12\x0d\x0a\x02\x01\x02\x12\x01\x05\x1a\x04\x08\x05\x10\x63",
		"\x12\x08\x0a\x02\x01\x02\x12\x02\x05\x06", "\x13\x07\x0a\x02\x01\x02\x12\x01\x05"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct err plain = { "" }, ahead = { "" };
		struct profile *p = NULL;
		struct out o;
		struct str bytes = make_long(wrong[i], strlen(wrong[i]), 3000, &o);
		int rc = profile_decode(bytes, NULL, NULL, &p, &plain);

		assert_int_not_equal(rc, 0);
		assert_int_equal(decode_in_pieces(bytes, 4, bytes.n, &p, &ahead), rc);
		assert_string_equal(ahead.msg, plain.msg);
		out_release(&o);
	}
}

static void a_cancelled_head_start_is_forgotten(void **state)
{
	struct out o;
	struct str bytes = make_long(SAMPLE, sizeof(SAMPLE) - 1, 5000, &o);
	struct head_start *h = head_start_new(NULL);
	AUTO(profile_freep) struct profile *p = NULL;

	(void)state;
	head_start_feed(h, bytes.p, bytes.n / 2, bytes.n);
	head_start_cancel(h);
	assert_int_equal(profile_decode(bytes, NULL, h, &p, NULL), 0);
	assert_int_equal(p->nsamples, 5000);
	head_start_free(h);
	out_release(&o);
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
		cmocka_unit_test(a_head_start_makes_no_difference),
		cmocka_unit_test(what_a_head_start_took_for_granted_may_be_wrong),
		cmocka_unit_test(a_cancelled_head_start_is_forgotten),
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
