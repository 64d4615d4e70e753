/*
 * node-names.c - the printed names of nodes
 *
 * One by one they live in the arena.  All of them are made by several threads, each with an
 * arena of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/node-names.h"

#include "base/out.h"
#include "base/par.h"
#include "base/xalloc.h"
#include "profile/profile.h"

/* Fewer nodes are not worth a thread. */
enum { MANY = 1 << 10 };

static struct str make_name(const struct graph *g, uint32_t node, struct arena *a, struct out *o)
{
	struct graph_node *n = &g->nodes[node];

	o->n = 0;
	node_print(o, g->p, &n->info);
	n->name = xarena_str(a, out_view(o));
	return n->name;
}

struct str graph_name(const struct graph *g, uint32_t node)
{
	struct str name = g->nodes[node].name;
	struct out o;

	if (name.p)
		return name;
	out_init(&o, 0);
	name = make_name(g, node, (struct arena *)&g->arena, &o);
	out_release(&o);
	return name;
}

struct naming {
	struct graph *g;
	const struct graph_options *o; /* NULL: nothing is asked, */
	const struct node_info *info;  /* and nodes are made already */
	uint8_t *about;
	int width;
};

static uint32_t begin_of(const struct naming *m, int share)
{
	return (uint32_t)((uint64_t)m->g->nnodes * (uint64_t)share / (uint64_t)m->width);
}

static void name_share(int t, void *naming)
{
	const struct naming *m = naming;
	struct arena *a = &m->g->names[t];
	uint32_t end = begin_of(m, t + 1);
	struct out o;

	out_init(&o, 0);
	for (uint32_t i = begin_of(m, t); i < end; i++) {
		struct str name;

		if (m->o)
			m->g->nodes[i] = (struct graph_node){ .info = m->info[i] };
		name = m->g->nodes[i].name;
		if (!name.p)
			name = make_name(m->g, i, a, &o);
		if (m->o)
			m->about[i] = m->o->is_about(name, m->o->ctx);
	}
	out_release(&o);
}

static void name_all(struct naming *m)
{
	m->width = m->g->nnodes < MANY ? 1 : par_width();
	par_run(m->width, name_share, m);
	m->g->all_named = true;
}

void names_init(struct graph *g)
{
	for (int i = 0; i < PAR_MOST; i++)
		arena_init(&g->names[i], PROFILE_BUDGET);
}

void names_release(struct graph *g)
{
	for (int i = 0; i < PAR_MOST; i++)
		arena_release(&g->names[i]);
}

uint8_t *names_make(struct graph *g, const struct graph_options *o, const struct node_info *info)
{
	struct naming m = { .g = g, .o = o, .info = info, .about = mem_zeroed(g->nnodes, 1) };

	name_all(&m);
	return m.about;
}

void graph_name_all(struct graph *g)
{
	struct naming m = { .g = g };

	if (!g->all_named)
		name_all(&m);
}
