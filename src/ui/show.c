/*
 * show.c - bring an answer out
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/show.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/notify.h"
#include "base/out.h"
#include "profile/profile.h"
#include "render/render.h"
#include "report/report.h"
#include "ui/commands.h"
#include "ui/terminal.h"
#include "ui/viewer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ from command to report */

/* How a kind of report is written.  'json' and 'csv' are NULL where there is no such form. */
struct renderer {
	enum report_kind kind;
	void (*text)(struct report *r, struct out *o);
	int (*try_text)(struct report *r, struct out *o, struct err *err);
	void (*json)(struct report *r, struct out *o);
	void (*csv)(struct report *r, struct out *o);
	int (*try_json)(struct report *r, struct out *o, struct err *err);
	int (*try_csv)(struct report *r, struct out *o, struct err *err);
};

static const struct renderer renderers[] = {
	[COMMAND_CALLGRIND] = { REPORT_CALLGRIND, .text = render_callgrind },
	[COMMAND_COMMENTS] = { REPORT_COMMENTS, .text = render_comments_text },
	[COMMAND_DOT] = { REPORT_DOT, .text = render_dot },
	[COMMAND_FOLDED] = { REPORT_FOLDED, .text = render_folded },
	[COMMAND_LIST] = { REPORT_LIST, .try_text = render_list_text },
	[COMMAND_PEEK] = { REPORT_PEEK, .try_text = render_tree_text, .try_json = render_tree_json,
			   .try_csv = render_tree_csv },
	[COMMAND_PROTO] = { REPORT_PROTO, .text = render_proto },
	[COMMAND_RAW] = { REPORT_RAW, .text = render_raw_text },
	[COMMAND_STACKS] = { REPORT_STACKS, .try_text = render_stacks_text },
	[COMMAND_TAGS] = { REPORT_TAGS, .text = render_tags_text, .json = render_tags_json,
			   .csv = render_tags_csv },
	[COMMAND_TEXT] = { REPORT_TEXT, .text = render_top_text, .json = render_top_json,
			   .csv = render_top_csv },
	[COMMAND_TOPPROTO] = { REPORT_TOPPROTO, .text = render_topproto },
	[COMMAND_TRACES] = { REPORT_TRACES, .text = render_traces_text },
	[COMMAND_TREE] = { REPORT_TREE, .try_text = render_tree_text, .try_json = render_tree_json,
			   .try_csv = render_tree_csv },
};

static int render(const struct renderer *how, struct report *r, struct out *o, struct err *err)
{
	bool json = strcmp(r->cfg.format, "json") == 0, csv = strcmp(r->cfg.format, "csv") == 0;
	void (*plain)(struct report *, struct out *) = json  ? how->json
						       : csv ? how->csv
							     : how->text;
	int (*trying)(struct report *, struct out *, struct err *) = json  ? how->try_json
								     : csv ? how->try_csv
									   : how->try_text;

	if (trying)
		return trying(r, o, err);
	if (!plain)
		return err_set(err, -EINVAL,
			       "this report has no %s form; top, tree, peek and tags do",
			       r->cfg.format);
	plain(r, o);
	return 0;
}

/* ------------------------------------------------------------------ where it goes */

/* A report that cannot be made is worth saying before a file that cannot be written. */
static int to_nowhere(const struct renderer *how, struct report *r, struct err *err)
{
	AUTO(closep) int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct out o;
	int rc;

	out_init_fd(&o, fd);
	rc = render(how, r, &o, err);
	out_release(&o);
	return rc;
}

static int to_file(const struct renderer *how, struct report *r, const char *path, struct notify *n,
		   struct err *err)
{
	struct file_new f;
	struct err why;
	int created = file_create(&f, path, &why);
	int rc = created == 0 ? render(how, r, &f.out, err) : to_nowhere(how, r, err);

	if (rc == 0)
		notify_warn(n, "Generating report in %s", path);
	if (created != 0)
		return rc ? rc : err_set(err, created, "%s", why.msg);
	if (rc) {
		file_abandon(&f);
		return rc;
	}
	return file_commit(&f, NULL, err);
}

static int to_numbered_file(const struct renderer *how, struct report *r, const char *suffix,
			    struct notify *n, struct err *err)
{
	char dotted[32];
	AUTO(freep) char *name = NULL;
	struct file_new f;
	int rc;

	snprintf(dotted, sizeof(dotted), ".%s", suffix);
	rc = file_create_numbered(&f, "profile", dotted, err);
	if (rc)
		return rc;
	rc = render(how, r, &f.out, err);
	if (rc) {
		file_abandon(&f);
		return rc;
	}
	rc = file_commit(&f, &name, err);
	if (rc == 0)
		notify_warn(n, "Generating report in %s", name);
	return rc;
}

static int to_viewer(const struct renderer *how, struct report *r, const struct command *cmd,
		     bool interactive, struct err *err)
{
	struct out o;
	int rc;

	out_init(&o, 0);
	rc = render(how, r, &o, err);
	if (rc == 0)
		rc = viewer_show(cmd, out_view(&o), interactive, err);
	out_release(&o);
	return rc;
}

static int to_stdout(const struct renderer *how, struct report *r, struct err *err)
{
	char why[128];
	struct out o;
	int rc;

	fflush(stdout);
	out_init_fd(&o, STDOUT_FILENO);
	rc = render(how, r, &o, err);
	if (rc == 0) {
		rc = out_finish(&o);
		if (rc)
			err_set(err, rc, "write /dev/stdout: %s",
				errno_text(-rc, why, sizeof(why)));
	}
	out_release(&o);
	return rc;
}

int show(const struct profile *p, const struct command *cmd, const char *param,
	 const struct config *cfg, bool interactive, struct notify *n, struct err *err)
{
	const struct renderer *how = &renderers[cmd->report];
	AUTO(report_freep) struct report *r = NULL;
	bool away = cmd->output == OUTPUT_AWAY &&
		    (interactive || (terminal_is_interactive() && isatty(STDOUT_FILENO)));
	int rc = report_new(&r, p, how->kind, param, cfg, n, err);

	if (rc)
		return rc;
	if (*cfg->output)
		return to_file(how, r, cfg->output, n, err);
	if (cmd->output == OUTPUT_VIEWER)
		return to_viewer(how, r, cmd, interactive, err);
	if (away)
		return to_numbered_file(how, r, cmd->suffix, n, err);
	return to_stdout(how, r, err);
}

int greeting(const struct profile *p, const struct config *cfg, struct notify *n, struct out *o,
	     bool *empty)
{
	AUTO(report_freep) struct report *r = NULL;
	int rc = report_greeting(&r, p, cfg, n, NULL);

	if (rc)
		return rc;
	render_legend(r, o);
	*empty = r->total == 0 && p->ntypes > 1;
	return 0;
}
