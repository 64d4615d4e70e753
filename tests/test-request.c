/*
 * test-request.c - what the runtime reads: the environment, addresses, queries
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/agent.h"
#include "runtime/buf.h"
#include "runtime/http.h"
#include "runtime/listen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct sonde__config config(char *first, char *second)
{
	char *environment[] = { (char *)(uintptr_t) "HOME=/", first, second, NULL };
	struct sonde__config c;
	bool on = sonde__config_from_env(&c, environment);

	assert_int_equal(on, c.on);
	return c;
}

static void an_empty_environment_asks_for_nothing(void **state)
{
	char addr[] = "SONDE_ADDR=", other[] = "X_PPROF_ADDR=", lower[] = "ENABLE_PROFILER=True";

	(void)state;
	assert_false(config(NULL, NULL).on);
	assert_false(config(addr, other).on);
	assert_false(config(lower, NULL).on);
}

static void addresses_come_from_three_kinds_of_variables(void **state)
{
	char own[] = "SONDE_ADDR=:1", any[] = "HCO_PPROF_ADDR=:2", bare[] = "_PPROF_ADDR=:3";
	char enable[] = "ENABLE_PROFILER=true", near[] = "HCO_PPROF_ADDR2=:4";

	(void)state;
	assert_string_equal(config(any, own).addr, ":1");
	assert_string_equal(config(any, enable).addr, ":2");
	assert_string_equal(config(bare, NULL).addr, ":3");
	assert_string_equal(config(enable, NULL).addr, "localhost:8081");
	assert_false(config(near, NULL).on);
}

static void a_preset_stands_for_its_address_and_more(void **state)
{
	static const char *const presets[][2] = {
		{ "SONDE_PRESET=enable-profiler", "localhost:8081" },
		{ "SONDE_PRESET=pprof-addr", "localhost:8070" },
		{ "SONDE_PRESET=profiling-config", "" },
		{ "SONDE_PRESET=build-profiled", "0.0.0.0:6060" },
		{ "SONDE_PRESET=contention", "localhost:8080" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
		char line[64], addr[] = "SONDE_ADDR=:1";
		struct sonde__config c;

		memcpy(line, presets[i][0], strlen(presets[i][0]) + 1);
		c = config(line, NULL);
		assert_true(c.on);
		assert_string_equal(c.addr, presets[i][1]);
		assert_int_equal(c.presets, 1U << i);
		assert_int_equal(c.index, i != SONDE__PROFILING_CONFIG);
		assert_int_equal(c.memlog_ns, i == SONDE__ENABLE_PROFILER ? 60000000000 : 0);
		assert_int_equal(c.mutex_fraction, i == SONDE__CONTENTION);
		assert_int_equal(c.block_rate, i == SONDE__CONTENTION);
		assert_string_equal(config(line, addr).addr, ":1");
	}
}

static void profiling_is_on_for_any_text_and_on_the_own_port(void **state)
{
	char no[] = "HEKETI_PROFILING=false", empty[] = "HEKETI_PROFILING=";
	char index[] = "SONDE_INDEX=1", addr[] = "HCO_PPROF_ADDR=:2";
	struct sonde__config c = config(no, NULL);

	(void)state;
	assert_true(c.on);
	assert_string_equal(c.addr, "");
	assert_false(c.index);
	assert_true(config(no, index).index);
	assert_false(config(empty, NULL).on);
	c = config(no, addr);
	assert_string_equal(c.addr, ":2");
	assert_int_equal(c.presets, 1U << SONDE__PPROF_ADDR | 1U << SONDE__PROFILING_CONFIG);
}

static void an_unknown_preset_is_complained_about(void **state)
{
	char preset[] = "SONDE_PRESET=Contention", addr[] = "SONDE_ADDR=:1";

	(void)state;
	assert_false(config(preset, NULL).on);
	assert_string_equal(config(preset, NULL).complaint,
			    "SONDE_PRESET=Contention is not understood, ignored");
	assert_string_equal(config(preset, addr).addr, ":1");
	assert_int_equal(config(preset, addr).presets, 0);
}

static void rates_have_units_and_defaults(void **state)
{
	char on[] = "SONDE_ADDR=:1", none[] = "SONDE_HEAP_RATE=0", kilo[] = "SONDE_HEAP_RATE=16K";
	char hours[] = "SONDE_OFF_AFTER=2h", hz[] = "SONDE_CPU_HZ=1000";

	(void)state;
	assert_int_equal(config(on, NULL).heap_rate, 524288);
	assert_int_equal(config(on, NULL).cpu_hz, 100);
	assert_int_equal(config(on, none).heap_rate, 0);
	assert_int_equal(config(on, kilo).heap_rate, 16384);
	assert_int_equal(config(on, hours).off_after_s, 7200);
	assert_int_equal(config(on, hz).cpu_hz, 1000);
	assert_string_equal(config(on, hz).complaint, "");
}

static void waits_are_measured_if_asked_for(void **state)
{
	char on[] = "SONDE_ADDR=:1", fraction[] = "SONDE_MUTEX_FRACTION=5";
	char rate[] = "SONDE_BLOCK_RATE=10000", preset[] = "SONDE_PRESET=contention";
	char none[] = "SONDE_MUTEX_FRACTION=0";

	(void)state;
	assert_int_equal(config(on, NULL).mutex_fraction, 0);
	assert_int_equal(config(on, NULL).block_rate, 0);
	assert_int_equal(config(on, fraction).mutex_fraction, 5);
	assert_int_equal(config(on, rate).block_rate, 10000);
	assert_int_equal(config(preset, NULL).mutex_fraction, 1);
	assert_int_equal(config(preset, NULL).block_rate, 1);
	assert_int_equal(config(preset, none).mutex_fraction, 0);
	assert_int_equal(config(preset, none).block_rate, 1);
}

static void times_have_parts_and_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{ "60s", 60000000000 },
		{ "60", 60000000000 },
		{ "1m", 60000000000 },
		{ "500ms", 500000000 },
		{ "1m30s", 90000000000 },
		{ "1h1m1s1ms", 3661001000000 },
		{ "0", 0 },
		{ "2562047h", 9223369200000000000 },
	};
	static const char *const bad[] = { "",    "s",   "1d",       "-1s",         "1.5s",
					   " 1s", "1s ", "1m30",     "s1",          "1ss",
					   "+1",  "0x1", "2562048h", "99999999999h" };
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(sonde__parse_time(good[i].text, &ns));
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(sonde__parse_time(bad[i], &ns));
}

static void the_memory_log_is_a_switch(void **state)
{
	char period[] = "SONDE_MEMLOG=500ms", off[] = "SONDE_MEMLOG=0", addr[] = "SONDE_ADDR=:1";
	char often[] = "SONDE_MEMLOG=9ms";

	(void)state;
	assert_true(config(period, NULL).on);
	assert_string_equal(config(period, NULL).addr, "");
	assert_int_equal(config(period, addr).memlog_ns, 500000000);
	assert_false(config(off, NULL).on);
	assert_int_equal(config(off, addr).memlog_ns, 0);
	assert_int_equal(config(often, addr).memlog_ns, 0);
	assert_string_equal(config(often, addr).complaint,
			    "SONDE_MEMLOG=9ms is not understood, ignored");
}

static void a_place_for_dumps_is_a_switch(void **state)
{
	char to[] = "SONDE_DUMP=dir:/x", none[] = "SONDE_DUMP=", above[] = "SONDE_DUMP_ABOVE=1M";
	char growth[] = "SONDE_DUMP_GROWTH=50", prefix[] = "SONDE_DUMP_PREFIX=main";
	struct sonde__config c = config(to, NULL);

	(void)state;
	assert_true(c.on);
	assert_string_equal(c.addr, "");
	assert_string_equal(c.dump, "dir:/x");
	assert_string_equal(c.dump_prefix, "");
	assert_int_equal(c.dump_above, 330000000);
	assert_int_equal(c.dump_growth, 10);
	assert_int_equal(config(to, above).dump_above, 1 << 20);
	assert_int_equal(config(to, growth).dump_growth, 50);
	assert_string_equal(config(to, prefix).dump_prefix, "main");
	assert_false(config(none, above).on);
}

static void in_a_pod_the_old_switch_implies_dumps(void **state)
{
	char enable[] = "ENABLE_PROFILER=true", pod[] = "KUBERNETES_SERVICE_HOST=10.0.0.1";
	char other[] = "SONDE_ADDR=:1", none[] = "SONDE_DUMP=";
	char *all[] = { enable, pod, none, NULL };
	struct sonde__config c;

	(void)state;
	assert_string_equal(config(enable, pod).dump, "kube:");
	assert_string_equal(config(enable, NULL).dump, "");
	assert_string_equal(config(other, pod).dump, "");
	assert_true(sonde__config_from_env(&c, all));
	assert_string_equal(c.dump, "");
}

static void what_is_not_understood_is_said_and_ignored(void **state)
{
	static const char *const bad[] = { "SONDE_HEAP_RATE=-1",
					   "SONDE_HEAP_RATE=1KB",
					   "SONDE_HEAP_RATE=99999999999999999999",
					   "SONDE_CPU_HZ=0",
					   "SONDE_CPU_HZ=1001",
					   "SONDE_OFF_AFTER=5d",
					   "SONDE_OFF_AFTER=s",
					   "SONDE_MUTEX_FRACTION=1K",
					   "SONDE_BLOCK_RATE=-1" };
	char on[] = "SONDE_ADDR=:1", line[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sonde__config c;

		memcpy(line, bad[i], strlen(bad[i]) + 1);
		c = config(on, line);
		assert_non_null(strstr(c.complaint, "is not understood, ignored"));
		assert_int_equal(c.heap_rate, 524288);
		assert_int_equal(c.cpu_hz, 100);
		assert_int_equal(c.off_after_s, 0);
		assert_int_equal(c.mutex_fraction, 0);
		assert_int_equal(c.block_rate, 0);
	}
}

static void a_token_that_does_not_fit_closes_the_door(void **state)
{
	char on[] = "SONDE_ADDR=:1", token[200] = "SONDE_TOKEN=";

	(void)state;
	memset(token + 12, 'x', sizeof(token) - 13);
	assert_string_equal(config(on, token).addr, "");
}

static void addresses_are_read_as_go_reads_them(void **state)
{
	static const struct {
		const char *addr, *place;
		bool exposed;
	} good[] = {
		{ "127.0.0.1:80", "127.0.0.1:80", false },
		{ "localhost:80", "127.0.0.1:80", false },
		{ "[::1]:80", "[::1]:80", false },
		{ ":80", "[::]:80", true },
		{ "*:0", "[::]:0", true },
		{ "10.1.2.3:80", "10.1.2.3:80", true },
		{ "unix:/a/b", "unix:/a/b", false },
		{ "unix:@name", "unix:@name", false },
	};
	static const char *const bad[] = { "80",           "localhost", "localhost:http",
					   "localhost:-1", "[::1",      "[::1]",
					   "::1:80",       "unix:",     "h:65536" };
	struct sonde__listen l;
	char text[160];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_null(sonde__listen_parse(&l, good[i].addr));
		sonde__place_text(&l.places[0].at, text, sizeof(text));
		assert_string_equal(text, good[i].place);
		assert_int_equal(l.exposed, good[i].exposed);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_non_null(sonde__listen_parse(&l, bad[i]));
}

static void the_first_value_of_a_key_counts(void **state)
{
	char v[8];

	(void)state;
	assert_true(sonde__query_get("a=1&b=2&b=3", "b", v, sizeof(v)));
	assert_string_equal(v, "2");
	assert_true(sonde__query_get("x;b=1&b=%zz&b=%41+c", "b", v, sizeof(v)));
	assert_string_equal(v, "A c");
	assert_true(sonde__query_get("b", "b", v, sizeof(v)));
	assert_string_equal(v, "");
	assert_false(sonde__query_get("bb=1&ab=2", "b", v, sizeof(v)));
	assert_true(sonde__query_get("b=123456789", "b", v, sizeof(v)));
	assert_string_equal(v, "1234567");
}

static void numbers_are_those_of_go(void **state)
{
	uint64_t ns;
	int64_t n;

	(void)state;
	assert_true(sonde__parse_int("-5", &n) && n == -5);
	assert_true(sonde__parse_int("9223372036854775807", &n) && n == INT64_MAX);
	assert_false(sonde__parse_int("9223372036854775808", &n) || n != INT64_MAX);
	assert_false(sonde__parse_int("", &n) || sonde__parse_int("+", &n) ||
		     sonde__parse_int("1.5", &n) || sonde__parse_int(" 1", &n));
	assert_int_equal(sonde__parse_address("0x1F", 4), 31);
	assert_int_equal(sonde__parse_address("017", 3), 15);
	assert_int_equal(sonde__parse_address("0b11", 4), 3);
	assert_int_equal(sonde__parse_address("99", 2), 99);
	assert_int_equal(sonde__parse_address("0x", 2), 0);
	assert_int_equal(sonde__parse_address("0x10000000000000000", 19), 0);
	assert_true(sonde__parse_seconds("1.25", &ns) && ns == 1250000000);
	assert_true(sonde__parse_seconds(".5", &ns) && ns == 500000000);
	assert_false(sonde__parse_seconds("", &ns) || sonde__parse_seconds("1s", &ns));
}

static void paths_are_cleaned(void **state)
{
	static const char *const pairs[][2] = {
		{ "/a/b", "/a/b" },     { "/a//b/", "/a/b/" }, { "/a/./b", "/a/b" },
		{ "/a/../b", "/b" },    { "/../../x", "/x" },  { "", "/" },
		{ "a", "/a" },          { "/..", "/" },        { "/a/..", "/" },
		{ "/a/b/../../", "/" }, { "/...", "/..." },
	};
	char to[32];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		sonde__clean_path(pairs[i][0], to);
		assert_string_equal(to, pairs[i][1]);
	}
}

static void dates_are_right(void **state)
{
	char text[32];

	(void)state;
	sonde__http_date(0, text);
	assert_string_equal(text, "Thu, 01 Jan 1970 00:00:00 GMT");
	sonde__http_date(951827696000000000, text);
	assert_string_equal(text, "Tue, 29 Feb 2000 12:34:56 GMT");
	sonde__stamp(4102444799000000000, text);
	assert_string_equal(text, "2099-12-31T23:59:59Z");
}

static void buffers_stop_at_their_ceiling(void **state)
{
	struct sonde__buf b = { .max = 100000 };
	char block[1000] = { 0 };

	(void)state;
	for (int i = 0; i < 200; i++)
		sonde__buf_add(&b, block, sizeof(block));
	assert_true(b.full && b.n == 100000);
	sonde__buf_release(&b);
	assert_true(!b.full && b.n == 0 && b.max == 100000);
}

static void an_index_finds_what_was_put(void **state)
{
	struct sonde__index ix = { 0 };

	(void)state;
	for (uint32_t i = 1; i <= 10000; i++)
		assert_true(sonde__index_put(&ix, i % 100, i));
	for (uint32_t h = 0; h < 100; h++) {
		size_t at = h, n = 0;
		uint32_t id;

		for (; (id = sonde__index_next(&ix, h, &at)) != 0; n++)
			assert_int_equal(id % 100, h);
		assert_int_equal(n, 100);
	}
	sonde__index_release(&ix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_environment_asks_for_nothing),
		cmocka_unit_test(a_preset_stands_for_its_address_and_more),
		cmocka_unit_test(profiling_is_on_for_any_text_and_on_the_own_port),
		cmocka_unit_test(an_unknown_preset_is_complained_about),
		cmocka_unit_test(addresses_come_from_three_kinds_of_variables),
		cmocka_unit_test(rates_have_units_and_defaults),
		cmocka_unit_test(waits_are_measured_if_asked_for),
		cmocka_unit_test(times_have_parts_and_units),
		cmocka_unit_test(the_memory_log_is_a_switch),
		cmocka_unit_test(a_place_for_dumps_is_a_switch),
		cmocka_unit_test(in_a_pod_the_old_switch_implies_dumps),
		cmocka_unit_test(what_is_not_understood_is_said_and_ignored),
		cmocka_unit_test(a_token_that_does_not_fit_closes_the_door),
		cmocka_unit_test(addresses_are_read_as_go_reads_them),
		cmocka_unit_test(the_first_value_of_a_key_counts),
		cmocka_unit_test(numbers_are_those_of_go),
		cmocka_unit_test(paths_are_cleaned),
		cmocka_unit_test(dates_are_right),
		cmocka_unit_test(buffers_stop_at_their_ceiling),
		cmocka_unit_test(an_index_finds_what_was_put),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
