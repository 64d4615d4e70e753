/*
 * settings.c - configurations that people have saved in pprof's web pages
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/settings.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/quote-json.h"
#include "base/xalloc.h"
#include "store/jansson.h"
#include "ui/options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

/* A list in a menu is short; a file is what a person could have saved by hand. */
enum { LARGEST_FILE = 1 << 20, MOST = 200, ARENA_BUDGET = 16 << 20 };

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
	s->found = list ? j->array_size(list) : 0;
	n = s->found < MOST ? s->found : MOST;
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

/* ------------------------------------------------------------------ writing */

/* What the reference's file does not mention: false, 0 and "". */
static bool is_zero(const struct option *o, const struct config *cfg)
{
	const void *m = option_member(o, cfg);

	switch (o->type) {
	case OPTION_BOOL:
		return !*(const bool *)m;
	case OPTION_INT:
		return *(const int *)m == 0;
	case OPTION_FLOAT:
		return *(const double *)m == 0;
	case OPTION_STRING:
	case OPTION_CHOICE:
		break;
	}
	return **(const char *const *)m == '\0';
}

static void put_config(struct out *o, const struct saved_config *c)
{
	out_text(o, "    {\n      \"name\": ");
	quote_json(o, str_of(c->name), JSON_AS_GO);
	for (const struct option *opt = config_options; opt->name; opt++) {
		if (!option_is_stored(opt) || is_zero(opt, &c->cfg))
			continue;
		out_printf(o, ",\n      \"%s\": ", opt->name);
		if (opt->type == OPTION_STRING || opt->type == OPTION_CHOICE)
			quote_json(o, str_of(*(const char *const *)option_member(opt, &c->cfg)),
				   JSON_AS_GO);
		else
			option_get(opt, &c->cfg, o);
	}
	out_text(o, "\n    }");
}

static void put_settings(struct out *o, const struct settings *s)
{
	out_text(o, "{\n  \"configs\": [");
	for (size_t i = 0; i < s->n; i++) {
		out_text(o, i ? ",\n" : "\n");
		put_config(o, &s->at[i]);
	}
	out_text(o, s->n ? "\n  ]\n}" : "]\n}");
}

static int write_settings(const struct settings *s, const char *path, struct err *err)
{
	AUTO(freep) char *folder = mem_str(str_of(path));
	AUTO(freep) char *at = NULL;
	struct file_new f;
	struct err why;
	char text[128];
	int rc;

	*strrchr(folder, '/') = '\0';
	rc = file_make_folders(folder, 0700, &at);
	if (rc)
		return err_set(err, rc, "failed to create settings directory: mkdir %s: %s", at,
			       errno_text(-rc, text, sizeof(text)));
	rc = file_create(&f, path, &why);
	if (rc == 0) {
		put_settings(&f.out, s);
		rc = file_commit(&f, NULL, &why);
	}
	return rc ? err_set(err, rc, "failed to write settings: %s", why.msg) : 0;
}

/* What is in the file, if all of it could be written again. */
static int begin_edit(struct settings *s, const char *path, struct arena *a, struct err *err)
{
	int rc;

	if (!path)
		return err_set(err, -ENOENT,
			       "neither $XDG_CONFIG_HOME nor $HOME says where settings are kept");
	rc = settings_read(s, path, a, err);
	if (rc == 0 && s->found > s->n)
		rc = err_set(err, -E2BIG, "there are more than %d saved configurations", MOST);
	return rc;
}

static size_t find_config(const struct settings *s, const char *name)
{
	size_t i = 0;

	while (i < s->n && strcmp(s->at[i].name, name) != 0)
		i++;
	return i;
}

static int add_config(struct settings *s, const char *name, const struct config *cfg,
		      struct arena *a, struct err *err)
{
	size_t i = find_config(s, name);
	struct saved_config *more;

	if (i == MOST)
		return err_set(err, -E2BIG, "there are %d saved configurations already", MOST);
	more = xarena(a, s->n + 1, sizeof(*more));
	if (s->n)
		memcpy(more, s->at, s->n * sizeof(*more));
	more[i] = (struct saved_config){ name, *cfg };
	s->at = more;
	s->n += i == s->n;
	return 0;
}

int settings_save(const char *path, const char *name, const struct config *cfg, struct err *err)
{
	struct settings s = { 0 };
	struct arena a;
	int rc;

	if (!*name)
		return err_set(err, -EINVAL, "invalid config name");
	arena_init(&a, ARENA_BUDGET);
	rc = begin_edit(&s, path, &a, err);
	if (rc == 0)
		rc = add_config(&s, name, cfg, &a, err);
	if (rc == 0)
		rc = write_settings(&s, path, err);
	arena_release(&a);
	return rc;
}

static int remove_config(struct settings *s, const char *name, struct err *err)
{
	size_t i = find_config(s, name);

	if (i == s->n)
		return err_set(err, -ENOENT, "config %s not found", name);
	memmove(&s->at[i], &s->at[i + 1], (s->n - i - 1) * sizeof(*s->at));
	s->n--;
	return 0;
}

int settings_delete(const char *path, const char *name, struct err *err)
{
	struct settings s = { 0 };
	struct arena a;
	int rc;

	arena_init(&a, ARENA_BUDGET);
	rc = begin_edit(&s, path, &a, err);
	if (rc == 0)
		rc = remove_config(&s, name, err);
	if (rc == 0)
		rc = write_settings(&s, path, err);
	arena_release(&a);
	return rc;
}
