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

/*
 * The tags of one sample, as numbers of strings: tags_read() fills it in, tags_add() then adds the
 * sample to a node, either to the value of everything below it or to its own.
 */
struct sample_number {
	uint32_t text;
	int64_t value;
};

struct sample_tags {
	uint32_t label;
	struct sample_number *numbers;
	size_t nnumbers, cap;
	struct pieces labels; /* private */
	struct out text;      /* private */
};

void sample_tags_init(struct sample_tags *st);
void sample_tags_release(struct sample_tags *st);

void tags_read(struct sample_tags *st, struct profile *p, const struct sample *s,
	       const struct tag_options *o);
void tags_add(struct tags *t, uint32_t node, const struct sample_tags *st, int64_t w, int64_t d,
	      bool flat);

/* tags_walk() collects the tags of the nodes for which 'wanted' is not 0 ('kept' as walk_edges()).
 */
void tags_walk(struct tags *t, const struct nodes *n, const struct selection *s,
	       const struct tag_options *o, const uint8_t *kept, const uint8_t *wanted);

/* Whether a tag survives trimming at 'cutoff'. */
bool tag_is_heavy(const struct tag *t, int64_t cutoff);

int64_t tag_flat(const struct tag *t);
int64_t tag_cum(const struct tag *t);

#endif /* GRAPH_TAGS_H */
