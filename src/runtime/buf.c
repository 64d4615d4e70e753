/*
 * buf.c - bytes that grow, in mapped memory, up to a ceiling
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/buf.h"

#include "runtime/os.h"

#include <stdarg.h>
#include <string.h>

enum { FIRST = 16 * 1024, FIRST_SLOTS = 1024 };

bool sonde__buf_room(struct sonde__buf *b, size_t more)
{
	size_t max = b->max ? b->max : SONDE__BUF_MAX;
	size_t cap = b->cap ? b->cap : FIRST;
	char *p;

	if (b->full || more > max - b->n) {
		b->full = true;
		return false;
	}
	if (more <= b->cap - b->n)
		return true;
	while (cap - b->n < more)
		cap *= 2;
	p = sonde__map(cap);
	if (!p) {
		b->full = true;
		return false;
	}
	if (b->n)
		memcpy(p, b->p, b->n);
	sonde__unmap(b->p, b->cap);
	b->p = p;
	b->cap = cap;
	return true;
}

void *sonde__buf_more(struct sonde__buf *b, size_t n)
{
	void *at;

	if (!sonde__buf_room(b, n))
		return NULL;
	at = b->p + b->n;
	b->n += n;
	memset(at, 0, n);
	return at;
}

void sonde__buf_add(struct sonde__buf *b, const void *data, size_t n)
{
	if (n == 0 || !sonde__buf_room(b, n))
		return;
	memcpy(b->p + b->n, data, n);
	b->n += n;
}

void sonde__buf_text(struct sonde__buf *b, const char *text)
{
	sonde__buf_add(b, text, strlen(text));
}

void sonde__buf_format(struct sonde__buf *b, const char *fmt, ...)
{
	char line[1024];
	va_list args;
	size_t n;

	va_start(args, fmt);
	n = sonde__vformat(line, sizeof(line), fmt, args);
	va_end(args);
	sonde__buf_add(b, line, n < sizeof(line) ? n : sizeof(line) - 1);
}

static const char *escape(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&#34;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void sonde__buf_html(struct sonde__buf *b, const char *text)
{
	for (; *text; text++) {
		const char *instead = escape(*text);

		if (instead)
			sonde__buf_text(b, instead);
		else
			sonde__buf_add(b, text, 1);
	}
}

void sonde__buf_release(struct sonde__buf *b)
{
	sonde__unmap(b->p, b->cap);
	*b = (struct sonde__buf){ .max = b->max };
}

struct sonde__index_slot {
	uint32_t hash, id;
};

uint32_t sonde__index_next(const struct sonde__index *ix, uint32_t hash, size_t *at)
{
	if (ix->cap == 0)
		return 0;
	for (;; (*at)++) {
		const struct sonde__index_slot *s = &ix->slots[*at & (ix->cap - 1)];

		if (s->id == 0)
			return 0;
		if (s->hash == hash) {
			(*at)++;
			return s->id;
		}
	}
}

static void place(struct sonde__index *ix, struct sonde__index_slot slot)
{
	size_t at = slot.hash;

	while (ix->slots[at & (ix->cap - 1)].id)
		at++;
	ix->slots[at & (ix->cap - 1)] = slot;
}

static bool grow(struct sonde__index *ix)
{
	struct sonde__index to = { .cap = ix->cap ? ix->cap * 2 : FIRST_SLOTS, .n = ix->n };

	to.slots = sonde__map(to.cap * sizeof(*to.slots));
	if (!to.slots)
		return false;
	for (size_t i = 0; i < ix->cap; i++)
		if (ix->slots[i].id)
			place(&to, ix->slots[i]);
	sonde__unmap(ix->slots, ix->cap * sizeof(*ix->slots));
	*ix = to;
	return true;
}

bool sonde__index_put(struct sonde__index *ix, uint32_t hash, uint32_t id)
{
	if (ix->n * 2 >= ix->cap && !grow(ix))
		return false;
	place(ix, (struct sonde__index_slot){ hash, id });
	ix->n++;
	return true;
}

void sonde__index_release(struct sonde__index *ix)
{
	sonde__unmap(ix->slots, ix->cap * sizeof(*ix->slots));
	*ix = (struct sonde__index){ 0 };
}

uint32_t sonde__hash(const void *data, size_t n)
{
	const char *p = data;
	uint64_t h = n, word;

	for (; n > 0; p += sizeof(word)) {
		size_t some = n < sizeof(word) ? n : sizeof(word);

		word = 0;
		memcpy(&word, p, some);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
		n -= some;
	}
	return (uint32_t)(h * 0x9e3779b97f4a7c15u >> 32);
}
