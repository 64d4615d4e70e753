/*
 * render.h - how a report looks
 *
 * One function per kind of report and format.  Each writes to 'o'; what can fail says so before it
 * writes anything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RENDER_RENDER_H
#define RENDER_RENDER_H

#include <stdbool.h>
#include <stddef.h>

struct compare;
struct err;
struct out;
struct report;
struct trust;

/* How much of a comparison to show. */
struct compare_rows {
	bool all;    /* also what may be chance */
	size_t most; /* rows of a table */
};

/* Plain text, byte for byte the reference's. */
void render_top_text(struct report *r, struct out *o);
int render_tree_text(struct report *r, struct out *o, struct err *err); /* also peek */
void render_traces_text(struct report *r, struct out *o);
void render_tags_text(struct report *r, struct out *o);
void render_raw_text(struct report *r, struct out *o);
void render_comments_text(struct report *r, struct out *o);
int render_list_text(struct report *r, struct out *o, struct err *err);
int render_disasm_text(struct report *r, struct out *o, struct err *err);
int render_stacks_text(struct report *r, struct out *o, struct err *err);
void render_folded(struct report *r, struct out *o);

/* One file for a browser, or to look at as it is. */
void render_flame_svg(struct report *r, struct out *o);

/* For other programs. */
int render_weblist(struct report *r, struct out *o, struct err *err);
void render_dot(struct report *r, struct out *o);
/* The same; 't' learns how much the graph shows, as from trust_graph(). */
void render_dot_trusted(struct report *r, struct out *o, struct trust *t);
void render_callgrind(struct report *r, struct out *o);
void render_proto(struct report *r, struct out *o);
void render_topproto(struct report *r, struct out *o);

void render_top_json(struct report *r, struct out *o);
int render_tree_json(struct report *r, struct out *o, struct err *err);
void render_tags_json(struct report *r, struct out *o);
void render_top_csv(struct report *r, struct out *o);
int render_tree_csv(struct report *r, struct out *o, struct err *err);
void render_tags_csv(struct report *r, struct out *o);

/* What changed from one profile to another: 'c' is that of the report. */
void render_compare_text(struct report *r, const struct compare *c, struct compare_rows rows,
			 struct out *o);
void render_compare_json(struct report *r, const struct compare *c, struct compare_rows rows,
			 struct out *o);

/* The lines that introduce a profile, each with its newline. */
void render_legend(struct report *r, struct out *o);

#endif /* RENDER_RENDER_H */
