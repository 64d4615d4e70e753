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
 * 'search' and 'trim' are lists of folders with colons between them.  A path that is still absolute
 * after trimming is opened as it is; any other is tried in each folder of 'search' and all folders
 * above it.
 */
struct source_text *source_text_new(struct str search, struct str trim);
/* From the report's source_path, or the current folder, and its trim_path. */
struct source_text *source_text_of(const struct report *r);
void source_text_free(struct source_text *s);

/*
 * Why 'path' could not be read, or NULL, also if nobody has asked for a line of it yet.  Text and
 * message live as long as 's'.
 */
const char *source_text_error(struct source_text *s, struct str path);

/* Line 'number' from 1 on, without its end; false past the last. */
bool source_text_line(struct source_text *s, struct str path, int64_t number, struct str *line);

#endif /* REPORT_SOURCE_TEXT_H */
