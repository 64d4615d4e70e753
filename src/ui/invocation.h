/*
 * invocation.h - a command as it is typed in the shell: "top 5 -cum main -runtime > f"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_INVOCATION_H
#define UI_INVOCATION_H

#include "base/str.h"
#include "view/config.h"

struct arena;
struct command;
struct err;

struct invocation {
	const struct command *command;
	const char *param; /* of a command that has one, else NULL */
	struct config cfg; /* the session's, with what the line says for this once */
};

/*
 * invocation_parse() reads words: the command, its parameter if it has one, then in any order
 * a number of nodes, "-cum", "> file" or ">file", regular expressions to focus on, and
 * "-regexp" to ignore.  Several of a kind are joined with '|'.
 *
 * Strings are made in 'a'.  Returns 0, or -EINVAL and the reference's message.
 */
int invocation_parse(struct invocation *inv, struct str input, const struct config *cfg,
		     struct arena *a, struct err *err);

#endif /* UI_INVOCATION_H */
