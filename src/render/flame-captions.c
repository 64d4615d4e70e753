/*
 * flame-captions.c - what is said about a place, however often it is drawn
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "render/flame-captions.h"

#include "base/out.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "render/flame-colour.h"
#include "render/shorten.h"
#include "render/xml.h"
#include "report/report.h"

#include <stdlib.h>

enum { LONGEST_LABEL = 256 };

static void find_mappings(struct captions *c)
{
	const struct nodes *n = c->nodes;
	const struct profile *v = c->r->v;

	c->mapping = mem_new(n->n, sizeof(*c->mapping));
	for (uint32_t i = 0; i < n->n; i++)
		c->mapping[i] = NONE;
	for (uint32_t l = 0; l < v->nlocations; l++) {
		for (uint32_t f = n->first[l]; f < n->first[l + 1]; f++) {
			if (c->mapping[n->frame[f]] == NONE)
				c->mapping[n->frame[f]] = v->locations[l].mapping;
		}
	}
}

void captions_init(struct captions *c, struct report *r, const struct nodes *nodes, size_t longest)
{
	*c = (struct captions){ .r = r, .nodes = nodes, .longest = longest };
	c->at = mem_zeroed(nodes->n, sizeof(*c->at));
	find_mappings(c);
}

void captions_release(struct captions *c)
{
	free(c->at);
	free(c->mapping);
}

static struct str binary_of(const struct captions *c, uint32_t place)
{
	const struct profile *v = c->r->v;
	uint32_t m = c->mapping[place];

	if (m == NONE || v->mappings[m].file == 0)
		return STR("");
	return str_base(profile_str(v, v->mappings[m].file));
}

/* The name on a frame: short, and with the file's name instead of its path. */
static void put_label(struct captions *c, struct out *o, const struct node_info *i)
{
	const struct profile *v = c->r->v;
	struct str name = shorten_name(&c->r->arena, profile_str(v, i->name));

	if (!i->name && !i->file) {
		node_print(o, v, i);
		return;
	}
	out_str(o, name);
	if (i->file) {
		out_text(o, name.n ? " " : "");
		out_str(o, str_base(profile_str(v, i->file)));
	}
	if (i->line)
		out_printf(o, ":%lld", (long long)i->line);
	if (i->address)
		out_printf(o, " %llx", (unsigned long long)i->address);
}

static struct str made_visible(struct captions *c, struct out *o, size_t most)
{
	struct out visible;
	struct str s;

	out_init(&visible, 0);
	text_visible(&visible, out_view(o), most);
	s = xarena_str(&c->r->arena, out_view(&visible));
	out_release(&visible);
	return s.n ? s : STR("(no name)");
}

static void make(struct captions *c, uint32_t place, struct caption *caption)
{
	const struct profile *v = c->r->v;
	const struct node_info *info = &c->nodes->info[place];
	struct str function = profile_str(v, info->name ? info->name : info->file);
	struct out o;

	out_init(&o, 0);
	node_print(&o, v, info);
	caption->name = made_visible(c, &o, c->longest);
	caption->hash = (uint32_t)hash_bytes(o.p ? o.p : "", o.n, 0);
	caption->cut = o.n > c->longest;
	o.n = 0;
	put_label(c, &o, info);
	caption->label = made_visible(c, &o, LONGEST_LABEL);
	caption->module = module_of(function, binary_of(c, place));
	caption->function = function;
	out_release(&o);
}

const struct caption *captions_get(struct captions *c, uint32_t place)
{
	if (c->at[place].name.n == 0)
		make(c, place, &c->at[place]);
	return &c->at[place];
}
