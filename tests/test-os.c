/*
 * test-os.c - memory, files, locks and texts of the runtime
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/os.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void mapped_memory_is_zero_and_counted(void **state)
{
	uint64_t before = sonde__stats.own_bytes;
	char *p = sonde__map(5000);

	(void)state;
	assert_non_null(p);
	assert_int_equal(sonde__stats.own_bytes, before + 8192);
	for (size_t i = 0; i < 8192; i++)
		assert_int_equal(p[i], 0);
	sonde__unmap(p, 5000);
	assert_int_equal(sonde__stats.own_bytes, before);
}

static void impossible_memory_is_refused_and_errno_kept(void **state)
{
	(void)state;
	errno = 77;
	assert_null(sonde__map(0));
	assert_null(sonde__map(SIZE_MAX));
	assert_null(sonde__map((size_t)1 << 60));
	assert_null(sonde__slurp("/nowhere/at/all", 100, &(size_t){ 0 }, &(size_t){ 0 }));
	assert_int_equal(errno, 77);
}

static void a_file_of_proc_is_read_whole_or_up_to_the_limit(void **state)
{
	size_t n, mapped;
	char *text = sonde__slurp("/proc/self/maps", 1 << 20, &n, &mapped);

	(void)state;
	assert_non_null(text);
	assert_non_null(strstr(text, "[stack]"));
	assert_int_equal(strlen(text), n);
	sonde__unmap(text, mapped);
	text = sonde__slurp("/proc/self/maps", 10, &n, &mapped);
	assert_int_equal(n, 10);
	assert_int_equal(text[10], '\0');
	sonde__unmap(text, mapped);
}

static void clocks_go_forward_and_the_thread_is_known(void **state)
{
	uint64_t a = sonde__now(), cpu = sonde__thread_cpu();

	(void)state;
	assert_true(sonde__now() >= a);
	assert_true(sonde__thread_cpu() >= cpu);
	assert_true(sonde__wall() > 1600000000000000000u);
	assert_int_equal(sonde__tid(), getpid());
}

static struct sonde__lock lock;
static unsigned long counted;

static void *count(void *arg)
{
	for (int i = 0; i < 100000; i++) {
		sonde__lock(&lock);
		counted++;
		sonde__unlock(&lock);
	}
	return arg;
}

static void a_lock_lets_one_in(void **state)
{
	pthread_t t[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&t[i], NULL, count, NULL), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	assert_int_equal(counted, 300000);
	assert_true(sonde__trylock(&lock));
	assert_false(sonde__trylock(&lock));
	sonde__unlock(&lock);
	assert_true(sonde__trylock(&lock));
	sonde__unlock(&lock);
}

/* The same text and length as the C library's. */
__attribute__((format(printf, 1, 2))) static void check_format(const char *fmt, ...)
{
	char want[100], got[100];
	va_list args;
	size_t n;
	int m;

	va_start(args, fmt);
	n = sonde__vformat(got, sizeof(got), fmt, args);
	va_end(args);
	va_start(args, fmt);
	m = vsnprintf(want, sizeof(want), fmt, args);
	va_end(args);
	assert_string_equal(got, want);
	assert_int_equal(n, m);
}

static void texts_are_formatted_as_printf_does(void **state)
{
	(void)state;
	check_format("plain %% %c|", 'x');
	check_format("%s and %.*s, %.3s", "one", 2, "twice", "abcdef");
	check_format("%d %d %u %zu", -1, 2147483647, 4000000000u, (size_t)1 << 40);
	check_format("%d %lld %llu", -2147483647 - 1, -9223372036854775807ll - 1, ~0ull);
	check_format("%x %llx %lx %lu %ld", 0xbeefu, 0x123456789abcull, 15ul, 16ul, -17l);
	check_format("%5d|%05d|%08llx|%3s", 42, 42, 0xabcull, "x");
	check_format("%p", (void *)&lock);
}

static void long_texts_are_cut_and_terminated(void **state)
{
	char small[4] = "zzz";

	(void)state;
	assert_int_equal(sonde__format(small, sizeof(small), "%s", "abcdef"), 6);
	assert_string_equal(small, "abc");
	assert_int_equal(sonde__format(NULL, 0, "%d", 12345), 5);
}

static void reasons_are_remembered(void **state)
{
	(void)state;
	assert_null(sonde__why_off(SONDE__HEAP));
	sonde__say_off(SONDE__HEAP, "static");
	assert_string_equal(sonde__why_off(SONDE__HEAP), "static");
	assert_null(sonde__why_off(SONDE__CPU));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mapped_memory_is_zero_and_counted),
		cmocka_unit_test(impossible_memory_is_refused_and_errno_kept),
		cmocka_unit_test(a_file_of_proc_is_read_whole_or_up_to_the_limit),
		cmocka_unit_test(clocks_go_forward_and_the_thread_is_known),
		cmocka_unit_test(a_lock_lets_one_in),
		cmocka_unit_test(texts_are_formatted_as_printf_does),
		cmocka_unit_test(long_texts_are_cut_and_terminated),
		cmocka_unit_test(reasons_are_remembered),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
