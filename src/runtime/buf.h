/*
 * buf.h - bytes that grow, in mapped memory, up to a ceiling
 *
 * A buffer that is all zeros but for 'max' is empty and ready.  The first failure sticks: 'full' is
 * set, and what is added afterwards is dropped, so that callers look once, at the end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_BUF_H
#define RUNTIME_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__buf {
	char *p;
	size_t n, cap; /* 'cap' bytes are mapped */
	size_t max;    /* 0: SONDE__BUF_MAX */
	bool full;
};

enum { SONDE__BUF_MAX = 256 << 20 };

/* Makes room for 'more' bytes behind the 'n' there are; false (and full) if that cannot be. */
bool sonde__buf_room(struct sonde__buf *b, size_t more);
/* Adds 'n' zeroed bytes and returns them, until the buffer grows; NULL if there is no room. */
void *sonde__buf_more(struct sonde__buf *b, size_t n);
void sonde__buf_add(struct sonde__buf *b, const void *data, size_t n);
void sonde__buf_text(struct sonde__buf *b, const char *text);
void sonde__buf_format(struct sonde__buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds text with the five characters that mean something in HTML escaped as Go does. */
void sonde__buf_html(struct sonde__buf *b, const char *text);
void sonde__buf_release(struct sonde__buf *b);

/*
 * Finds numbers (from 1 on) by a hash of what they stand for.  The caller compares:
 *
 *	for (size_t at = hash; (id = sonde__index_next(ix, hash, &at));)
 *		if (equal(id)) ...
 */
struct sonde__index {
	struct sonde__index_slot *slots;
	size_t cap, n;
};

uint32_t sonde__index_next(const struct sonde__index *ix, uint32_t hash, size_t *at);
bool sonde__index_put(struct sonde__index *ix, uint32_t hash, uint32_t id);
void sonde__index_release(struct sonde__index *ix);

uint32_t sonde__hash(const void *data, size_t n);

#endif /* RUNTIME_BUF_H */
