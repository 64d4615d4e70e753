/*
 * test-symbolize.c - finding binaries, and naming addresses with them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/notify.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "elf-image.h"
#include "profile/build.h"
#include "profile/check.h"
#include "profile/profile.h"
#include "symbol/locate.h"
#include "symbol/symbolize.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Three bytes of build id, and how they are written. */
#define RIGHT    "\xab\xcd\xef"
#define RIGHT_ID "abcdef"
#define WRONG    "\x01\x02\x03"

#define MISSING                                                                                    \
	"Some binary filenames not available. Symbolization may be incomplete.\n"                  \
	"Try setting PPROF_BINARY_PATH to the search path for local binaries.\n"

/* What was said, one line each. */
struct ears {
	struct notify notify;
	struct out heard;
};

static char dir[64];
static struct ears ears;
static struct builder b;
static struct profile *p;

static void hear(struct notify *n, enum notify_kind kind, const char *text)
{
	struct ears *e = (struct ears *)n;

	assert_int_equal(kind, NOTIFY_WARN);
	out_text(&e->heard, text);
	out_char(&e->heard, '\n');
}

static int start(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test-symbolize.XXXXXX");
	assert_non_null(mkdtemp(dir));
	ears = (struct ears){ .notify = { .say = hear } };
	out_init(&ears.heard, 0);
	builder_init(&b);
	builder_type(&b, STR("samples"), STR("count"));
	p = NULL;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static int stop(void **state)
{
	(void)state;
	builder_release(&b);
	profile_free(p);
	out_release(&ears.heard);
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* "<dir>/<name>", with the folders above it; the caller frees it. */
static char *path_of(const char *name)
{
	char *path = mem_printf("%s/%s", dir, name);

	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	return path;
}

static void write_file(const char *name, const void *bytes, size_t n)
{
	AUTO(freep) char *path = path_of(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

/* A program of two functions, 'first' at 0x1000 and "second" at 0x1100. */
static void write_program(const char *name, const char *build_id, const char *first)
{
	struct image im = { .type = ET_DYN, .build_id = build_id };
	struct out o;

	image_segment(&im, 0, 0, 0x800, PF_R);
	image_segment(&im, 0x1000, 0x1000, 0x1000, PF_R | PF_X);
	image_function(&im, first, 0x1000, 0x80, STB_GLOBAL);
	image_function(&im, "second", 0x1100, 0x80, STB_GLOBAL);
	image_make(&im, &o);
	write_file(name, o.p, o.n);
	out_release(&o);
}

static struct mapping *add_mapping(uint64_t base, const char *file, const char *build_id)
{
	struct mapping *m = builder_mapping(&b);

	m->start = base + 0x1000;
	m->limit = base + 0x2000;
	m->offset = 0x1000;
	m->file = profile_intern_copy(b.p, str_of(file));
	m->build_id = profile_intern_copy(b.p, str_of(build_id));
	return m;
}

/* add_mapping() of the file 'name' in our folder. */
static struct mapping *add_program(uint64_t base, const char *name, const char *build_id)
{
	AUTO(freep) char *path = path_of(name);

	return add_mapping(base, path, build_id);
}

static uint32_t add_location(uint64_t address, uint32_t mapping)
{
	uint32_t location = builder_location(&b, address);
	int64_t one = 1;

	b.p->locations[location].mapping = mapping;
	builder_sample(&b, &location, 1, &one);
	return location;
}

static int symbolize(const char *mode)
{
	struct symbolize_options o = { .mode = mode, .notify = &ears.notify };
	int rc;

	if (!p)
		p = builder_finish(&b);
	rc = profile_symbolize(p, &o, NULL);
	assert_int_equal(profile_check_tables(p, NULL), 0);
	return rc;
}

/* The name of a location's function, or "" if it has no line. */
static const char *name_of(uint32_t location)
{
	const struct location *l = &p->locations[location];

	assert_true(l->nlines <= 1);
	return l->nlines ? profile_str(p, p->functions[p->lines[l->line].function].name).p : "";
}

__attribute__((format(printf, 1, 2))) static void assert_heard(const char *fmt, ...)
{
	AUTO(freep) char *want = NULL;
	va_list ap;

	va_start(ap, fmt);
	assert_true(vasprintf(&want, fmt, ap) >= 0);
	va_end(ap);
	out_char(&ears.heard, '\0');
	assert_string_equal(out_view(&ears.heard).p, want);
	ears.heard.n = 0;
}

/* ------------------------------------------------------------------ finding binaries */

/* The file of the first mapping after a search in our folder, without the folder. */
static const char *located(void)
{
	const char *file;

	if (!p)
		p = builder_finish(&b);
	binaries_locate(p, dir, &ears.notify);
	file = profile_str(p, p->mappings[0].file).p;
	return strncmp(file, dir, strlen(dir)) == 0 ? file + strlen(dir) + 1 : file;
}

static void every_place_is_looked_at_best_first(void **state)
{
	static const char *const places[] = {
		"abcdef/server",
		"abcdef/anything",
		"usr/bin/server/abcdef",
		"ab/cdef.debug",
		"server",
		"usr/bin/server.debug",
		"usr/bin/.debug/server.debug",
		"usr/lib/debug/usr/bin/server.debug",
	};

	(void)state;
	for (size_t i = sizeof(places) / sizeof(places[0]); i-- > 0;) {
		builder_release(&b);
		builder_init(&b);
		profile_free(p);
		p = NULL;
		write_program(places[i], RIGHT, "first");
		add_mapping(0, "/usr/bin/server", RIGHT_ID);
		assert_string_equal(located(), places[i]);
	}
	assert_heard("%s", "");
}

static void the_full_path_under_the_folder_is_one_of_them(void **state)
{
	(void)state;
	write_program("usr/bin/server", RIGHT, "first");
	add_mapping(0, "/usr/bin/server", RIGHT_ID);
	assert_string_equal(located(), "usr/bin/server");
}

static void a_build_id_alone_is_enough(void **state)
{
	(void)state;
	write_program(RIGHT_ID "/b", RIGHT, "first");
	write_program(RIGHT_ID "/.a", WRONG, "first");
	add_mapping(0, "", RIGHT_ID);
	assert_string_equal(located(), RIGHT_ID "/b");
	assert_heard("Ignoring local file %s/abcdef/.a: build-id mismatch (abcdef != 010203)\n",
		     dir);
}

static void a_binary_with_another_build_id_is_never_taken(void **state)
{
	(void)state;
	write_program("server", WRONG, "first");
	write_program("abcdef/server", NULL, "first");
	add_mapping(0, "/usr/bin/server", RIGHT_ID);
	assert_string_equal(located(), "/usr/bin/server");
	assert_heard("Ignoring local file %s/abcdef/server: build-id mismatch (abcdef != )\n"
		     "Ignoring local file %s/server: build-id mismatch (abcdef != 010203)\n",
		     dir, dir);
}

static void without_a_build_id_any_binary_of_that_name_will_do(void **state)
{
	(void)state;
	write_program("server", WRONG, "first");
	add_mapping(0, "/usr/bin/server", "");
	assert_string_equal(located(), "server");
	assert_heard("%s", "");
}

static void what_is_not_a_binary_is_passed_over(void **state)
{
	(void)state;
	write_file("server", "text", 4);
	write_file("ab/cdef.debug", "\177ELF", 4);
	add_mapping(0, "/usr/bin/server", RIGHT_ID);
	assert_string_equal(located(), "/usr/bin/server");
	assert_heard("%s", "");
}

static void folders_are_searched_in_order(void **state)
{
	AUTO(freep) char *path = mem_printf("/nonexistent:%s/one:%s/two", dir, dir);
	AUTO(freep) char *want = mem_printf("%s/two/server", dir);

	(void)state;
	write_program("two/server", RIGHT, "first");
	write_file("one/server", "text", 4);
	add_mapping(0, "/usr/bin/server", "");
	p = builder_finish(&b);
	binaries_locate(p, path, &ears.notify);
	assert_string_equal(profile_str(p, p->mappings[0].file).p, want);
	binaries_locate(p, "", &ears.notify);
	assert_string_equal(profile_str(p, p->mappings[0].file).p, want);
}

static void names_no_file_can_have_are_passed_over(void **state)
{
	AUTO(freep) char *name = mem_new(100001, 1);

	(void)state;
	memset(name, 'x', 100000);
	name[100000] = '\0';
	add_mapping(0, name, RIGHT_ID);
	add_mapping(0x10000, "a", RIGHT_ID)->file = profile_intern(b.p, STR("a\0b"));
	assert_string_equal(located(), name);
	assert_heard("%s", "");
}

static void a_profile_without_mappings_gets_one(void **state)
{
	(void)state;
	add_location(0x1000, NONE);
	add_location(0x2000, NONE);
	p = builder_finish(&b);
	assert_int_equal(p->nmappings, 0);
	binaries_locate(p, dir, &ears.notify);
	assert_int_equal(p->nmappings, 1);
	assert_int_equal(p->mappings[0].id, 1);
	assert_int_equal(p->mappings[0].start | p->mappings[0].limit, 0);
	assert_int_equal(p->locations[0].mapping, 0);
	assert_int_equal(p->locations[1].mapping, 0);
	assert_heard("%s", "");
}

/* ------------------------------------------------------------------ naming addresses */

static void addresses_get_the_names_of_functions(void **state)
{
	uint32_t a, c, d, e;

	(void)state;
	write_program("server", RIGHT, "first");
	add_program(0x550000000000, "server", RIGHT_ID);
	a = add_location(0x550000001104, 0);
	c = add_location(0x550000001004, 0);
	d = add_location(0x550000001010, 0);
	e = add_location(0x550000001090, 0);
	assert_int_equal(symbolize(""), 0);
	assert_heard("%s", "");
	assert_string_equal(name_of(a), "second");
	assert_string_equal(name_of(c), "first");
	assert_string_equal(name_of(d), "first");
	assert_string_equal(name_of(e), "");
	assert_true(p->mappings[0].has_functions);
	assert_false(p->mappings[0].has_filenames);
	assert_false(p->mappings[0].has_line_numbers);
	/* One function each, in the order of locations. */
	assert_int_equal(p->nfunctions, 2);
	assert_string_equal(profile_str(p, p->functions[0].name).p, "second");
	assert_int_equal(p->functions[0].system_name, p->functions[0].name);
	assert_int_equal(p->functions[0].file, 0);
	assert_int_equal(p->functions[0].id, 1);
	assert_int_equal(p->functions[1].id, 2);
	assert_int_equal(p->nlines, 3);
}

static void several_mappings_share_functions_and_files(void **state)
{
	uint32_t a, c, d;

	(void)state;
	write_program("server", RIGHT, "first");
	write_program("lib.so", NULL, "third");
	add_program(0x550000000000, "server", "");
	add_program(0x7f0000000000, "lib.so", "");
	add_program(0x7f0000100000, "server", "");
	a = add_location(0x550000001104, 0);
	c = add_location(0x7f0000001000, 1);
	d = add_location(0x7f0000101104, 2);
	assert_int_equal(symbolize("local"), 0);
	assert_string_equal(name_of(a), "second");
	assert_string_equal(name_of(c), "third");
	assert_string_equal(name_of(d), "second");
	assert_int_equal(p->nfunctions, 2);
	assert_true(p->mappings[2].has_functions);
	assert_heard("%s", "");
}

static void a_binary_with_another_build_id_names_nothing(void **state)
{
	uint32_t a;

	(void)state;
	write_program("server", WRONG, "first");
	add_program(0, "server", RIGHT_ID);
	a = add_location(0x1000, 0);
	assert_int_equal(symbolize(""), 0);
	assert_string_equal(name_of(a), "");
	assert_false(p->mappings[0].has_functions);
	assert_heard("Local symbolization failed for server (build ID abcdef): "
		     "build ID mismatch\n");
}

static void a_binary_without_a_build_id_is_trusted(void **state)
{
	uint32_t a;

	(void)state;
	write_program("server", NULL, "first");
	add_program(0, "server", RIGHT_ID);
	a = add_location(0x1000, 0);
	assert_int_equal(symbolize(""), 0);
	assert_string_equal(name_of(a), "first");
	assert_heard("%s", "");
}

static void what_is_missing_is_said_once_per_mapping(void **state)
{
	(void)state;
	write_file("text", "text", 4);
	add_mapping(0, "/nonexistent/a", "");
	add_mapping(0x10000, "/nonexistent/b", "12");
	add_program(0x20000, "text", "");
	add_mapping(0x30000, "/nonexistent/unused", "");
	add_location(0x1000, 0);
	add_location(0x11000, 1);
	add_location(0x21000, 2);
	assert_int_equal(symbolize(""), 0);
	assert_heard("Local symbolization failed for a: "
		     "open /nonexistent/a: no such file or directory\n"
		     "Local symbolization failed for b (build ID 12): "
		     "open /nonexistent/b: no such file or directory\n"
		     "Local symbolization failed for text: "
		     "open %s/text: unrecognized object file\n" MISSING,
		     dir);
}

static void the_main_program_without_a_name_is_another_matter(void **state)
{
	(void)state;
	add_mapping(0, "", "");
	add_location(0x1000, 0);
	assert_int_equal(symbolize(""), 0);
	assert_heard("Main binary filename not available.\n");
}

static void another_mapping_without_a_name_is_missing(void **state)
{
	(void)state;
	add_mapping(0, "", "");
	add_mapping(0x10000, "", "");
	add_location(0x1000, 0);
	add_location(0x11000, 1);
	assert_int_equal(symbolize(""), 0);
	assert_heard("Main binary filename not available.\n" MISSING);
}

static void what_no_file_has_is_skipped_in_silence(void **state)
{
	static const char *const files[] = {
		"[vdso]",         "/x/[heap]",         "linux-vdso.so.1", "/dev/dri/card0",
		"http://h:1/p/q", "HTTPS://h/debug/p", "x-http:opaque",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		add_mapping(i * 0x10000, files[i], "");
		add_location(i * 0x10000 + 0x1000, (uint32_t)i);
	}
	assert_int_equal(symbolize(""), 0);
	assert_heard("%s", "");
}

static void a_url_with_a_build_id_is_a_file_name(void **state)
{
	(void)state;
	add_mapping(0, "http://h/x", "12");
	add_location(0x1000, 0);
	assert_int_equal(symbolize(""), 0);
	assert_heard("Local symbolization failed for x (build ID 12): "
		     "open http://h/x: no such file or directory\n" MISSING);
}

static void a_damaged_symbol_table_is_said(void **state)
{
	struct image im = { .type = ET_DYN };
	struct out o;

	(void)state;
	image_symbol(&im, "f", 0x1000, 16, STB_GLOBAL, STT_FUNC)->st_name = 1000;
	image_make(&im, &o);
	write_file("server", o.p, o.n);
	out_release(&o);
	add_program(0, "server", "");
	add_location(0x1000, 0);
	assert_int_equal(symbolize(""), 0);
	assert_heard("Local symbolization failed for server: "
		     "%s/server: damaged symbol table\n",
		     dir);
}

/* ------------------------------------------------------------------ modes */

/* A location at 0x1000 of a mapping that has been symbolized, with a name of its own. */
static uint32_t add_known_location(const char *name, const char *file)
{
	uint32_t location;

	write_program("server", RIGHT, "first");
	add_program(0, "server", RIGHT_ID)->has_functions = true;
	location = add_location(0x1000, 0);
	builder_line(&b, location, builder_function(&b, str_of(name), str_of(name), str_of(file)),
		     0);
	return location;
}

static void a_symbolized_mapping_is_left_alone(void **state)
{
	uint32_t a;

	(void)state;
	a = add_known_location("old", "");
	assert_int_equal(symbolize(""), 0);
	assert_string_equal(name_of(a), "old");
	assert_heard("%s", "");
}

static void force_names_it_again(void **state)
{
	uint32_t a;

	(void)state;
	a = add_known_location("old", "");
	assert_int_equal(symbolize("FORCE"), 0);
	assert_string_equal(name_of(a), "first");
	assert_int_equal(p->functions[1].id, 2);
	assert_heard("%s", "");
}

static void force_does_not_replace_files_and_lines_by_a_bare_name(void **state)
{
	uint32_t a;

	(void)state;
	a = add_known_location("old", "old.c");
	assert_int_equal(symbolize("demangle=full"), 0);
	assert_string_equal(name_of(a), "old");
	assert_heard("%s", "");
}

static void none_and_remote_open_no_binaries(void **state)
{
	static const char *const modes[] = { "none", "no", "force:NONE", "remote", "local:remote" };

	(void)state;
	add_mapping(0, "/nonexistent/a", "");
	add_location(0x1000, 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		assert_int_equal(symbolize(modes[i]), 0);
	assert_heard("%s", "");
}

static void names_are_demangled_unless_the_mode_is_none(void **state)
{
	uint32_t a;

	(void)state;
	write_program("server", RIGHT, "_ZN3foo3barEi");
	add_program(0, "server", RIGHT_ID);
	a = add_location(0x1000, 0);
	assert_int_equal(symbolize("none"), 0);
	assert_string_equal(name_of(a), "");
	assert_int_equal(symbolize("fastlocal"), 0);
	assert_string_equal(name_of(a), "foo::bar");
	assert_string_equal(profile_str(p, p->functions[0].system_name).p, "_ZN3foo3barEi");
	assert_int_equal(symbolize("full"), 0);
	assert_string_equal(name_of(a), "foo::bar(int)");
}

static void unknown_words_are_complained_about(void **state)
{
	(void)state;
	add_mapping(0, "[vdso]", "");
	add_location(0x1000, 0);
	assert_int_equal(symbolize("Bogus::demangle=x:default:local"), 0);
	assert_heard("ignoring unrecognized symbolization option: Bogus::demangle=x:default:local\n"
		     "expecting -symbolize=[local|fastlocal|remote|none][:force]"
		     "[:demangle=[none|full|templates|default]\n"
		     "ignoring unrecognized symbolization option: Bogus::demangle=x:default:local\n"
		     "expecting -symbolize=[local|fastlocal|remote|none][:force]"
		     "[:demangle=[none|full|templates|default]\n");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(every_place_is_looked_at_best_first),
		CASE(the_full_path_under_the_folder_is_one_of_them),
		CASE(a_build_id_alone_is_enough),
		CASE(a_binary_with_another_build_id_is_never_taken),
		CASE(without_a_build_id_any_binary_of_that_name_will_do),
		CASE(what_is_not_a_binary_is_passed_over),
		CASE(folders_are_searched_in_order),
		CASE(names_no_file_can_have_are_passed_over),
		CASE(a_profile_without_mappings_gets_one),
		CASE(addresses_get_the_names_of_functions),
		CASE(several_mappings_share_functions_and_files),
		CASE(a_binary_with_another_build_id_names_nothing),
		CASE(a_binary_without_a_build_id_is_trusted),
		CASE(what_is_missing_is_said_once_per_mapping),
		CASE(the_main_program_without_a_name_is_another_matter),
		CASE(another_mapping_without_a_name_is_missing),
		CASE(what_no_file_has_is_skipped_in_silence),
		CASE(a_url_with_a_build_id_is_a_file_name),
		CASE(a_damaged_symbol_table_is_said),
		CASE(a_symbolized_mapping_is_left_alone),
		CASE(force_names_it_again),
		CASE(force_does_not_replace_files_and_lines_by_a_bare_name),
		CASE(none_and_remote_open_no_binaries),
		CASE(names_are_demangled_unless_the_mode_is_none),
		CASE(unknown_words_are_complained_about),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
