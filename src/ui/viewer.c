/*
 * viewer.c - show a report in another program
 *
 * A viewer is a command line with single blanks between its words.  "$NAME" stands for the
 * value of an environment variable, "$NAME:command" is tried only if the variable is set.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/viewer.h"

#include "base/child.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/scratch.h"
#include "base/xalloc.h"
#include "ui/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

enum { MAX_WORDS = 16 };

/* The command line that 'viewer' stands for, or NULL if it does not apply. */
static const char *resolve(const char *viewer)
{
	AUTO(freep) char *name = NULL;
	const char *colon, *value;

	if (viewer[0] != '$')
		return viewer;
	colon = strchr(viewer, ':');
	name = mem_str((struct str){ viewer + 1, strcspn(viewer + 1, ":") });
	value = getenv(name);
	if (!value || value[0] == '\0')
		return NULL;
	return colon ? colon + 1 : value;
}

/* Starts 'words' with no input and no output but its complaints.  0 or errno. */
static int start(char *const *words, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int rc;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	rc = posix_spawnp(pid, words[0], &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return rc;
}

static int start_viewer(const char *viewer, const char *what, pid_t *pid, struct err *err)
{
	AUTO(freep) char *copy = mem_str(str_of(viewer));
	AUTO(freep) char *last = mem_str(str_of(what));
	char *words[MAX_WORDS + 2], *rest = copy;
	size_t n = 0;
	int rc;

	while (n < MAX_WORDS && rest)
		words[n++] = strsep(&rest, " ");
	words[n++] = last;
	words[n] = NULL;
	rc = start(words, pid);
	if (rc)
		return err_set(err, -rc, "exec: \"%s\": executable file not found in $PATH",
			       words[0]);
	return 0;
}

static int wait_for(pid_t pid, struct err *err)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return child_status(status, err);
}

static int write_report(const struct command *c, struct str report, char **path, struct err *err)
{
	const char *folder = getenv("TMPDIR");
	AUTO(freep) char *prefix = mem_printf("%s/pprof", folder && folder[0] ? folder : "/tmp");
	AUTO(freep) char *suffix = mem_printf(".%s", c->suffix);
	struct file_new f;
	int rc = file_create_numbered(&f, prefix, suffix, err);

	if (rc)
		return rc;
	out_str(&f.out, report);
	rc = file_commit(&f, path, err);
	if (rc == 0)
		scratch_add(*path);
	return rc;
}

static int start_first(const struct command *c, const char *what, pid_t *pid, struct err *err)
{
	int rc = -ENOENT;

	for (const char *const *v = c->viewers; *v; v++) {
		const char *viewer = resolve(*v);

		if (!viewer)
			continue;
		rc = start_viewer(viewer, what, pid, err);
		if (rc == 0)
			return 0;
	}
	return rc;
}

int viewer_open(const struct command *c, const char *what, struct err *err)
{
	pid_t pid = -1;

	return start_first(c, what, &pid, err);
}

int viewer_show(const struct command *c, struct str report, bool interactive, struct err *err)
{
	AUTO(freep) char *path = NULL;
	int rc = write_report(c, report, &path, err);
	pid_t pid = -1;

	if (rc == 0)
		rc = start_first(c, path, &pid, err);
	if (rc)
		return rc;
	if (!interactive)
		rc = wait_for(pid, err);
	nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	return rc;
}

void viewer_cleanup(void)
{
	scratch_remove();
}
