/*
 * legacy-cpu.c - CPU profiles of gperftools, and of Java in the same format
 *
 * Words of 32 or 64 bits in the byte order of the machine that wrote them:
 *
 *	0  3  <0: C++, 1: Java>  <sampling period in microseconds>  0
 *	<count> <depth> <address> ...		repeated
 *	0  1  0					the end, if the program got that far
 *
 * Then follows a memory map as text or, for Java, a list of names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/build.h"
#include "profile/legacy-formats.h"
#include "profile/legacy-maps.h"
#include "profile/legacy-text.h"

enum { HEADER_WORDS = 5 };

/* A reader of words; once they have run out, 'cut_short', and all words are 0. */
struct words {
	struct str rest;
	unsigned char size;
	bool big_endian;
	bool cut_short;
};

static uint64_t next_word(struct words *w)
{
	const unsigned char *p = (const unsigned char *)w->rest.p;
	uint64_t v = 0;

	if (w->rest.n < w->size) {
		w->rest.n = 0;
		w->cut_short = true;
		return 0;
	}
	for (unsigned i = 0; i < w->size; i++)
		v |= (uint64_t)p[i] << 8 * (w->big_endian ? w->size - 1 - i : i);
	w->rest = str_skip(w->rest, w->size);
	return v;
}

static bool read_header(struct words *w, bool *java, int64_t *period)
{
	uint64_t word[HEADER_WORDS];

	for (int i = 0; i < HEADER_WORDS; i++)
		word[i] = next_word(w);
	*java = word[2] == 1;
	*period = (int64_t)word[3];
	return !w->cut_short && word[0] == 0 && word[1] == 3 && word[2] <= 1 && word[3] > 0 &&
	       word[4] == 0;
}

/*
 * False at a record that cannot be.  A depth may claim twice the words there are, if words
 * have 64 bits: the reference reads 0 for the others.
 */
static bool read_samples(struct words *w, bool java, struct builder *b)
{
	AUTO(addresses_release) struct addresses a = { 0 };

	while (w->rest.n) {
		uint64_t count = next_word(w), depth = next_word(w);
		int64_t values[2] = { (int64_t)count, wrap_mul((int64_t)count, b->p->period) };

		if (w->cut_short || depth > w->rest.n / 4)
			return false;
		for (uint64_t i = 0; i < depth; i++)
			addresses_add(&a, next_word(w));
		if (count == 0 && a.n == 1 && a.at[0] == 0)
			break;
		addresses_sample(&a, java ? a.n : 1, b, values);
	}
	return true;
}

void legacy_drop_second_frame(struct builder *b, size_t i)
{
	struct sample *s = &b->p->samples[i];
	uint32_t *stack = b->p->stacks + s->stack;

	s->depth--;
	memmove(stack + 1, stack + 2, (s->depth - 1) * sizeof(*stack));
}

void legacy_drop_doubled_leaf(struct builder *b)
{
	const struct profile *p = b->p;

	for (size_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];
		const struct location *leaf, *caller;

		if (s->depth < 2)
			continue;
		leaf = &p->locations[p->stacks[s->stack]];
		caller = &p->locations[p->stacks[s->stack + 1]];
		if (leaf->address == caller->address + 1)
			legacy_drop_second_frame(b, i);
	}
}

/* The second frame that all but one in 32 samples have, or NONE. */
static uint32_t common_second_frame(const struct profile *p)
{
	AUTO(freep) size_t *counts = mem_zeroed(p->nlocations, sizeof(*counts));
	size_t enough = p->nsamples - p->nsamples / 32;

	for (size_t i = 0; i < p->nsamples; i++) {
		uint32_t second;

		if (p->samples[i].depth < 2)
			continue;
		second = p->stacks[p->samples[i].stack + 1];
		if (++counts[second] == enough)
			return second;
	}
	return NONE;
}

/*
 * A second frame in nearly all samples is the signal handler's: the leaf comes from the signal's
 * context, the others from the handler's stack.
 */
static void drop_handler(struct builder *b)
{
	const struct profile *p = b->p;
	uint32_t handler = common_second_frame(p);

	for (size_t i = 0; handler != NONE && i < p->nsamples; i++) {
		if (p->samples[i].depth > 1 && p->stacks[p->samples[i].stack + 1] == handler)
			legacy_drop_second_frame(b, i);
	}
}

static int finish_native(struct str rest, struct builder *b, struct err *err)
{
	struct lines l = lines_of(rest);
	int rc;

	drop_handler(b);
	drop_handler(b);
	builder_renumber(b);
	rc = maps_read(&l, b, err);
	if (rc == 0)
		legacy_drop_doubled_leaf(b);
	return rc;
}

static int read_profile(struct words *w, bool java, int64_t period, struct builder *b,
			struct err *err)
{
	builder_period(b, STR("cpu"), STR("nanoseconds"), wrap_mul(period, 1000));
	builder_type(b, STR("samples"), STR("count"));
	builder_type(b, STR("cpu"), STR("nanoseconds"));
	if (!read_samples(w, java, b))
		return text_unrecognized(err);
	return java ? java_read_locations(w->rest, b, err) : finish_native(w->rest, b, err);
}

int legacy_read_cpu(struct str data, struct builder *b, struct err *err)
{
	static const struct words kinds[] = {
		{ .size = 4 },
		{ .size = 4, .big_endian = true },
		{ .size = 8 },
		{ .size = 8, .big_endian = true },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct words w = kinds[i];
		int64_t period;
		bool java;

		w.rest = data;
		if (read_header(&w, &java, &period))
			return read_profile(&w, java, period, b, err);
	}
	return text_unrecognized(err);
}
