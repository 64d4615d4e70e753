/*
 * test-merge.c - several profiles become one, and one becomes tidy
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "profile/build.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "profile/scale.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* A profile with one sample per address, of one value each. */
static struct profile *profile_of(const char *unit, const uint64_t *addresses,
				  const int64_t *values, size_t n)
{
	struct builder b;

	builder_init(&b);
	builder_type(&b, STR("cpu"), str_of(unit));
	for (size_t i = 0; i < n; i++) {
		uint32_t location = builder_location(&b, addresses[i]);

		builder_sample(&b, &location, 1, &values[i]);
	}
	return builder_finish(&b);
}

#define PROFILE(unit, addresses, values)                                                           \
	profile_of(unit, addresses, values, sizeof(values) / sizeof((values)[0]))

static struct profile *combine(struct profile **ps, size_t n)
{
	struct profile *out = NULL;
	struct err err = { "" };

	if (profile_combine(ps, n, &out, &err) != 0)
		fail_msg("%s", err.msg);
	return out;
}

static uint64_t address_of(const struct profile *p, size_t sample)
{
	return p->locations[p->stacks[p->samples[sample].stack]].address;
}

static void equal_stacks_are_added_up_and_zeros_go(void **state)
{
	struct profile *one =
		PROFILE("ns", ((uint64_t[]){ 7, 9, 7, 8 }), ((int64_t[]){ 1, 0, 2, 5 }));
	AUTO(profile_freep) struct profile *p = combine(&one, 1);

	(void)state;
	assert_int_equal(p->nsamples, 2);
	assert_int_equal(sample_values(p, 0)[0], 3);
	assert_int_equal(sample_values(p, 1)[0], 5);
	assert_int_equal(p->nlocations, 2);
	assert_int_equal(p->locations[1].id, 2);
}

static void samples_that_cancel_out_take_their_locations_along(void **state)
{
	struct profile *two[] = {
		PROFILE("ns", ((uint64_t[]){ 1, 2 }), ((int64_t[]){ 4, 6 })),
		PROFILE("ns", ((uint64_t[]){ 1 }), ((int64_t[]){ -4 })),
	};
	AUTO(profile_freep) struct profile *p = combine(two, 2);

	(void)state;
	assert_int_equal(p->nsamples, 1);
	assert_int_equal(p->nlocations, 1);
	assert_int_equal(address_of(p, 0), 2);
}

static void units_become_the_finest_of_all(void **state)
{
	struct profile *two[] = {
		PROFILE("milliseconds", ((uint64_t[]){ 1 }), ((int64_t[]){ 2 })),
		PROFILE("us", ((uint64_t[]){ 1 }), ((int64_t[]){ 5 })),
	};
	AUTO(profile_freep) struct profile *p = combine(two, 2);

	(void)state;
	assert_true(str_is(profile_str(p, p->types[0].unit), "us"));
	assert_int_equal(sample_values(p, 0)[0], 2005);
}

static void different_measures_are_refused(void **state)
{
	struct profile *two[] = {
		PROFILE("bytes", ((uint64_t[]){ 1 }), ((int64_t[]){ 2 })),
		PROFILE("ns", ((uint64_t[]){ 1 }), ((int64_t[]){ 5 })),
	};
	struct profile *p = NULL;
	struct err err = { "" };

	(void)state;
	assert_true(profile_combine(two, 2, &p, &err) < 0);
	assert_null(p);
	assert_string_equal(err.msg,
			    "sample types: incompatible types: {cpu bytes 0 0} {cpu ns 0 0}");
}

static void headers_are_combined(void **state)
{
	struct profile *two[] = {
		PROFILE("ns", ((uint64_t[]){ 1 }), ((int64_t[]){ 1 })),
		PROFILE("ns", ((uint64_t[]){ 1 }), ((int64_t[]){ 1 })),
	};
	struct profile *p;

	(void)state;
	two[0]->time_nanos = 20;
	two[1]->time_nanos = 10;
	two[0]->duration_nanos = two[1]->duration_nanos = 3;
	two[1]->period = 9;
	p = combine(two, 2);
	assert_int_equal(p->time_nanos, 10);
	assert_int_equal(p->duration_nanos, 6);
	assert_int_equal(p->period, 9);
	assert_int_equal(p->nsamples, 1);
	profile_free(p);
}

static void mappings_at_other_addresses_are_the_same_if_they_are_the_same_file(void **state)
{
	struct profile *two[] = {
		PROFILE("ns", ((uint64_t[]){ 0x1010 }), ((int64_t[]){ 1 })),
		PROFILE("ns", ((uint64_t[]){ 0x5010 }), ((int64_t[]){ 1 })),
	};
	struct profile *p;

	(void)state;
	for (int i = 0; i < 2; i++) {
		two[i]->mappings = arena_alloc(&two[i]->arena, 1, sizeof(struct mapping));
		two[i]->mappings[0] = (struct mapping){ .id = 1,
							.start = i ? 0x5000 : 0x1000,
							.limit = i ? 0x6000 : 0x2000 };
		two[i]->mappings[0].build_id = profile_intern(two[i], STR("abc"));
		two[i]->nmappings = 1;
		two[i]->locations[0].mapping = 0;
	}
	p = combine(two, 2);
	assert_int_equal(p->nmappings, 1);
	assert_int_equal(p->nsamples, 1);
	assert_int_equal(address_of(p, 0), 0x1010);
	assert_int_equal(sample_values(p, 0)[0], 2);
	profile_free(p);
}

static void many_samples_are_tidied_in_the_same_order_as_few(void **state)
{
	enum { N = 20000 };
	AUTO(freep) uint64_t *addresses = calloc(N, sizeof(*addresses));
	AUTO(freep) int64_t *values = calloc(N, sizeof(*values));
	struct profile *p;
	size_t distinct = 0;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		addresses[i] = 1 + (i * 7919) % 15013;
		values[i] = i % 5 ? (int64_t)i : 0;
	}
	p = profile_of("ns", addresses, values, N);
	p = combine(&p, 1);
	/* In order of first use by a sample that is not zero, each once. */
	for (size_t i = 0; i < N && distinct < p->nsamples; i++) {
		if (values[i] && address_of(p, distinct) == addresses[i])
			distinct++;
	}
	assert_int_equal(distinct, p->nsamples);
	for (size_t i = 0; i < p->nsamples; i++)
		assert_int_equal(p->stacks[p->samples[i].stack], i);
	profile_free(p);
}

static void scaling_rounds_and_drops_what_is_left_with_nothing(void **state)
{
	AUTO(profile_freep)
	struct profile *p = PROFILE("ns", ((uint64_t[]){ 1, 2 }), ((int64_t[]){ 10, 1 }));

	(void)state;
	profile_scale(p, 0.25);
	assert_int_equal(p->nsamples, 1);
	assert_int_equal(sample_values(p, 0)[0], 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_stacks_are_added_up_and_zeros_go),
		cmocka_unit_test(samples_that_cancel_out_take_their_locations_along),
		cmocka_unit_test(units_become_the_finest_of_all),
		cmocka_unit_test(different_measures_are_refused),
		cmocka_unit_test(headers_are_combined),
		cmocka_unit_test(
			mappings_at_other_addresses_are_the_same_if_they_are_the_same_file),
		cmocka_unit_test(many_samples_are_tidied_in_the_same_order_as_few),
		cmocka_unit_test(scaling_rounds_and_drops_what_is_left_with_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
