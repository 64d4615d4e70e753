/*
 * encode.c - from a struct profile to profile.proto bytes
 *
 * Strings are numbered as they are first used, in the reference's order, in a walk of its own;
 * then the message is written part by part, each part first into a scratch buffer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/encode.h"

#include "base/deflate.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "profile/labels.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "wire/pbw.h"

#include <stdlib.h>

struct encoder {
	const struct profile *p;
	struct out *o;
	uint32_t *number;  /* of our string s in the file, plus one */
	uint32_t *strings; /* in the file's order */
	uint32_t nstrings;
	struct pbw w; /* scratch: one part of the message */
};

static void add(struct encoder *e, uint32_t s)
{
	if (e->number[s] == 0) {
		e->strings[e->nstrings++] = s;
		e->number[s] = e->nstrings;
	}
}

static uint64_t num(const struct encoder *e, uint32_t s)
{
	return s == NONE ? 0 : e->number[s] - 1;
}

static void add_labels(struct encoder *e, const struct sample *s)
{
	const struct label *l = e->p->labels + s->label;

	for (uint32_t i = 0; i < s->nlabels; i++) {
		add(e, l[i].key);
		if (label_is_string(&l[i]))
			add(e, l[i].str);
		else if (l[i].unit != NONE)
			add(e, l[i].unit);
	}
}

static void number_strings(struct encoder *e)
{
	const struct profile *p = e->p;

	add(e, 0);
	for (uint32_t i = 0; i < p->ntypes; i++) {
		add(e, p->types[i].type);
		add(e, p->types[i].unit);
	}
	for (size_t i = 0; i < p->nsamples; i++)
		add_labels(e, sample_at(p, i));
	for (uint32_t i = 0; i < p->nmappings; i++) {
		add(e, p->mappings[i].file);
		add(e, p->mappings[i].build_id);
	}
	for (uint32_t i = 0; i < p->nfunctions; i++) {
		add(e, p->functions[i].name);
		add(e, p->functions[i].system_name);
		add(e, p->functions[i].file);
	}
	add(e, p->drop_frames);
	add(e, p->keep_frames);
	add(e, p->period_type.type);
	add(e, p->period_type.unit);
	for (uint32_t i = 0; i < p->ncomments; i++)
		add(e, p->comments[i]);
	add(e, p->default_type);
	add(e, p->doc_url);
}

/* Makes the scratch buffer hold at least 'n' bytes, and empties it. */
static void scratch(struct encoder *e, size_t n)
{
	if (n > e->w.cap) {
		e->w.p = mem_grow(e->w.p, n * 2, 1);
		e->w.cap = n * 2;
	}
	e->w.n = 0;
}

static void flush(struct encoder *e)
{
	out_bytes(e->o, e->w.p, e->w.n);
	e->w.n = 0;
}

static void put_value_type(struct encoder *e, uint32_t field, struct value_type vt)
{
	size_t mark = pbw_begin(&e->w, field);

	pbw_opt(&e->w, 1, num(e, vt.type));
	pbw_opt(&e->w, 2, num(e, vt.unit));
	pbw_end(&e->w, mark);
}

/* The reference packs lists of more than two. */
static void put_values(struct pbw *w, uint32_t field, const int64_t *v, size_t n)
{
	size_t mark;

	if (n <= 2) {
		for (size_t i = 0; i < n; i++)
			pbw_u64(w, field, (uint64_t)v[i]);
		return;
	}
	mark = pbw_begin(w, field);
	for (size_t i = 0; i < n; i++)
		pbw_varint(w, (uint64_t)v[i]);
	pbw_end(w, mark);
}

static void put_stack(struct encoder *e, struct stack_list stack)
{
	size_t mark;

	if (stack.n <= 2) {
		for (uint32_t i = 0; i < stack.n; i++)
			pbw_u64(&e->w, 1, e->p->locations[stack.at[i]].id);
		return;
	}
	mark = pbw_begin(&e->w, 1);
	for (uint32_t i = 0; i < stack.n; i++)
		pbw_varint(&e->w, e->p->locations[stack.at[i]].id);
	pbw_end(&e->w, mark);
}

static void put_label(struct encoder *e, const struct label *l)
{
	size_t mark = pbw_begin(&e->w, 3);

	pbw_opt(&e->w, 1, num(e, l->key));
	pbw_opt(&e->w, 2, label_is_string(l) ? num(e, l->str) : 0);
	pbw_opt(&e->w, 3, (uint64_t)l->num);
	pbw_opt(&e->w, 4, num(e, l->unit));
	pbw_end(&e->w, mark);
}

static void put_samples(struct encoder *e)
{
	const struct profile *p = e->p;
	struct stack_reader reader;

	stack_reader_init(&reader, p);
	for (size_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = sample_at(p, i);
		struct stack_list stack = stack_read(&reader, i);
		size_t mark;

		scratch(e, ((size_t)stack.n + p->ntypes + 4 * (size_t)s->nlabels + 8) *
				   PBW_NUMBER_MAX);
		mark = pbw_begin(&e->w, 2);
		put_stack(e, stack);
		put_values(&e->w, 2, sample_values(p, i), p->ntypes);
		for (uint32_t k = 0; k < s->nlabels; k++)
			put_label(e, &p->labels[s->label + k]);
		pbw_end(&e->w, mark);
		flush(e);
	}
	stack_reader_release(&reader);
}

static void put_mapping(struct encoder *e, const struct mapping *m)
{
	size_t mark = pbw_begin(&e->w, 3);

	pbw_opt(&e->w, 1, m->id);
	pbw_opt(&e->w, 2, m->start);
	pbw_opt(&e->w, 3, m->limit);
	pbw_opt(&e->w, 4, m->offset);
	pbw_opt(&e->w, 5, num(e, m->file));
	pbw_opt(&e->w, 6, num(e, m->build_id));
	pbw_opt(&e->w, 7, m->has_functions);
	pbw_opt(&e->w, 8, m->has_filenames);
	pbw_opt(&e->w, 9, m->has_line_numbers);
	pbw_opt(&e->w, 10, m->has_inline_frames);
	pbw_end(&e->w, mark);
}

static void put_line(struct encoder *e, const struct line *ln)
{
	size_t mark = pbw_begin(&e->w, 4);

	pbw_opt(&e->w, 1, e->p->functions[ln->function].id);
	pbw_opt(&e->w, 2, (uint64_t)ln->line);
	pbw_opt(&e->w, 3, (uint64_t)ln->column);
	pbw_end(&e->w, mark);
}

static void put_location(struct encoder *e, const struct location *l)
{
	size_t mark = pbw_begin(&e->w, 4);

	pbw_opt(&e->w, 1, l->id);
	pbw_opt(&e->w, 2, l->mapping == NONE ? 0 : e->p->mappings[l->mapping].id);
	pbw_opt(&e->w, 3, l->address);
	for (uint32_t i = 0; i < l->nlines; i++)
		put_line(e, &e->p->lines[l->line + i]);
	pbw_opt(&e->w, 5, l->is_folded);
	pbw_end(&e->w, mark);
}

static void put_function(struct encoder *e, const struct function *f)
{
	size_t mark = pbw_begin(&e->w, 5);

	pbw_opt(&e->w, 1, f->id);
	pbw_opt(&e->w, 2, num(e, f->name));
	pbw_opt(&e->w, 3, num(e, f->system_name));
	pbw_opt(&e->w, 4, num(e, f->file));
	pbw_opt(&e->w, 5, (uint64_t)f->start_line);
	pbw_end(&e->w, mark);
}

static void put_tables(struct encoder *e)
{
	const struct profile *p = e->p;

	for (uint32_t i = 0; i < p->nmappings; i++) {
		scratch(e, 12 * PBW_NUMBER_MAX);
		put_mapping(e, &p->mappings[i]);
		flush(e);
	}
	for (uint32_t i = 0; i < p->nlocations; i++) {
		scratch(e, (4 * (size_t)p->locations[i].nlines + 8) * PBW_NUMBER_MAX);
		put_location(e, &p->locations[i]);
		flush(e);
	}
	for (uint32_t i = 0; i < p->nfunctions; i++) {
		scratch(e, 8 * PBW_NUMBER_MAX);
		put_function(e, &p->functions[i]);
		flush(e);
	}
	for (uint32_t i = 0; i < e->nstrings; i++) {
		struct str s = profile_str(p, e->strings[i]);

		scratch(e, s.n + PBW_NUMBER_MAX);
		pbw_bytes(&e->w, 6, s.p, s.n);
		flush(e);
	}
}

static void put_comments(struct encoder *e)
{
	const struct profile *p = e->p;
	int64_t *numbers = mem_new(p->ncomments, sizeof(*numbers));

	for (uint32_t i = 0; i < p->ncomments; i++)
		numbers[i] = (int64_t)num(e, p->comments[i]);
	put_values(&e->w, 13, numbers, p->ncomments);
	free(numbers);
}

static void put_header(struct encoder *e)
{
	const struct profile *p = e->p;

	scratch(e, ((size_t)p->ncomments + 16) * PBW_NUMBER_MAX);
	pbw_opt(&e->w, 7, num(e, p->drop_frames));
	pbw_opt(&e->w, 8, num(e, p->keep_frames));
	pbw_opt(&e->w, 9, (uint64_t)p->time_nanos);
	pbw_opt(&e->w, 10, (uint64_t)p->duration_nanos);
	if (p->period_type.type || p->period_type.unit)
		put_value_type(e, 11, p->period_type);
	pbw_opt(&e->w, 12, (uint64_t)p->period);
	put_comments(e);
	pbw_u64(&e->w, 14, num(e, p->default_type));
	pbw_opt(&e->w, 15, num(e, p->doc_url));
	flush(e);
}

void profile_encode(const struct profile *p, struct out *o)
{
	struct encoder e = { .p = p, .o = o };

	e.number = mem_zeroed(p->strings->n, sizeof(*e.number));
	e.strings = mem_new(p->strings->n, sizeof(*e.strings));
	number_strings(&e);
	scratch(&e, ((size_t)p->ntypes + 1) * 4 * PBW_NUMBER_MAX);
	for (uint32_t i = 0; i < p->ntypes; i++)
		put_value_type(&e, 1, p->types[i]);
	flush(&e);
	put_samples(&e);
	put_tables(&e);
	put_header(&e);
	free(e.number);
	free(e.strings);
	free(e.w.p);
}

static void pack(void *packer, const char *p, size_t n)
{
	deflater_put(packer, p, n);
}

void profile_write(const struct profile *p, struct out *o)
{
	struct deflater *packer = deflater_new(o);
	struct out plain;

	out_init_to(&plain, pack, packer, 0);
	profile_encode(p, &plain);
	(void)out_finish(&plain);
	deflater_end(packer);
	out_release(&plain);
}
