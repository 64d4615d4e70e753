/*
 * perfdata.c - files of "perf record", converted by another program
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "source/perfdata.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/notify.h"
#include "base/scratch.h"
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define CONVERTER "perf_to_profile"
#define FAILED    "failed to convert perf.data file. Try github.com/google/perf_data_converter"

bool perfdata_is(int fd)
{
	char magic[8];

	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, "PERFILE2", sizeof(magic)) == 0;
}

static bool stopped(const struct source_request *rq)
{
	return rq->stop && *rq->stop;
}

/* Waits for 'pid'; ends it when the user has had enough. */
static int wait_for(pid_t pid, const struct source_request *rq, int *status)
{
	struct timespec tick = { .tv_nsec = 20000000 };
	bool told = false;

	for (;;) {
		pid_t got = waitpid(pid, status, WNOHANG);

		if (got == pid)
			return told ? -EINTR : 0;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (stopped(rq) && !told) {
			kill(pid, SIGKILL); /* its output is thrown away */
			told = true;
		}
		nanosleep(&tick, NULL);
	}
}

static int explain_status(int status, struct err *err)
{
	char name[64];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status))
		return err_set(err, -EIO, FAILED ": exit status %d", WEXITSTATUS(status));
	snprintf(name, sizeof(name), "%s", strsignal(WTERMSIG(status)));
	name[0] |= 32;
	return err_set(err, -EIO, FAILED ": signal: %s%s", name,
		       WCOREDUMP(status) ? " (core dumped)" : "");
}

static int convert(const struct source_request *rq, const char *to, struct err *err)
{
	const char *argv[] = { CONVERTER, "-i", rq->source, "-o", to, "-f", NULL };
	char *const none[] = { NULL };
	char *const *env = rq->environment ? rq->environment : none;
	char why[128];
	pid_t pid;
	int status, rc;

	rc = -posix_spawnp(&pid, CONVERTER, NULL, NULL, (char *const *)(uintptr_t)argv, env);
	if (rc == -ENOENT)
		return err_set(err, rc,
			       FAILED ": exec: \"" CONVERTER
				      "\": executable file not found in $PATH");
	if (rc == 0)
		rc = wait_for(pid, rq, &status);
	if (rc == -EINTR)
		return err_set(err, rc, "interrupted");
	if (rc)
		return err_set(err, rc, FAILED ": %s", errno_text(-rc, why, sizeof(why)));
	return explain_status(status, err);
}

int perfdata_read(const struct source_request *rq, struct file_bytes *out, struct err *err)
{
	const char *dir = rq->tmpdir && *rq->tmpdir ? rq->tmpdir : P_tmpdir;
	AUTO(freep) char *temp = NULL;
	char why[128];
	int fd, rc;

	notify_info(rq->notify, "Converting %s to a profile.proto... (May take a few minutes)",
		    rq->source);
	if (asprintf(&temp, "%s/pprof_XXXXXX.pb.gz", dir) < 0) {
		temp = NULL;
		return err_set(err, -ENOMEM, "out of memory");
	}
	fd = mkostemps(temp, 6, O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "open %s: %s", temp,
			       errno_text(errno, why, sizeof(why)));
	scratch_add(temp);
	rc = convert(rq, temp, err);
	if (rc == 0)
		rc = file_read(temp, rq->max, out, err);
	close(fd);
	(void)unlink(temp);
	scratch_forget(temp);
	return rc;
}
