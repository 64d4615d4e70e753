/*
 * history.h - the lines a person has typed, kept between runs
 *
 * A text file, one line each, oldest first, readable only by its owner.  Several shells may
 * use it at once: each line is added to what the file holds at that moment, and the file is
 * replaced as a whole.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_HISTORY_H
#define UI_HISTORY_H

#include "base/str.h"

/* Older lines are forgotten. */
enum { HISTORY_LINES = 1000 };

/*
 * Where the history is kept, given the values of XDG_STATE_HOME and HOME: NULL if neither
 * says.  The caller frees it.
 */
char *history_path(const char *state_home, const char *home);

/* Calls 'fn' for each line, oldest first.  A file that cannot be read has none. */
void history_each(const char *path, void (*fn)(struct str line, void *ctx), void *ctx);

/*
 * Adds a line, unless it is empty, has control characters or is the last one already.  Makes
 * the folders.  Negative errno if that fails; the file is then as it was.
 */
int history_add(const char *path, struct str line);

#endif /* UI_HISTORY_H */
