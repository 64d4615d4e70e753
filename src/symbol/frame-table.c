/*
 * frame-table.c - the frames of many addresses of one binary, as one piece of memory: reading it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/frame-table.h"

#include <errno.h>

/* Whether the counts of 'h' make up 'size' bytes. */
static bool has_size(const struct table_header *h, size_t size)
{
	uint64_t most = size / sizeof(uint32_t);

	if (h->naddresses > most || h->nframes > most || h->nfunctions > most || h->ntexts > most ||
	    h->nbytes > size)
		return false;
	return sizeof(*h) + h->naddresses * sizeof(uint64_t) +
		       (h->naddresses + 1) * sizeof(uint32_t) +
		       h->nframes * sizeof(struct table_frame) +
		       h->nfunctions * sizeof(struct table_function) +
		       h->ntexts * sizeof(uint32_t) + h->nbytes ==
	       size;
}

static bool are_addresses_sound(const struct frame_table *t, uint64_t nframes)
{
	if (t->first[0] != 0 || t->first[t->n] != nframes)
		return false;
	for (size_t i = 0; i < t->n; i++) {
		if (t->first[i] > t->first[i + 1])
			return false;
		if (i && t->addresses[i - 1] >= t->addresses[i])
			return false;
	}
	return true;
}

static bool are_functions_sound(const struct frame_table *t, const struct table_header *h)
{
	for (size_t i = 0; i < h->nframes; i++) {
		if (t->frames[i].function >= h->nfunctions)
			return false;
	}
	for (size_t i = 0; i < h->nfunctions; i++) {
		const struct table_function *f = &t->functions[i];

		if (f->name >= h->ntexts || f->readable >= h->ntexts || f->file >= h->ntexts)
			return false;
	}
	return true;
}

static bool are_texts_sound(const struct frame_table *t, const struct table_header *h)
{
	uint32_t end = 0;

	for (size_t i = 0; i < h->ntexts; i++) {
		if (t->ends[i] < end)
			return false;
		end = t->ends[i];
	}
	return end == h->nbytes;
}

void frame_table_view(struct str bytes, struct frame_table *t)
{
	const struct table_header *h = (const void *)bytes.p;

	t->n = h->naddresses;
	t->addresses = (const void *)(h + 1);
	t->first = (const void *)(t->addresses + h->naddresses);
	t->frames = (const void *)(t->first + h->naddresses + 1);
	t->functions = (const void *)(t->frames + h->nframes);
	t->nfunctions = h->nfunctions;
	t->ends = (const void *)(t->functions + h->nfunctions);
	t->ntexts = h->ntexts;
	t->text = (const char *)(t->ends + h->ntexts);
}

int frame_table_parse(struct str bytes, struct frame_table *t)
{
	const struct table_header *h = (const void *)bytes.p;
	struct frame_table is;

	if (bytes.n < sizeof(*h) || (uintptr_t)h % _Alignof(struct table_header) != 0 ||
	    h->magic != FRAME_TABLE_MAGIC || !has_size(h, bytes.n) ||
	    hash_bytes(bytes.p + FRAME_TABLE_UNSUMMED, bytes.n - FRAME_TABLE_UNSUMMED,
		       FRAME_TABLE_MAGIC) != h->checksum)
		return -EBADMSG;
	frame_table_view(bytes, &is);
	if (!are_addresses_sound(&is, h->nframes) || !are_functions_sound(&is, h) ||
	    !are_texts_sound(&is, h))
		return -EBADMSG;
	*t = is;
	return 0;
}
