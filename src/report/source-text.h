/*
 * source-text.h - find source files and read their lines
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_SOURCE_TEXT_H
#define REPORT_SOURCE_TEXT_H

#include "base/str.h"

#include <stdint.h>

struct report;
struct source_text;

/*
 * source_text_new() looks for files as the report's source_path and trim_path say.  These are lists
 * of folders with colons between them.  A path that is still absolute after trimming is opened as
 * it is; any other is tried in each folder of source_path (or the current one) and all folders
 * above it.  What is not found there is looked for where sources usually are (source-places.h),
 * then the debug server is asked, and the first such file is named to the person.  The report must
 * outlive it.
 */
struct source_text *source_text_new(const struct report *r);
void source_text_free(struct source_text *s);

/*
 * Why 'path' could not be read, or NULL, also if nobody has asked for a line of it yet.  Text and
 * message live as long as 's'.
 */
const char *source_text_error(struct source_text *s, struct str path);

/*
 * Warns, once, if the file 'path' is newer than 'binary', the program made from it.  Nothing comes
 * of it before a line of it was asked for.
 */
void source_text_compare(struct source_text *s, struct str path, struct str binary);

/* Line 'number' from 1 on, without its end; false past the last. */
bool source_text_line(struct source_text *s, struct str path, int64_t number, struct str *line);

#endif /* REPORT_SOURCE_TEXT_H */
