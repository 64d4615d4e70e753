/*
 * settings.c - configurations that people have saved in pprof's web pages
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/settings.h"

#include "base/err.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "store/jansson.h"
#include "ui/options.h"

#include <errno.h>
#include <limits.h>

/* A list in a menu is short; a file is what a person could have saved by hand. */
enum { LARGEST_FILE = 1 << 20, MOST = 200 };

char *settings_path(void)
{
	const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (folder && *folder)
		return mem_printf("%s/pprof/settings.json", folder);
	return home && *home ? mem_printf("%s/.config/pprof/settings.json", home) : NULL;
}

bool option_is_stored(const struct option *o)
{
	static const char *const passing[] = { "output", "source_path", "trim_path", "divide_by",
					       "sample_index" };

	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
		if (strcmp(o->name, passing[i]) == 0)
			return false;
	}
	return !o->ours;
}

static int whole(double v)
{
	if (v <= INT_MIN || v >= INT_MAX)
		return v < 0 ? INT_MIN : INT_MAX;
	return (int)v;
}

static void take_value(const struct jansson_calls *j, const struct option *o, const json_t *value,
		       struct config *cfg, struct arena *a)
{
	void *m = option_member(o, cfg);

	switch (o->type) {
	case OPTION_BOOL:
		*(bool *)m = json_is_true(value);
		break;
	case OPTION_INT:
		*(int *)m = value ? whole(j->number_value(value)) : 0;
		break;
	case OPTION_FLOAT:
		*(double *)m = value ? j->number_value(value) : 0;
		break;
	case OPTION_STRING:
	case OPTION_CHOICE:
		*(const char **)m = xarena_str(a, str_of(value ? j->string_value(value) : "")).p;
		break;
	}
}

static void take_config(const struct jansson_calls *j, const json_t *object,
			struct saved_config *to, struct arena *a)
{
	const json_t *name = j->object_get(object, "name");

	to->name = xarena_str(a, str_of(name ? j->string_value(name) : "")).p;
	config_init(&to->cfg);
	for (const struct option *o = config_options; o->name; o++) {
		if (option_is_stored(o))
			take_value(j, o, j->object_get(object, o->name), &to->cfg, a);
	}
}

static int parse(struct settings *s, struct str text, struct arena *a, struct err *err)
{
	const struct jansson_calls *j;
	const json_t *list;
	json_error_t why;
	json_t *all;
	size_t n;
	int rc = jansson_load(&j, err);

	if (rc)
		return rc;
	all = j->loadb(text.p, text.n, 0, &why);
	if (!all)
		return err_set(err, -EINVAL, "could not parse settings: %s", why.text);
	list = j->object_get(all, "configs");
	n = list ? j->array_size(list) : 0;
	n = n < MOST ? n : MOST;
	s->at = xarena(a, n, sizeof(*s->at));
	for (size_t i = 0; i < n; i++)
		take_config(j, j->array_get(list, i), &s->at[s->n++], a);
	jansson_free(j, all);
	return 0;
}

int settings_read(struct settings *s, const char *path, struct arena *a, struct err *err)
{
	struct file_bytes bytes;
	struct err why;
	int rc;

	*s = (struct settings){ 0 };
	rc = path ? file_read(path, LARGEST_FILE, &bytes, &why) : -ENOENT;
	if (rc == -ENOENT)
		return 0;
	if (rc)
		return err_set(err, rc, "could not read settings: %s", why.msg);
	rc = parse(s, (struct str){ bytes.p, bytes.n }, a, err);
	file_bytes_release(&bytes);
	return rc;
}
