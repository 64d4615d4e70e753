/*
 * test-heap-runtime.c - sampling, tables and hooks of the runtime's heap, in one process
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/chance.h"
#include "runtime/fork.h"
#include "runtime/heap.h"
#include "runtime/live.h"
#include "runtime/lookup.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/stacks.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* So that the compiler does not know what the calls are. */
static void *(*volatile do_malloc)(size_t) = malloc;
static void *(*volatile do_calloc)(size_t, size_t) = calloc;
static void *(*volatile do_realloc)(void *, size_t) = realloc;
static void *(*volatile do_reallocarray)(void *, size_t, size_t) = reallocarray;
static void (*volatile do_free)(void *) = free;

struct totals {
	int64_t v[4];
};

/* Of rows with objects of 'size' bytes; of all rows if it is 0. */
static struct totals total(uint64_t size)
{
	struct totals t = { { 0 } };
	size_t n, mapped;
	struct sonde__heap_row *rows = sonde__heap_snapshot(&n, &mapped);

	for (size_t i = 0; i < n; i++) {
		int64_t v[4];

		if (size && rows[i].size != size)
			continue;
		assert_true(rows[i].frees <= rows[i].allocs);
		sonde__heap_scale(&rows[i], v);
		for (int k = 0; k < 4; k++)
			t.v[k] += v[k];
	}
	sonde__unmap(rows, mapped);
	return t;
}

static void check_change(struct totals a, struct totals b, int64_t allocs, int64_t inuse)
{
	assert_int_equal(b.v[0] - a.v[0], allocs);
	assert_int_equal(b.v[2] - a.v[2], inuse);
}

static int every_allocation(void **state)
{
	(void)state;
	sonde__heap_set_rate(1);
	return 0;
}

static int no_allocation(void **state)
{
	(void)state;
	sonde__heap_set_rate(0);
	return 0;
}

static void logarithms_and_exponentials_are_as_good_as_the_library_s(void **state)
{
	double x = 1;

	(void)state;
	for (int i = 0; i < 40000; i++) {
		x /= 1.0009;
		assert_true(fabs(sonde__ln(x) - log(x)) <= 1e-14 * fabs(log(x)) + 1e-16);
	}
	x = 1000;
	for (int i = 0; i < 40000; i++) {
		x /= 1.0009;
		assert_true(fabs(sonde__one_minus_exp(x) + expm1(-x)) <= 1e-14 * -expm1(-x));
	}
	assert_true(sonde__one_minus_exp(0) == 0);
	assert_true(sonde__heap_factor(100, 1) == 1);
	assert_true(sonde__heap_factor(0, 524288) == 1);
	assert_true(fabs(sonde__heap_factor(524288, 524288) - 1.5819767068693265) < 1e-12);
}

/* Mean and variance of the exponential distribution, and its median. */
static void intervals_are_exponential(void **state)
{
	enum { N = 1000000, RATE = 4096 };
	double sum = 0, squares = 0;
	uint64_t random = 12345;
	int below = 0;

	(void)state;
	for (int i = 0; i < N; i++) {
		double x = (double)sonde__next_byte(sonde__random(&random), RATE) - 0.5;

		sum += x;
		squares += x * x;
		below += x < RATE * 0.6931471805599453;
	}
	assert_true(fabs(sum / N / RATE - 1) < 0.004);
	assert_true(fabs(squares / N / RATE / RATE - 2) < 0.02);
	assert_true(abs(below - N / 2) < 2000);
	assert_int_equal(sonde__next_byte(~0ull, 512), 1);
	assert_true(sonde__next_byte(0, 512) < 512 * 40);
	assert_true(sonde__next_byte(0, ~0ull) <= (uint64_t)1 << 62);
}

static void equal_stacks_have_one_number(void **state)
{
	uint64_t a[] = { 1, 2, 3 }, b[] = { 1, 2, 4 };
	uint32_t first = sonde__stack_intern(a, 3, false);

	(void)state;
	assert_int_not_equal(first, 0);
	assert_int_equal(sonde__stack_intern(a, 3, false), first);
	assert_int_not_equal(sonde__stack_intern(b, 3, false), first);
	assert_int_not_equal(sonde__stack_intern(a, 2, false), first);
	assert_int_not_equal(sonde__stack_intern(a, 3, true), first);
	assert_int_equal(sonde__stack(first)->n, 3);
	assert_memory_equal(sonde__stack(first)->pcs, a, sizeof(a));
	assert_null(sonde__stack(0));
	assert_null(sonde__stack(~0u));
}

static void many_stacks_are_found_again(void **state)
{
	enum { N = 100000 };
	static uint32_t ids[N];
	size_t before = sonde__stack_count();

	(void)state;
	for (uint64_t i = 0; i < N; i++)
		ids[i] = sonde__stack_intern((uint64_t[]){ 77, i, i * i }, 3, false);
	assert_int_equal(sonde__stack_count(), before + N);
	for (uint64_t i = 0; i < N; i++) {
		assert_int_equal(sonde__stack_intern((uint64_t[]){ 77, i, i * i }, 3, false),
				 ids[i]);
		assert_int_equal(sonde__stack(ids[i])->pcs[1], i);
	}
}

static void addresses_are_remembered_and_forgotten(void **state)
{
	enum { N = 200000 };
	uintptr_t base = 0x7f0000000000;
	size_t before = sonde__live_count();
	uint64_t missed;

	(void)state;
	for (uintptr_t i = 0; i < N; i++) {
		assert_true(sonde__live_insert((void *)(base + i * 48), (uint32_t)i + 1, &missed));
		assert_int_equal(missed, 0);
	}
	assert_int_equal(sonde__live_count(), before + N);
	for (uintptr_t i = 0; i < N; i++) {
		void *p = (void *)(base + i * 48);

		assert_true(sonde__live_maybe(p));
		assert_int_equal(sonde__live_remove((char *)p + 16), 0);
		assert_int_equal(sonde__live_remove(p), i + 1);
		assert_int_equal(sonde__live_remove(p), 0);
	}
	assert_int_equal(sonde__live_count(), before);
	assert_int_equal(sonde__live_remove(NULL), 0);
}

/* As a long-lived process does: few live, very many come and go. */
static void tables_stay_small_under_churn(void **state)
{
	static uintptr_t live[1000];
	uint64_t random = 99, before = sonde__stats.own_bytes;
	uint64_t missed;

	(void)state;
	for (uint32_t i = 0; i < 2000000; i++) {
		uintptr_t p = 0x600000000000 + (sonde__random(&random) >> 30) * 16;
		uintptr_t *slot = &live[i % 1000];

		if (*slot)
			assert_int_not_equal(sonde__live_remove((void *)*slot), 0);
		assert_true(sonde__live_insert((void *)p, i + 1, &missed));
		if (missed)
			p = 0;
		*slot = p;
	}
	for (int i = 0; i < 1000; i++)
		sonde__live_remove((void *)live[i]);
	assert_true(sonde__stats.own_bytes <= before + (1 << 20));
}

/* Those beside it are not, without a search, until one of them is. */
static void one_address_is_known_alone_and_among_others(void **state)
{
	uint64_t missed;

	(void)state;
	for (unsigned bit = 4; bit < 47; bit++) {
		char *p = (char *)((uintptr_t)1 << bit | 0x210000000000);

		assert_true(sonde__live_insert(p, 1, &missed));
		assert_true(sonde__live_maybe(p) && sonde__live_knows(p));
		assert_false(sonde__live_knows(p + 8) || sonde__live_knows(p + 16));
		assert_true(sonde__live_insert(p + 16, 2, &missed));
		assert_true(sonde__live_knows(p) && sonde__live_knows(p + 16));
		assert_int_equal(sonde__live_remove(p), 1);
		assert_true(sonde__live_maybe(p + 16) && sonde__live_knows(p + 16));
		assert_false(sonde__live_knows(p));
		assert_int_equal(sonde__live_remove(p + 16), 2);
		assert_false(sonde__live_maybe(p));
	}
}

/* All on one place of the filter: side by side, and as far apart as it is wide. */
static void crowded_places_of_the_filter_forget_nobody(void **state)
{
	enum { BESIDE = 1 << SONDE__FILTER_SHIFT >> 4, FAR = 9, STUCK = 127 };
	const uintptr_t far = (uintptr_t)SONDE__FILTER << SONDE__FILTER_SHIFT;
	uint64_t missed;

	(void)state;
	for (uintptr_t n = 1; n <= FAR; n++) {
		for (uintptr_t i = 0; i < n * BESIDE; i++)
			assert_true(sonde__live_insert(
				(void *)(0x300000000000 + i / BESIDE * far + i % BESIDE * 16),
				i + 1, &missed));
		for (uintptr_t i = 0; i < n * BESIDE; i++) {
			uintptr_t k = i * 73 % (n * BESIDE);
			void *p = (void *)(0x300000000000 + k / BESIDE * far + k % BESIDE * 16);

			assert_true(sonde__live_maybe(p));
			assert_int_equal(sonde__live_remove(p), k + 1);
			assert_int_equal(sonde__live_remove(p), 0);
		}
		/* One that has been too crowded once says "maybe" for ever. */
		assert_int_equal(sonde__live_maybe((void *)0x300000000000), n * BESIDE >= STUCK);
	}
}

/* Comes and goes at one place of the filter; the number of times it was not seen there. */
static void *come_and_go(void *p)
{
	uintptr_t lost = 0;
	uint64_t missed;

	for (int i = 0; i < 200000; i++) {
		if (!sonde__live_insert(p, 1, &missed) || !sonde__live_maybe(p))
			lost++;
		if (sonde__live_remove(p) != 1)
			lost++;
	}
	return (void *)lost;
}

static void neighbours_that_come_and_go_at_once_are_all_seen(void **state)
{
	const uintptr_t at = 0x310000123400; /* a place nobody else is at */
	pthread_t other;
	void *lost;

	(void)state;
	assert_int_equal(pthread_create(&other, NULL, come_and_go, (void *)at), 0);
	assert_null(come_and_go((void *)(at + 16)));
	pthread_join(other, &lost);
	assert_null(lost);
	assert_false(sonde__live_maybe((void *)at));
}

static void an_address_that_comes_back_ends_what_was_there(void **state)
{
	uint64_t missed;

	(void)state;
	assert_true(sonde__live_insert((void *)0x5000, 1, &missed));
	assert_true(sonde__live_insert((void *)0x5000, 2, &missed));
	assert_int_equal(missed, 1);
	assert_int_equal(sonde__live_remove((void *)0x5000), 2);
	assert_int_equal(sonde__live_remove((void *)0x5000), 0);
}

static void at_rate_one_everything_is_counted(void **state)
{
	struct totals a = total(12345), b, c;
	void *p[100];

	(void)state;
	for (int i = 0; i < 100; i++)
		p[i] = i % 2 ? do_malloc(12345) : do_calloc(5, 2469);
	b = total(12345);
	check_change(a, b, 100, 100);
	assert_int_equal(b.v[1] - a.v[1], 1234500);
	for (int i = 0; i < 100; i++)
		do_free(p[i]);
	c = total(12345);
	check_change(b, c, 0, -100);
	assert_int_equal(c.v[3] - a.v[3], 0);
}

static void every_function_of_the_family_is_counted_once(void **state)
{
	struct totals a = total(8192);
	void *p[9] = { NULL };

	(void)state;
	p[0] = do_malloc(8192);
	p[1] = do_calloc(1, 8192);
	p[2] = do_realloc(NULL, 8192);
	p[3] = do_reallocarray(NULL, 2, 4096);
	p[4] = memalign(64, 8192);
	p[5] = aligned_alloc(64, 8192);
	assert_int_equal(posix_memalign(&p[6], 64, 8192), 0);
	p[7] = valloc(8192);
	p[8] = pvalloc(8192);
	check_change(a, total(8192), 9, 9);
	for (int i = 0; i < 9; i++) {
		assert_non_null(p[i]);
		do_free(p[i]);
	}
	check_change(a, total(8192), 9, 0);
}

static void realloc_ends_one_object_and_begins_another(void **state)
{
	struct totals small = total(1111), large = total(2222);
	void *p = do_malloc(1111);

	(void)state;
	p = do_realloc(p, 2222);
	check_change(small, total(1111), 1, 0);
	check_change(large, total(2222), 1, 1);
	do_free(do_realloc(p, 3333));
	check_change(large, total(2222), 1, 0);
}

static void realloc_that_fails_changes_nothing(void **state)
{
	struct totals a = total(1234);
	char *p = do_malloc(1234);

	(void)state;
	memset(p, 7, 1234);
	errno = 0;
	assert_null(do_realloc(p, PTRDIFF_MAX));
	assert_int_equal(errno, ENOMEM);
	errno = 0;
	assert_null(do_reallocarray(p, (size_t)1 << 40, (size_t)1 << 40));
	assert_int_equal(errno, ENOMEM);
	check_change(a, total(1234), 1, 1);
	assert_int_equal(p[1233], 7);
	do_free(p);
	check_change(a, total(1234), 1, 0);
}

static void allocations_that_fail_are_not_counted(void **state)
{
	struct totals a = total(0), b;

	(void)state;
	assert_null(do_malloc(PTRDIFF_MAX));
	assert_null(do_malloc(SIZE_MAX));
	assert_null(do_calloc(SIZE_MAX, 2));
	assert_null(do_calloc(SIZE_MAX / 2, 1));
	b = total(0);
	check_change(a, b, 0, 0);
	do_free(do_malloc(77777));
	check_change(a, total(0), 1, 0);
}

static void nothing_is_also_an_allocation(void **state)
{
	struct totals a = total(0);
	void *p = do_malloc(0);

	(void)state;
	check_change(a, total(0), 1, 1);
	do_free(p);
	do_free(NULL);
	check_change(a, total(0), 1, 0);
}

static void what_the_runtime_itself_allocates_is_not_counted(void **state)
{
	struct totals a = total(4321);

	(void)state;
	sonde__tls.inside++;
	do_free(do_malloc(4321));
	sonde__tls.inside--;
	check_change(a, total(4321), 0, 0);
	do_free(do_malloc(4321));
	check_change(a, total(4321), 1, 0);
}

static void errno_is_the_host_s(void **state)
{
	(void)state;
	errno = 55;
	do_free(do_malloc(100));
	assert_int_equal(errno, 55);
}

/* The stack begins with the function that called malloc(). */
__attribute__((noinline)) static void *allocate_here(size_t size)
{
	void *p = do_malloc(size);

	__asm__ volatile("" ::: "memory");
	return p;
}

static void the_stack_begins_where_the_host_called(void **state)
{
	size_t n, mapped;
	void *p = allocate_here(31337);
	struct sonde__heap_row *rows = sonde__heap_snapshot(&n, &mapped);
	bool found = false;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		const struct sonde__stack *s = sonde__stack(rows[i].stack);

		if (rows[i].size != 31337)
			continue;
		found = true;
		assert_true(s->n >= 2);
		assert_true(s->pcs[0] - (uintptr_t)allocate_here < 100);
		assert_false(s->leaf_is_pc);
	}
	assert_true(found);
	sonde__unmap(rows, mapped);
	do_free(p);
}

enum { HANDED = 20000 };
static _Atomic(void *) handed[HANDED];

static void *allocate_many(void *arg)
{
	for (int i = 0; i < HANDED; i++)
		atomic_store(&handed[i], do_malloc(640));
	return arg;
}

static void *free_many(void *arg)
{
	for (int i = 0; i < HANDED; i++) {
		void *p;

		do
			p = atomic_exchange(&handed[i], NULL);
		while (!p);
		do_free(p);
	}
	return arg;
}

static void frees_of_another_thread_are_seen(void **state)
{
	struct totals a = total(640);
	pthread_t t[2];

	(void)state;
	for (int round = 0; round < 3; round++) {
		pthread_create(&t[0], NULL, allocate_many, NULL);
		pthread_create(&t[1], NULL, free_many, NULL);
		pthread_join(t[0], NULL);
		pthread_join(t[1], NULL);
	}
	check_change(a, total(640), 3 * HANDED, 0);
}

static void *reallocate_many(void *arg)
{
	uint64_t random = (uintptr_t)arg;
	void *p[64] = { NULL };

	for (int i = 0; i < 50000; i++) {
		void **slot = &p[sonde__random(&random) % 64];

		*slot = do_realloc(*slot, 700 + 8 * (i % 10));
	}
	for (int i = 0; i < 64; i++)
		do_free(p[i]);
	return NULL;
}

static void reallocating_threads_lose_nothing(void **state)
{
	struct totals a[10];
	int64_t allocs = 0;
	pthread_t t[2];

	(void)state;
	for (int i = 0; i < 10; i++)
		a[i] = total(700 + 8 * (uint64_t)i);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, reallocate_many, (void *)(i + 1));
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 10; i++) {
		struct totals b = total(700 + 8 * (uint64_t)i);

		allocs += b.v[0] - a[i].v[0];
		assert_int_equal(b.v[2], a[i].v[2]);
	}
	assert_int_equal(allocs, 100000);
	assert_int_equal(sonde__stats.heap_lost, 0);
}

static void *allocate_much(void *arg)
{
	for (int i = 0; i < 1000; i++)
		do_free(do_malloc(10007));
	return arg;
}

/* A thread that has been waiting with the switch off samples soon after it is on. */
static void switching_on_reaches_every_thread(void **state)
{
	struct totals a = total(10007);
	pthread_t t;

	(void)state;
	sonde__heap_set_rate(0);
	do_free(do_malloc(10007));
	pthread_create(&t, NULL, allocate_much, NULL);
	pthread_join(t, NULL);
	check_change(a, total(10007), 0, 0);
	sonde__heap_set_rate(1);
	pthread_create(&t, NULL, allocate_much, NULL);
	pthread_join(t, NULL);
	check_change(a, total(10007), 1000, 0);
}

/* Samples keep the rate they were drawn with, so sums over both are right. */
static void rates_may_change_on_the_way(void **state)
{
	double sum = 0;
	struct totals before = total(3000);

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		sonde__heap_set_rate(100000);
		sonde__heap_seed(seed);
		for (int i = 0; i < 1000; i++) {
			if (i == 500)
				sonde__heap_set_rate(5000);
			do_free(do_malloc(3000));
		}
	}
	sum = (double)(total(3000).v[0] - before.v[0]);
	/* One run: 500 at p = 0.03 and 500 at 0.45; the mean of 200 has a deviation of 0.9 %. */
	assert_true(fabs(sum / 200000 - 1) < 0.036);
	sonde__heap_set_rate(1);
}

/* Other threads are in the middle of everything while the process is copied. */
static void a_child_of_fork_can_go_on(void **state)
{
	static const struct sonde__fork_part part = { sonde__heap_lock, sonde__heap_unlock,
						      sonde__heap_unlock };
	pthread_t t[2];
	struct totals a;

	(void)state;
	sonde__fork_join(SONDE__FORK_HEAP, &part);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, reallocate_many, (void *)(i + 1));
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();
		int status = 0;

		if (child == 0) {
			alarm(20);
			a = total(54321);
			do_free(do_malloc(54321));
			_exit(total(54321).v[0] - a.v[0] == 1 ? 0 : 1);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

static void a_snapshot_of_many_rows_is_whole(void **state)
{
	struct totals a = total(0);
	size_t n, mapped;
	struct sonde__heap_row *rows;

	(void)state;
	for (size_t size = 1; size <= 30000; size++)
		do_free(do_malloc(size));
	check_change(a, total(0), 30000, 0);
	rows = sonde__heap_snapshot(&n, &mapped);
	assert_true(n >= 30000);
	assert_true(mapped >= n * sizeof(*rows));
	sonde__unmap(rows, mapped);
}

static void reclaiming_and_naming_the_allocator_do_no_harm(void **state)
{
	(void)state;
	sonde__heap_reclaim();
	assert_string_equal(sonde__heap_allocator(), "glibc");
	assert_null(sonde__why_off(SONDE__HEAP));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logarithms_and_exponentials_are_as_good_as_the_library_s),
		cmocka_unit_test(intervals_are_exponential),
		cmocka_unit_test(equal_stacks_have_one_number),
		cmocka_unit_test(many_stacks_are_found_again),
		cmocka_unit_test(addresses_are_remembered_and_forgotten),
		cmocka_unit_test(tables_stay_small_under_churn),
		cmocka_unit_test(one_address_is_known_alone_and_among_others),
		cmocka_unit_test(crowded_places_of_the_filter_forget_nobody),
		cmocka_unit_test(neighbours_that_come_and_go_at_once_are_all_seen),
		cmocka_unit_test(an_address_that_comes_back_ends_what_was_there),
		cmocka_unit_test(at_rate_one_everything_is_counted),
		cmocka_unit_test(every_function_of_the_family_is_counted_once),
		cmocka_unit_test(realloc_ends_one_object_and_begins_another),
		cmocka_unit_test(realloc_that_fails_changes_nothing),
		cmocka_unit_test(allocations_that_fail_are_not_counted),
		cmocka_unit_test(nothing_is_also_an_allocation),
		cmocka_unit_test(what_the_runtime_itself_allocates_is_not_counted),
		cmocka_unit_test(errno_is_the_host_s),
		cmocka_unit_test(the_stack_begins_where_the_host_called),
		cmocka_unit_test(frees_of_another_thread_are_seen),
		cmocka_unit_test(reallocating_threads_lose_nothing),
		cmocka_unit_test(switching_on_reaches_every_thread),
		cmocka_unit_test(rates_may_change_on_the_way),
		cmocka_unit_test(a_child_of_fork_can_go_on),
		cmocka_unit_test(a_snapshot_of_many_rows_is_whole),
		cmocka_unit_test(reclaiming_and_naming_the_allocator_do_no_harm),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, every_allocation, no_allocation);
}
