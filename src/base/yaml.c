/*
 * yaml.c - small YAML files as a tree
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/yaml.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/lazy.h"

#include <errno.h>
#include <yaml.h>

enum { DEPTH_MAX = 32, NODES_MAX = 100000 };

static struct {
	int (*init)(yaml_parser_t *p);
	void (*set_input)(yaml_parser_t *p, const unsigned char *text, size_t n);
	int (*parse)(yaml_parser_t *p, yaml_event_t *event);
	void (*event_delete)(yaml_event_t *event);
	void (*delete)(yaml_parser_t *p);
} calls;

static int bind_calls(struct lazy_lib *lib, struct err *err)
{
	(void)err;
	*(void **)&calls.init = lazy_sym(lib, "yaml_parser_initialize");
	*(void **)&calls.set_input = lazy_sym(lib, "yaml_parser_set_input_string");
	*(void **)&calls.parse = lazy_sym(lib, "yaml_parser_parse");
	*(void **)&calls.event_delete = lazy_sym(lib, "yaml_event_delete");
	*(void **)&calls.delete = lazy_sym(lib, "yaml_parser_delete");
	return 0;
}

static struct lazy_lib library = { "libyaml-0.so.2", "libyaml-0-2", .bind = bind_calls };

/* A map or list that is being read. */
struct level {
	struct yaml *node;
	size_t cap;
	struct str key; /* that waits for its value */
	bool has_key;
};

struct reader {
	yaml_parser_t parser;
	const char *name;
	struct arena *a;
	struct err *err;
	struct level levels[DEPTH_MAX];
	size_t depth, nodes;
	struct yaml *root;
};

static int wrong(struct reader *r, size_t line, const char *why)
{
	return err_set(r->err, -EINVAL, "%s:%zu: %s", r->name, line + 1, why);
}

static int no_memory(struct reader *r)
{
	return err_set(r->err, -ENOMEM, "%s is too large", r->name);
}

static int grow(struct reader *r, struct level *l)
{
	size_t cap = l->cap ? l->cap * 2 : 8;
	struct yaml **items = arena_alloc(r->a, cap, sizeof(struct yaml *));
	struct str *keys = arena_alloc(r->a, cap, sizeof(*keys));

	if (!items || !keys)
		return no_memory(r);
	if (l->node->n) {
		memcpy(items, l->node->items, l->node->n * sizeof(struct yaml *));
		memcpy(keys, l->node->keys, l->node->n * sizeof(*keys));
	}
	l->node->items = items;
	l->node->keys = keys;
	l->cap = cap;
	return 0;
}

/* Puts a node where the reader is. */
static int place(struct reader *r, struct yaml *y)
{
	struct level *l;
	int rc = 0;

	if (r->depth == 0) {
		r->root = y;
		return 0;
	}
	l = &r->levels[r->depth - 1];
	if (l->node->kind == YAML_MAP && !l->has_key) {
		if (y->kind != YAML_TEXT)
			return wrong(r, y->line - 1, "a key must be a text");
		l->key = y->text;
		l->has_key = true;
		return 0;
	}
	if (l->node->n == l->cap)
		rc = grow(r, l);
	if (rc < 0)
		return rc;
	l->node->keys[l->node->n] = l->key;
	l->node->items[l->node->n++] = y;
	l->has_key = false;
	return 0;
}

static int add(struct reader *r, const yaml_event_t *e, int kind)
{
	struct yaml *y = arena_alloc(r->a, 1, sizeof(*y));
	int rc;

	if (!y || r->nodes++ > NODES_MAX)
		return no_memory(r);
	y->kind = kind;
	y->line = e->start_mark.line + 1;
	y->text = STR("");
	if (kind == YAML_TEXT) {
		y->text = arena_str(r->a, (struct str){ (const char *)e->data.scalar.value,
							e->data.scalar.length });
		return y->text.p ? place(r, y) : no_memory(r);
	}
	rc = place(r, y);
	if (rc < 0)
		return rc;
	if (r->depth == DEPTH_MAX)
		return wrong(r, e->start_mark.line, "this is too deep");
	r->levels[r->depth++] = (struct level){ .node = y };
	return 0;
}

static int take(struct reader *r, const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return add(r, e, YAML_TEXT);
	case YAML_SEQUENCE_START_EVENT:
		return add(r, e, YAML_LIST);
	case YAML_MAPPING_START_EVENT:
		return add(r, e, YAML_MAP);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		r->depth--;
		return 0;
	case YAML_ALIAS_EVENT:
		return wrong(r, e->start_mark.line, "aliases are not understood here");
	default:
		return 0;
	}
}

static int read_document(struct reader *r)
{
	bool done = false;
	int rc = 0;

	while (rc == 0 && !done) {
		yaml_event_t e;

		if (!calls.parse(&r->parser, &e))
			return wrong(r, r->parser.problem_mark.line,
				     r->parser.problem ? r->parser.problem : "this is not YAML");
		done = e.type == YAML_STREAM_END_EVENT || e.type == YAML_DOCUMENT_END_EVENT;
		rc = take(r, &e);
		calls.event_delete(&e);
	}
	return rc;
}

int yaml_parse(struct str text, const char *name, struct arena *a, struct yaml **out,
	       struct err *err)
{
	struct reader r = { .name = name, .a = a, .err = err };
	int rc = lazy_open(&library, err);

	if (rc < 0)
		return rc;
	if (!calls.init(&r.parser))
		return err_set(err, -ENOMEM, "out of memory");
	calls.set_input(&r.parser, (const unsigned char *)text.p, text.n);
	rc = read_document(&r);
	calls.delete(&r.parser);
	*out = r.root;
	return rc;
}

const struct yaml *yaml_get(const struct yaml *y, const char *key)
{
	for (size_t i = 0; y && y->kind == YAML_MAP && i < y->n; i++)
		if (str_is(y->keys[i], key))
			return y->items[i];
	return NULL;
}

struct str yaml_text(const struct yaml *y, const char *key)
{
	const struct yaml *v = yaml_get(y, key);

	return v && v->kind == YAML_TEXT ? v->text : STR("");
}
