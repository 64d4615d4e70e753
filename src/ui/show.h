/*
 * show.h - bring an answer out
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_SHOW_H
#define UI_SHOW_H

#include <stdbool.h>

struct command;
struct config;
struct err;
struct notify;
struct out;
struct profile;

/*
 * show() makes the report that 'cmd' stands for and writes it to the file cfg->output, to standard
 * output, or, for what is not text, to a file with a number where a person would otherwise see it.
 * A file appears whole or not at all.  'param' is the command's parameter, or NULL.
 */
int show(const struct profile *p, const struct command *cmd, const char *param,
	 const struct config *cfg, bool interactive, struct notify *n, struct err *err);

/*
 * greeting() writes the lines that introduce a profile.  '*empty' tells that the chosen numbers are
 * all zero although there are others.
 */
int greeting(const struct profile *p, const struct config *cfg, struct notify *n, struct out *o,
	     bool *empty);

#endif /* UI_SHOW_H */
