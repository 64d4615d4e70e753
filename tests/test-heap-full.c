/*
 * test-heap-full.c - tables of the runtime's heap that are full: what does not fit is counted, and
 * nothing else changes
 *
 * Each test leaves a table full, so their order matters.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/heap.h"
#include "runtime/live.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/stacks.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FAMILY = 9, ADDRESSES = 6000000 };

/* So that the compiler does not know what the calls are. */
static void *(*volatile do_malloc)(size_t) = malloc;
static void *(*volatile do_calloc)(size_t, size_t) = calloc;
static void *(*volatile do_realloc)(void *, size_t) = realloc;
static void *(*volatile do_reallocarray)(void *, size_t, size_t) = reallocarray;
static void (*volatile do_free)(void *) = free;

struct counts {
	uint64_t allocs, frees, lost, samples, stacks_lost;
};

/* Of rows with objects of 'size' bytes. */
static struct counts count(uint64_t size)
{
	struct counts c = {
		.lost = sonde__stats.heap_lost,
		.samples = sonde__stats.heap_samples,
		.stacks_lost = sonde__stats.stacks_lost,
	};
	size_t n, mapped;
	struct sonde__heap_row *rows = sonde__heap_snapshot(&n, &mapped);

	for (size_t i = 0; i < n; i++) {
		c.allocs += rows[i].size == size ? rows[i].allocs : 0;
		c.frees += rows[i].size == size ? rows[i].frees : 0;
	}
	sonde__unmap(rows, mapped);
	return c;
}

static int every_allocation(void **state)
{
	(void)state;
	return sonde__heap_set_rate(1) != 0;
}

static int no_allocation(void **state)
{
	(void)state;
	return sonde__heap_set_rate(0) != 1;
}

/* One by each function; they hold what is written to them. */
static void allocate_family(void *p[FAMILY], size_t size)
{
	p[0] = do_malloc(size);
	p[1] = do_calloc(1, size);
	p[2] = do_realloc(NULL, size);
	p[3] = do_reallocarray(NULL, 1, size);
	p[4] = memalign(64, size);
	p[5] = aligned_alloc(64, size);
	assert_int_equal(posix_memalign(&p[6], 64, size), 0);
	p[7] = valloc(size);
	p[8] = pvalloc(size);
	for (int i = 0; i < FAMILY; i++) {
		assert_non_null(p[i]);
		memset(p[i], i, size);
	}
	assert_int_equal((uintptr_t)p[4] % 64 + (uintptr_t)p[5] % 64 + (uintptr_t)p[6] % 64, 0);
}

static void free_family(void *p[FAMILY], size_t size)
{
	for (int i = 0; i < FAMILY; i++) {
		assert_int_equal(((char *)p[i])[size - 1], i);
		do_free(p[i]);
	}
}

static void *address(size_t i)
{
	return (void *)(0x100000000000 + i * 16);
}

/* How many addresses the table has taken; it must refuse some. */
static size_t fill_live(void)
{
	size_t taken = 0;
	uint64_t missed;

	for (size_t i = 0; i < ADDRESSES; i++)
		taken += sonde__live_insert(address(i), 1, &missed);
	assert_true(taken > 1000000 && taken < ADDRESSES);
	return taken;
}

static size_t empty_live(size_t step)
{
	size_t dropped = 0;

	for (size_t i = 0; i < ADDRESSES; i += step)
		dropped += sonde__live_remove(address(i)) != 0;
	return dropped;
}

static void objects_without_a_place_are_lost_and_nothing_else(void **state)
{
	struct counts before, after;
	void *p[FAMILY], *known = do_malloc(5151);
	size_t taken = fill_live();

	(void)state;
	before = count(4096);
	allocate_family(p, 4096);
	after = count(4096);
	assert_int_equal(after.samples - before.samples, FAMILY);
	assert_int_equal(after.lost - before.lost, FAMILY);
	assert_int_equal(after.allocs - before.allocs, 0);
	free_family(p, 4096);
	assert_int_equal(count(4096).frees - before.frees, 0);

	/* One that has a place keeps it while realloc() fails, and ends when it does not. */
	before = count(5151);
	assert_null(do_realloc(known, PTRDIFF_MAX));
	after = count(5151);
	assert_int_equal(after.frees - before.frees, 0);
	assert_int_equal(after.lost - before.lost, 0);
	known = do_realloc(known, 999999);
	assert_non_null(known);
	after = count(5151);
	assert_int_equal(after.frees - before.frees, 1);
	after = count(999999);
	assert_int_equal(after.allocs + after.lost - before.lost, 1);
	do_free(known);
	after = count(999999);
	assert_int_equal(after.allocs, after.frees);

	/* Half of them gone, there is room again, though the table may not grow. */
	taken -= empty_live(2);
	before = count(4096);
	allocate_family(p, 4096);
	free_family(p, 4096);
	after = count(4096);
	assert_int_equal(after.lost - before.lost, 0);
	assert_int_equal(after.allocs - before.allocs, FAMILY);
	assert_int_equal(after.frees - before.frees, FAMILY);
	assert_int_equal(empty_live(1), taken);
}

/* Rows differ in stack, size or rate. */
static void samples_without_a_row_are_lost_and_nothing_else(void **state)
{
	enum { ROWS = 1100000, SIZE = 4096 };
	uint64_t rates = sonde__stats.heap_lost;
	void *p[FAMILY];
	struct counts before, after;

	(void)state;
	for (uint64_t rate = 2; rate < ROWS; rate++) {
		sonde__heap_record(address(0), SIZE, rate, __builtin_return_address(0));
		sonde__heap_forget(address(0));
	}
	before = count(SIZE);
	assert_in_range(before.lost - rates, 1, ROWS / 2);
	allocate_family(p, SIZE);
	p[0] = do_realloc(p[0], SIZE);
	after = count(SIZE);
	assert_int_equal(after.lost - before.lost, FAMILY + 1);
	assert_int_equal(after.allocs - before.allocs, 0);
	free_family(p, SIZE);
	assert_int_equal(count(SIZE).frees - before.frees, 0);
}

static void fill_stacks(size_t depth)
{
	uint64_t pcs[SONDE__DEPTH] = { 0 };

	for (size_t i = 0; i < 1000000; i++) {
		pcs[0] = i + 1;
		if (!sonde__stack_intern(pcs, depth, false))
			return;
	}
	fail_msg("the table of stacks has no end");
}

static void stacks_without_room_are_lost_and_nothing_else(void **state)
{
	uint64_t pcs[] = { 1, 2, 3 };
	uint32_t known = sonde__stack_intern(pcs, 3, false);
	void *p[FAMILY];
	struct counts before, after;

	(void)state;
	assert_int_not_equal(known, 0);
	fill_stacks(SONDE__DEPTH);
	fill_stacks(1);
	assert_int_equal(sonde__stack_intern(pcs, 3, false), known);
	before = count(4096);
	pcs[2] = 4;
	assert_int_equal(sonde__stack_intern(pcs, 3, false), 0);
	allocate_family(p, 4096);
	after = count(4096);
	assert_int_equal(after.stacks_lost - before.stacks_lost, 1 + FAMILY);
	assert_int_equal(after.lost - before.lost, FAMILY);
	assert_int_equal(after.allocs - before.allocs, 0);
	free_family(p, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_without_a_place_are_lost_and_nothing_else),
		cmocka_unit_test(samples_without_a_row_are_lost_and_nothing_else),
		cmocka_unit_test(stacks_without_room_are_lost_and_nothing_else),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, every_allocation, no_allocation);
}
