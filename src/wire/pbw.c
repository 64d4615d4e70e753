/*
 * pbw.c - write protobuf wire format into a buffer the caller provides
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/pbw.h"

static void put(struct pbw *w, uint8_t byte)
{
	if (w->n < w->cap)
		w->p[w->n] = byte;
	w->n++;
}

void pbw_varint(struct pbw *w, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put(w, (uint8_t)(v | 0x80));
	put(w, (uint8_t)v);
}

void pbw_u64(struct pbw *w, uint32_t field, uint64_t v)
{
	pbw_varint(w, (uint64_t)field << 3);
	pbw_varint(w, v);
}

void pbw_opt(struct pbw *w, uint32_t field, uint64_t v)
{
	if (v)
		pbw_u64(w, field, v);
}

void pbw_bytes(struct pbw *w, uint32_t field, const void *data, size_t n)
{
	const uint8_t *p = data;

	pbw_varint(w, (uint64_t)field << 3 | 2);
	pbw_varint(w, n);
	for (size_t i = 0; i < n; i++)
		put(w, p[i]);
}

size_t pbw_begin(struct pbw *w, uint32_t field)
{
	pbw_varint(w, (uint64_t)field << 3 | 2);
	put(w, 0);
	return w->n;
}

static size_t varint_size(uint64_t v)
{
	size_t n = 1;

	while (v >>= 7)
		n++;
	return n;
}

void pbw_end(struct pbw *w, size_t mark)
{
	size_t len = w->n - mark;
	size_t shift = varint_size(len) - 1;
	struct pbw at = { w->p, mark - 1, w->cap };

	for (size_t i = w->n; shift && i > mark; i--) {
		if (i - 1 + shift < w->cap)
			w->p[i - 1 + shift] = w->p[i - 1];
	}
	w->n += shift;
	pbw_varint(&at, len);
}
