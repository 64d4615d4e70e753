/*
 * ring.c - stacks on their way from a signal handler to the agent
 *
 * A stack is a word (from the top: ticks, labels, length) and its addresses, never
 * across the end: where there is less room than the deepest stack needs, a zero word tells the
 * reader to go on at the start.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/ring.h"

#include "runtime/labels.h"
#include "runtime/os.h"
#include "runtime/runtime.h"

enum { LONGEST = SONDE__DEPTH + 1, LABELS_SHIFT = 8, TICKS_SHIFT = 32 };

_Static_assert(SONDE__DEPTH < 1 << LABELS_SHIFT, "the length of a stack fits");
_Static_assert(SONDE__LABEL_SETS < 1 << (TICKS_SHIFT - LABELS_SHIFT), "numbers of sets fit");

struct sonde__ring *sonde__ring_new(size_t bytes)
{
	struct sonde__ring *r = sonde__map(bytes);

	if (r)
		r->words = (bytes - sizeof(*r)) / sizeof(r->data[0]);
	return r;
}

uint64_t *sonde__ring_room(struct sonde__ring *r)
{
	size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	size_t used = head - atomic_load_explicit(&r->tail, memory_order_acquire);
	size_t at = head % r->words;
	size_t to_end = r->words - at;

	if (to_end >= LONGEST)
		return r->words - used >= LONGEST ? &r->data[at + 1] : NULL;
	if (r->words - used < to_end + LONGEST)
		return NULL;
	r->data[at] = 0;
	atomic_store_explicit(&r->head, head + to_end, memory_order_release);
	return &r->data[1];
}

static size_t length_of(uint64_t word)
{
	return word & ((1 << LABELS_SHIFT) - 1);
}

void sonde__ring_push(struct sonde__ring *r, const struct sonde__ring_head *what)
{
	size_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	r->data[head % r->words] =
		(uint64_t)what->ticks << TICKS_SHIFT | what->labels << LABELS_SHIFT | what->n;
	atomic_store_explicit(&r->head, head + 1 + what->n, memory_order_release);
}

const uint64_t *sonde__ring_peek(struct sonde__ring *r, struct sonde__ring_head *what)
{
	size_t head = atomic_load_explicit(&r->head, memory_order_acquire);
	size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	size_t at = tail % r->words;

	if (tail != head && r->data[at] == 0) {
		tail += r->words - at;
		atomic_store_explicit(&r->tail, tail, memory_order_release);
		at = 0;
	}
	if (tail == head)
		return NULL;
	what->n = (uint32_t)length_of(r->data[at]);
	what->labels = (uint32_t)r->data[at] >> LABELS_SHIFT;
	what->ticks = (uint32_t)(r->data[at] >> TICKS_SHIFT);
	return &r->data[at + 1];
}

void sonde__ring_drop(struct sonde__ring *r)
{
	size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	size_t n = length_of(r->data[tail % r->words]);

	atomic_store_explicit(&r->tail, tail + 1 + n, memory_order_release);
}

void sonde__ring_empty(struct sonde__ring *r)
{
	size_t head = atomic_load_explicit(&r->head, memory_order_acquire);

	atomic_store_explicit(&r->tail, head, memory_order_release);
}
