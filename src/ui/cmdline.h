/*
 * cmdline.h - from the command line to what is wanted
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_CMDLINE_H
#define UI_CMDLINE_H

#include "ui/options.h"

#include <stdbool.h>

struct command;
struct err;
struct notify;

struct request {
	struct source_options source;
	struct config config;
	const struct command *command; /* NULL: the shell, or the web interface */
	const char *param;             /* of a command that has one */

	bool version;             /* -version: say it, and do nothing else */
	const char *dump_options; /* -dump-options: "man", "bash", ...; "" is none */
};

/*
 * cmdline_parse() fills in 'rq'.  Strings are borrowed from 'argv' and the environment.  What
 * is odd but not wrong, and usage messages, go to 'n'.
 *
 * Returns 0, or -ECANCELED if only help was wanted (and given), or -EINVAL with the
 * reference's message.  The message is empty if it has been said already, before the usage.
 */
int cmdline_parse(struct request *rq, int argc, const char *const *argv, struct notify *n,
		  struct err *err);

#endif /* UI_CMDLINE_H */
