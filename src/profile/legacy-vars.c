/*
 * legacy-vars.c - "$name" in memory maps
 *
 * A variable may be defined with others, so a few lines of text can stand for gigabytes.
 * Three ceilings keep that in bounds: for one expanded line, for all names and values that
 * are kept, and for all the characters that are looked at or copied.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/legacy-vars.h"

#include "base/err.h"
#include "base/xalloc.h"

#include <errno.h>
#include <stdlib.h>

#define LINE_MAX_BYTES ((size_t)1 << 20)
#define NAME_MAX_BYTES ((size_t)1 << 20) /* of all names together */
#define VALUES_BUDGET  ((size_t)64 << 20)
#define WORK_FLOOR     ((size_t)16 << 20)
#define WORK_PER_BYTE  16

#define NO_VALUE UINT32_MAX

struct vars_node {
	uint32_t parent;
	uint32_t value; /* of the variable whose name ends here, or NO_VALUE */
	char last;      /* character of the name */
};

void vars_init(struct vars *v, size_t input)
{
	*v = (struct vars){ .work = WORK_FLOOR + input * WORK_PER_BYTE };
	arena_init(&v->arena, VALUES_BUDGET);
	out_init(&v->line, LINE_MAX_BYTES);
}

void vars_release(struct vars *v)
{
	arena_release(&v->arena);
	free(v->values);
	free(v->nodes);
	table_release(&v->children);
	out_release(&v->line);
}

static int too_much(struct err *err)
{
	return err_set(err, -E2BIG, "memory map: $variables expand to too much text");
}

static uint64_t hash_child(uint32_t parent, char last)
{
	return hash_mix(parent, (unsigned char)last);
}

static uint64_t rehash_node(uint32_t i, const void *nodes)
{
	const struct vars_node *n = (const struct vars_node *)nodes + i;

	return hash_child(n->parent, n->last);
}

/* Finds the child of 'parent' for character 'c'; else 'at' is where it belongs. */
static bool find_child(const struct vars *v, uint32_t parent, char c, struct probe *at)
{
	*at = table_probe(&v->children, hash_child(parent, c));
	while (table_next(&v->children, at)) {
		const struct vars_node *n = &v->nodes[at->value];

		if (n->parent == parent && n->last == c)
			return true;
	}
	return false;
}

static void add_node(struct vars *v, uint32_t parent, char c)
{
	struct vars_node n = { parent, NO_VALUE, c };

	vec_push(v->nodes, v->nnodes, v->cap_nodes, n);
}

static uint32_t node_of(struct vars *v, struct str name)
{
	uint32_t node = 0;
	struct probe at;

	if (v->nnodes == 0) {
		table_init(&v->children, 0);
		add_node(v, NO_VALUE, 0);
	}
	for (size_t i = 0; i < name.n; i++) {
		table_reserve(&v->children, rehash_node, v->nodes);
		if (!find_child(v, node, name.p[i], &at)) {
			at.value = (uint32_t)v->nnodes;
			table_put(&v->children, &at, at.value);
			add_node(v, node, name.p[i]);
		}
		node = at.value;
	}
	return node;
}

int vars_set(struct vars *v, struct str name, struct str value, struct err *err)
{
	uint32_t node;

	if (v->nnodes + name.n > NAME_MAX_BYTES)
		return too_much(err);
	node = node_of(v, name);
	if (v->nodes[node].value != NO_VALUE)
		return 0;
	value = arena_str(&v->arena, value);
	if (!value.p)
		return too_much(err);
	v->nodes[node].value = (uint32_t)v->nvalues;
	vec_push(v->values, v->nvalues, v->cap_values, value);
	return 0;
}

/* The variable 's' begins with, and how long its name is; NO_VALUE if it begins with none. */
static uint32_t match(struct vars *v, struct str s, size_t *length)
{
	uint32_t best = NO_VALUE, node = 0;
	struct probe at;

	for (size_t i = 0;; i++) {
		if (v->nodes[node].value < best) {
			best = v->nodes[node].value;
			*length = i;
		}
		if (v->work)
			v->work--;
		if (i == s.n || v->work == 0 || !find_child(v, node, s.p[i], &at))
			return best;
		node = at.value;
	}
}

static bool has_work(struct vars *v, size_t bytes)
{
	if (bytes >= v->work)
		return false;
	v->work -= bytes;
	return true;
}

int vars_expand(struct vars *v, struct str *line, struct err *err)
{
	struct str rest = *line, plain;

	if (v->nnodes == 0 || str_find(rest, STR("$")) < 0)
		return 0;
	v->line.n = 0;
	for (str_split(&rest, '$', &plain); rest.p; str_split(&rest, '$', &plain)) {
		size_t length = 0;
		uint32_t value = match(v, rest, &length);
		struct str text = value == NO_VALUE ? STR("$") : v->values[value];

		out_str(&v->line, plain);
		out_str(&v->line, text);
		rest = str_skip(rest, length);
		if (!has_work(v, plain.n + text.n))
			return too_much(err);
	}
	out_str(&v->line, plain);
	if (v->line.error)
		return too_much(err);
	*line = out_view(&v->line);
	return 0;
}
