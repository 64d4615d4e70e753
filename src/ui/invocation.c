/*
 * invocation.c - a command as it is typed in the shell: "top 5 -cum main -runtime > f"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/invocation.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/xalloc.h"
#include "ui/commands.h"
#include "ui/options.h"

#include <errno.h>

/* The words of the line that are still to be read. */
struct words {
	struct str digits; /* cut off the end of the command: "top10" */
	struct str rest;
};

static bool next(struct words *w, struct str *word)
{
	if (w->digits.n) {
		*word = w->digits;
		w->digits.n = 0;
		return true;
	}
	return go_field(&w->rest, word);
}

/* Cuts trailing digits off 'name', unless there is nothing else. */
static struct str cut_digits(struct str *name)
{
	size_t n = name->n;

	while (n && name->p[n - 1] >= '0' && name->p[n - 1] <= '9')
		n--;
	if (n == 0)
		return (struct str){ 0 };
	struct str digits = str_skip(*name, n);

	name->n = n;
	return digits;
}

static int unknown(struct words *w, struct str name, struct err *err)
{
	struct str value;
	char quoted[2048];

	if (!option_help(name))
		return err_set(err, -EINVAL, "unrecognized command: %s",
			       go_quoted(name, quoted, sizeof(quoted)));
	if (!next(w, &value))
		value = STR("<val>");
	return err_set(err, -EINVAL, "did you mean: %.*s=%.*s", STR_ARG(name), STR_ARG(value));
}

static int find_command(struct invocation *inv, struct words *w, struct arena *a, struct err *err)
{
	struct str name, param;

	go_field(&w->rest, &name);
	inv->command = command_find(name);
	if (!inv->command) {
		w->digits = cut_digits(&name);
		inv->command = command_find(name);
	}
	if (!inv->command)
		return unknown(w, name, err);
	if (!inv->command->has_param)
		return 0;
	if (!next(w, &param))
		return err_set(err, -EINVAL, "command %.*s requires an argument", STR_ARG(name));
	inv->param = xarena_str(a, param).p;
	return 0;
}

/* Joins two regular expressions. */
static struct str either(struct arena *a, struct str one, struct str other)
{
	if (one.n == 0 || other.n == 0)
		return one.n ? one : other;
	return xarena_printf(a, "%.*s|%.*s", STR_ARG(one), STR_ARG(other));
}

static int take_output(struct invocation *inv, struct words *w, struct str word, struct arena *a,
		       struct err *err)
{
	word = str_skip(word, 1);
	if (word.n == 0 && !next(w, &word))
		return err_set(err, -EINVAL, "unexpected end of line after >");
	inv->cfg.output = xarena_str(a, word).p;
	return 0;
}

static int take_words(struct invocation *inv, struct words *w, struct arena *a, struct err *err)
{
	struct config *cfg = &inv->cfg;
	struct str focus = { 0 }, ignore = { 0 }, word;
	bool tags = inv->command->report == COMMAND_TAGS;
	int64_t n;
	int rc;

	while (next(w, &word)) {
		if (go_parse_int(word, 10, 32, &n, NULL) == 0) {
			cfg->nodecount = (int)n;
		} else if (word.p[0] == '>') {
			rc = take_output(inv, w, word, a, err);
			if (rc)
				return rc;
		} else if (str_is(word, "--cum") || str_is(word, "-cum")) {
			cfg->sort = "cum";
		} else if (word.p[0] == '-') {
			ignore = either(a, ignore, str_skip(word, 1));
		} else {
			focus = either(a, focus, word);
		}
	}
	if (focus.n)
		*(tags ? &cfg->tagfocus : &cfg->focus) = xarena_str(a, focus).p;
	if (ignore.n)
		*(tags ? &cfg->tagignore : &cfg->ignore) = xarena_str(a, ignore).p;
	return 0;
}

int invocation_parse(struct invocation *inv, struct str input, const struct config *cfg,
		     struct arena *a, struct err *err)
{
	struct words w = { .rest = input };
	int rc;

	*inv = (struct invocation){ .cfg = *cfg };
	rc = find_command(inv, &w, a, err);
	if (rc == 0)
		rc = take_words(inv, &w, a, err);
	if (rc == 0 && inv->cfg.nodecount == -1 && inv->command->report == COMMAND_TEXT)
		inv->cfg.nodecount = 10;
	return rc;
}
