/*
 * yaml.h - small YAML files as a tree: configuration of people, and kubeconfig
 *
 * libyaml does the work, and is loaded when it is first needed.  Aliases are refused, and depth and
 * size are bounded: a file of a kilobyte must not become one of a gigabyte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_YAML_H
#define BASE_YAML_H

#include "base/str.h"

#include <stddef.h>

struct arena;
struct err;

struct yaml {
	enum { YAML_TEXT, YAML_LIST, YAML_MAP } kind;
	struct str text;     /* of a text */
	struct yaml **items; /* of a list, or the values of a map */
	struct str *keys;    /* of a map */
	size_t n;
	size_t line; /* from 1 on */
};

/*
 * The first document in 'text', in 'a'; NULL for an empty one.  'name' is for messages:
 * "config.yaml:3: did not find expected key".  -EINVAL, -ENOMEM, or -ENOENT without libyaml.
 */
int yaml_parse(struct str text, const char *name, struct arena *a, struct yaml **out,
	       struct err *err);

/* The member 'key' of a map; NULL if there is none, or 'y' is no map. */
const struct yaml *yaml_get(const struct yaml *y, const char *key);
/* Its text; "" if there is none. */
struct str yaml_text(const struct yaml *y, const char *key);

#endif /* BASE_YAML_H */
