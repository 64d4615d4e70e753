/*
 * test-cache.c - frames that were found once, on disk
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "elf/elf-lines.h"
#include "symbol/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64], folder[80];

/* Three addresses: one of two frames, one of none, one of one. */
static const uint64_t addresses[] = { 0x1000, 0x2000, UINT64_MAX };
static const uint32_t first[] = { 0, 2, 2, 3 };
static struct elf_function functions[] = {
	{ .name = STR("_ZN1a5innerEv"), .file = STR("/src/a.h"), .start_line = 1 },
	{ .name = STR("outer@@V_1"), .file = STR("/src/a.c"), .start_line = 60000 },
	{ .name = STR("outer"), .file = STR("") },
	{ .name = STR("outer"), .file = STR("") },
};
static struct elf_functions parts[] = { { functions, 1 }, { functions + 1, 3 } };
static struct elf_frame frames[] = {
	{ &functions[0], 3, 4 },
	{ &functions[1], 70000, 0 },
	{ &functions[3], 0, 0 },
};
static struct elf_place places[] = { { frames, 2 }, { 0 }, { frames + 2, 1 } };
static const struct elf_frames found = { .at = places, .n = 3, .parts = parts, .nparts = 2 };
static const struct frame_table nothing;
static struct out made;

static int start(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test-cache.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(folder, sizeof(folder), "%s/sonde/symbols", dir);
	out_init(&made, 0);
	assert_int_equal(frame_table_build(&nothing, addresses, &found, &made, NULL), 0);
	frame_table_seal(&made);
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
	out_release(&made);
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static char *path_of(const char *name)
{
	return mem_printf("%s/%s", folder, name);
}

static bool is_there(const char *name)
{
	AUTO(freep) char *path = path_of(name);

	return access(path, F_OK) == 0;
}

static void store(const char *name, uint64_t limit)
{
	struct err why = { "" };

	assert_int_equal(cache_store(folder, name, out_view(&made), limit, &why), 0);
	assert_string_equal(why.msg, "");
}

/* Says that the file was last used so many seconds ago. */
static void age(const char *name, long seconds)
{
	AUTO(freep) char *path = path_of(name);
	struct timespec now, times[2];

	clock_gettime(CLOCK_REALTIME, &now);
	times[0] = times[1] = (struct timespec){ now.tv_sec - seconds, 0 };
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Frame 'i' of all as one text. */
static char *frame_text(const struct frame_table *t, size_t i)
{
	const struct table_frame *f = &t->frames[i];
	const struct table_function *fn = &t->functions[f->function];
	struct str name = frame_table_text(t, fn->name), file = frame_table_text(t, fn->file);
	struct str readable = frame_table_text(t, fn->readable);

	return mem_printf("%.*s %.*s %.*s:%u:%u %u", STR_ARG(name), STR_ARG(readable),
			  STR_ARG(file), f->line, f->column, fn->start_line);
}

static void assert_frame(const struct frame_table *t, size_t i, const char *want)
{
	AUTO(freep) char *text = frame_text(t, i);

	assert_string_equal(text, want);
}

/* ------------------------------------------------------------------ files */

static void what_was_stored_comes_back(void **state)
{
	struct file_bytes bytes;
	struct frame_table t;

	(void)state;
	store("a.sym", SYMBOL_CACHE_MAX);
	assert_int_equal(cache_load(folder, "a.sym", &bytes, &t), 0);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.nfunctions, 3);
	assert_memory_equal(t.addresses, addresses, sizeof(addresses));
	assert_memory_equal(t.first, first, sizeof(first));
	assert_frame(&t, 0, "_ZN1a5innerEv a::inner /src/a.h:3:4 1");
	assert_frame(&t, 1, "outer outer /src/a.c:70000:0 60000");
	/* What is no line is none. */
	assert_frame(&t, 2, "outer outer :0:0 0");
	file_bytes_release(&bytes);
}

static void what_is_new_is_put_between_what_is_old(void **state)
{
	static const uint64_t more[] = { 0xfff, 0x1001, 0x3000 };
	struct elf_function with[] = {
		functions[0],
		functions[1],
		{ .name = STR("new"), .file = STR("/src/b.c"), .start_line = 1 },
	};
	struct elf_functions part = { with, 3 };
	struct elf_frame f[] = { { &with[1], 70000, 0 }, { &with[2], 1, 1 }, { &with[0], 3, 4 } };
	struct elf_place at[] = { { f, 1 }, { f + 1, 1 }, { f + 2, 1 } };
	struct elf_frames fresh = { .at = at, .n = 3, .parts = &part, .nparts = 1 };
	struct frame_table old, t;
	struct out o;

	(void)state;
	assert_int_equal(frame_table_parse(out_view(&made), &old), 0);
	out_init(&o, 0);
	assert_int_equal(frame_table_build(&old, more, &fresh, &o, NULL), 0);
	frame_table_seal(&o);
	assert_int_equal(frame_table_parse(out_view(&o), &t), 0);
	assert_int_equal(t.n, 6);
	assert_int_equal(t.nfunctions, 4);
	assert_int_equal(t.addresses[2], 0x1001);
	assert_int_equal(t.addresses[4], 0x3000);
	assert_frame(&t, t.first[0], "outer outer /src/a.c:70000:0 60000");
	assert_frame(&t, t.first[1], "_ZN1a5innerEv a::inner /src/a.h:3:4 1");
	assert_frame(&t, t.first[2], "new new /src/b.c:1:1 1");
	assert_frame(&t, t.first[4], "_ZN1a5innerEv a::inner /src/a.h:3:4 1");
	assert_frame(&t, t.first[5], "outer outer :0:0 0");
	out_release(&o);
}

static void nothing_is_a_table_too(void **state)
{
	struct elf_frames none = { 0 };
	struct frame_table t;
	struct out o;

	(void)state;
	out_init(&o, 0);
	assert_int_equal(frame_table_build(&nothing, NULL, &none, &o, NULL), 0);
	frame_table_seal(&o);
	assert_int_equal(frame_table_parse(out_view(&o), &t), 0);
	assert_int_equal(t.n, 0);
	out_release(&o);
}

static void what_is_not_there_is_not_found(void **state)
{
	struct file_bytes bytes;
	struct frame_table t;

	(void)state;
	assert_int_equal(cache_load(folder, "a.sym", &bytes, &t), -ENOENT);
}

static void folders_are_for_their_owner_only(void **state)
{
	struct stat st;

	(void)state;
	store("a.sym", SYMBOL_CACHE_MAX);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void a_home_that_is_not_there_is_not_made(void **state)
{
	AUTO(freep) char *home = mem_printf("%s/home", dir);
	AUTO(freep) char *cache = mem_printf("%s/.cache/sonde/symbols", home);

	(void)state;
	assert_int_equal(cache_store(cache, "a.sym", out_view(&made), SYMBOL_CACHE_MAX, NULL),
			 -ENOENT);
	assert_int_equal(access(home, F_OK), -1);
	assert_int_equal(mkdir(home, 0700), 0);
	assert_int_equal(cache_store(cache, "a.sym", out_view(&made), SYMBOL_CACHE_MAX, NULL), 0);
}

static void a_folder_that_cannot_be_made_is_said(void **state)
{
	struct err why = { "" };

	(void)state;
	assert_int_equal(
		cache_store("/dev/null/x", "a.sym", out_view(&made), SYMBOL_CACHE_MAX, &why),
		-ENOTDIR);
	assert_string_equal(why.msg, "open /dev/null/x/a.sym: not a directory");
}

/* ------------------------------------------------------------------ damage */

/* A copy of the table, to be damaged. */
struct sheet {
	uint64_t *p; /* eight bytes each */
	size_t n;
};

static void take(struct sheet *s)
{
	s->n = made.n;
	s->p = mem_zeroed(s->n / 8 + 2, 8);
	memcpy(s->p, made.p, s->n);
}

static int parse(struct sheet *s, size_t n)
{
	struct frame_table t;

	return frame_table_parse((struct str){ (const char *)s->p, n }, &t);
}

/* Makes the checksum right for whatever is there now. */
static void seal(struct sheet *s)
{
	s->p[1] = frame_table_checksum((struct str){ (char *)s->p, s->n });
}

static void put_away(struct sheet *s)
{
	free(s->p);
}

static void every_damaged_byte_is_noticed(void **state)
{
	struct sheet s;

	(void)state;
	take(&s);
	assert_int_equal(parse(&s, s.n), 0);
	for (size_t i = 0; i < s.n; i++) {
		((unsigned char *)s.p)[i] ^= 0x10;
		assert_int_equal(parse(&s, s.n), -EBADMSG);
		((unsigned char *)s.p)[i] ^= 0x10;
	}
	put_away(&s);
}

static void every_cut_is_noticed(void **state)
{
	struct sheet s;

	(void)state;
	take(&s);
	for (size_t n = 0; n < s.n; n++)
		assert_int_equal(parse(&s, n), -EBADMSG);
	assert_int_equal(parse(&s, s.n + 1), -EBADMSG);
	put_away(&s);
}

static void counts_that_lie_are_noticed_even_if_sealed(void **state)
{
	static const uint64_t lies[] = { 0, 1, 2, 4, 1000, UINT32_MAX, INT64_MAX, UINT64_MAX };
	struct sheet s;

	(void)state;
	take(&s);
	for (size_t at = 2; at < sizeof(struct table_header) / 8; at++) {
		uint64_t right = s.p[at];

		for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			s.p[at] = lies[i];
			seal(&s);
			assert_int_equal(parse(&s, s.n), lies[i] == right ? 0 : -EBADMSG);
		}
		s.p[at] = right;
	}
	put_away(&s);
}

static void numbers_out_of_range_are_noticed_even_if_sealed(void **state)
{
	size_t tables = sizeof(struct table_header), at, frames_at;
	struct sheet s;

	(void)state;
	take(&s);
	at = tables + 24 + 8 * ((struct table_header *)s.p)->ntexts;
	frames_at = at + 16;
	/* 'first', and the function of each frame, and texts of the first function */
	for (; at < frames_at + 36 + 12; at += 4) {
		size_t in_frames = at - frames_at;

		if (in_frames < 36 && in_frames % 12 != 0)
			continue; /* lines may be anything */
		uint32_t *word = (uint32_t *)s.p + at / 4, right = *word;

		*word = 0x7fffffff;
		seal(&s);
		assert_int_equal(parse(&s, s.n), -EBADMSG);
		*word = right;
	}
	/* a text without an end */
	((char *)s.p)[s.n - 1] = 'x';
	seal(&s);
	assert_int_equal(parse(&s, s.n), -EBADMSG);
	((char *)s.p)[s.n - 1] = '\0';
	/* addresses out of order */
	s.p[tables / 8] = s.p[tables / 8 + 1];
	seal(&s);
	assert_int_equal(parse(&s, s.n), -EBADMSG);
	put_away(&s);
}

/* ------------------------------------------------------------------ room */

static uint64_t size_of_one(void)
{
	AUTO(freep) char *path = path_of("size.sym");
	struct stat st;

	store("size.sym", SYMBOL_CACHE_MAX);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(unlink(path), 0);
	return (uint64_t)st.st_size;
}

static void what_was_not_used_for_longest_goes_first(void **state)
{
	uint64_t limit = size_of_one() * 2;
	struct file_bytes bytes;
	struct frame_table t;

	(void)state;
	store("old.sym", limit);
	age("old.sym", 3000);
	store("older.sym", limit);
	age("older.sym", 2000);
	/* Being read counts as use. */
	assert_int_equal(cache_load(folder, "old.sym", &bytes, &t), 0);
	file_bytes_release(&bytes);
	store("new.sym", limit);
	assert_true(is_there("old.sym"));
	assert_false(is_there("older.sym"));
	assert_true(is_there("new.sym"));
}

static void what_does_not_fit_at_all_is_not_kept(void **state)
{
	uint64_t size = size_of_one();

	(void)state;
	store("other.sym", size);
	assert_int_equal(cache_store(folder, "a.sym", out_view(&made), size - 1, NULL), 0);
	assert_false(is_there("a.sym"));
	assert_true(is_there("other.sym"));
}

static void files_of_others_stay(void **state)
{
	AUTO(freep) char *path = path_of("README");
	uint64_t size = size_of_one();
	FILE *f;

	(void)state;
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	age("README", 1000000);
	store("a.sym.abcdef", size); /* half a file, of a program that was killed */
	age("a.sym.abcdef", 1000);
	store("b.sym", size);
	assert_true(is_there("README"));
	assert_false(is_there("a.sym.abcdef"));
	assert_true(is_there("b.sym"));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_was_stored_comes_back),
		CASE(what_is_new_is_put_between_what_is_old),
		CASE(nothing_is_a_table_too),
		CASE(what_is_not_there_is_not_found),
		CASE(folders_are_for_their_owner_only),
		CASE(a_home_that_is_not_there_is_not_made),
		CASE(a_folder_that_cannot_be_made_is_said),
		CASE(every_damaged_byte_is_noticed),
		CASE(every_cut_is_noticed),
		CASE(counts_that_lie_are_noticed_even_if_sealed),
		CASE(numbers_out_of_range_are_noticed_even_if_sealed),
		CASE(what_was_not_used_for_longest_goes_first),
		CASE(what_does_not_fit_at_all_is_not_kept),
		CASE(files_of_others_stay),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
