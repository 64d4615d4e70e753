/*
 * json.c - write JSON as a stream
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "render/json.h"

#include "base/out.h"
#include "base/quote-json.h"

#include <math.h>

static void break_line(struct json *j)
{
	if (j->dense)
		return;
	out_char(j->o, '\n');
	out_fill(j->o, ' ', (size_t)j->depth * 2);
}

static void begin_item(struct json *j, const char *key)
{
	if (j->comma)
		out_char(j->o, ',');
	if (j->depth)
		break_line(j);
	if (key) {
		quote_json(j->o, str_of(key), JSON_PLAIN);
		out_text(j->o, j->dense ? ":" : ": ");
	}
	j->comma = true;
}

void json_open(struct json *j, const char *key, char bracket)
{
	begin_item(j, key);
	out_char(j->o, bracket);
	j->comma = false;
	j->depth++;
}

void json_close(struct json *j, char bracket)
{
	bool empty = !j->comma;

	j->depth--;
	j->comma = true;
	if (!empty)
		break_line(j);
	out_char(j->o, bracket);
	if (j->depth == 0)
		out_char(j->o, '\n');
}

void json_string(struct json *j, const char *key, struct str s)
{
	begin_item(j, key);
	quote_json(j->o, s, JSON_PLAIN);
}

void json_int(struct json *j, const char *key, int64_t v)
{
	begin_item(j, key);
	out_i64(j->o, v);
}

void json_bool(struct json *j, const char *key, bool v)
{
	begin_item(j, key);
	out_text(j->o, v ? "true" : "false");
}

void json_number(struct json *j, const char *key, double v)
{
	begin_item(j, key);
	if (isfinite(v))
		out_printf(j->o, "%.6g", v);
	else
		out_text(j->o, "null");
}
