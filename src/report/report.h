/*
 * report.h - a profile, the way a person wants to look at it
 *
 * report_new() is where a report begins: it takes a loaded profile and the options, makes a view,
 * applies the filters, and settles which numbers count and what they are compared with.  The rest
 * of report/ turns that into rows, trees and lists; render/ into bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/arena.h"
#include "base/units.h"
#include "graph/graph.h"
#include "view/config.h"
#include "view/label-units.h"
#include "view/select.h"

struct err;
struct notify;
struct out;
struct profile;
struct regex;

enum report_kind {
	REPORT_TEXT,
	REPORT_TREE,
	REPORT_PEEK,
	REPORT_TRACES,
	REPORT_TAGS,
	REPORT_RAW,
	REPORT_COMMENTS,
	REPORT_LIST,
	REPORT_DISASM,
	REPORT_WEBLIST,
	REPORT_DOT,
	REPORT_CALLGRIND,
	REPORT_PROTO,
	REPORT_TOPPROTO,
	REPORT_FOLDED,
	REPORT_STACKS,
	REPORT_FLAME,
};

struct report {
	enum report_kind kind;
	struct config cfg; /* after what the kind of report insists on */
	struct arena arena;
	struct profile *v;
	struct label_units units;
	struct selection selection;
	int64_t total; /* what percentages are of */
	double ratio;  /* values are multiplied by this: 1 / divide_by */
	struct str sample_type, sample_unit;
	struct unit_target unit; /* what values are printed in */
	struct regex *symbol;    /* the parameter of kinds that take one, or NULL */
	struct notify *notify;   /* for warnings while it is made; may be NULL */
};

/*
 * report_new() prepares a report on 'p', which stays as it is and must outlive the report.  'param'
 * is the parameter of kinds that take one, else NULL.  Warnings go to 'notify'; failure is -EINVAL
 * with the reference's message.
 */
int report_new(struct report **out, const struct profile *p, enum report_kind kind,
	       const char *param, const struct config *cfg, struct notify *notify, struct err *err);
void report_free(struct report *r);

static inline void report_freep(struct report **r)
{
	report_free(*r);
}

/*
 * report_greeting() is the beginning of report_new() alone, for the lines that introduce a profile:
 * nothing is filtered.
 */
int report_greeting(struct report **out, const struct profile *p, const struct config *cfg,
		    struct notify *notify, struct err *err);

/* The graph that this kind of report shows. */
struct graph *report_graph(struct report *r);

/*
 * report_choose_unit() settles one unit for all values of a table, where the person left it open:
 * the one that suits the smallest value shown.
 */
void report_choose_unit(struct report *r, const struct graph *g);

/* A value as text: divided, scaled, with its unit. */
void report_value(const struct report *r, struct out *o, int64_t v);
/* The same, to look at: lives in the report's arena. */
struct str report_value_str(struct report *r, int64_t v);

#endif /* REPORT_REPORT_H */
