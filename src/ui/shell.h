/*
 * shell.h - commands, one line at a time, about one profile
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_SHELL_H
#define UI_SHELL_H

struct config;
struct err;
struct notify;
struct profile;

/*
 * shell() greets, then reads commands from standard input until it ends or says "quit".  What
 * goes wrong with a command is said, and the next one is read.
 *
 * On a terminal there is line editing; otherwise the prompt goes to standard output before
 * each line is read, as the reference does it.
 *
 * 'cfg' is what the command line set.  Returns 0, or a negative errno if standard input
 * cannot be read.
 */
int shell(const struct profile *p, const struct config *cfg, struct notify *n, struct err *err);

#endif /* UI_SHELL_H */
