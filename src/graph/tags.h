/*
 * tags.h - labels of the samples that went through a node
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_TAGS_H
#define GRAPH_TAGS_H

#include "base/out.h"
#include "base/pieces.h"
#include "base/table.h"
#include "base/units.h"
#include "graph/walk.h"

struct label_units;
struct outline;

struct tag_options {
	const struct label_units *units;
	struct unit_target unit; /* numbers are told apart as they print in this unit */
};

/* One label, or one number under a label, of a node. */
struct tag {
	uint32_t node;
	uint32_t label;  /* string: all string labels of a sample, joined; 0 for none */
	uint32_t number; /* string: the number as printed, or NONE for the label itself */
	int64_t value;   /* of a number: the first that printed so */
	struct weight w;
};

struct tags {
	struct tag *at;
	size_t n, cap;
	struct table index;
	struct str unit; /* of the numbers */
};

void tags_init(struct tags *t);
void tags_release(struct tags *t);

struct sample_number {
	uint32_t text; /* string: as printed */
	int64_t value;
};

/* The tags of one sample. */
struct tag_list {
	uint32_t label; /* as in struct tag */
	uint32_t nnumbers;
	const struct sample_number *numbers;
};

/* tags_read() makes a list of them, and keeps it until the next. */
struct sample_tags {
	struct tag_list list;
	struct sample_number *numbers; /* private, as is the rest */
	size_t nnumbers, cap;
	struct pieces labels;
	struct out text;
};

void sample_tags_init(struct sample_tags *st);
void sample_tags_release(struct sample_tags *st);

void tags_read(struct sample_tags *st, struct profile *p, const struct sample *s,
	       const struct tag_options *o);

/* Adds a sample to a node: to the value of everything below it, or to its own. */
void tags_add(struct tags *t, uint32_t node, const struct tag_list *list, int64_t w, int64_t d,
	      bool flat);

/* Adds all of 'from', in its order. */
void tags_merge(struct tags *t, const struct tags *from);

/*
 * tags_walk() collects the tags of the nodes for which 'wanted' is not 0, by an outline that has
 * them if that is not NULL and done.
 */
void tags_walk(struct tags *t, const struct nodes *n, const struct selection *s,
	       const struct tag_options *o, const uint8_t *wanted, const struct outline *outline);

/* Whether a tag survives trimming at 'cutoff'. */
bool tag_is_heavy(const struct tag *t, int64_t cutoff);

int64_t tag_flat(const struct tag *t);
int64_t tag_cum(const struct tag *t);

#endif /* GRAPH_TAGS_H */
