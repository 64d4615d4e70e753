/*
 * lineedit.h - a line from a person at a terminal, with editing, history and completion
 *
 * libedit does the editing.  It is loaded when a shell is started on a terminal, and only
 * then; where it is missing, lineedit_open() fails and the shell reads plain lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_LINEEDIT_H
#define UI_LINEEDIT_H

#include "base/str.h"

struct err;
struct lineedit;
struct profile;

/*
 * Reads from standard input, draws on standard error.  'history' is the file for history.h,
 * or NULL; 'p' is where completion finds names.  Both must outlive the line editor.
 */
struct lineedit *lineedit_open(const char *history, const struct profile *p, struct err *err);
void lineedit_close(struct lineedit *l);

/*
 * One line, without its end, valid until the next call.  Returns 1; or 0 at the end of input
 * (Ctrl-D on an empty line).  A line that was given up with Ctrl-C is an empty line.  Lines
 * enter the history.
 */
int lineedit_read(struct lineedit *l, const char *prompt, struct str *line);

#endif /* UI_LINEEDIT_H */
