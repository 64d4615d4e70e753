/*
 * run.h - "sonde run": start a program with libsonde.so in it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_RUN_H
#define UI_RUN_H

/* One option: a flag of "sonde run" is a variable in the environment of the program. */
struct run_flag {
	const char *name;
	const char *variable; /* NULL: not for the program */
	const char *value;    /* what follows it, for people; NULL if nothing does */
	const char *help;
	enum { RUN_TEXT, RUN_NUMBER, RUN_FILE } kind;
};

extern const struct run_flag run_flags[]; /* up to one without a name */

/*
 * 'argv[0]' is "run".  Does not return if the program could be started: it takes this process
 * over, so that its parent sees its signals and its status without our doing.  Otherwise the
 * status to exit with, as other commands that start one have it: 125 if it is our fault or our
 * user's, 126 for a program that cannot be started (with the library), 127 for none of that name.
 */
int run_main(int argc, char **argv);

#endif /* UI_RUN_H */
