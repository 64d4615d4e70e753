/*
 * peak.c - the heap as it was when there was most of it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/peak.h"

#include "runtime/os.h"

enum {
	STEP = 64,           /* a copy is due for a part in so many more */
	SHARE = 1000,        /* one part in so many of the time may go into copying */
	ALLOWANCE = 1000000, /* ns that may, however little time there was */
};

atomic_llong sonde__peak_limit;
static atomic_llong highest;

static struct sonde__lock lock;
/* Under the lock. */
static struct sonde__heap_live *copy;
static size_t ncopy, copy_mapped;
static uint64_t copy_wall, first, spent; /* ns */
static int64_t copy_bytes;

static void note_highest(int64_t bytes)
{
	long long old = atomic_load_explicit(&highest, memory_order_relaxed);

	while (bytes > old &&
	       !atomic_compare_exchange_weak_explicit(&highest, &old, bytes, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

/* From here on to sonde__peak_passed(): under the lock. */

static bool can_afford(uint64_t now)
{
	if (first == 0)
		first = now;
	return spent < (now - first) / SHARE + ALLOWANCE;
}

static void take_copy(int64_t bytes)
{
	size_t n = 0, mapped = 0;
	struct sonde__heap_live *fresh = sonde__heap_live_rows(&n, &mapped);

	if (!fresh)
		return;
	sonde__unmap(copy, copy_mapped);
	copy = fresh;
	ncopy = n;
	copy_mapped = mapped;
	copy_wall = sonde__wall();
	copy_bytes = bytes;
	atomic_store_explicit(&sonde__peak_limit, bytes + bytes / STEP, memory_order_relaxed);
}

/* Who cannot have the lock goes on: another thread is copying. */
void sonde__peak_passed(int64_t bytes)
{
	uint64_t began = sonde__now();

	note_highest(bytes);
	if (!sonde__trylock(&lock))
		return;
	if (bytes > atomic_load_explicit(&sonde__peak_limit, memory_order_relaxed) &&
	    can_afford(began)) {
		take_copy(bytes);
		spent += sonde__now() - began;
	}
	sonde__unlock(&lock);
}

static struct sonde__heap_row *expand(size_t *n, size_t *mapped)
{
	struct sonde__heap_row *rows;

	*n = 0;
	*mapped = ncopy * sizeof(*rows);
	rows = ncopy ? sonde__map(*mapped) : NULL;
	if (!rows)
		return NULL;
	for (size_t i = 0; i < ncopy; i++) {
		sonde__heap_row_key(copy[i].row, &rows[i]);
		rows[i].allocs = copy[i].live;
	}
	*n = ncopy;
	return rows;
}

struct sonde__heap_row *sonde__peak_rows(struct sonde__peak *p, size_t *n, size_t *mapped)
{
	struct sonde__heap_row *rows;
	int64_t now;

	sonde__lock(&lock);
	now = sonde__heap_live_bytes();
	if (!copy || now > copy_bytes)
		take_copy(now);
	note_highest(copy_bytes);
	rows = expand(n, mapped);
	*p = (struct sonde__peak){ copy_wall, copy_bytes, atomic_load(&highest) };
	sonde__unlock(&lock);
	return rows;
}

void sonde__peak_lock(void)
{
	sonde__lock(&lock);
}

void sonde__peak_unlock(void)
{
	sonde__unlock(&lock);
}
