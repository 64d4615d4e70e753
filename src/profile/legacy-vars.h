/*
 * legacy-vars.h - "$name" in memory maps
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_LEGACY_VARS_H
#define PROFILE_LEGACY_VARS_H

#include "base/arena.h"
#include "base/out.h"
#include "base/str.h"
#include "base/table.h"

struct err;

/* The variables of one memory map.  All members are private. */
struct vars {
	struct arena arena;
	struct str *values;
	size_t nvalues, cap_values;
	struct vars_node *nodes; /* a tree of names: the first node is the empty name */
	size_t nnodes, cap_nodes;
	struct table children;
	struct out line; /* the last expansion */
	size_t work;     /* how much may still be done */
};

/* 'input' is the size of the text that will be expanded: the effort allowed grows with it. */
void vars_init(struct vars *v, size_t input);
void vars_release(struct vars *v);

/* Copies both.  A name keeps its first value. */
int vars_set(struct vars *v, struct str name, struct str value, struct err *err);

/*
 * vars_expand() replaces in '*line' every "$name" of a variable.  Where several names fit, the
 * one that was set first wins, as in Go's strings.Replacer.  The result lives until the next
 * call.  -E2BIG if it gets too long or takes too much effort.
 */
int vars_expand(struct vars *v, struct str *line, struct err *err);

#endif /* PROFILE_LEGACY_VARS_H */
