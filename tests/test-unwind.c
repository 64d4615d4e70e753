/*
 * test-unwind.c - tables from .eh_frame, modules, and walks over stacks good and bad
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/eh-frame.h"
#include "runtime/os.h"
#include "runtime/rule-cache.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "runtime/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cmocka.h>

__thread struct sonde__tls sonde__tls;

enum { DEEP = 64, TEXT = 0x10000, AT = 0x20000 };

/* ---- .eh_frame, made by hand ---- */

struct bytes {
	uint8_t at[1024];
	size_t n;
};

static void put(struct bytes *b, uint64_t v, size_t n)
{
	memcpy(b->at + b->n, &v, n);
	b->n += n;
}

/* Fills in the length of what began at 'start', after padding with DW_CFA_nop. */
static void finish(struct bytes *b, size_t start)
{
	uint32_t length;

	while (b->n % 4 != 0)
		put(b, 0, 1);
	length = (uint32_t)(b->n - start - 4);
	memcpy(b->at + start, &length, 4);
}

/* CFA = rsp + 8, return address at CFA - 8; addresses are written as 'encoding' says. */
static void put_cie(struct bytes *b, const char *letters, uint8_t encoding)
{
	static const uint8_t program[] = { 0x0c, 7, 8, 0x90, 1 };
	size_t start = b->n;

	put(b, 0, 8);
	put(b, 1, 1);
	memcpy(b->at + b->n, letters, strlen(letters) + 1);
	b->n += strlen(letters) + 1;
	put(b, 1, 1);
	put(b, 0x78, 1); /* -8 */
	put(b, 16, 1);
	if (letters[0] == 'z') {
		put(b, 1, 1);
		put(b, encoding, 1);
	}
	for (size_t i = 0; i < sizeof(program); i++)
		put(b, program[i], 1);
	finish(b, start);
}

/* An entry of the CIE at 0, for 'size' bytes from 'pc' on, as absolute 8-byte addresses. */
static void put_fde(struct bytes *b, uint64_t pc, uint64_t size, const uint8_t *program, size_t n)
{
	size_t start = b->n;

	put(b, 0, 4);
	put(b, b->n, 4);
	put(b, pc, 8);
	put(b, size, 8);
	put(b, 0, 1);
	for (size_t i = 0; i < n; i++)
		put(b, program[i], 1);
	finish(b, start);
}

static int build(struct sonde__table *t, const struct bytes *b)
{
	struct sonde__eh_frame in = {
		.bytes = b->at, .n = b->n, .address = AT, .low = TEXT, .high = TEXT + 0x1000
	};

	*t = (struct sonde__table){ 0 };
	return sonde__table_build(t, &in, 1000);
}

#if defined(__x86_64__)

static void a_program_becomes_rows(void **state)
{
	/* push %rbp; mov %rsp,%rbp; ... ; leave */
	static const uint8_t program[] = {
		0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x4c, 0x0c, 7, 8
	};
	struct sonde__table t;
	struct bytes b = { .n = 0 };

	(void)state;
	put_cie(&b, "zR", 0);
	put_fde(&b, TEXT + 0x100, 0x20, program, sizeof(program));
	assert_int_equal(build(&t, &b), 0);
	assert_int_equal(sonde__table_rule(&t, 0xff), RULE_NONE);
	assert_int_equal(sonde__table_rule(&t, 0x100), rule_make(RULE_SP, 8, 0, 0));
	assert_int_equal(sonde__table_rule(&t, 0x101), rule_make(RULE_SP, 16, 2, 0));
	assert_int_equal(sonde__table_rule(&t, 0x103), rule_make(RULE_SP, 16, 2, 0));
	assert_int_equal(sonde__table_rule(&t, 0x104), rule_make(RULE_FP, 16, 2, 0));
	assert_int_equal(sonde__table_rule(&t, 0x10f), rule_make(RULE_FP, 16, 2, 0));
	assert_int_equal(sonde__table_rule(&t, 0x110), rule_make(RULE_SP, 8, 2, 0));
	assert_int_equal(sonde__table_rule(&t, 0x11f), rule_make(RULE_SP, 8, 2, 0));
	assert_int_equal(sonde__table_rule(&t, 0x120), RULE_NONE);
	sonde__table_release(&t);
}

static void entries_may_be_in_any_order(void **state)
{
	static const uint8_t deep[] = { 0x0e, 32 };
	struct sonde__table t;
	struct bytes b = { .n = 0 };

	(void)state;
	put_cie(&b, "zR", 0);
	put_fde(&b, TEXT + 0x300, 0x10, deep, sizeof(deep));
	put_fde(&b, TEXT + 0x100, 0x10, NULL, 0);
	put_fde(&b, TEXT + 0x200, 0x10, deep, sizeof(deep));
	assert_int_equal(build(&t, &b), 0);
	for (size_t i = 1; i < t.n; i++)
		assert_true(t.rows[i - 1].pc < t.rows[i].pc);
	assert_int_equal(sonde__table_rule(&t, 0x108), rule_make(RULE_SP, 8, 0, 0));
	assert_int_equal(sonde__table_rule(&t, 0x208), rule_make(RULE_SP, 32, 0, 0));
	assert_int_equal(sonde__table_rule(&t, 0x210), RULE_NONE);
	assert_int_equal(sonde__table_rule(&t, 0x30f), rule_make(RULE_SP, 32, 0, 0));
	sonde__table_release(&t);
}

static void state_is_remembered_and_restored(void **state)
{
	static const uint8_t program[] = { 0x41, 0x0e, 24, 0x0a, 0x41, 0x0e, 8, 0x41, 0x0b };
	struct sonde__table t;
	struct bytes b = { .n = 0 };

	(void)state;
	put_cie(&b, "zR", 0);
	put_fde(&b, TEXT, 0x10, program, sizeof(program));
	assert_int_equal(build(&t, &b), 0);
	assert_int_equal(sonde__table_rule(&t, 1), rule_make(RULE_SP, 24, 0, 0));
	assert_int_equal(sonde__table_rule(&t, 2), rule_make(RULE_SP, 8, 0, 0));
	assert_int_equal(sonde__table_rule(&t, 3), rule_make(RULE_SP, 24, 0, 0));
	sonde__table_release(&t);
}

static uint32_t rule_of(const uint8_t *program, size_t n)
{
	struct sonde__table t;
	struct bytes b = { .n = 0 };
	uint32_t rule;

	put_cie(&b, "zR", 0);
	put_fde(&b, TEXT, 0x10, program, n);
	assert_int_equal(build(&t, &b), 0);
	rule = sonde__table_rule(&t, 8);
	sonde__table_release(&t);
	return rule;
}

#define RULE_OF(...)                                                                               \
	rule_of((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void special_frames_are_recognized(void **state)
{
	(void)state;
	/* the linkage table's expression */
	assert_int_equal(
		RULE_OF(0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
		rule_make(RULE_PLT, 11 * 8, 0, 0));
	/* *(rbp - 8), rbp at *rbp */
	assert_int_equal(RULE_OF(0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0),
			 rule_make(RULE_DEREF, 8, RULE_AT_FP, RULE_RBX_LOST));
	assert_int_equal(RULE_OF(0x0c, 10, 0), rule_make(RULE_REGISTER, 0, 0, 0));
	assert_int_equal(RULE_OF(0x83, 4, 0x0c, 3, 16), rule_make(RULE_REGISTER, 16, 0, 4));
	assert_int_equal(RULE_OF(0x07, 16), RULE_END);
	assert_int_equal(RULE_OF(0x05, 16, 2), RULE_NONE); /* return address elsewhere */
	assert_int_equal(RULE_OF(0x0c, 2, 8), RULE_NONE);  /* CFA from rcx */
	assert_int_equal(RULE_OF(0x0f, 1, 0x30), RULE_NONE);
	assert_int_equal(RULE_OF(0x0e, 12), RULE_NONE);   /* not a multiple of 8 */
	assert_int_equal(RULE_OF(0x09, 6, 3), RULE_NONE); /* rbp in a register */
	assert_int_equal(RULE_OF(0x2e, 16), rule_make(RULE_SP, 8, 0, 0));
	assert_int_equal(RULE_OF(0x0e, 0x80, 0x80, 0x40), RULE_NONE); /* too large */
}

static void what_makes_no_sense_is_left_out(void **state)
{
	static const uint8_t unknown[] = { 0x44, 0x0e, 16, 0x44, 0x3f, 0x44, 0x0e, 8 };
	static const uint8_t unbalanced[] = { 0x44, 0x0b };
	struct sonde__table t;
	struct bytes b = { .n = 0 };

	(void)state;
	put_cie(&b, "zR", 0);
	put_fde(&b, TEXT, 0x20, unknown, sizeof(unknown));
	put_fde(&b, TEXT + 0x20, 0x20, unbalanced, sizeof(unbalanced));
	put_fde(&b, TEXT + 0xff0, 0x20, NULL, 0); /* behind the end */
	put_fde(&b, TEXT - 0x10, 0x20, NULL, 0);  /* before the start */
	put_fde(&b, TEXT + 0x30, 0x20, NULL, 0);  /* overlaps */
	assert_int_equal(build(&t, &b), 0);
	assert_int_equal(sonde__table_rule(&t, 4), rule_make(RULE_SP, 16, 0, 0));
	assert_int_equal(sonde__table_rule(&t, 8), RULE_NONE);
	assert_int_equal(sonde__table_rule(&t, 0x21), rule_make(RULE_SP, 8, 0, 0));
	assert_int_equal(sonde__table_rule(&t, 0x30), RULE_NONE);
	assert_int_equal(sonde__table_rule(&t, 0x45), rule_make(RULE_SP, 8, 0, 0));
	assert_int_equal(sonde__table_rule(&t, 0xff8), RULE_NONE);
	sonde__table_release(&t);

	b.n = 0;
	put_cie(&b, "zX", 0);
	put_fde(&b, TEXT, 0x20, NULL, 0);
	assert_int_equal(build(&t, &b), -ENOENT);
}

/* Whatever it is cut to: no crash, and never a rule for code that has none. */
static void sections_may_end_anywhere(void **state)
{
	static const uint8_t program[] = { 0x41, 0x0e, 16, 0x86, 2 };
	struct sonde__table t;
	struct bytes b = { .n = 0 };
	size_t whole;

	(void)state;
	put_cie(&b, "zR", 0);
	put_fde(&b, TEXT, 0x20, program, sizeof(program));
	whole = b.n;
	for (b.n = 0; b.n < whole; b.n++)
		assert_int_equal(build(&t, &b), -ENOENT);
	assert_int_equal(build(&t, &b), 0);
	sonde__table_release(&t);
	put(&b, 0, 4);
	put(&b, 0x1234, 4);
	assert_int_equal(sonde__eh_frame_length(b.at, b.n), whole + 4);
}

static void addresses_are_written_in_many_ways(void **state)
{
	static const struct {
		uint8_t encoding;
		uint64_t from; /* what it is relative to */
		size_t size;
	} ways[] = {
		{ 0x00, 0, 8 },      { 0x03, 0, 4 },      { 0x0b, 0, 4 },
		{ 0x0c, 0, 8 },      { 0x1b, AT, 4 },     { 0x1c, AT, 8 },
		{ 0x2b, 0x5000, 4 }, { 0x3b, 0x6000, 4 }, { 0x12, AT - 0xff00, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct bytes b = { .n = 0 };
		struct sonde__eh_frame in = {
			.bytes = b.at,
			.address = AT,
			.text = 0x5000,
			.data = 0x6000,
			.low = TEXT,
			.high = TEXT + 0x20000,
		};
		uint64_t pc = ways[i].encoding == 0x12 ? AT + 0x100 : TEXT + 0x10;
		uint64_t from = ways[i].from;
		struct sonde__table t;
		size_t start;

		put_cie(&b, "zR", ways[i].encoding);
		start = b.n;
		put(&b, 0, 4);
		put(&b, b.n, 4);
		if ((ways[i].encoding & 0x70) == 0x10)
			from = AT + b.n;
		put(&b, pc - from, ways[i].size);
		put(&b, 0x10, ways[i].size);
		put(&b, 0, 1);
		finish(&b, start);
		in.n = b.n;
		assert_int_equal(sonde__table_build(&t, &in, 100), 0);
		assert_int_equal(sonde__table_rule(&t, pc - TEXT + 8), rule_make(RULE_SP, 8, 0, 0));
		assert_int_equal(sonde__table_rule(&t, pc - TEXT + 16), RULE_NONE);
		sonde__table_release(&t);
	}
}

static void too_many_rows_are_an_error(void **state)
{
	struct bytes b = { .n = 0 };
	struct sonde__eh_frame in = {
		.bytes = b.at, .address = AT, .low = TEXT, .high = TEXT + 99
	};
	struct sonde__table t;

	(void)state;
	put_cie(&b, "zR", 0);
	put_fde(&b, TEXT, 0x20, NULL, 0);
	in.n = b.n;
	assert_int_equal(sonde__table_build(&t, &in, 0), -E2BIG);
}

#endif

/* ---- modules ---- */

static const struct sonde__module *module_of(const void *code)
{
	return sonde__module_at((uintptr_t)code);
}

static void modules_are_found(void **state)
{
	const struct sonde__modules *m;

	(void)state;
	sonde__modules_refresh();
	m = sonde__modules();
	assert_non_null(m);
	assert_string_equal(strrchr(m->at[m->main].path, '/') + 1, program_invocation_short_name);
	assert_ptr_equal(module_of((const void *)modules_are_found), &m->at[m->main]);
	assert_true(m->at[m->main].nbuild_id > 0);
	assert_non_null(strstr(module_of((const void *)gnu_get_libc_version)->path, "libc"));
	assert_null(module_of(state));
	for (size_t i = 1; i < m->n; i++)
		assert_true(m->at[i - 1].end <= m->at[i].start);
	assert_false(sonde__modules_refresh());
	assert_ptr_equal(sonde__modules(), m);
}

/* Small, and not loaded otherwise. */
#define LIBRARY "libthread_db.so.1"

static void libraries_come_and_go(void **state)
{
	uint64_t before = 0, bytes = 0;

	(void)state;
	sonde__modules_refresh();
	for (int i = 0; i < 600; i++) {
		void *lib = dlopen(LIBRARY, RTLD_LAZY);
		const void *code;

		if (lib == NULL)
			skip();
		code = dlsym(lib, "td_init");
		assert_true(sonde__modules_refresh());
		assert_non_null(strstr(module_of(code)->path, LIBRARY));
		assert_true(sonde__modules()->generation > before);
		before = sonde__modules()->generation;
		dlclose(lib);
		assert_true(sonde__modules_refresh());
		assert_non_null(strstr(module_of(code)->path, LIBRARY)); /* it was there */
		if (i == 300)
			bytes = sonde__stats.own_bytes;
	}
	assert_int_equal(sonde__stats.own_bytes, bytes);
}

/* The table of a library, and what is read from it before there is one. */
static void new_libraries_have_the_same_rules(void **state)
{
	const struct sonde__module *m;
	size_t n = 0;

	(void)state;
	sonde__modules_refresh();
	m = module_of((const void *)gnu_get_libc_version);
	for (uint64_t pc = m->start; pc < m->end; pc += 7) {
		uint32_t rule = sonde__table_rule(m->table, pc - m->bias - m->table->base);
		uint32_t found = RULE_NONE;

		sonde__rule_of_new(pc, &found);
		assert_int_equal(found, rule);
		n += found != RULE_NONE;
	}
	assert_true(n > 10000);
}

/* ---- walks ---- */

static uint64_t pcs[DEEP];
static size_t npcs;

__attribute__((noinline)) static void hook(void)
{
	npcs = sonde__unwind(pcs, DEEP, 0);
	__asm__ volatile("");
}

static bool inside(uint64_t pc, const void *function)
{
	return pc > (uintptr_t)function && pc < (uintptr_t)function + 400;
}

__attribute__((noinline)) static int deeper(int n)
{
	int r = n > 0 ? deeper(n - 1) : 0;

	if (n == 0)
		hook();
	__asm__ volatile("");
	return r + 1;
}

static int compare_and_hook(const void *a, const void *b)
{
	hook();
	return *(const int *)a - *(const int *)b;
}

static void the_callers_caller_comes_first(void **state)
{
	(void)state;
	sonde__modules_refresh();
	deeper(3);
	assert_true(npcs > 6);
	for (size_t i = 0; i < 4; i++)
		assert_true(inside(pcs[i], (const void *)deeper));
	assert_true(inside(pcs[4], (const void *)the_callers_caller_comes_first));
}

__attribute__((noinline)) static void walk_through_the_c_library(void)
{
	int numbers[] = { 2, 1 };
	unsigned long long broken = sonde__stats.unwind_broken;
	size_t i = 0;

	qsort(numbers, 2, sizeof(numbers[0]), compare_and_hook);
	assert_true(inside(pcs[0], (const void *)compare_and_hook));
	while (i < npcs && !inside(pcs[i], (const void *)walk_through_the_c_library))
		i++;
	assert_true(i > 1 && i < npcs);
	assert_int_equal(sonde__stats.unwind_broken, broken);
}

static void the_c_library_is_walked_without_frame_pointers(void **state)
{
	(void)state;
	sonde__modules_refresh();
	walk_through_the_c_library();
}

static void deep_stacks_are_cut_and_counted(void **state)
{
	unsigned long long truncated = sonde__stats.truncated;

	(void)state;
	sonde__modules_refresh();
	deeper(DEEP + 10);
	assert_int_equal(npcs, DEEP);
	assert_int_equal(sonde__stats.truncated, truncated + 1);
}

#if defined(__x86_64__)
static uint64_t by_short_way[DEEP];
static size_t nby_short_way, nfrom_nowhere;

__attribute__((noinline)) static void hook_both_ways(void)
{
	nby_short_way = sonde__unwind_caller(__builtin_return_address(0), by_short_way, DEEP);
	nfrom_nowhere = sonde__unwind_caller((void *)hook_both_ways, pcs, DEEP);
	npcs = sonde__unwind(pcs, DEEP, 0);
	__asm__ volatile("");
}

static int compare_both_ways(const void *a, const void *b)
{
	hook_both_ways();
	return *(const int *)a - *(const int *)b;
}

static void learn_own_stack(struct sonde__thread *self)
{
	pthread_attr_t attr;
	void *low = NULL;
	size_t size = 0;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	self->stack_low = (uintptr_t)low;
	self->stack_high = (uintptr_t)low + size;
	sonde__tls.self = self;
}

static void the_short_way_leads_to_the_same_stack(void **state)
{
	struct sonde__thread self = { 0 };
	int numbers[] = { 2, 1 };

	(void)state;
	sonde__modules_refresh();
	qsort(numbers, 2, sizeof(numbers[0]), compare_both_ways);
	assert_int_equal(nby_short_way, 0); /* where its stack ends is not known */
	learn_own_stack(&self);
	qsort(numbers, 2, sizeof(numbers[0]), compare_both_ways);
	sonde__tls.self = NULL;
	assert_true(nby_short_way > 4);
	assert_int_equal(nby_short_way, npcs);
	assert_memory_equal(by_short_way, pcs, npcs * sizeof(*pcs));
	assert_int_equal(nfrom_nowhere, 0);
}
#endif

static size_t nfrom_handler;
static uint64_t from_handler[DEEP], from_signal[DEEP];
static size_t nfrom_signal;

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)info;
	nfrom_signal = sonde__unwind_signal(uc, from_signal, DEEP);
	hook();
	memcpy(from_handler, pcs, sizeof(pcs));
	nfrom_handler = npcs;
	__asm__ volatile("");
}

/* Where the two stacks end they are the same; the handler's has some more at its leaf. */
static void check_signal_stacks(void)
{
	assert_true(nfrom_signal > 3 && nfrom_handler > nfrom_signal);
	assert_memory_equal(from_handler + nfrom_handler - nfrom_signal, from_signal,
			    nfrom_signal * sizeof(from_signal[0]));
}

static void handlers_are_walked_through(void **state)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	(void)state;
	sonde__modules_refresh();
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	check_signal_stacks();
}

static void handlers_may_have_a_stack_of_their_own(void **state)
{
	static char other[65536];
	stack_t alternate = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	(void)state;
	sonde__modules_refresh();
	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	alternate.ss_flags = SS_DISABLE;
	sigaltstack(&alternate, NULL);
	check_signal_stacks();
}

static ucontext_t back, coroutine;

static void in_coroutine(void)
{
	deeper(2);
	__asm__ volatile("");
}

static void coroutines_are_walked(void **state)
{
	size_t size = 1 << 16;
	void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	sonde__modules_refresh();
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = size;
	coroutine.uc_link = &back;
	makecontext(&coroutine, in_coroutine, 0);
	swapcontext(&back, &coroutine);
	assert_true(npcs >= 4);
	assert_true(inside(pcs[0], (const void *)deeper));
	assert_true(inside(pcs[3], (const void *)in_coroutine));
	munmap(stack, size);
}

static void *in_thread(void *unused)
{
	(void)unused;
	deeper(1);
	return NULL;
}

static void threads_end_where_they_begin(void **state)
{
	unsigned long long broken = sonde__stats.unwind_broken;
	pthread_t t;

	(void)state;
	sonde__modules_refresh();
	assert_int_equal(pthread_create(&t, NULL, in_thread, NULL), 0);
	pthread_join(t, NULL);
	assert_true(npcs >= 3);
	assert_true(inside(pcs[2], (const void *)in_thread));
	assert_int_equal(sonde__stats.unwind_broken, broken);
}

/* One that walks all the time, and whether each of its stacks was whole. */
struct walker {
	pthread_t thread;
	atomic_bool stop;
	unsigned long walks, whole;
};

static __thread struct walker *walker;

static int compare_and_walk(const void *a, const void *b)
{
	uint64_t own[DEEP];
	size_t n = sonde__unwind(own, DEEP, 0);

	/* qsort_r(), qsort(), the walker, and what the C library starts threads with */
	walker->walks++;
	walker->whole += n >= 4 && n < 12;
	return *(const int *)a - *(const int *)b;
}

static void *walk(void *arg)
{
	walker = arg;
	while (!atomic_load(&walker->stop)) {
		int numbers[] = { 3, 2, 1 };

		qsort(numbers, 3, sizeof(numbers[0]), compare_and_walk);
	}
	return NULL;
}

static void walks_go_on_while_libraries_come_and_go(void **state)
{
	unsigned long long broken;
	struct walker walkers[2] = { 0 };

	(void)state;
	sonde__modules_refresh();
	broken = sonde__stats.unwind_broken;
	for (int i = 0; i < 2; i++)
		pthread_create(&walkers[i].thread, NULL, walk, &walkers[i]);
	for (int i = 0; i < 300; i++) {
		void *lib = dlopen(LIBRARY, RTLD_LAZY);

		sonde__modules_refresh();
		if (lib != NULL)
			dlclose(lib);
		sonde__modules_refresh();
	}
	for (int i = 0; i < 2; i++) {
		atomic_store(&walkers[i].stop, true);
		pthread_join(walkers[i].thread, NULL);
		assert_int_equal(walkers[i].whole, walkers[i].walks);
	}
	assert_int_equal(sonde__stats.unwind_broken, broken);
}

static void set_registers(ucontext_t *uc, uint64_t pc, uint64_t sp, uint64_t fp)
{
#if defined(__x86_64__)
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
	uc->uc_mcontext.gregs[REG_RSP] = (greg_t)sp;
	uc->uc_mcontext.gregs[REG_RBP] = (greg_t)fp;
#else
	uc->uc_mcontext.pc = pc;
	uc->uc_mcontext.sp = sp;
	uc->uc_mcontext.regs[29] = fp;
#endif
}

/* Registers full of nonsense: the walk ends, without a crash. */
static void nonsense_does_not_crash(void **state)
{
	static const uint64_t bad[] = { 0,
					1,
					8,
					4096,
					0x7fffffffffff,
					0x800000000000,
					0xffffffffffffffff,
					0xdeadbeefdeadbee8 };
	const size_t n = sizeof(bad) / sizeof(bad[0]);
	uint64_t random = 42;
	uint64_t stack[512];
	ucontext_t uc = { 0 };

	(void)state;
	sonde__modules_refresh();
	for (size_t i = 0; i < n * n; i++) {
		set_registers(&uc, (uintptr_t)qsort + i % 200, bad[i / n], bad[i % n]);
		assert_true(sonde__unwind_signal(&uc, pcs, DEEP) <= DEEP);
	}
	for (size_t i = 0; i < 200000; i++) {
		stack[i % 512] = i % 3 == 0   ? (uintptr_t)qsort + sonde__random(&random) % 40000
				 : i % 3 == 1 ? (uintptr_t)stack + sonde__random(&random) % 5000
					      : sonde__random(&random);
		set_registers(&uc, (uintptr_t)malloc + sonde__random(&random) % 20000,
			      (uintptr_t)stack + sonde__random(&random) % 512 * 8,
			      (uintptr_t)stack + sonde__random(&random) % 4096);
		assert_true(sonde__unwind_signal(&uc, pcs, DEEP) <= DEEP);
	}
}

static void the_place_itself_is_always_stored(void **state)
{
	ucontext_t uc = { 0 };

	(void)state;
	sonde__modules_refresh();
	set_registers(&uc, 0x1234, 0, 0);
	assert_int_equal(sonde__unwind_signal(&uc, pcs, DEEP), 1);
	assert_int_equal(pcs[0], 0x1234);
	assert_int_equal(sonde__unwind_signal(&uc, pcs, 0), 0);
}

/* Code of a compiler that runs in the process: no module, no table, but frame pointers. */
static void code_without_a_module_is_left_by_frame_pointer(void **state)
{
	uint64_t frame[3] = { 0, (uintptr_t)qsort + 8, 0 };
	ucontext_t uc = { 0 };

	(void)state;
	sonde__modules_refresh();
	set_registers(&uc, 0x5000, (uintptr_t)frame, (uintptr_t)frame);
	assert_true(sonde__unwind_signal(&uc, pcs, DEEP) >= 2);
	assert_int_equal(pcs[1], (uintptr_t)qsort + 8);
}

/* Without any snapshot: in a process of its own, because others have made one. */
static void stacks_are_walked_before_there_are_modules(void **state)
{
	uint32_t rule;

	(void)state;
	assert_null(sonde__modules());
	if (sonde__rule_of_new((uintptr_t)qsort + 8, &rule))
		walk_through_the_c_library();
	deeper(3);
	assert_true(npcs >= 4);
	for (size_t i = 0; i < 4; i++)
		assert_true(inside(pcs[i], (const void *)deeper));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first: */
		cmocka_unit_test(stacks_are_walked_before_there_are_modules),
#if defined(__x86_64__)
		cmocka_unit_test(a_program_becomes_rows),
		cmocka_unit_test(entries_may_be_in_any_order),
		cmocka_unit_test(state_is_remembered_and_restored),
		cmocka_unit_test(special_frames_are_recognized),
		cmocka_unit_test(what_makes_no_sense_is_left_out),
		cmocka_unit_test(sections_may_end_anywhere),
		cmocka_unit_test(addresses_are_written_in_many_ways),
		cmocka_unit_test(too_many_rows_are_an_error),
#endif
		cmocka_unit_test(modules_are_found),
		cmocka_unit_test(libraries_come_and_go),
		cmocka_unit_test(new_libraries_have_the_same_rules),
		cmocka_unit_test(the_callers_caller_comes_first),
		cmocka_unit_test(the_c_library_is_walked_without_frame_pointers),
		cmocka_unit_test(deep_stacks_are_cut_and_counted),
#if defined(__x86_64__)
		cmocka_unit_test(the_short_way_leads_to_the_same_stack),
#endif
		cmocka_unit_test(handlers_are_walked_through),
		cmocka_unit_test(handlers_may_have_a_stack_of_their_own),
		cmocka_unit_test(coroutines_are_walked),
		cmocka_unit_test(threads_end_where_they_begin),
		cmocka_unit_test(walks_go_on_while_libraries_come_and_go),
		cmocka_unit_test(nonsense_does_not_crash),
		cmocka_unit_test(the_place_itself_is_always_stored),
		cmocka_unit_test(code_without_a_module_is_left_by_frame_pointer),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
