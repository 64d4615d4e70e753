/*
 * pbw.c - write protobuf wire format into a buffer the caller provides
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/pbw.h"

#include <string.h>

static void put(struct pbw *w, uint8_t byte)
{
	if (w->n < w->cap)
		w->p[w->n] = byte;
	w->n++;
}

void pbw_varint(struct pbw *w, uint64_t v)
{
	if (v < 0x80 && w->n < w->cap) {
		w->p[w->n++] = (uint8_t)v;
		return;
	}
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
	pbw_varint(w, (uint64_t)field << 3 | 2);
	pbw_varint(w, n);
	if (n && w->n < w->cap)
		memcpy(w->p + w->n, data, n < w->cap - w->n ? n : w->cap - w->n);
	w->n += n;
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

	if (shift && mark + shift < w->cap) {
		size_t room = w->cap - mark - shift;

		memmove(w->p + mark + shift, w->p + mark, len < room ? len : room);
	}
	w->n += shift;
	pbw_varint(&at, len);
}
