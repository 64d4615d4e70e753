/*
 * json.h - write JSON as a stream
 *
 * Commas and quotes are the writer's business.  Strings that are not UTF-8 get U+FFFD for each bad
 * byte, since JSON cannot hold them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RENDER_JSON_H
#define RENDER_JSON_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct out;

struct json {
	struct out *o;
	bool comma; /* something stands before the next item */
	int depth;
	bool dense; /* no white space: for programs */
};

/* 'key' is NULL inside a list. */
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j, char bracket);
void json_string(struct json *j, const char *key, struct str s);
void json_int(struct json *j, const char *key, int64_t v);
/* Six digits; what is no number is null. */
void json_number(struct json *j, const char *key, double v);
void json_bool(struct json *j, const char *key, bool v);

#endif /* RENDER_JSON_H */
