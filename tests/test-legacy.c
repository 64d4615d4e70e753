/*
 * test-legacy.c - profiles in the formats that were there before profile.proto
 *
 * The .golden files in tests/data/legacy were written with the reference's own parser; those
 * of jemalloc, which it does not read, from the same numbers in a format that it does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "profile/build.h"
#include "profile/legacy-maps.h"
#include "profile/legacy-text.h"
#include "profile/legacy.h"
#include "profile/profile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MAPS         "--- Memory map: ---\n"

static void dump_head(struct out *o, const struct profile *p)
{
	out_printf(o, "Period: %lld ", (long long)p->period);
	out_str(o, profile_str(p, p->period_type.type));
	out_char(o, ' ');
	out_str(o, profile_str(p, p->period_type.unit));
	out_printf(o, "\nDuration: %lld\nDrop: ", (long long)p->duration_nanos);
	out_str(o, profile_str(p, p->drop_frames));
	out_text(o, "\nKeep: ");
	out_str(o, profile_str(p, p->keep_frames));
	out_text(o, "\nSamples:");
	for (uint32_t i = 0; i < p->ntypes; i++) {
		out_char(o, ' ');
		out_str(o, profile_str(p, p->types[i].type));
		out_char(o, '/');
		out_str(o, profile_str(p, p->types[i].unit));
	}
	out_char(o, '\n');
}

static void dump_samples(struct out *o, const struct profile *p)
{
	for (size_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];

		for (uint32_t t = 0; t < p->ntypes; t++)
			out_printf(o, " %10lld", (long long)sample_values(p, i)[t]);
		out_char(o, ':');
		for (uint32_t k = 0; k < s->depth; k++)
			out_printf(o, " %llu",
				   (unsigned long long)p->locations[p->stacks[s->stack + k]].id);
		for (uint32_t k = 0; k < s->nlabels; k++) {
			const struct label *l = &p->labels[s->label + k];

			assert_int_equal(l->unit, NONE);
			out_printf(o, " %.*s:[%lld]", STR_ARG(profile_str(p, l->key)),
				   (long long)l->num);
		}
		out_char(o, '\n');
	}
}

static void dump_line(struct out *o, const struct profile *p, const struct line *line)
{
	const struct function *f = &p->functions[line->function];

	assert_int_equal(f->name, f->system_name);
	out_printf(o, " F=%llu ", (unsigned long long)f->id);
	out_str(o, profile_str(p, f->name));
	out_char(o, ' ');
	out_str(o, profile_str(p, f->file));
	out_printf(o, ":%lld", (long long)line->line);
}

static void dump_locations(struct out *o, const struct profile *p)
{
	out_text(o, "Locations\n");
	for (uint32_t i = 0; i < p->nlocations; i++) {
		const struct location *l = &p->locations[i];

		out_printf(o, "%6llu: 0x%llx", (unsigned long long)l->id,
			   (unsigned long long)l->address);
		if (l->mapping != NONE)
			out_printf(o, " M=%llu", (unsigned long long)p->mappings[l->mapping].id);
		for (uint32_t k = 0; k < l->nlines; k++)
			dump_line(o, p, &p->lines[l->line + k]);
		out_char(o, '\n');
	}
}

static void dump_mappings(struct out *o, const struct profile *p)
{
	out_text(o, "Mappings\n");
	for (uint32_t i = 0; i < p->nmappings; i++) {
		const struct mapping *m = &p->mappings[i];

		out_printf(o, "%llu: 0x%llx/0x%llx/0x%llx ", (unsigned long long)m->id,
			   (unsigned long long)m->start, (unsigned long long)m->limit,
			   (unsigned long long)m->offset);
		out_str(o, profile_str(p, m->file));
		out_char(o, ' ');
		out_str(o, profile_str(p, m->build_id));
		out_char(o, '\n');
	}
}

static struct profile *parse(struct str text)
{
	struct profile *p = NULL;
	struct err err = { "" };

	if (legacy_parse(text, &p, &err))
		fail_msg("%s", err.msg);
	return p;
}

static void load(const char *name, struct file_bytes *b)
{
	AUTO(freep) char *path = mem_printf("tests/data/legacy/%s", name);
	struct err err;

	if (file_read(path, 1 << 20, b, &err))
		fail_msg("%s", err.msg);
}

static void assert_golden(const char *name, const char *golden)
{
	struct file_bytes in, expected;
	struct profile *p;
	struct out o;

	load(name, &in);
	load(golden, &expected);
	p = parse((struct str){ in.p, in.n });
	file_bytes_release(&in); /* nothing may point into it */

	out_init(&o, 0);
	dump_head(&o, p);
	dump_samples(&o, p);
	dump_locations(&o, p);
	dump_mappings(&o, p);
	if (!str_eq(out_view(&o), (struct str){ expected.p, expected.n }))
		fail_msg("%s is not as %s:\n%.*s", name, golden, STR_ARG(out_view(&o)));
	out_release(&o);
	file_bytes_release(&expected);
	profile_free(p);
}

static void assert_refused(struct str text, int code, const char *message)
{
	struct profile *untouched = (struct profile *)&text, *p = untouched;
	struct err err = { "" };
	int rc = legacy_parse(text, &p, &err);

	assert_string_equal(err.msg, message);
	assert_int_equal(rc, code);
	assert_ptr_equal(p, untouched);
	assert_int_equal(legacy_parse(text, &p, NULL), code);
}

static void cpu_profiles_read_the_same_in_every_word_size_and_byte_order(void **state)
{
	(void)state;
	assert_golden("cpu-le64.prof", "cpu.golden");
	assert_golden("cpu-be64.prof", "cpu.golden");
	assert_golden("cpu-le32.prof", "cpu.golden");
	assert_golden("cpu-be32.prof", "cpu.golden");
}

static void a_cpu_profile_may_lack_its_end(void **state)
{
	(void)state;
	assert_golden("cpu-no-end.prof", "cpu-no-end.golden");
}

static void heap_profiles_of_all_kinds_are_read(void **state)
{
	(void)state;
	assert_golden("heap-v2.txt", "heap-v2.golden");
	assert_golden("heap-alloc.txt", "heap-alloc.golden");
	assert_golden("heapprofile.txt", "heapprofile.golden");
	assert_golden("growth.txt", "growth.golden");
	assert_golden("fragmentation.txt", "fragmentation.golden");
}

static void jemalloc_heap_profiles_are_read_and_unsampled(void **state)
{
	(void)state;
	assert_golden("jemalloc.txt", "jemalloc.golden");
	assert_golden("jemalloc-accum.txt", "jemalloc-accum.golden");
}

static void goroutines_threads_and_contention_are_read(void **state)
{
	(void)state;
	assert_golden("goroutine.txt", "goroutine.golden");
	assert_golden("threadz.txt", "threadz.golden");
	assert_golden("contention.txt", "contention.golden");
	assert_golden("mutex.txt", "mutex.golden");
}

static void java_profiles_are_read(void **state)
{
	(void)state;
	assert_golden("java-heap.txt", "java-heap.golden");
	assert_golden("java-contention.txt", "java-contention.golden");
	assert_golden("java-cpu.prof", "java-cpu.golden");
}

static void a_brief_memory_map_may_have_variables_and_log_prefixes(void **state)
{
	(void)state;
	assert_golden("maps-brief.txt", "maps-brief.golden");
}

static void other_files_are_not_recognized(void **state)
{
	static const char *const cases[] = {
		"",
		"\n",
		"<!DOCTYPE html>\n<html><body>404</body></html>\n",
		"It was the best of times,\nit was the worst of times.\n",
		"heap profile: 1: 2 [3: 4] @ heap_v3/1\n",
		"heap profile: 1: 2 [3: 4] @ heap/99999999999999999999\n",
		"Heap profile: 1: 2 [3: 4] @ heap/1\n",
		"--- threadz 1 ---\n",
		"--- Thread 1 (name: a/1) stack: ---\n0x1\n",
		"--- contentionz 1 ---\nformat = c\n",
		"--- contentionz 1 ---\ncycles/second = many\n",
		"--- contentionz 2 ---\n1 @\n",
		"--- heapz 1 ---\nformat = java\nsampling period = 1\n",
		"heap_v2/x\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_refused(str_of(cases[i]), -ENOTSUP, "unrecognized profile format");
}

#define HEAP "heap profile: 1: 2 [3: 4] @ heap/1\n"
#define JAVA "--- heapz 1 ---\nformat = java\nresolution = bytes\n"

static void damaged_files_are_refused_in_the_reference_s_words(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ HEAP "what?\n", "unexpected number of sample values: got 0, want 6" },
		{ HEAP "0: 5 [1: 1] @ 0x1\n", "inuse count was 0 but inuse bytes was 5" },
		{ HEAP "1: 5 [0: 7] @ 0x1\n", "allocation count was 0 but allocation bytes was 7" },
		{ HEAP "9223372036854775808: 1 [1: 1] @\n",
		  "malformed sample: 9223372036854775808: 1 [1: 1] @: strconv.ParseInt: parsing "
		  "\"9223372036854775808\": value out of range" },
		{ HEAP " 1: 1 [1: 1] @ 0x10000000000000000\n",
		  "malformed sample: 1: 1 [1: 1] @ 0x10000000000000000: failed to parse as hex "
		  "64-bit number: 0x10000000000000000" },
		{ "goroutine profile: total 1\n1 @\n", "malformed profile format" },
		{ "goroutine profile: total 1\n08 @ 0x1\n", "malformed profile format" },
		{ "goroutine profile: total 1\n1 @ 0xA\n", "malformed profile format" },
		{ JAVA "5 0 @ 0x1\n", "parsing sample 5 0 @ 0x1: second value must be non-zero" },
		{ JAVA "08 1 @ 0x1\n", "parsing sample 08 1 @ 0x1: strconv.ParseInt: parsing "
				       "\"08\": invalid syntax" },
		{ "--- heapz 1 ---\nformat = java\n5 1 @ 0x1\n",
		  "missing sample type information" },
		{ "--- contentionz 1 ---\nformat = java\nms since reset = 1 2\n",
		  "failed to parse attribute ms since reset = 1 2: strconv.ParseInt: parsing "
		  "\"1 2\": invalid syntax" },
		{ "heap_v2/1\n  t*: 1: 1 [0: 0]\n@ 0x1\n  x\n",
		  "heap_v2: line 4: neither a stack nor a count" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_refused(str_of(cases[i].text), -EBADMSG, cases[i].message);
}

/* 'head', then 'n' times "x", then 'tail'. */
static char *padded(const char *head, size_t n, const char *tail)
{
	AUTO(freep) char *middle = mem_new(n + 1, 1);

	memset(middle, 'x', n);
	middle[n] = '\0';
	return mem_printf("%s%s%s", head, middle, tail);
}

static void a_line_of_64_kib_is_too_long(void **state)
{
	AUTO(freep) char *fits = padded(HEAP "#", 65534, "\n1: 1 [1: 1] @ 0x1\n");
	AUTO(freep) char *too_long = padded(HEAP "#", 65535, "\n1: 1 [1: 1] @ 0x1\n");
	AUTO(freep) char *no_newline = padded("", 65536, "");
	AUTO(profile_freep) struct profile *p = parse(str_of(fits));

	(void)state;
	assert_int_equal(p->nsamples, 1);
	assert_refused(str_of(too_long), -EMSGSIZE, "bufio.Scanner: token too long");
	assert_refused(str_of(no_newline), -EMSGSIZE, "bufio.Scanner: token too long");
}

static void samples_may_stand_anywhere_in_their_line(void **state)
{
	AUTO(profile_freep)
	struct profile *p = parse(STR("x heap profile: 1: 1 [0: 0] @ heapprofile\n"
				      "7 and -1:  2 [ 3:4 ] @ 0x5 0x6, 0x7\n"));

	(void)state;
	assert_int_equal(p->ntypes, 2);
	assert_int_equal(p->nsamples, 1);
	assert_int_equal(p->values[0], -1);
	assert_int_equal(p->values[1], 2);
	assert_int_equal(p->samples[0].depth, 2);
	assert_int_equal(p->labels[0].num, -2);
}

static void a_lone_number_of_a_contention_profile_is_two(void **state)
{
	AUTO(profile_freep)
	struct profile *p = parse(STR("--- contention:\nsampling period = 2\n123 @ 0x5\n"));

	(void)state;
	assert_int_equal(p->values[0], 6);
	assert_int_equal(p->values[1], 12);
}

static void assert_entry(const char *line, const char *expected)
{
	struct maps_entry e;
	AUTO(freep) char *got = NULL;

	if (!maps_parse_entry(str_of(line), &e))
		got = mem_str(STR("none"));
	else
		got = mem_printf("%.*s|%.*s|%.*s|%.*s|%.*s|%.*s", STR_ARG(e.start),
				 STR_ARG(e.limit), STR_ARG(e.permissions), STR_ARG(e.offset),
				 STR_ARG(e.file), STR_ARG(e.build_id));
	assert_string_equal(got, expected);
}

static void map_entries_are_what_the_reference_s_expressions_match(void **state)
{
	(void)state;
	assert_entry("00400000-00dd3000 r-xp 00001000 fd:01 12  /bin/a b",
		     "00400000|00dd3000|r-xp|00001000|/bin/a|");
	assert_entry(" 0x4 - 0x5", "none");
	assert_entry(" 0x4-  0x5: /bin/a (@Fe) 0aB", "4|5||Fe|/bin/a|0aB");
	assert_entry("4 5 fd:01 12", "4|5||||");
	assert_entry("4 5 7 fd:01 12x /f", "4|5||7||");
	assert_entry("4000 08:01 123 /f", "400|0|||/f|");
	assert_entry("4000 08:01 123/f", "400|0||||");
	assert_entry("400x500 r-xp 0 1:2 3 /f", "40|500|r-xp|0|/f|");
	assert_entry("abc=1", "ab|c||||");
	assert_entry("4-5 pprof 7", "4|5|ppr|||");
	assert_entry("4-5 (@1) (@2) 3", "4|5||2|(@1)|3");
	assert_entry("4", "none");
	assert_entry("build=/x", "none");
}

/* Reads a map behind one sample with the addresses 'stack', which the reference moves by one. */
static struct profile *with_map(const char *stack, const char *map)
{
	AUTO(freep)
	char *text = mem_printf("goroutine profile: total 1\n1 @ %s\n" MAPS "%s", stack, map);

	return parse(str_of(text));
}

static void assert_mapping(const struct profile *p, uint32_t i, uint64_t start, uint64_t limit,
			   uint64_t offset, const char *file)
{
	assert_true(i < p->nmappings);
	assert_int_equal(p->mappings[i].start, start);
	assert_int_equal(p->mappings[i].limit, limit);
	assert_int_equal(p->mappings[i].offset, offset);
	assert_true(str_is(profile_str(p, p->mappings[i].file), file));
}

static void adjacent_mappings_of_a_file_become_one(void **state)
{
	AUTO(profile_freep)
	struct profile *p = with_map("0x1", "1000-2000 /a (@1000)\n2000-3000 /a (@2000)\n"
					    "3000-4000 /a (@9000)\n4000-5000 /b\n");

	(void)state;
	assert_mapping(p, 0, 0x1000, 0x3000, 0x1000, "/a");
	assert_mapping(p, 1, 0x3000, 0x4000, 0x9000, "/a");
	assert_mapping(p, 2, 0x4000, 0x5000, 0, "/b");
}

static void the_program_comes_first(void **state)
{
	AUTO(profile_freep)
	struct profile *p =
		with_map("0x1", "1000-2000 /l.so.6\n3000-4000 [vdso]\n5000-6000 (deleted)\n"
				"7000-8000 /a.so\n9000-a000 /bin/a.sock\nb000-c000 /b\n");

	(void)state;
	assert_mapping(p, 0, 0x9000, 0xa000, 0, "/bin/a.sock");
	assert_mapping(p, 4, 0x1000, 0x2000, 0, "/l.so.6");
	assert_mapping(p, 5, 0xb000, 0xc000, 0, "/b");
}

static void a_remapped_program_gets_its_usual_start(void **state)
{
	AUTO(profile_freep)
	struct profile *p = with_map("0x400002", "600000-700000 /a (@200000)\n");

	(void)state;
	assert_mapping(p, 0, 0x400000, 0x700000, 0, "/a");
	assert_int_equal(p->nmappings, 1);
	assert_int_equal(p->locations[0].mapping, 0);
}

static void a_variable_keeps_its_first_value_and_the_first_name_wins(void **state)
{
	AUTO(profile_freep)
	struct profile *p = with_map("0x1", "gh=1\ngh=2\nghi=3\n x = $gh$y \n$nothing=4\n"
					    "1000-2000 /$gh/$ghi/$x/$\n");

	(void)state;
	assert_mapping(p, 0, 0x1000, 0x2000, 0, "/1/1i/1$y/$");
}

static void variables_cannot_be_used_to_fill_the_memory(void **state)
{
	AUTO(freep)
	char *text = mem_str(STR("goroutine profile: total 1\n1 @ 0x1\n" MAPS
				 "z0=0123456789abcdef0123456789abcdef\n"));

	(void)state;
	for (int i = 0; i < 40; i++) {
		char *longer = mem_printf("%sz%d=$z%d$z%d$z%d$z%d\n", text, i + 1, i, i, i, i);

		free(text);
		text = longer;
	}
	assert_refused(str_of(text), -E2BIG, "memory map: $variables expand to too much text");
}

/* The reference's way to find the mapping of an address. */
static size_t ask_all(struct mapping *m, size_t n, uint64_t a, bool made_up)
{
	for (size_t i = 0; i < n; i++) {
		if (m[i].start <= a && a < m[i].limit)
			return i;
	}
	for (size_t i = 0; !made_up && i < n; i++) {
		if (m[i].offset && m[i].start - m[i].offset <= a && a < m[i].start) {
			m[i].start -= m[i].offset;
			m[i].offset = 0;
			return i;
		}
	}
	return n;
}

static uint64_t some_number(uint64_t *seed, uint64_t below)
{
	*seed = hash_mix(*seed, 7);
	return *seed % below;
}

static void add_random(struct builder *b, uint64_t *seed, size_t nmappings, uint64_t range)
{
	for (size_t i = 0; i < nmappings; i++) {
		struct mapping *m = builder_mapping(b);

		m->start = some_number(seed, range);
		m->limit = some_number(seed, 8) ? m->start + some_number(seed, range / 8 + 1)
						: some_number(seed, range);
		m->offset = some_number(seed, 2) ? some_number(seed, range / 2) : 0;
	}
	for (size_t i = 0; i < 200; i++)
		builder_location(b, 1 + some_number(seed, range));
}

static void addresses_find_their_mappings_as_if_all_were_asked(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (size_t round = 0; round < 200; round++) {
		size_t n = some_number(&seed, 60);
		struct mapping *m = mem_zeroed(n, sizeof(*m));
		bool made_up = false;
		struct builder b;

		builder_init(&b);
		add_random(&b, &seed, n, round % 2 ? 50 : 100000);
		for (size_t i = 0; i < n; i++)
			m[i] = b.p->mappings[i];
		mappings_attach(&b);
		for (uint32_t i = 0; i < b.p->nlocations; i++) {
			size_t found = ask_all(m, n, b.p->locations[i].address, made_up);

			assert_int_equal(b.p->locations[i].mapping, found);
			made_up = made_up || found == n;
		}
		assert_int_equal(b.p->nmappings, n + made_up);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(b.p->mappings[i].start, m[i].start);
		builder_release(&b);
		free(m);
	}
}

static void unsampling_is_exact(void **state)
{
	static const struct {
		int64_t count, size, rate, want_count, want_size;
	} cases[] = {
		{ 0, 5, 100, 0, 0 },
		{ 3, 300, 1, 3, 300 },
		{ 3, 300, -7, 3, 300 },
		{ 1, 1048576, 524288, 1, 1212696 },
		{ 16, 1048576, 524288, 136, 8923815 },
		{ 500, 16000, 524288, 8192250, 262152000 },
		{ 1048576, 33554432, 524288, 17180393477, 549772591274 },
		{ 1, INT64_MAX, 2, 1, INT64_MIN },
		{ -1, 1000000000000000, 2, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t count = cases[i].count, size = cases[i].size;

		legacy_unsample(&count, &size, cases[i].rate);
		assert_int_equal(count, cases[i].want_count);
		assert_int_equal(size, cases[i].want_size);
	}
}

static void a_builder_sorts_labels_and_closes_gaps(void **state)
{
	struct builder b;
	struct profile *p;
	uint32_t stack[3];

	(void)state;
	builder_init(&b);
	builder_type(&b, STR("samples"), STR("count"));
	builder_comment(&b, STR("hello"));
	stack[0] = builder_location(&b, 7);
	stack[1] = builder_new_location(&b);
	stack[2] = builder_location(&b, 7);
	assert_int_equal(stack[2], stack[0]);
	assert_int_equal(builder_find_location(&b, 7), stack[0]);
	assert_int_equal(builder_find_location(&b, 8), NONE);
	builder_line(&b, stack[1], builder_function(&b, STR("f"), STR("f"), STR("")), 3);
	builder_sample(&b, stack, 3, &(int64_t){ 5 });
	builder_num_label(&b, STR("n"), 1, STR("bytes"));
	builder_num_label(&b, STR("n"), 2, STR(""));
	builder_str_label(&b, STR("z"), STR("1"));
	builder_str_label(&b, STR("a"), STR("2"));
	builder_sample(&b, stack + 1, 1, &(int64_t){ 6 });
	b.p->samples[0].depth = 1;
	p = builder_finish(&b);
	builder_release(&b);

	assert_int_equal(p->nstacks, 2);
	assert_int_equal(p->samples[1].stack, 1);
	assert_int_equal(p->stacks[1], 1);
	assert_int_equal(p->locations[1].id, 2);
	assert_int_equal(p->lines[p->locations[1].line].line, 3);
	assert_int_equal(p->samples[0].nlabels, 4);
	assert_int_equal(p->samples[1].nlabels, 0);
	assert_true(str_is(profile_str(p, p->labels[0].key), "a"));
	assert_true(str_is(profile_str(p, p->labels[1].key), "z"));
	assert_int_equal(p->labels[2].num, 1);
	assert_int_equal(p->labels[3].unit, 0);
	assert_int_equal(p->ncomments, 1);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_profiles_read_the_same_in_every_word_size_and_byte_order),
		cmocka_unit_test(a_cpu_profile_may_lack_its_end),
		cmocka_unit_test(heap_profiles_of_all_kinds_are_read),
		cmocka_unit_test(jemalloc_heap_profiles_are_read_and_unsampled),
		cmocka_unit_test(goroutines_threads_and_contention_are_read),
		cmocka_unit_test(java_profiles_are_read),
		cmocka_unit_test(a_brief_memory_map_may_have_variables_and_log_prefixes),
		cmocka_unit_test(other_files_are_not_recognized),
		cmocka_unit_test(damaged_files_are_refused_in_the_reference_s_words),
		cmocka_unit_test(a_line_of_64_kib_is_too_long),
		cmocka_unit_test(samples_may_stand_anywhere_in_their_line),
		cmocka_unit_test(a_lone_number_of_a_contention_profile_is_two),
		cmocka_unit_test(map_entries_are_what_the_reference_s_expressions_match),
		cmocka_unit_test(adjacent_mappings_of_a_file_become_one),
		cmocka_unit_test(the_program_comes_first),
		cmocka_unit_test(a_remapped_program_gets_its_usual_start),
		cmocka_unit_test(a_variable_keeps_its_first_value_and_the_first_name_wins),
		cmocka_unit_test(variables_cannot_be_used_to_fill_the_memory),
		cmocka_unit_test(addresses_find_their_mappings_as_if_all_were_asked),
		cmocka_unit_test(unsampling_is_exact),
		cmocka_unit_test(a_builder_sorts_labels_and_closes_gaps),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
