/*
 * child.h - run another program on some bytes, within limits, and leave nothing behind
 *
 * The program reads its input from, and writes its output to, files in memory that have no
 * name: neither side ever waits for the other, and a program that ignores its input or dies
 * in the middle of its output is no special case.  Its complaints go where ours go.
 *
 * It runs in a process group of its own, which is killed as a whole when it has ended, when
 * it exceeds a limit, and by child_kill_all().  If this program is killed in a way it cannot
 * notice, the kernel kills the child (though not a child's children).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_CHILD_H
#define BASE_CHILD_H

#include "base/file.h"
#include "base/str.h"

#include <stdint.h>

struct err;

struct child_limits {
	unsigned seconds; /* by the clock, and of processor time; 0: no limit */
	uint64_t memory;  /* bytes of address space */
	uint64_t output;  /* bytes written to any file */
};

/*
 * child_find() is the path of 'name' in the colon-separated folders 'path' (NULL: none), to be
 * freed, or NULL.  Folders that are not absolute are passed over: what lies where a person
 * happens to stand is not a program to start unasked.
 */
char *child_find(const char *name, const char *path);

/*
 * child_run() starts the file 'program' with the arguments 'argv' and the environment 'env',
 * both up to NULL, waits for its end, and returns what it wrote in 'output', to be released
 * with file_bytes_release().
 *
 * Fails with the errno of what could not be done; -ETIMEDOUT or -EFBIG for a limit;
 * -EPROTO, and the sentence of child_status(), if the program failed.
 */
int child_run(const char *program, const char *const *argv, char *const *env, struct str input,
	      const struct child_limits *limits, struct file_bytes *output, struct err *err);

/*
 * 0 if 'status', from waitpid(), is that of success.  Otherwise -EPROTO and "exit status 1" or
 * "signal: killed" in 'err', as the reference words it.
 */
int child_status(int status, struct err *err);

/* Kills all children that run.  For a signal handler: async-signal-safe. */
void child_kill_all(void);

#endif /* BASE_CHILD_H */
