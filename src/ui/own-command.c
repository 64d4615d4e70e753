/*
 * own-command.c - commands of sonde that pprof does not have: "sonde check URL"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/own-command.h"

#include "base/err.h"
#include "base/out.h"

#include <stdlib.h>
#include <unistd.h>

const struct own_command *const own_commands[] = {
	&own_check, &own_dumps, &own_manifest, &own_mem, NULL,
};

int own_complain(const char *name, const struct err *err, int status)
{
	struct out o;

	out_init_fd(&o, STDERR_FILENO);
	out_printf(&o, "sonde %s: %s\n", name, err->msg);
	(void)out_finish(&o);
	out_release(&o);
	return status;
}

int own_print(struct out *o)
{
	int rc = out_finish(o);

	out_release(o);
	return rc ? OWN_FAILED : OWN_OK;
}

static int print_help(const struct own_command *c)
{
	struct out o;

	out_init_fd(&o, STDOUT_FILENO);
	out_text(&o, c->usage);
	out_text(&o, "\noptions:\n");
	args_help(c->flags, &o);
	out_printf(&o, "  %-22s %s\n", "--help", "Show this text");
	return own_print(&o);
}

/* An option's value is no question, and neither is what is another program's. */
static bool asks_help(const struct own_command *c, char **words)
{
	for (; *words && strcmp(*words, "--") != 0; words++) {
		const char *name = *words + 1 + ((*words)[1] == '-');

		if (**words != '-') {
			if (c->passes_on)
				return false;
			continue;
		}
		if (strcmp(name, "help") == 0 || strcmp(name, "h") == 0)
			return true;
		for (const struct arg *f = c->flags; f->name; f++)
			if (strcmp(f->name, name) == 0 && f->value && words[1]) {
				words++;
				break;
			}
	}
	return false;
}

int own_command_run(const struct own_command *c, char **words)
{
	struct args args;
	struct err err = { "" };
	int rc;

	if (asks_help(c, words))
		return print_help(c);
	rc = c->passes_on ? args_parse(&args, c->flags, words, &err)
			  : args_parse_all(&args, c->flags, words, &err);
	if (rc < 0)
		return own_complain(c->name, &err, c->wrong_use ? c->wrong_use : OWN_WRONG_USE);
	return c->run(&args);
}
