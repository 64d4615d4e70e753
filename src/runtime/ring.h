/*
 * ring.h - stacks on their way from a signal handler to the agent
 *
 * One writer (the thread the ring belongs to), one reader.  A stack is unwound right into the ring:
 * handlers may run on tiny stacks of their own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_RING_H
#define RUNTIME_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__ring {
	size_t words; /* of 'data' */
	char apart0[56];
	atomic_size_t head; /* words ever written */
	char apart1[56];
	atomic_size_t tail; /* words ever read */
	char apart2[56];
	uint64_t data[];
};

/* What comes with a stack. */
struct sonde__ring_head {
	uint32_t n;      /* addresses, up to SONDE__DEPTH */
	uint32_t labels; /* of the thread (labels.h) */
	uint32_t ticks;
};

/* NULL when there is no memory. */
struct sonde__ring *sonde__ring_new(size_t bytes);

/* Room for SONDE__DEPTH addresses, or NULL.  Handler-safe. */
uint64_t *sonde__ring_room(struct sonde__ring *r);
/* Makes the head->n > 0 addresses that were written there visible.  Handler-safe. */
void sonde__ring_push(struct sonde__ring *r, const struct sonde__ring_head *head);

/* The oldest stack; NULL if there is none.  sonde__ring_drop() takes it away. */
const uint64_t *sonde__ring_peek(struct sonde__ring *r, struct sonde__ring_head *head);
void sonde__ring_drop(struct sonde__ring *r);
/* Takes all away, without a look at it. */
void sonde__ring_empty(struct sonde__ring *r);

#endif /* RUNTIME_RING_H */
