/*
 * test-go-sort.c - equal elements come out where Go's sort.Slice leaves them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/go-sort.h"
#include "base/xalloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { KINDS = 6 };

struct item {
	uint32_t key, at;
};

struct case_of {
	uint32_t n;
	uint32_t orders[KINDS];
};

/* Lengths, and for each kind of keys the order that sort.Slice of Go 1.19 made, as a sum. */
static const struct case_of cases[] = {
	{ 5, { 0xba1e9fef, 0xd706ac29, 0x531b0f11, 0x587a2f3d, 0xc16b91a5, 0xba1e9fef } },
	{ 12, { 0x4a509959, 0x61c44dcf, 0x7d15b1c1, 0x078bfe03, 0x4a387b41, 0x4a509959 } },
	{ 13, { 0x51e160cf, 0xb65072f7, 0x01ef719f, 0x46658159, 0xc63b6d2f, 0x51e160cf } },
	{ 25, { 0xb8a804af, 0x6f8c8d97, 0x493648e1, 0xbe6866eb, 0x9f0dda49, 0xb8a804af } },
	{ 26, { 0x667f6a82, 0xcf8b4972, 0x57a3d02a, 0x4c6b6962, 0x67f298f6, 0x667f6a82 } },
	{ 49, { 0x1f6c285f, 0x43d80fa7, 0xdb26ad83, 0xdd19ae01, 0xadbe57a3, 0x1f6c285f } },
	{ 50, { 0xe543a52a, 0x8689b248, 0xff3d340c, 0xe148a502, 0xc26f5f84, 0xe543a52a } },
	{ 60, { 0x3c2abfc9, 0x85b312dd, 0xc89bbf61, 0xbc17b149, 0x996d0483, 0x3c2abfc9 } },
	{ 200, { 0x2306fb5d, 0xde3db363, 0x036d13b3, 0xe6b2de25, 0xa10d6513, 0x2306fb5d } },
	{ 1000, { 0xa06ae7fd, 0x43ae1903, 0x36c8d797, 0x8768529f, 0x54c2a8fd, 0xa06ae7fd } },
	{ 5000, { 0x8c7ca59d, 0xf73065e9, 0xf204230f, 0x5cd494bf, 0xdf0e9035, 0x8c7ca59d } },
};

static bool has_more(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return x->key > y->key;
}

static uint32_t key_of(int kind, uint32_t random, uint32_t i, uint32_t n)
{
	switch (kind) {
	case 0:
		return 0;
	case 1:
		return random % 2;
	case 2:
		return random % 5;
	case 3:
		return random;
	case 4:
		return i / 3;
	default:
		return (n - i) / 2;
	}
}

static uint32_t order_of(int kind, uint32_t n)
{
	struct item *items = mem_new(n, sizeof(*items));
	uint32_t x = n, sum = 2166136261;

	for (uint32_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		items[i] = (struct item){ key_of(kind, x >> 8, i, n), i };
	}
	go_sort(items, n, sizeof(*items), has_more);
	for (uint32_t i = 0; i < n; i++) {
		assert_true(i == 0 || items[i - 1].key >= items[i].key);
		sum = (sum ^ items[i].at) * 16777619;
	}
	free(items);
	return sum;
}

static void equal_elements_come_out_as_in_go(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int kind = 0; kind < KINDS; kind++)
			if (order_of(kind, cases[i].n) != cases[i].orders[kind])
				fail_msg("%u elements, keys of kind %d", cases[i].n, kind);
}

static void nothing_to_sort_is_left_alone(void **state)
{
	struct item one = { 1, 2 };

	(void)state;
	go_sort(NULL, 0, sizeof(one), has_more);
	go_sort(&one, 1, sizeof(one), has_more);
	assert_int_equal(one.at, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_elements_come_out_as_in_go),
		cmocka_unit_test(nothing_to_sort_is_left_alone),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("go-sort", tests, NULL, NULL);
}
