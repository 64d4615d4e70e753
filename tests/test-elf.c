/*
 * test-elf.c - binaries: headers, build ids, functions and addresses
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "elf-image.h"
#include "elf/elf-file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define MIXED    "tests/profiles/mixed"
#define MIXED_ID "fe57dc6147d5d5931a9a7ad5357db1c26101e956"

/* A file of ours, open. */
struct made {
	struct out bytes;
	struct elf_file *f;
};

static void make(struct image *im, struct made *m)
{
	struct err err;

	image_make(im, &m->bytes);
	m->f = NULL;
	if (elf_open_memory(m->bytes.p, m->bytes.n, "made", &m->f, &err) < 0)
		fail_msg("%s", err.msg);
}

static void unmake(struct made *m)
{
	elf_close(m->f);
	out_release(&m->bytes);
}

static int open_cut(const struct out *bytes, size_t n, struct err *err)
{
	AUTO(elf_closep) struct elf_file *f = NULL;

	return elf_open_memory(bytes->p, n, "cut", &f, err);
}

/* The name at 'address', or "" . */
static const char *name_at(const struct elf_file *f, uint64_t address)
{
	const struct elf_symbol *s = elf_find_symbol(f, address);

	if (s)
		assert_true(s->start <= address && address < s->end);
	return s ? s->name.p : "";
}

#define assert_name(f, address, name) assert_string_equal(name_at(f, address), name)

/* Makes 'im', reads its functions, and leaves the file in 'm'. */
static void make_symbols(struct image *im, struct made *m)
{
	make(im, m);
	assert_int_equal(elf_read_symbols(m->f, NULL), 0);
}

/* ------------------------------------------------------------------ headers */

static void a_program_s_kind_segments_and_build_id_are_read(void **state)
{
	AUTO(elf_closep) struct elf_file *f = NULL;

	(void)state;
	assert_int_equal(elf_open(MIXED, &f, NULL), 0);
	assert_string_equal(f->path, MIXED);
	assert_string_equal(f->build_id, MIXED_ID);
	assert_int_equal(f->type, ET_DYN);
	assert_int_equal(f->machine, EM_X86_64);
	assert_int_equal(f->nsegments, 4);
	assert_int_equal(f->segments[1].offset, 0x1000);
	assert_int_equal(f->segments[1].address, 0x1000);
	assert_int_equal(f->segments[1].file_size, 0x441);
	assert_true(f->segments[1].executable);
	assert_false(f->segments[3].executable);
	assert_int_equal(f->segments[3].offset, 0x2dd0);
	assert_int_equal(f->segments[3].address, 0x3dd0);
}

static void a_build_id_is_lower_case_hexadecimal(void **state)
{
	struct image im = { .type = ET_EXEC, .build_id = "\xab\x01Z" };
	struct made m;

	(void)state;
	make(&im, &m);
	assert_string_equal(m.f->build_id, "ab015a");
	unmake(&m);
}

static void a_build_id_may_be_in_a_section_only(void **state)
{
	struct image im = { .type = ET_EXEC, .build_id = "\x12\x34", .note_without_segment = true };
	struct made m;

	(void)state;
	make(&im, &m);
	assert_string_equal(m.f->build_id, "1234");
	unmake(&m);
}

static void a_file_without_a_build_id_has_an_empty_one(void **state)
{
	struct image im = { .type = ET_EXEC };
	struct made m;

	(void)state;
	make(&im, &m);
	assert_string_equal(m.f->build_id, "");
	unmake(&m);
}

/* ------------------------------------------------------------------ refusals */

static void assert_refused(const char *path, const char *why)
{
	struct elf_file *f = NULL;
	struct err err;
	char want[512];

	snprintf(want, sizeof(want), "open %s: %s", path, why);
	assert_true(elf_open(path, &f, &err) < 0);
	assert_string_equal(err.msg, want);
	assert_null(f);
}

static void what_cannot_be_opened_is_refused_in_the_reference_s_words(void **state)
{
	(void)state;
	assert_refused("/nonexistent/a", "no such file or directory");
	assert_refused("tests", "unrecognized object file");
	assert_refused("/dev/null", "unrecognized object file");
	assert_refused("tests/test-elf.c", "unrecognized object file");
	assert_refused("tests/test-elf.c/x", "not a directory");
}

static void a_pipe_is_refused_at_once(void **state)
{
	char dir[] = "/tmp/test-elf.XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/pipe", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_refused(path, "unrecognized object file");
	unlink(path);
	rmdir(dir);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
	struct image im = { .type = ET_DYN, .build_id = "x" };
	struct err err;
	struct out o;

	(void)state;
	image_segment(&im, 0, 0, 0x100, PF_R | PF_X);
	image_function(&im, "f", 0x1000, 16, STB_GLOBAL);
	image_make(&im, &o);
	assert_int_equal(open_cut(&o, o.n, &err), 0);
	for (size_t n = 0; n < o.n; n++) {
		assert_int_equal(open_cut(&o, n, &err), -ENOEXEC);
		assert_string_equal(err.msg, "open cut: unrecognized object file");
	}
	out_release(&o);
}

static void headers_that_lie_are_refused(void **state)
{
	static const struct {
		size_t at;
		uint16_t value;
	} lies[] = {
		{ offsetof(Elf64_Ehdr, e_shnum), 0xff00 },
		{ offsetof(Elf64_Ehdr, e_phnum), 0xfffe },
		{ offsetof(Elf64_Ehdr, e_shstrndx), 0x1000 },
		{ offsetof(Elf64_Ehdr, e_shoff) + 6, 0xffff },
		{ offsetof(Elf64_Ehdr, e_phoff) + 6, 0xffff },
		{ offsetof(Elf64_Ehdr, e_version), 7 },
		{ EI_CLASS, ELFCLASSNONE },
	};
	struct image im = { .type = ET_DYN, .build_id = "x" };
	struct err err;
	struct out o;

	(void)state;
	image_make(&im, &o);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		uint16_t truth;

		memcpy(&truth, o.p + lies[i].at, sizeof(truth));
		memcpy(o.p + lies[i].at, &lies[i].value, sizeof(truth));
		assert_int_equal(open_cut(&o, o.n, &err), -ENOEXEC);
		memcpy(o.p + lies[i].at, &truth, sizeof(truth));
	}
	assert_int_equal(open_cut(&o, o.n, &err), 0);
	out_release(&o);
}

static void headers_on_top_of_each_other_do_no_harm(void **state)
{
	struct image im = { .type = ET_DYN, .build_id = "x" };
	struct out o;
	uint64_t at = 0;

	(void)state;
	image_function(&im, "f", 0x1000, 16, STB_GLOBAL);
	image_make(&im, &o);
	memcpy(o.p + offsetof(Elf64_Ehdr, e_phoff), &at, sizeof(at));
	for (at = 8; at < 64; at += 8) {
		AUTO(elf_closep) struct elf_file *f = NULL;

		memcpy(o.p + offsetof(Elf64_Ehdr, e_shoff), &at, sizeof(at));
		if (elf_open_memory(o.p, o.n, "odd", &f, NULL) == 0)
			(void)elf_read_symbols(f, NULL);
	}
	out_release(&o);
}

/* ------------------------------------------------------------------ functions */

static void functions_of_a_real_program_are_found(void **state)
{
	AUTO(elf_closep) struct elf_file *f = NULL;

	(void)state;
	assert_int_equal(elf_open(MIXED, &f, NULL), 0);
	assert_int_equal(elf_read_symbols(f, NULL), 0);
	assert_name(f, 0x12d0, "leafalloc");
	assert_name(f, 0x12ef, "");
	assert_name(f, 0x12f0, "rec");
	assert_name(f, 0x1310, "worker");
	assert_name(f, 0x10c0, "main");
	assert_name(f, 0x12c8, "frame_dummy");
	assert_name(f, 0x1030, "");
	assert_name(f, 0x4000, "");
	assert_name(f, UINT64_MAX, "");
}

static void a_function_ends_where_its_size_says(void **state)
{
	struct image im = { .type = ET_DYN };
	struct made m;

	(void)state;
	image_function(&im, "b", 0x1100, 0x10, STB_GLOBAL);
	image_function(&im, "a", 0x1080, 0x80, STB_GLOBAL);
	make_symbols(&im, &m);
	assert_name(m.f, 0x107f, "");
	assert_name(m.f, 0x1080, "a");
	assert_name(m.f, 0x10ff, "a");
	assert_name(m.f, 0x1100, "b");
	assert_name(m.f, 0x110f, "b");
	assert_name(m.f, 0x1110, "");
	unmake(&m);
}

static void without_a_size_it_ends_at_the_next_one_or_the_section_s_end(void **state)
{
	struct image im = { .type = ET_DYN };
	struct made m;

	(void)state;
	image_function(&im, "a", 0x1080, 0, STB_GLOBAL);
	image_function(&im, "b", 0x1100, 0x10, STB_GLOBAL);
	image_function(&im, "c", 0x1200, 0, STB_GLOBAL);
	image_function(&im, "d", 0x3000, 0, STB_GLOBAL);
	make_symbols(&im, &m);
	assert_name(m.f, 0x10ff, "a");
	assert_name(m.f, 0x1100, "b");
	assert_name(m.f, 0x1110, "");
	assert_name(m.f, 0x1fff, "c");
	assert_name(m.f, 0x2000, "");
	assert_name(m.f, 0x30ff, "d");
	assert_name(m.f, 0x3100, "");
	unmake(&m);
}

static void of_several_names_the_best_is_taken(void **state)
{
	struct image im = { .type = ET_DYN };
	struct made m;

	(void)state;
	image_function(&im, "l", 0x1000, 16, STB_LOCAL);
	image_function(&im, "__write", 0x1000, 16, STB_GLOBAL);
	image_function(&im, "write", 0x1000, 16, STB_WEAK);
	image_function(&im, "_ZN1AC2Ev", 0x1100, 16, STB_GLOBAL);
	image_function(&im, "_ZN1AC1Ev", 0x1100, 16, STB_GLOBAL);
	image_function(&im, "x", 0x1200, 0, STB_GLOBAL);
	image_function(&im, "sized", 0x1200, 16, STB_LOCAL);
	make_symbols(&im, &m);
	assert_name(m.f, 0x1000, "write");
	assert_name(m.f, 0x1100, "_ZN1AC1Ev");
	assert_name(m.f, 0x1200, "sized");
	assert_name(m.f, 0x1210, "");
	unmake(&m);
}

static void a_function_inside_another_wins_while_it_lasts(void **state)
{
	struct image im = { .type = ET_DYN };
	struct made m;

	(void)state;
	image_function(&im, "outer", 0x1000, 0x100, STB_GLOBAL);
	image_function(&im, "inner", 0x1020, 0x10, STB_LOCAL);
	image_function(&im, "innermost", 0x1024, 0x4, STB_LOCAL);
	image_function(&im, "over", 0x10f0, 0x20, STB_LOCAL);
	image_function(&im, "label", 0x1080, 0, STB_LOCAL);
	make_symbols(&im, &m);
	assert_name(m.f, 0x101f, "outer");
	assert_name(m.f, 0x1020, "inner");
	assert_name(m.f, 0x1024, "innermost");
	assert_name(m.f, 0x1028, "inner");
	assert_name(m.f, 0x1030, "outer");
	assert_name(m.f, 0x1080, "outer");
	assert_name(m.f, 0x10ef, "outer");
	assert_name(m.f, 0x10f0, "over");
	assert_name(m.f, 0x110f, "over");
	assert_name(m.f, 0x1110, "");
	unmake(&m);
}

static void only_functions_in_code_count(void **state)
{
	struct image im = { .type = ET_DYN };
	struct made m;

	(void)state;
	image_symbol(&im, "data", 0x1000, 16, STB_GLOBAL, STT_OBJECT);
	image_symbol(&im, "label", 0x1010, 16, STB_GLOBAL, STT_NOTYPE);
	image_symbol(&im, "missing", 0x1020, 16, STB_GLOBAL, STT_FUNC)->st_shndx = SHN_UNDEF;
	image_symbol(&im, "chosen", 0x1030, 16, STB_GLOBAL, STT_GNU_IFUNC);
	image_function(&im, "outside", 0x8000, 16, STB_GLOBAL);
	image_function(&im, "", 0x1040, 16, STB_GLOBAL);
	make_symbols(&im, &m);
	assert_name(m.f, 0x1000, "");
	assert_name(m.f, 0x1010, "");
	assert_name(m.f, 0x1020, "");
	assert_name(m.f, 0x1030, "chosen");
	assert_name(m.f, 0x1040, "");
	assert_name(m.f, 0x8000, "");
	unmake(&m);
}

static void a_stripped_file_still_has_its_dynamic_symbols(void **state)
{
	struct image im = { .type = ET_DYN, .dynamic = true };
	struct made m;

	(void)state;
	image_function(&im, "exported", 0x1000, 16, STB_GLOBAL);
	make_symbols(&im, &m);
	assert_name(m.f, 0x1000, "exported");
	unmake(&m);
}

static void sizes_beyond_the_section_are_cut(void **state)
{
	struct image im = { .type = ET_DYN };
	struct made m;

	(void)state;
	image_function(&im, "huge", 0x1000, UINT64_MAX, STB_GLOBAL);
	image_function(&im, "next", 0x3000, UINT64_MAX - 0x3000, STB_GLOBAL);
	make_symbols(&im, &m);
	assert_name(m.f, 0x1fff, "huge");
	assert_name(m.f, 0x2000, "");
	assert_name(m.f, 0x30ff, "next");
	assert_name(m.f, 0x3100, "");
	unmake(&m);
}

static void assert_damaged(struct image *im)
{
	struct made m;
	struct err err;

	make(im, &m);
	assert_int_equal(elf_read_symbols(m.f, &err), -EBADMSG);
	assert_string_equal(err.msg, "made: damaged symbol table");
	assert_name(m.f, 0x1000, "");
	unmake(&m);
}

static void names_outside_their_table_are_damage(void **state)
{
	struct image im = { .type = ET_DYN };

	(void)state;
	image_symbol(&im, "f", 0x1000, 16, STB_GLOBAL, STT_FUNC)->st_name = 1000;
	assert_damaged(&im);
}

static void names_without_an_end_are_damage(void **state)
{
	struct image im = { .type = ET_DYN };

	(void)state;
	image_function(&im, "f", 0x1000, 16, STB_GLOBAL);
	im.names[im.nnames - 1] = 'x';
	assert_damaged(&im);
}

static void names_that_share_one_long_text_are_damage(void **state)
{
	struct image im = { .type = ET_DYN };
	char text[256];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	image_function(&im, text, 0x1000, 1, STB_GLOBAL);
	for (unsigned i = 2; i < 8; i++) {
		image_function(&im, "", 0x1000 + i, 1, STB_GLOBAL);
		im.symbols[i].st_name = i;
	}
	assert_damaged(&im);
}

/* ------------------------------------------------------------------ addresses */

/* A position-independent program as GNU ld lays it out: headers, code, constants, data. */
static void make_pie(struct made *m, unsigned type, uint64_t base)
{
	struct image im = { .type = type };

	image_segment(&im, 0, base, 0x7d8, PF_R);
	image_segment(&im, 0x1000, base + 0x1000, 0x3441, PF_R | PF_X);
	image_segment(&im, 0x5000, base + 0x5000, 0x1f4, PF_R);
	image_segment(&im, 0x5dd0, base + 0x6dd0, 0x288, PF_R | PF_W);
	make(&im, m);
}

static void the_code_of_a_pie_is_moved_by_its_base(void **state)
{
	const uint64_t base = 0x557f8b114000;
	struct made m;

	(void)state;
	make_pie(&m, ET_DYN, 0);
	assert_int_equal(elf_bias(m.f, (struct elf_range){ base + 0x1000, base + 0x5000, 0x1000 }),
			 base);
	/* A part of it, and one whose end is not known. */
	assert_int_equal(elf_bias(m.f, (struct elf_range){ base + 0x2000, base + 0x3000, 0x2000 }),
			 base);
	assert_int_equal(elf_bias(m.f, (struct elf_range){ base + 0x1000, 0, 0x1000 }), base);
	/* All of it in one, and what prelinking or a merge has moved to the bottom. */
	assert_int_equal(elf_bias(m.f, (struct elf_range){ base, base + 0x7000, 0 }), base);
	assert_int_equal(elf_bias(m.f, (struct elf_range){ 0, 0x7000, 0 }), 0);
	assert_int_equal(elf_bias(m.f, (struct elf_range){ 0x1000, 0x5000, 0x1000 }), 0);
	unmake(&m);
}

static void a_program_with_fixed_addresses_is_not_moved(void **state)
{
	struct made m;

	(void)state;
	make_pie(&m, ET_EXEC, 0x400000);
	assert_int_equal(elf_bias(m.f, (struct elf_range){ 0x400000, 0x407000, 0 }), 0);
	assert_int_equal(elf_bias(m.f, (struct elf_range){ 0x401000, 0x405000, 0x1000 }), 0);
	assert_int_equal(elf_bias(m.f, (struct elf_range){ 0x401000, 0x405000, 0 }), 0);
	unmake(&m);
}

static void a_mapping_of_everything_leaves_addresses_alone(void **state)
{
	struct made m;

	(void)state;
	make_pie(&m, ET_DYN, 0x10000);
	assert_int_equal(elf_bias(m.f, (struct elf_range){ 0, 0, 0 }), 0);
	assert_int_equal(elf_bias(m.f, (struct elf_range){ 0, UINT64_MAX, 0 }), 0);
	unmake(&m);
}

/* lld: code follows constants in the file, but a page further in memory. */
static void segments_may_share_a_page_of_the_file(void **state)
{
	const uint64_t base = 0x7f0000000000;
	struct image im = { .type = ET_DYN };
	struct made m;

	(void)state;
	image_segment(&im, 0, 0, 0x7d8, PF_R);
	image_segment(&im, 0x7e0, 0x17e0, 0x300, PF_R | PF_X);
	image_segment(&im, 0xae0, 0x2ae0, 0x200, PF_R | PF_W);
	make(&im, &m);
	assert_int_equal(elf_bias(m.f, (struct elf_range){ base + 0x1000, base + 0x2000, 0 }),
			 base);
	assert_int_equal(elf_bias(m.f, (struct elf_range){ base, base + 0x3000, 0 }), base);
	/* As long as a large page, but there are no large pages for this file. */
	assert_int_equal(elf_bias(m.f, (struct elf_range){ base, base + 0x4000, 0 }), base);
	unmake(&m);
}

static void pages_may_be_large(void **state)
{
	const uint64_t base = 0xaaaa00000000;
	struct image im = { .type = ET_DYN };
	struct made m;

	(void)state;
	image_segment(&im, 0, 0, 0x7d8, PF_R);
	image_segment(&im, 0x12340, 0x22340, 0x5000, PF_R | PF_X);
	im.segments[1].p_align = 0x10000;
	make(&im, &m);
	assert_int_equal(
		elf_bias(m.f, (struct elf_range){ base + 0x20000, base + 0x30000, 0x10000 }), base);
	unmake(&m);
}

static void a_file_of_debugging_information_is_placed_by_the_length_of_its_code(void **state)
{
	const uint64_t base = 0x7f0000000000;
	struct image im = { .type = ET_DYN };
	struct made m;

	(void)state;
	image_segment(&im, 0, 0, 0x7d8, PF_R);
	image_segment(&im, 0, 0x12340, 0, PF_R | PF_X);
	im.segments[1].p_memsz = 0x2000;
	make(&im, &m);
	assert_int_equal(
		elf_bias(m.f, (struct elf_range){ base + 0x12000, base + 0x15000, 0x11000 }), base);
	/* And otherwise, file and memory are taken to be alike. */
	assert_int_equal(
		elf_bias(m.f, (struct elf_range){ base + 0x12000, base + 0x13000, 0x12000 }), base);
	unmake(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_s_kind_segments_and_build_id_are_read),
		cmocka_unit_test(a_build_id_is_lower_case_hexadecimal),
		cmocka_unit_test(a_build_id_may_be_in_a_section_only),
		cmocka_unit_test(a_file_without_a_build_id_has_an_empty_one),
		cmocka_unit_test(what_cannot_be_opened_is_refused_in_the_reference_s_words),
		cmocka_unit_test(a_pipe_is_refused_at_once),
		cmocka_unit_test(a_file_cut_anywhere_is_refused),
		cmocka_unit_test(headers_that_lie_are_refused),
		cmocka_unit_test(headers_on_top_of_each_other_do_no_harm),
		cmocka_unit_test(functions_of_a_real_program_are_found),
		cmocka_unit_test(a_function_ends_where_its_size_says),
		cmocka_unit_test(without_a_size_it_ends_at_the_next_one_or_the_section_s_end),
		cmocka_unit_test(of_several_names_the_best_is_taken),
		cmocka_unit_test(a_function_inside_another_wins_while_it_lasts),
		cmocka_unit_test(only_functions_in_code_count),
		cmocka_unit_test(a_stripped_file_still_has_its_dynamic_symbols),
		cmocka_unit_test(sizes_beyond_the_section_are_cut),
		cmocka_unit_test(names_outside_their_table_are_damage),
		cmocka_unit_test(names_without_an_end_are_damage),
		cmocka_unit_test(names_that_share_one_long_text_are_damage),
		cmocka_unit_test(the_code_of_a_pie_is_moved_by_its_base),
		cmocka_unit_test(a_program_with_fixed_addresses_is_not_moved),
		cmocka_unit_test(a_mapping_of_everything_leaves_addresses_alone),
		cmocka_unit_test(segments_may_share_a_page_of_the_file),
		cmocka_unit_test(pages_may_be_large),
		cmocka_unit_test(
			a_file_of_debugging_information_is_placed_by_the_length_of_its_code),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
