/*
 * proto.c - reports that are profiles themselves
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/out.h"
#include "base/table.h"
#include "base/xalloc.h"
#include "graph/graph.h"
#include "profile/encode.h"
#include "profile/profile.h"
#include "render/render.h"
#include "report/report.h"
#include "view/own.h"

#include <stdlib.h>

void render_proto(struct report *r, struct out *o)
{
	struct profile *v = r->v;

	if (r->ratio > 0 && r->ratio != 1) {
		own_values(v);
		for (size_t i = 0; i < profile_rows(v) * v->ntypes; i++)
			v->values[i] = f64_to_i64((double)v->values[i] * r->ratio);
	}
	profile_write(v, o);
}

/* ------------------------------------------------------------------ the top functions */

/* The functions written so far, by what tells them apart. */
struct functions {
	struct profile *p;
	struct table index;
};

static uint64_t hash_function(uint32_t i, const void *ctx)
{
	const struct function *f = &((const struct profile *)ctx)->functions[i];

	return hash_mix(hash_mix(f->name, f->file), (uint64_t)f->start_line);
}

static uint32_t function_for(struct functions *fs, const struct node_info *i)
{
	struct profile *p = fs->p;
	struct function *f = &p->functions[p->nfunctions];
	struct probe at;

	*f = (struct function){ .id = (uint64_t)p->nfunctions + 1,
				.name = i->name,
				.file = i->file,
				.start_line = i->start_line };
	table_reserve(&fs->index, hash_function, p);
	at = table_probe(&fs->index, hash_function(p->nfunctions, p));
	while (table_next(&fs->index, &at)) {
		const struct function *have = &p->functions[at.value];

		if (have->name == f->name && have->file == f->file &&
		    have->start_line == f->start_line)
			return at.value;
	}
	table_put(&fs->index, &at, p->nfunctions);
	return p->nfunctions++;
}

static int64_t scaled(const struct report *r, int64_t v)
{
	struct str unit;

	return f64_to_i64(unit_scale(v, r->sample_unit, r->unit, &unit));
}

static void add_node(struct report *r, struct functions *fs, const struct graph_node *n, uint32_t i)
{
	struct profile *p = fs->p;

	p->lines[i] = (struct line){ .function = function_for(fs, &n->info), .line = n->info.line };
	p->locations[i] = (struct location){ .id = (uint64_t)i + 1,
					     .address = n->info.address,
					     .mapping = NONE,
					     .line = i,
					     .nlines = 1 };
	p->stacks[i] = i;
	p->samples[i] = (struct sample){ .stack = i, .depth = 1 };
	sample_values(p, i)[0] = scaled(r, node_cum(n));
	sample_values(p, i)[1] = scaled(r, node_flat(n));
}

/* A profile of its own that shares the strings of the report's. */
static struct profile *new_profile(struct report *r, uint32_t n)
{
	struct profile *p = profile_view(r->v);
	uint32_t unit = profile_intern_copy(p, r->unit.unit);

	p->ntypes = 2;
	p->rows = NULL;
	p->hidden = NULL;
	p->ends = NULL;
	p->nleaves = p->nroots = 0;
	p->types = xarena(&p->arena, 2, sizeof(*p->types));
	p->types[0] = (struct value_type){ profile_intern(p, STR("cum")), unit };
	p->types[1] = (struct value_type){ profile_intern(p, STR("flat")), unit };
	p->samples = xarena(&p->arena, n, sizeof(*p->samples));
	p->values = xarena(&p->arena, (size_t)n * 2, sizeof(*p->values));
	p->stacks = xarena(&p->arena, n, sizeof(*p->stacks));
	p->locations = xarena(&p->arena, n, sizeof(*p->locations));
	p->lines = xarena(&p->arena, n, sizeof(*p->lines));
	p->functions = xarena(&p->arena, (size_t)n + 1, sizeof(*p->functions));
	p->nsamples = p->nlocations = p->nlines = n;
	p->nfunctions = p->nmappings = p->ncomments = 0;
	p->default_type = p->drop_frames = p->keep_frames = p->doc_url = 0;
	return p;
}

void render_topproto(struct report *r, struct out *o)
{
	AUTO(graph_freep) struct graph *g = report_graph(r);
	AUTO(profile_freep) struct profile *p = NULL;
	struct functions fs;

	report_choose_unit(r, g);
	p = new_profile(r, g->n);
	fs.p = p;
	table_init(&fs.index, g->n);
	for (uint32_t i = 0; i < g->n; i++)
		add_node(r, &fs, graph_at(g, i), i);
	profile_write(p, o);
	table_release(&fs.index);
}
