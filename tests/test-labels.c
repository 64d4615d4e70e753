/*
 * test-labels.c - labels of threads: sets, limits, texts
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/buf.h"
#include "runtime/labels.h"
#include "runtime/os.h"
#include "runtime/output.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { VALUES = 4096, THREADS = 4 };

static int no_labels(void **state)
{
	(void)state;
	sonde__labels_use(0);
	return 0;
}

/* The labels of this thread as a text. */
static const char *shown(void)
{
	static __thread char text[2048];
	struct sonde__buf b = { 0 };

	sonde__labels_text(&b, sonde__labels_now());
	snprintf(text, sizeof(text), "%.*s", (int)b.n, b.p ? b.p : "");
	sonde__buf_release(&b);
	return text;
}

static void a_thread_begins_without_labels(void **state)
{
	struct sonde__label to[1];

	(void)state;
	assert_int_equal(sonde__labels_now(), 0);
	assert_int_equal(sonde__labels_expand(0, to, 1), 0);
	assert_string_equal(shown(), "");
}

static void a_label_is_set_replaced_and_taken_away(void **state)
{
	(void)state;
	assert_int_equal(sonde__labels_set("endpoint", "/a"), 0);
	assert_string_equal(shown(), "{\"endpoint\":\"/a\"}");
	assert_int_equal(sonde__labels_set("endpoint", "/b"), 0);
	assert_string_equal(shown(), "{\"endpoint\":\"/b\"}");
	assert_int_equal(sonde__labels_set("nothing", NULL), 0);
	assert_string_equal(shown(), "{\"endpoint\":\"/b\"}");
	assert_int_equal(sonde__labels_set("endpoint", ""), 0);
	assert_int_equal(sonde__labels_now(), 0);
}

static void equal_sets_have_one_number_whatever_the_order(void **state)
{
	uint32_t one;

	(void)state;
	sonde__labels_set("b", "2");
	sonde__labels_set("a", "1");
	sonde__labels_set("c", "3");
	one = sonde__labels_now();
	assert_string_equal(shown(), "{\"a\":\"1\", \"b\":\"2\", \"c\":\"3\"}");
	sonde__labels_use(0);
	sonde__labels_set("c", "3");
	sonde__labels_set("a", "other");
	sonde__labels_set("b", "2");
	assert_int_not_equal(sonde__labels_now(), one);
	sonde__labels_set("a", "1");
	assert_int_equal(sonde__labels_now(), one);
}

static void keys_that_begin_alike_are_different(void **state)
{
	(void)state;
	sonde__labels_set("key", "1");
	sonde__labels_set("ke", "y1");
	sonde__labels_set("key1", "2");
	assert_string_equal(shown(), "{\"ke\":\"y1\", \"key\":\"1\", \"key1\":\"2\"}");
}

static void texts_are_copied_and_expanded(void **state)
{
	char key[] = "job", value[] = "mail";
	struct sonde__label to[4];

	(void)state;
	sonde__labels_set(key, value);
	memset(key, 'x', sizeof(key) - 1);
	memset(value, 'x', sizeof(value) - 1);
	assert_int_equal(sonde__labels_expand(sonde__labels_now(), to, 4), 1);
	assert_string_equal(to[0].key, "job");
	assert_string_equal(to[0].text, "mail");
	assert_null(to[0].unit);
}

static void an_unknown_number_is_no_set(void **state)
{
	struct sonde__label to[4];

	(void)state;
	assert_int_equal(sonde__labels_expand(UINT32_MAX, to, 4), 0);
	sonde__labels_use(4000000000u);
	assert_int_equal(sonde__labels_now(), 0);
}

static void quotes_and_line_ends_are_escaped_as_go_does(void **state)
{
	(void)state;
	sonde__labels_set("q", "a\"b\\c\nd\x01 \xc3\xa9");
	assert_string_equal(shown(), "{\"q\":\"a\\\"b\\\\c\\nd\\x01 \xc3\xa9\"}");
}

static void keys_without_text_or_too_long_are_refused(void **state)
{
	char key[SONDE__LABEL_KEY + 2];

	(void)state;
	memset(key, 'k', sizeof(key));
	key[SONDE__LABEL_KEY + 1] = '\0';
	assert_int_equal(sonde__labels_set(NULL, "v"), -EINVAL);
	assert_int_equal(sonde__labels_set("", "v"), -EINVAL);
	assert_int_equal(sonde__labels_set(key, "v"), -EINVAL);
	assert_int_equal(sonde__labels_now(), 0);
	key[SONDE__LABEL_KEY] = '\0';
	assert_int_equal(sonde__labels_set(key, "v"), 0);
	assert_int_not_equal(sonde__labels_now(), 0);
}

static void long_values_are_cut_between_characters(void **state)
{
	char value[2 * SONDE__LABEL_VALUE];
	struct sonde__label to[1];

	(void)state;
	memset(value, 'v', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	sonde__labels_set("long", value);
	sonde__labels_expand(sonde__labels_now(), to, 1);
	assert_int_equal(strlen(to[0].text), SONDE__LABEL_VALUE);
	memcpy(value + SONDE__LABEL_VALUE - 1, "\xc3\xa9", 2); /* an e with an accent */
	sonde__labels_set("long", value);
	sonde__labels_expand(sonde__labels_now(), to, 1);
	assert_int_equal(strlen(to[0].text), SONDE__LABEL_VALUE - 1);
}

static void one_label_too_many_is_refused_and_counted(void **state)
{
	uint64_t lost = sonde__stats.labels_lost;
	struct sonde__label to[SONDE__LABEL_SET + 1];
	char key[8];

	(void)state;
	for (int i = 0; i < SONDE__LABEL_SET; i++) {
		snprintf(key, sizeof(key), "many%d", i);
		assert_int_equal(sonde__labels_set(key, "v"), 0);
	}
	assert_int_equal(sonde__labels_set("many", "v"), -ENOSPC);
	assert_int_equal(sonde__stats.labels_lost, lost + 1);
	assert_int_equal(sonde__labels_expand(sonde__labels_now(), to, SONDE__LABEL_SET + 1),
			 SONDE__LABEL_SET);
	assert_int_equal(sonde__labels_set("many3", "w"), 0);
}

static void *set_many(void *arg)
{
	uint32_t *numbers = arg;
	char value[16];

	for (int i = 0; i < 1000; i++) {
		snprintf(value, sizeof(value), "%d", i);
		sonde__labels_use(0);
		sonde__labels_set("shared", value);
		sonde__labels_set("fixed", "yes");
		numbers[i] = sonde__labels_now();
	}
	return NULL;
}

static void threads_that_set_the_same_get_the_same(void **state)
{
	static uint32_t numbers[THREADS][1000];
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, set_many, numbers[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 1; i < THREADS; i++)
		assert_memory_equal(numbers[0], numbers[i], sizeof(numbers[0]));
	assert_int_equal(sonde__labels_now(), 0);
}

static void a_child_has_the_labels_and_sets_new_ones(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	sonde__labels_set("job", "parent");
	child = fork();
	if (child == 0) {
		bool same = strcmp(shown(), "{\"job\":\"parent\"}") == 0;

		sonde__labels_set("job", "child of a fork");
		_exit(same && strcmp(shown(), "{\"job\":\"child of a fork\"}") == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* From here on tables are full: these are the last ones. */

static void a_key_with_ever_new_values_leaves_the_others_alone(void **state)
{
	uint64_t bytes, lost;
	char value[16];

	(void)state;
	sonde__labels_set("endpoint", "/a");
	for (int i = 0; i < VALUES; i++) {
		snprintf(value, sizeof(value), "%d", i);
		assert_int_equal(sonde__labels_set("request", value), 0);
	}
	bytes = sonde__stats.own_bytes;
	lost = sonde__stats.labels_lost;
	for (int i = VALUES; i < 100 * VALUES; i++) {
		snprintf(value, sizeof(value), "%d", i);
		assert_int_equal(sonde__labels_set("request", value), -ENOSPC);
	}
	assert_int_equal(sonde__stats.own_bytes, bytes);
	assert_int_equal(sonde__stats.labels_lost, lost + 99 * VALUES);
	assert_string_equal(shown(), "{\"endpoint\":\"/a\"}");
	assert_int_equal(sonde__labels_set("request", "17"), 0);
	assert_int_equal(sonde__labels_set("endpoint", "/new"), 0);
	assert_string_equal(shown(), "{\"endpoint\":\"/new\", \"request\":\"17\"}");
}

static void memory_is_bounded_whatever_is_set(void **state)
{
	char key[16], value[SONDE__LABEL_VALUE + 1];

	(void)state;
	for (int i = 0; i < 1000000; i++) {
		snprintf(key, sizeof(key), "key%d", i % 100);
		snprintf(value, sizeof(value), "%0127d", i % 5000);
		sonde__labels_set(key, value);
		if (i % 1000 == 0)
			sonde__labels_use(0);
	}
	assert_true(sonde__stats.labels_lost > 0);
	assert_true(sonde__stats.own_bytes < 16 << 20);
	sonde__labels_use(0);
	assert_int_equal(sonde__labels_set("endpoint", "/a"), 0);
	assert_string_equal(shown(), "{\"endpoint\":\"/a\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_thread_begins_without_labels, no_labels),
		cmocka_unit_test_setup(a_label_is_set_replaced_and_taken_away, no_labels),
		cmocka_unit_test_setup(equal_sets_have_one_number_whatever_the_order, no_labels),
		cmocka_unit_test_setup(keys_that_begin_alike_are_different, no_labels),
		cmocka_unit_test_setup(texts_are_copied_and_expanded, no_labels),
		cmocka_unit_test_setup(an_unknown_number_is_no_set, no_labels),
		cmocka_unit_test_setup(quotes_and_line_ends_are_escaped_as_go_does, no_labels),
		cmocka_unit_test_setup(keys_without_text_or_too_long_are_refused, no_labels),
		cmocka_unit_test_setup(long_values_are_cut_between_characters, no_labels),
		cmocka_unit_test_setup(one_label_too_many_is_refused_and_counted, no_labels),
		cmocka_unit_test_setup(threads_that_set_the_same_get_the_same, no_labels),
		cmocka_unit_test_setup(a_child_has_the_labels_and_sets_new_ones, no_labels),
		cmocka_unit_test_setup(a_key_with_ever_new_values_leaves_the_others_alone,
				       no_labels),
		cmocka_unit_test_setup(memory_is_bounded_whatever_is_set, no_labels),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
