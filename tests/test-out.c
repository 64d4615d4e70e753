/*
 * test-out.c - sinks and what goes into them, and the order that is made by digits
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/deflate.h"
#include "base/out.h"
#include "base/parts.h"
#include "base/quote-json.h"
#include "base/sort-keys.h"

#include <errno.h>
#include <libdeflate.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { THINGS = 1000, ROUNDS = 5, SEED = 7, TEXT = 32 };

/* 'v' behind so many bytes, in a sink that has no room for more at first. */
static void assert_number(uint64_t v, size_t before)
{
	char want[TEXT];
	struct out o;

	snprintf(want, sizeof(want), "%llu", (unsigned long long)v);
	out_init(&o, 0);
	out_fill(&o, '.', before);
	out_u64(&o, v);
	out_char(&o, '\0');
	assert_string_equal(o.p + before, want);
	out_release(&o);
}

static void numbers_have_the_digits_they_need(void **state)
{
	(void)state;
	for (uint64_t v = 0; v < 20000; v++)
		assert_number(v, 1);
	for (uint64_t v = 1; v < UINT64_MAX / 10; v *= 10) {
		assert_number(v - 1, 1);
		assert_number(v, 1);
	}
	assert_number(UINT64_MAX, 1);
}

static void a_number_that_does_not_fit_makes_room(void **state)
{
	(void)state;
	for (size_t before = 240; before <= 256; before++) {
		assert_number(7, before);
		assert_number(1234, before);
		assert_number(UINT64_MAX, before);
	}
}

static void assert_hex(uint64_t v, size_t before)
{
	char want[TEXT];
	struct out o;

	snprintf(want, sizeof(want), "0x%llx", (unsigned long long)v);
	out_init(&o, 0);
	out_fill(&o, '.', before);
	out_hex(&o, v);
	out_char(&o, '\0');
	assert_string_equal(o.p + before, want);
	out_release(&o);
}

static void addresses_have_the_digits_they_need(void **state)
{
	(void)state;
	for (uint64_t v = 0; v < 300; v++)
		assert_hex(v, 250);
	for (unsigned bit = 0; bit < 64; bit++) {
		assert_hex((uint64_t)1 << bit, 1);
		assert_hex(((uint64_t)1 << bit) - 1, 1);
	}
	assert_hex(UINT64_MAX, 255);
}

/* A number that is too long for a sink fails; one that just fits does not. */
static void a_sink_takes_all_that_fits(void **state)
{
	struct out o;

	(void)state;
	out_init(&o, 256);
	out_fill(&o, '.', 250);
	out_u64(&o, 123);
	out_hex(&o, 4);
	assert_int_equal(o.error, 0);
	assert_int_equal(o.n, 256);
	out_hex(&o, 0);
	assert_int_equal(out_finish(&o), -EFBIG);
	out_release(&o);
}

static void room_is_made_and_what_was_put_there_stays(void **state)
{
	struct out o;
	char *p;

	(void)state;
	out_init(&o, 1024);
	for (size_t i = 0; i < 10; i++) {
		p = out_room(&o, 100);
		assert_non_null(p);
		memset(p, 'a' + (int)i, 100);
		out_took(&o, p + 90);
	}
	assert_int_equal(o.n, 900);
	for (size_t i = 0; i < 900; i++)
		assert_int_equal(o.p[i], 'a' + (int)(i / 90));
	assert_null(out_room(&o, 125));
	assert_int_equal(out_finish(&o), -EFBIG);
	out_release(&o);
}

/* In pieces that are smaller and larger than its buffer. */
static void room_in_a_file_is_what_has_been_written(void **state)
{
	enum { FEW = 10, MANY = 100000, ALL = 3 * (FEW + MANY) };
	static char back[ALL + 1];
	FILE *file = tmpfile();
	struct out o;

	(void)state;
	assert_non_null(file);
	out_init_fd(&o, fileno(file));
	for (int i = 0; i < 3; i++) {
		for (size_t n = FEW; n <= MANY; n *= MANY / FEW) {
			char *p = out_room(&o, n);

			assert_non_null(p);
			memset(p, n == FEW ? 'f' : 'm', n);
			out_took(&o, p + n);
		}
	}
	assert_int_equal(out_finish(&o), 0);
	out_release(&o);
	rewind(file);
	assert_int_equal(fread(back, 1, sizeof(back), file), ALL);
	for (size_t i = 0; i < ALL; i++)
		assert_int_equal(back[i], i % (FEW + MANY) < FEW ? 'f' : 'm');
	fclose(file);
}

struct thing {
	uint64_t key;
	int rank;
};

static uint64_t key_of(const void *thing)
{
	return ((const struct thing *)thing)->key;
}

static int by_key_and_rank(const void *x, const void *y)
{
	const struct thing *a = x, *b = y;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Keys of up to so many bits: few bits make many that are the same. */
static void assert_sorted(unsigned bits, size_t n)
{
	struct thing ours[THINGS], theirs[THINGS];
	uint64_t numbers[THINGS], room[THINGS], *sorted, state = SEED + bits;

	for (size_t i = 0; i < n; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		ours[i] = (struct thing){ .key = state >> (64 - bits),
					  .rank = (int)(state >> 5 & 3) };
		theirs[i] = ours[i];
		numbers[i] = ours[i].key;
	}
	sort_by_key(ours, n, sizeof(*ours), key_of, by_key_and_rank);
	qsort(theirs, n, sizeof(*theirs), by_key_and_rank);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(ours[i].key, theirs[i].key);
		assert_int_equal(ours[i].rank, theirs[i].rank);
	}
	sorted = sort_numbers(numbers, n, room);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(sorted[i], theirs[i].key);
}

static void digits_make_the_order_that_comparing_makes(void **state)
{
	(void)state;
	for (unsigned bits = 1; bits <= 64; bits++)
		for (size_t n = 0; n <= THINGS; n += n < ROUNDS ? 1 : THINGS / ROUNDS - 1)
			assert_sorted(bits, n);
	sort_by_key(NULL, 0, sizeof(struct thing), key_of, by_key_and_rank);
}

static void assert_quoted(struct str s, enum json_dialect dialect, const char *want)
{
	struct out o;

	out_init(&o, 0);
	quote_json(&o, s, dialect);
	assert_int_equal(out_view(&o).n, strlen(want));
	assert_memory_equal(out_view(&o).p, want, strlen(want));
	out_release(&o);
}

/* What Go prints was printed by Go's encoding/json. */
static void strings_of_json_come_in_two_dialects(void **state)
{
	static const char all[] = "a\"\\/\n\r\t\b\x01\x7f<&>\xe2\x80\xa8\xc3\xa4\xff\xef\xbf\xbd.";

	(void)state;
	assert_quoted(STR(""), JSON_PLAIN, "\"\"");
	assert_quoted(str_of(all), JSON_PLAIN,
		      "\"a\\\"\\\\/\\n\\r\\t\\u0008\\u0001\x7f<&>\xe2\x80\xa8\xc3\xa4"
		      "\xef\xbf\xbd\xef\xbf\xbd.\"");
	assert_quoted(str_of(all), JSON_AS_GO,
		      "\"a\\\"\\\\/\\n\\r\\t\\u0008\\u0001\x7f\\u003c\\u0026\\u003e"
		      "\\u2028\xc3\xa4\\ufffd\xef\xbf\xbd.\"");
}

/* ------------------------------------------------------------------ sinks that hand on */

static void add(void *to, const char *p, size_t n)
{
	out_bytes(to, p, n);
}

static void a_sink_hands_on_all_until_its_ceiling(void **state)
{
	enum { CEILING = 200000 };
	struct out o, to;

	(void)state;
	out_init(&to, 0);
	out_init_to(&o, add, &to, CEILING);
	for (int i = 0; i < CEILING / 10; i++)
		out_text(&o, "0123456789");
	assert_int_equal(out_finish(&o), 0);
	assert_int_equal(to.n, CEILING);
	assert_memory_equal(to.p + to.n - 3, "789", 3);
	out_char(&o, '.');
	assert_int_equal(out_finish(&o), -EFBIG);
	assert_int_equal(to.n, CEILING);
	out_release(&o);
	out_init_to(&o, add, &to, CEILING);
	out_expect(&o, CEILING + 1);
	assert_int_equal(o.error, -EFBIG);
	out_release(&o);
	out_release(&to);
}

enum { PARTS = 300, FEW = 50000 };

static atomic_bool cut;

/* Parts of different sizes, so that some would overtake others. */
static void print_part(void *ctx, size_t i, struct out *o)
{
	(void)ctx;
	for (size_t k = 0; k < i * 7 % 50; k++)
		out_printf(o, "part <%zu>, line %zu\n", i, k);
}

static void put_changed(struct out *to, struct str lines)
{
	if (lines.n && lines.p[lines.n - 1] != '\n')
		cut = true;
	for (size_t i = 0; i < lines.n; i++)
		out_char(to, lines.p[i] == '<' ? '[' : lines.p[i]);
}

static void parts_come_in_order_whoever_made_them(void **state)
{
	struct out want, made, changed;
	struct lines l;

	(void)state;
	out_init(&want, 0);
	out_init(&made, 0);
	out_init(&changed, 0);
	out_text(&want, "before\n");
	for (size_t i = 0; i < PARTS; i++)
		print_part(NULL, i, &want);
	out_text(&made, "before\n");
	parts_print(&made, PARTS, print_part, NULL);
	assert_int_equal(made.n, want.n);
	assert_memory_equal(made.p, want.p, want.n);

	lines_begin(&l, &changed, put_changed, want.n);
	out_text(&l.text, "before\n");
	parts_print(&l.text, PARTS, print_part, NULL);
	assert_int_equal(lines_end(&l), 0);
	for (size_t i = 0; i < want.n; i++)
		want.p[i] = want.p[i] == '<' ? '[' : want.p[i];
	assert_false(cut);
	assert_int_equal(changed.n, want.n);
	assert_memory_equal(changed.p, want.p, want.n);
	out_release(&want);
	out_release(&made);
	out_release(&changed);
}

static void parts_end_where_there_is_no_room(void **state)
{
	struct out to;
	struct lines l;

	(void)state;
	out_init(&to, FEW);
	parts_print(&to, PARTS, print_part, NULL);
	assert_int_equal(out_finish(&to), -EFBIG);
	out_release(&to);
	out_init(&to, 0);
	lines_begin(&l, &to, put_changed, FEW);
	parts_print(&l.text, PARTS, print_part, NULL);
	assert_int_equal(lines_end(&l), -EFBIG);
	assert_true(to.n <= FEW);
	out_release(&to);
}

/* A line that others end, and one that is longer than any buffer. */
static void lines_are_whole_however_they_come(void **state)
{
	struct out to;
	struct lines l;

	(void)state;
	out_init(&to, 0);
	lines_begin(&l, &to, put_changed, 0);
	out_text(&l.text, "one <");
	parts_print(&l.text, 3, print_part, NULL);
	out_text(&l.text, "two");
	out_fill(&l.text, '<', 200000);
	out_text(&l.text, "\n");
	assert_int_equal(lines_end(&l), 0);
	assert_memory_equal(to.p, "one [part [1>, line 0\n", 22);
	assert_memory_equal(to.p + to.n - 200004, "two[[[", 6);
	assert_false(cut);
	assert_memory_equal(to.p + to.n - 5, "[[[[\n", 5);
	out_release(&to);
}

static void what_is_inserted_comes_first(void **state)
{
	struct out o;

	(void)state;
	out_init(&o, 0);
	out_text(&o, "body");
	out_insert(&o, STR("head "));
	out_text(&o, " tail");
	assert_int_equal(o.n, 14);
	assert_memory_equal(o.p, "head body tail", 14);
	out_release(&o);
}

/* Of 'n' bytes, in pieces. */
static void assert_packed(size_t n)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	struct out plain, packed;
	struct deflater *packer;
	size_t got = 0;
	char *back = malloc(n + 1);

	out_init(&plain, 0);
	for (uint64_t i = 0; plain.n < n; i++)
		out_hex(&plain, i * 0x9e3779b97f4a7c15u >> 40);
	plain.n = n;
	out_init(&packed, 0);
	packer = deflater_new(&packed);
	for (size_t at = 0; at < n; at += 100000)
		deflater_put(packer, plain.p + at, n - at < 100000 ? n - at : 100000);
	deflater_end(packer);
	assert_non_null(back);
	assert_int_equal(packed.error, 0);
	assert_int_equal(libdeflate_gzip_decompress(d, packed.p, packed.n, back, n + 1, &got),
			 LIBDEFLATE_SUCCESS);
	assert_int_equal(got, n);
	if (n > 0)
		assert_memory_equal(back, plain.p, n);
	libdeflate_free_decompressor(d);
	out_release(&plain);
	out_release(&packed);
	free(back);
}

static void what_is_packed_in_steps_is_one_stream(void **state)
{
	(void)state;
	assert_packed(0);
	assert_packed(1);
	assert_packed(300000);
	assert_packed((4 << 20) + 1);
	assert_packed(9 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_the_digits_they_need),
		cmocka_unit_test(a_number_that_does_not_fit_makes_room),
		cmocka_unit_test(addresses_have_the_digits_they_need),
		cmocka_unit_test(a_sink_takes_all_that_fits),
		cmocka_unit_test(room_is_made_and_what_was_put_there_stays),
		cmocka_unit_test(room_in_a_file_is_what_has_been_written),
		cmocka_unit_test(a_sink_hands_on_all_until_its_ceiling),
		cmocka_unit_test(parts_come_in_order_whoever_made_them),
		cmocka_unit_test(parts_end_where_there_is_no_room),
		cmocka_unit_test(lines_are_whole_however_they_come),
		cmocka_unit_test(what_is_inserted_comes_first),
		cmocka_unit_test(what_is_packed_in_steps_is_one_stream),
		cmocka_unit_test(strings_of_json_come_in_two_dialects),
		cmocka_unit_test(digits_make_the_order_that_comparing_makes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
