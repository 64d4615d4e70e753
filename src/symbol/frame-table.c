/*
 * frame-table.c - the frames of many addresses of one binary, as one piece of memory: reading it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/frame-table.h"

#include "base/par.h"

#include <errno.h>

enum {
	UNSUMMED = 16,
	LANES = 4,
	LANE = 16,
	LARGE = 4 << 20, /* worth a thread */
};

static uint64_t load(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Several sums side by side: one would wait for itself at every step. */
uint64_t frame_table_checksum(struct str bytes)
{
	uint64_t sums[LANES] = { 1, 2, 3, 4 }, sum = FRAME_TABLE_MAGIC;
	size_t at = UNSUMMED < bytes.n ? UNSUMMED : bytes.n;

	for (; bytes.n - at >= LANES * LANE; at += LANES * LANE) {
		for (size_t i = 0; i < LANES; i++) {
			const char *p = bytes.p + at + i * LANE;

			sums[i] = hash_mix(load(p) ^ sums[i], load(p + sizeof(uint64_t)));
		}
	}
	for (size_t i = 0; i < LANES; i++)
		sum = hash_mix(sum, sums[i]);
	return hash_bytes(bytes.p + at, bytes.n - at, sum);
}

/* Whether the counts of 'h' make up 'size' bytes. */
static bool has_size(const struct table_header *h, size_t size)
{
	uint64_t most = size / sizeof(uint32_t);

	if (h->naddresses > most || h->nframes > most || h->nfunctions > most || h->ntexts > most ||
	    h->nbytes > size)
		return false;
	return sizeof(*h) + (h->naddresses + h->ntexts) * sizeof(uint64_t) +
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
	uint64_t start = 0;

	for (size_t i = 0; i < h->ntexts; i++) {
		uint32_t end = t->ends[i];

		if (end < start || end >= h->nbytes || t->text[end] != '\0')
			return false;
		start = (uint64_t)end + 1;
	}
	return start == h->nbytes;
}

void frame_table_view(struct str bytes, struct frame_table *t)
{
	const struct table_header *h = (const void *)bytes.p;

	t->n = h->naddresses;
	t->addresses = (const void *)(h + 1);
	t->hashes = t->addresses + h->naddresses;
	t->first = (const void *)(t->hashes + h->ntexts);
	t->frames = (const void *)(t->first + h->naddresses + 1);
	t->functions = (const void *)(t->frames + h->nframes);
	t->nfunctions = h->nfunctions;
	t->ends = (const void *)(t->functions + h->nfunctions);
	t->ntexts = h->ntexts;
	t->text = (const char *)(t->ends + h->ntexts);
}

/* Bytes that are added up while others look at what they mean. */
struct summed {
	struct str bytes;
	uint64_t checksum;
};

static void add_up(void *ctx)
{
	struct summed *s = ctx;

	s->checksum = frame_table_checksum(s->bytes);
}

int frame_table_parse(struct str bytes, struct frame_table *t)
{
	const struct table_header *h = (const void *)bytes.p;
	struct summed sum = { .bytes = bytes };
	struct par_task summing = { 0 };
	struct frame_table is;
	bool sound;

	if (bytes.n < sizeof(*h) || (uintptr_t)h % _Alignof(struct table_header) != 0 ||
	    h->magic != FRAME_TABLE_MAGIC || !has_size(h, bytes.n))
		return -EBADMSG;
	if (bytes.n >= LARGE)
		par_start(&summing, add_up, &sum);
	else
		add_up(&sum);
	frame_table_view(bytes, &is);
	sound = are_addresses_sound(&is, h->nframes) && are_functions_sound(&is, h) &&
		are_texts_sound(&is, h);
	par_wait(&summing);
	if (!sound || sum.checksum != h->checksum)
		return -EBADMSG;
	*t = is;
	return 0;
}
