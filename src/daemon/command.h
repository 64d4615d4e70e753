/*
 * command.h - the commands of sonded
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DAEMON_COMMAND_H
#define DAEMON_COMMAND_H

#include "base/args.h"

#include <stdatomic.h>

struct err;
struct out;
struct store_place;

/* How a command ends: as daemons do it. */
enum { STATUS_OK, STATUS_FAILED, STATUS_WRONG_USE };

struct daemon_command {
	const char *name;
	const char *what;  /* one line */
	const char *usage; /* what --help prints before the options */
	const struct arg *flags;
	int (*run)(const struct args *args);
};

extern const struct daemon_command command_bundle, command_collect, command_store, command_verbs,
	command_watch;

/* Set by a signal handler: the program has been asked to end. */
extern atomic_bool daemon_stop;

/* Prints "sonded NAME: <why>" to standard error; returns 'status'. */
int daemon_complain(const char *name, const char *why, int status);

/* Writes what is left to standard output and releases the sink; says so if that failed. */
int daemon_print(const char *name, struct out *o);

/*
 * What can be told before anything is stored: -EACCES, and which verbs are missing.  'where' is as
 * for store_open(); in a directory nothing is asked.
 */
int daemon_check_verbs(const char *where, struct err *err);

/* What --keep says, 0 if it is NULL; -EINVAL for a number that makes no sense. */
int daemon_read_keep(const char *value, unsigned *keep, struct err *err);

/* 16 digits that nobody else has: for writers, and for lives of processes. */
void daemon_random_name(char to[17]);

/* What stores and clusters need to know of this process; any thread. */
const struct store_place *daemon_place(void);

#endif /* DAEMON_COMMAND_H */
