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
	&own_check, &own_compare, &own_dumps, &own_leaks, &own_manifest, &own_mem, &own_run, NULL,
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

int own_write(struct out *o, struct err *err)
{
	char why[128];
	int rc = out_finish(o);

	out_release(o);
	if (rc == 0)
		return 0;
	return err_set(err, rc, "write /dev/stdout: %s", errno_text(-rc, why, sizeof(why)));
}

int own_print(const char *name, struct out *o)
{
	struct err err;

	return own_write(o, &err) < 0 ? own_complain(name, &err, OWN_FAILED) : OWN_OK;
}

static int print_help(const struct own_command *c)
{
	struct out o;

	out_init_fd(&o, STDOUT_FILENO);
	out_text(&o, c->usage);
	out_text(&o, "\noptions:\n");
	args_help(c->flags, &o);
	return own_print(c->name, &o);
}

int own_command_run(const struct own_command *c, char **words)
{
	struct args args;
	struct err err = { "" };
	int rc;

	rc = args_parse(&args, c->flags, words, c->ends, &err);
	if (rc < 0)
		return own_complain(c->name, &err, c->wrong_use ? c->wrong_use : OWN_WRONG_USE);
	return args.help ? print_help(c) : c->run(&args);
}
