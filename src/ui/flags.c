/*
 * flags.c - command line flags as Go's flag package reads them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/flags.h"

#include "base/err.h"
#include "base/gotext.h"

#include <errno.h>
#include <limits.h>

static const struct flag *find(const struct flag *flags, size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++) {
		if (str_is(name, flags[i].name))
			return &flags[i];
	}
	return NULL;
}

static int store(const struct flag *f, const char *value)
{
	struct str s = str_of(value);
	int64_t i = 0;
	bool b = false;
	int rc;

	switch (f->type) {
	case OPTION_BOOL:
		rc = go_parse_bool(s, &b, NULL);
		if (rc == 0)
			*(bool *)f->value = b;
		return rc;
	case OPTION_INT:
		rc = go_parse_int(s, 0, 64, &i, NULL);
		if (rc == 0)
			*(int *)f->value = i > INT_MAX ? INT_MAX : i < INT_MIN ? INT_MIN : (int)i;
		return rc;
	case OPTION_FLOAT:
		return go_parse_float(s, f->value, NULL);
	case OPTION_STRING:
	case OPTION_CHOICE:
		*(const char **)f->value = value;
		return 0;
	}
	return -EINVAL;
}

static int bad_value(const struct flag *f, const char *value, int code, struct err *err)
{
	const char *why = code == -ERANGE ? "value out of range" : "parse error";
	char quoted[2048];

	go_quoted(str_of(value), quoted, sizeof(quoted));
	if (f->type == OPTION_BOOL)
		return err_set(err, -EINVAL, "invalid boolean value %s for -%s: %s", quoted,
			       f->name, why);
	return err_set(err, -EINVAL, "invalid value %s for flag -%s: %s", quoted, f->name, why);
}

/* Cuts "--name=value" up.  False if it is not a flag but something to read. */
static bool split(const char *arg, struct str *name, const char **value)
{
	const char *eq;

	if (arg[0] != '-' || arg[1] == '\0')
		return false;
	arg += arg[1] == '-' ? 2 : 1;
	eq = arg[0] ? strchr(arg + 1, '=') : NULL;
	*name = (struct str){ arg, eq ? (size_t)(eq - arg) : strlen(arg) };
	*value = eq ? eq + 1 : NULL;
	return true;
}

static int unknown(struct str name, const char *arg, struct err *err)
{
	if (name.p[0] == '-' || name.p[0] == '=')
		return err_set(err, -EINVAL, "bad flag syntax: %s", arg);
	if (str_is(name, "help") || str_is(name, "h"))
		return -ECANCELED;
	return err_set(err, -EINVAL, "flag provided but not defined: -%.*s", STR_ARG(name));
}

int flags_parse(const struct flag *flags, size_t n, int argc, const char *const *argv, int *first,
		struct err *err)
{
	int at = 1, rc;

	for (; at < argc; at++) {
		const struct flag *f;
		const char *value;
		struct str name;

		*first = at;
		if (!split(argv[at], &name, &value))
			return 0;
		if (strcmp(argv[at], "--") == 0) {
			at++;
			break;
		}
		f = name.p[0] == '-' || name.p[0] == '=' ? NULL : find(flags, n, name);
		if (!f)
			return unknown(name, argv[at], err);
		if (!value && f->type == OPTION_BOOL)
			value = "true";
		if (!value && at + 1 < argc)
			value = argv[++at];
		if (!value)
			return err_set(err, -EINVAL, "flag needs an argument: -%s", f->name);
		rc = store(f, value);
		if (rc)
			return bad_value(f, value, rc, err);
	}
	*first = at;
	return 0;
}
