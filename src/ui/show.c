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
#include "ui/picture.h"
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
	[COMMAND_DISASM] = { REPORT_DISASM, .try_text = render_disasm_text },
	[COMMAND_DOT] = { REPORT_DOT, .text = render_dot },
	[COMMAND_FLAMEGRAPH] = { REPORT_FLAME, .text = render_flame_svg },
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
	[COMMAND_WEBLIST] = { REPORT_WEBLIST, .try_text = render_weblist },
	[COMMAND_TREE] = { REPORT_TREE, .try_text = render_tree_text, .try_json = render_tree_json,
			   .try_csv = render_tree_csv },
};

/* A report that is to come out, as a command asks for it. */
struct answer {
	const struct renderer *how;
	const struct command *cmd;
	struct report *r;
	bool interactive;
};

static int render(const struct answer *a, struct out *o, struct err *err)
{
	const struct renderer *how = a->how;
	const char *format = a->r->cfg.format;
	bool json = strcmp(format, "json") == 0, csv = strcmp(format, "csv") == 0;
	void (*plain)(struct report *, struct out *) = json  ? how->json
						       : csv ? how->csv
							     : how->text;
	int (*trying)(struct report *, struct out *, struct err *) = json  ? how->try_json
								     : csv ? how->try_csv
									   : how->try_text;

	if (trying)
		return trying(a->r, o, err);
	if (!plain)
		return err_set(err, -EINVAL,
			       "this report has no %s form; top, tree, peek and tags do", format);
	plain(a->r, o);
	return 0;
}

/* The report, or the picture that is made of it. */
static int produce(const struct answer *a, struct out *o, struct err *err)
{
	int seconds = a->r->cfg.layout_timeout;
	struct out graph;
	int rc;

	if (!a->cmd->dot)
		return render(a, o, err);
	out_init(&graph, 0);
	rc = render(a, &graph, err);
	if (rc == 0)
		rc = picture_draw(a->cmd, out_view(&graph), seconds > 0 ? (unsigned)seconds : 0, o,
				  err);
	out_release(&graph);
	return rc;
}

/* ------------------------------------------------------------------ where it goes */

/* A report that cannot be made is worth saying before a file that cannot be written. */
static int to_nowhere(const struct answer *a, struct err *err)
{
	AUTO(closep) int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct out o;
	int rc;

	out_init_fd(&o, fd);
	rc = produce(a, &o, err);
	out_release(&o);
	return rc;
}

static int to_file(const struct answer *a, const char *path, struct notify *n, struct err *err)
{
	struct file_new f;
	struct err why;
	int created = file_create(&f, path, &why);
	int rc = created == 0 ? produce(a, &f.out, err) : to_nowhere(a, err);

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

static int to_numbered_file(const struct answer *a, struct notify *n, struct err *err)
{
	char dotted[32];
	AUTO(freep) char *name = NULL;
	struct file_new f;
	int rc;

	snprintf(dotted, sizeof(dotted), ".%s", a->cmd->suffix);
	rc = file_create_numbered(&f, "profile", dotted, err);
	if (rc)
		return rc;
	rc = produce(a, &f.out, err);
	if (rc) {
		file_abandon(&f);
		return rc;
	}
	rc = file_commit(&f, &name, err);
	if (rc == 0)
		notify_warn(n, "Generating report in %s", name);
	return rc;
}

static int to_viewer(const struct answer *a, struct err *err)
{
	struct out o;
	int rc;

	out_init(&o, 0);
	rc = produce(a, &o, err);
	if (rc == 0)
		rc = viewer_show(a->cmd, out_view(&o), a->interactive, err);
	out_release(&o);
	return rc;
}

static int to_stdout(const struct answer *a, struct err *err)
{
	char why[128];
	struct out o;
	int rc;

	fflush(stdout);
	out_init_fd(&o, STDOUT_FILENO);
	rc = produce(a, &o, err);
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
	struct answer a;
	bool away = cmd->output == OUTPUT_AWAY &&
		    (interactive || (terminal_is_interactive() && isatty(STDOUT_FILENO)));
	int rc = report_new(&r, p, how->kind, param, cfg, n, err);

	if (rc)
		return rc;
	a = (struct answer){ how, cmd, r, interactive };
	if (*cfg->output)
		return to_file(&a, cfg->output, n, err);
	if (cmd->output == OUTPUT_VIEWER)
		return to_viewer(&a, err);
	if (away)
		return to_numbered_file(&a, n, err);
	return to_stdout(&a, err);
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
