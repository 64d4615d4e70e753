/*
 * test-trust.c - what a report does not show, and what its profile never had
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "graph/graph.h"
#include "profile/build.h"
#include "report/packages.h"
#include "report/report.h"
#include "report/trust.h"
#include "ui/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/*
 * Samples of 100 (main, work), 20 (main, unnamed in a library), 7 (main, unnamed in the library and
 * in no mapping), 3 (lost_samples) and -10 (other).
 */
static struct profile *make_profile(void)
{
	struct builder b;
	uint32_t main_at, work_at, other_at, lost_at, lib_at, bare_at;

	builder_init(&b);
	builder_type(&b, STR("cpu"), STR("count"));
	builder_comment(&b, STR("sonde: 12 samples lost"));
	builder_comment(&b, STR("sonde: 3 samples lost"));
	builder_comment(&b, STR("sonde: 4 stacks cut at the root since the start, too deep"));
	builder_comment(&b, STR("sonde: unwinding is off: no memory"));
	builder_comment(&b, STR("somebody: 99 samples lost"));
	builder_comment(&b, STR("sonde: 99999999999999999999 samples lost"));
	main_at = builder_location(&b, 0x1000);
	builder_line(&b, main_at, builder_function(&b, STR("main"), STR(""), STR("")), 1);
	work_at = builder_location(&b, 0x2000);
	builder_line(&b, work_at, builder_function(&b, STR("work"), STR(""), STR("")), 1);
	other_at = builder_location(&b, 0x3000);
	builder_line(&b, other_at, builder_function(&b, STR("other"), STR(""), STR("")), 1);
	lost_at = builder_location(&b, 0x4000);
	builder_line(&b, lost_at, builder_function(&b, STR("lost_samples"), STR(""), STR("")), 1);
	lib_at = builder_location(&b, 0x5000);
	bare_at = builder_location(&b, 0x6000);
	builder_sample(&b, (uint32_t[]){ work_at, main_at }, 2, (int64_t[]){ 100 });
	builder_sample(&b, (uint32_t[]){ lib_at, main_at }, 2, (int64_t[]){ 20 });
	builder_sample(&b, (uint32_t[]){ lib_at, lib_at, bare_at, main_at }, 4, (int64_t[]){ 7 });
	builder_sample(&b, (uint32_t[]){ lost_at }, 1, (int64_t[]){ 3 });
	builder_sample(&b, (uint32_t[]){ other_at }, 1, (int64_t[]){ -10 });
	for (int i = 0; i < 2; i++) {
		struct mapping *m = builder_mapping(&b);

		m->start = 0x5000;
		m->limit = 0x5800;
		m->file = profile_intern(b.p, STR("/nowhere/lib.so"));
		m->build_id = profile_intern(b.p, STR("abc"));
	}
	b.p->locations[lib_at].mapping = 1;
	return builder_finish(&b);
}

static struct report *report_on(const struct profile *p, const char *focus)
{
	struct config cfg;
	struct report *r = NULL;

	config_init(&cfg);
	cfg.focus = focus;
	assert_int_equal(report_new(&r, p, REPORT_TEXT, NULL, &cfg, NULL, NULL), 0);
	return r;
}

static void losses_are_added_up_from_comments_and_frames(void **state)
{
	AUTO(profile_freep) struct profile *p = make_profile();
	AUTO(report_freep) struct report *r = report_on(p, "");
	struct trust t;

	(void)state;
	trust_init(&t, r);
	assert_int_equal(t.samples_lost, 15);
	assert_int_equal(t.stacks_cut, 4);
	assert_int_equal(t.stacks_lost + t.waits_lost + t.labels_lost, 0);
	assert_int_equal(t.lost, 3);
	assert_int_equal(t.nnotes, 2);
	assert_true(str_is(t.notes[0], "unwinding is off: no memory"));
}

static void frames_without_names_are_those_of_a_binary(void **state)
{
	AUTO(profile_freep) struct profile *p = make_profile();
	AUTO(report_freep) struct report *r = report_on(p, "");
	struct trust t;

	(void)state;
	trust_init(&t, r);
	assert_int_equal(t.unnamed, 27);
	assert_int_equal(t.nbinaries, 2);
	assert_true(str_is(t.binaries[0].file, "/nowhere/lib.so"));
	assert_true(str_is(t.binaries[0].build_id, "abc"));
	assert_int_equal(t.binaries[0].value, 27); /* once per sample */
	assert_int_equal(t.binaries[0].cause, TRUST_NOT_HERE);
	assert_int_equal(t.binaries[1].value, 7);
	assert_int_equal(t.binaries[1].cause, TRUST_NO_FILE);
}

static void put_list(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void assert_package(const char *folder, const char *path, const char *want)
{
	struct arena a;

	arena_init(&a, 1 << 20);
	assert_true(str_is(packages_debug(folder, str_of(path), &a), want));
	arena_release(&a);
}

static void a_file_belongs_to_the_package_that_lists_it(void **state)
{
	char folder[] = "/tmp/sonde-packages.XXXXXX";
	static const char *const lists[][2] = {
		{ "libc6:amd64.list", "/.\n/lib\n/lib/x/libc.so.6\n" },
		{ "redis-server.list", "/.\n/usr/bin/redis-server.old\n/usr/bin/redis-server" },
		{ "other.md5sums", "/usr/bin/other\n" },
	};

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		put_list(folder, lists[i][0], lists[i][1]);
	assert_package(folder, "/usr/lib/x/libc.so.6", "libc6-dbg");
	assert_package(folder, "/lib/x/libc.so.6", "libc6-dbg");
	assert_package(folder, "/usr/bin/redis-server", "redis-server-dbgsym");
	assert_package(folder, "/usr/bin/redis", "");
	assert_package(folder, "/usr/bin/other", "");
	assert_package("/nowhere", "/usr/bin/redis-server", "");
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		char path[512];

		snprintf(path, sizeof(path), "%s/%s", folder, lists[i][0]);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(folder), 0);
}

static void what_filters_leave_out_is_known(void **state)
{
	AUTO(profile_freep) struct profile *p = make_profile();
	AUTO(report_freep) struct report *all = report_on(p, "");
	AUTO(report_freep) struct report *some = report_on(p, "work|other");
	struct trust t;

	(void)state;
	trust_init(&t, all);
	assert_int_equal(t.samples, 5);
	assert_int_equal(t.filtered_samples, 0);
	assert_int_equal(t.value, 140);
	assert_int_equal(t.filtered, 0);
	trust_init(&t, some);
	assert_int_equal(t.samples, 5);
	assert_int_equal(t.filtered_samples, 3);
	assert_int_equal(t.value, 140);
	assert_int_equal(t.filtered, 30);
	assert_int_equal(t.unnamed, 27); /* of the profile, still */
}

static void what_a_graph_leaves_out_is_known(void **state)
{
	AUTO(profile_freep) struct profile *p = make_profile();
	AUTO(report_freep) struct report *r = report_on(p, "");
	struct graph *g;
	struct trust t;

	(void)state;
	r->cfg.nodecount = 2;
	trust_init(&t, r);
	assert_false(t.trimmed);
	g = report_graph(r);
	trust_graph(&t, g);
	assert_true(t.trimmed);
	assert_int_equal(t.nodes, 2);
	assert_int_equal(t.shown, 127);
	assert_int_equal(t.dropped_nodes, 4);
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_are_added_up_from_comments_and_frames),
		cmocka_unit_test(frames_without_names_are_those_of_a_binary),
		cmocka_unit_test(a_file_belongs_to_the_package_that_lists_it),
		cmocka_unit_test(what_filters_leave_out_is_known),
		cmocka_unit_test(what_a_graph_leaves_out_is_known),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
