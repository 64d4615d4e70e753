/*
 * output.c - a profile in the making: samples, counted by stack and labels
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/output-private.h"

#include "runtime/os.h"

#include <string.h>

struct sonde__output *sonde__output_new(const struct sonde__output_head *head)
{
	struct sonde__output *o = sonde__map(sizeof(*o));

	if (!o)
		return NULL;
	o->head = *head;
	sonde__output_string(o, ""); /* number 0, by the format */
	if (head->sink && !sonde__stream_open(o)) {
		sonde__output_free(o);
		return NULL;
	}
	return o;
}

void sonde__output_free(struct sonde__output *o)
{
	if (!o)
		return;
	sonde__stream_close(o);
	sonde__buf_release(&o->samples);
	sonde__buf_release(&o->labels);
	sonde__buf_release(&o->bytes);
	sonde__buf_release(&o->strings);
	sonde__buf_release(&o->comments);
	sonde__index_release(&o->by_stack);
	sonde__index_release(&o->by_text);
	sonde__unmap(o, sizeof(*o));
}

const struct text *sonde__output_text(const struct sonde__output *o, uint32_t number)
{
	return (const struct text *)(const void *)o->strings.p + number;
}

static uint32_t find_text(struct sonde__output *o, const char *words, size_t n)
{
	uint32_t hash = sonde__hash(words, n), id;
	struct text *t;

	if (n == 0 && o->strings.n)
		return 0;
	for (size_t at = hash; (id = sonde__index_next(&o->by_text, hash, &at)) != 0;) {
		const struct text *old = sonde__output_text(o, id - 1);

		if (old->n == n && memcmp(o->bytes.p + old->at, words, n) == 0)
			return id - 1;
	}
	t = sonde__buf_more(&o->strings, sizeof(*t));
	if (!t)
		return 0;
	*t = (struct text){ (uint32_t)o->bytes.n, (uint32_t)n };
	sonde__buf_add(&o->bytes, words, n);
	id = (uint32_t)(o->strings.n / sizeof(*t));
	if (o->bytes.full || !sonde__index_put(&o->by_text, hash, id)) {
		o->strings.n -= sizeof(*t);
		return 0;
	}
	return id - 1;
}

uint32_t sonde__output_string(struct sonde__output *o, const char *text)
{
	return find_text(o, text ? text : "", text ? strlen(text) : 0);
}

struct sample *sonde__output_sample(const struct sonde__output *o, size_t i)
{
	return (struct sample *)(void *)o->samples.p + i;
}

const struct label *sonde__output_label(const struct sonde__output *o, size_t i)
{
	return (const struct label *)(const void *)o->labels.p + i;
}

static uint32_t hash_sample(uint32_t stack, const struct label *labels, size_t n)
{
	uint32_t h = (stack + 1) * 0x9e3779b1u;

	return n ? h ^ sonde__hash(labels, n * sizeof(*labels)) : h ^ h >> 15;
}

/* The sample with this stack and these labels, made if need be; NULL when there is no room. */
static struct sample *find_sample(struct sonde__output *o, uint32_t stack,
				  const struct label *labels, size_t n)
{
	uint32_t hash = hash_sample(stack, labels, n), id;
	struct sample *s;

	for (size_t at = hash; (id = sonde__index_next(&o->by_stack, hash, &at)) != 0;) {
		s = sonde__output_sample(o, id - 1);
		if (s->stack == stack && s->nlabels == n &&
		    (n == 0 ||
		     memcmp(sonde__output_label(o, s->labels), labels, n * sizeof(*labels)) == 0))
			return s;
	}
	s = sonde__buf_more(&o->samples, sizeof(*s));
	if (!s)
		return NULL;
	s->stack = stack;
	s->nlabels = (uint32_t)n;
	s->labels = o->labels.n / sizeof(*labels);
	sonde__buf_add(&o->labels, labels, n * sizeof(*labels));
	id = (uint32_t)(o->samples.n / sizeof(*s));
	if (o->labels.full || !sonde__index_put(&o->by_stack, hash, id)) {
		o->samples.n -= sizeof(*s);
		return NULL;
	}
	return s;
}

static void add_values(struct sonde__output *o, struct sample *s, const int64_t *values, int sign)
{
	if (!s) {
		o->left_out++;
		return;
	}
	for (size_t i = 0; i < o->head.ntypes; i++)
		s->values[i] += sign * values[i];
}

static void stream(struct sonde__output *o, uint32_t stack, const int64_t *values,
		   const struct label *labels, size_t n)
{
	struct sample s = { .stack = stack, .nlabels = (uint32_t)n };

	memcpy(s.values, values, o->head.ntypes * sizeof(*values));
	o->labels.n = 0;
	sonde__buf_add(&o->labels, labels, n * sizeof(*labels));
	if (o->labels.full)
		o->left_out++;
	else
		sonde__stream_sample(o, &s);
}

void sonde__output_add(struct sonde__output *o, uint32_t stack, const int64_t *values,
		       const struct sonde__label *labels, size_t nlabels)
{
	struct label own[SONDE__LABELS];
	size_t n = nlabels < SONDE__LABELS ? nlabels : SONDE__LABELS;

	for (size_t i = 0; i < n; i++) {
		own[i] = (struct label){
			.key = sonde__output_string(o, labels[i].key),
			.text = sonde__output_string(o, labels[i].text),
			.unit = sonde__output_string(o, labels[i].unit),
			.number = labels[i].number,
		};
	}
	if (o->stream)
		stream(o, stack, values, own, n);
	else
		add_values(o, find_sample(o, stack, own, n), values, 1);
}

void sonde__output_comment(struct sonde__output *o, const char *text)
{
	uint32_t *c = sonde__buf_more(&o->comments, sizeof(*c));

	if (c)
		*c = sonde__output_string(o, text);
}

/* The number of a text of another profile. */
static uint32_t copy_text(struct sonde__output *o, const struct sonde__output *from,
			  uint32_t number)
{
	const struct text *t = sonde__output_text(from, number);

	return find_text(o, from->bytes.p + t->at, t->n);
}

static void subtract_sample(struct sonde__output *o, const struct sonde__output *before,
			    const struct sample *s)
{
	struct label own[SONDE__LABELS];

	for (size_t i = 0; i < s->nlabels; i++) {
		const struct label *l = sonde__output_label(before, s->labels + i);

		own[i] = (struct label){
			.key = copy_text(o, before, l->key),
			.text = copy_text(o, before, l->text),
			.unit = copy_text(o, before, l->unit),
			.number = l->number,
		};
	}
	add_values(o, find_sample(o, s->stack, own, s->nlabels), s->values, -1);
}

void sonde__output_subtract(struct sonde__output *o, struct sonde__output *before)
{
	size_t n = before->samples.n / sizeof(struct sample);

	for (size_t i = 0; i < n; i++)
		subtract_sample(o, before, sonde__output_sample(before, i));
	o->head.duration = o->head.time - before->head.time;
	o->difference = true;
	sonde__output_free(before);
}
