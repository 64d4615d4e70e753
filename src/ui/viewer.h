/*
 * viewer.h - show a report in another program
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_VIEWER_H
#define UI_VIEWER_H

#include "base/str.h"

#include <stdbool.h>

struct command;
struct err;

/*
 * viewer_show() writes 'report' to a temporary file "pprofNNN.<suffix>" and starts the first
 * of the command's viewers that can be started.  It waits for it to end, unless
 * 'interactive', and for a second in any case, so that a program that only passes the file
 * on to another has had the time to do so.  The file is removed when sonde ends.
 *
 * Fails with the reference's message if no viewer can be started, or if it fails.
 */
int viewer_show(const struct command *c, struct str report, bool interactive, struct err *err);

/*
 * viewer_open() starts the first of the command's viewers that can be started, with 'what' (a file
 * or a URL), and does not wait for it.
 */
int viewer_open(const struct command *c, const char *what, struct err *err);

/* Removes the files.  To be called once, before the program ends. */
void viewer_cleanup(void);

#endif /* UI_VIEWER_H */
