/*
 * collect-config.c - what "sonded collect" is to collect
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "daemon/collect-config.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "base/yaml.h"

#include <errno.h>

enum { CONFIG_MAX = 4 << 20, MEMORY = 64 << 20, TARGETS_MOST = 4096 };
static const int64_t second = 1000000000;

const struct arg collect_flags[] = {
	[COLLECT_CONFIG] = { "config", "file", "What to collect; flags come on top of it",
			     ARG_FILE },
	[COLLECT_ROOT] = { "root", "folder", "Where to; /var/log/pprof if not set", ARG_FILE },
	[COLLECT_INTERVAL] = { "interval", "time", "From one round to the next; 30m if not set",
			       ARG_TIME },
	[COLLECT_SECONDS] = { "seconds", "n", "Length of CPU profiles; 30 if not set", ARG_NUMBER },
	[COLLECT_KINDS] = { "kinds", "list",
			    "Which profiles, separated by commas, if not all of\n"
			    "profile,heap,goroutine,mutex,block,threadcreate",
			    ARG_TEXT },
	[COLLECT_TARGET] = { "target", "name=url",
			     "A program to ask; url,url for replicas, of which one is asked\n"
			     "each round.  May be given more than once",
			     ARG_TEXT },
	[COLLECT_KEEP_ROUNDS] = { "keep-rounds", "n", "Remove the oldest rounds beyond so many",
				  ARG_NUMBER },
	[COLLECT_KEEP_AGE] = { "keep-age", "time", "Remove rounds that are older", ARG_TIME },
	[COLLECT_KEEP_BYTES] = { "keep-bytes", "n", "Remove the oldest rounds beyond so many bytes",
				 ARG_NUMBER },
	[COLLECT_PLAIN] = { "plain-names", NULL,
			    "Dates without colons: 20201001T220840Z, which every system can hold",
			    ARG_TEXT },
	[COLLECT_LOCAL] = { "local-time", NULL, "Dates in local time instead of UTC", ARG_TEXT },
	[COLLECT_ROUNDS] = { "rounds", "n",
			     "End after so many rounds; with 1 if they brought nothing",
			     ARG_NUMBER },
	[COLLECT_METRICS] = { "metrics", "address",
			      "Serve metrics for Prometheus on host:port or :port", ARG_TEXT },
	{ NULL, NULL, NULL, ARG_TEXT },
};

struct reader {
	struct collect_config *c;
	const char *path;
	struct target defaults;
	struct err *err;
};

static int wrong(const struct reader *r, const struct yaml *y, const char *why)
{
	return err_set(r->err, -EINVAL, "%s:%zu: %s", r->path, y->line, why);
}

static bool is_name(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      (strchr("-_.", c) && c && i > 0)))
			return false;
	}
	return s.n > 0 && s.n < 128;
}

static int take_number(const struct reader *r, const struct yaml *y, uint64_t *n)
{
	if (y->kind != YAML_TEXT || !size_parse(y->text.p, n))
		return wrong(r, y, "this must be a number");
	return 0;
}

static int take_time(const struct reader *r, const struct yaml *y, int64_t *ns)
{
	if (y->kind != YAML_TEXT || !time_parse(y->text.p, ns) || *ns <= 0)
		return wrong(r, y, "this must be a time such as 30s or 30m");
	return 0;
}

static int take_kinds(const struct reader *r, const struct yaml *y, struct target *t)
{
	t->nkinds = 0;
	if (y->kind != YAML_LIST || y->n == 0 || y->n > KINDS_MOST)
		return wrong(r, y, "kinds must be a list: [heap, profile]");
	for (size_t i = 0; i < y->n; i++) {
		if (y->items[i]->kind != YAML_TEXT || !is_name(y->items[i]->text))
			return wrong(r, y->items[i], "this cannot be a kind of profile");
		t->kinds[t->nkinds++] = y->items[i]->text;
	}
	return 0;
}

static bool is_url(struct str s)
{
	return str_starts(s, STR("http://")) || str_starts(s, STR("https://")) ||
	       str_starts(s, STR("kube://"));
}

static int take_urls(const struct reader *r, const struct yaml *y, struct target *t)
{
	size_t n = y->kind == YAML_LIST ? y->n : 1;

	t->urls = xarena(&r->c->a, n + 1, sizeof(*t->urls));
	t->nurls = n;
	for (size_t i = 0; i < n; i++) {
		const struct yaml *u = y->kind == YAML_LIST ? y->items[i] : y;

		if (u->kind != YAML_TEXT || !is_url(u->text))
			return wrong(r, u, "a URL begins with http://, https:// or kube://");
		t->urls[i] = u->text;
	}
	return 0;
}

/* Members that a target has, and the file as a whole for all of them; -ENOENT: it is none. */
static int take_shared(const struct reader *r, struct str key, const struct yaml *y,
		       struct target *t)
{
	int64_t ns;
	uint64_t n;
	int rc;

	if (str_is(key, "kinds"))
		return take_kinds(r, y, t);
	if (str_is(key, "seconds")) {
		rc = take_number(r, y, &n);
		t->seconds = n < 1 || n > 86400 ? 30 : (int64_t)n;
		return rc;
	}
	if (str_is(key, "timeout")) {
		rc = take_time(r, y, &ns);
		t->timeout_ms = rc == 0 ? ns / 1000000 : 0;
		return rc;
	}
	if (str_is(key, "mutex"))
		return take_number(r, y, &t->mutex);
	if (str_is(key, "block"))
		return take_number(r, y, &t->block);
	if (str_is(key, "insecure"))
		t->insecure = str_is(y->text, "true");
	else if (str_is(key, "token_file"))
		t->token_file = y->text;
	else if (str_is(key, "ca"))
		t->ca = y->text;
	else if (str_is(key, "cert"))
		t->cert = y->text;
	else if (str_is(key, "key"))
		t->key = y->text;
	else
		return -ENOENT;
	return y->kind == YAML_TEXT ? 0 : wrong(r, y, "this must be a text");
}

static int take_member(const struct reader *r, struct str key, const struct yaml *y,
		       struct target *t)
{
	int rc;

	if (str_is(key, "url") || str_is(key, "urls"))
		return take_urls(r, y, t);
	if (str_is(key, "name")) {
		t->name = y->text;
		return y->kind == YAML_TEXT && is_name(t->name)
			       ? 0
			       : wrong(r, y, "a name has letters, digits and dashes only");
	}
	if (str_is(key, "process")) {
		t->process = y->text;
		return 0;
	}
	rc = take_shared(r, key, y, t);
	return rc == -ENOENT ? wrong(r, y, "a target has no such member") : rc;
}

static bool is_taken(const struct collect_config *c, struct str name)
{
	for (size_t i = 0; i < c->ntargets; i++)
		if (str_eq(c->targets[i].name, name))
			return true;
	return false;
}

static int take_target(const struct reader *r, const struct yaml *y)
{
	struct target t = r->defaults;
	int rc = 0;

	if (y->kind != YAML_MAP)
		return wrong(r, y, "a target has a name and a url");
	for (size_t i = 0; i < y->n && rc == 0; i++)
		rc = take_member(r, y->keys[i], y->items[i], &t);
	if (rc == 0 && (!t.name.n || !t.nurls))
		rc = wrong(r, y, "a target has a name and a url");
	if (rc == 0 && is_taken(r->c, t.name))
		rc = wrong(r, y, "there is a target of this name already");
	if (rc == 0)
		r->c->targets[r->c->ntargets++] = t;
	return rc;
}

static int take_targets(const struct reader *r, const struct yaml *y)
{
	int rc = 0;

	if (y->kind != YAML_LIST || y->n > TARGETS_MOST)
		return wrong(r, y, "targets must be a list");
	r->c->targets = xarena(&r->c->a, y->n + ARGS_REPEATS, sizeof(*r->c->targets));
	for (size_t i = 0; i < y->n && rc == 0; i++)
		rc = take_target(r, y->items[i]);
	return rc;
}

static int take_keep(const struct reader *r, const struct yaml *y)
{
	int rc = 0;

	for (size_t i = 0; y->kind == YAML_MAP && i < y->n && rc == 0; i++) {
		const struct yaml *v = y->items[i];
		int64_t ns = 0;

		if (str_is(y->keys[i], "rounds"))
			rc = take_number(r, v, &r->c->keep.rounds);
		else if (str_is(y->keys[i], "bytes"))
			rc = take_number(r, v, &r->c->keep.bytes);
		else if (str_is(y->keys[i], "age"))
			rc = take_time(r, v, &ns);
		else
			rc = wrong(r, v, "keep has rounds, age and bytes");
		if (ns)
			r->c->keep.age_s = ns / second;
	}
	return y->kind == YAML_MAP ? rc : wrong(r, y, "keep has rounds, age and bytes");
}

static int take_top(struct reader *r, struct str key, const struct yaml *y)
{
	int rc;

	if (str_is(key, "targets"))
		return 0; /* when all that counts for them is known */
	if (str_is(key, "keep"))
		return take_keep(r, y);
	if (str_is(key, "interval"))
		return take_time(r, y, &r->c->interval_ns);
	rc = take_shared(r, key, y, &r->defaults);
	if (rc != -ENOENT)
		return rc;
	if (str_is(key, "root"))
		r->c->root = y->text.p;
	else if (str_is(key, "metrics"))
		r->c->metrics = y->text.p;
	else if (str_is(key, "plain_names"))
		r->c->plain_names = str_is(y->text, "true");
	else if (str_is(key, "local_time"))
		r->c->local_time = str_is(y->text, "true");
	else
		return wrong(r, y, "there is no such setting");
	return y->kind == YAML_TEXT ? 0 : wrong(r, y, "this must be a text");
}

static int read_file(struct reader *r)
{
	const struct yaml *targets;
	struct yaml *y = NULL;
	struct file_bytes b;
	int rc = file_read(r->path, CONFIG_MAX, &b, r->err);

	if (rc < 0)
		return rc;
	rc = yaml_parse((struct str){ b.p, b.n }, r->path, &r->c->a, &y, r->err);
	file_bytes_release(&b);
	if (rc < 0)
		return rc;
	if (!y || y->kind != YAML_MAP)
		return err_set(r->err, -EINVAL, "%s: this is no configuration", r->path);
	for (size_t i = 0; i < y->n && rc == 0; i++)
		rc = take_top(r, y->keys[i], y->items[i]);
	targets = yaml_get(y, "targets");
	return rc == 0 && targets ? take_targets(r, targets) : rc;
}

/* "web=http://a:6060,http://b:6060" */
static int take_flag(struct reader *r, const char *value)
{
	struct str rest = str_of(value), url;
	struct target t = r->defaults;

	str_split(&rest, '=', &t.name);
	t.urls = xarena(&r->c->a, strlen(value), sizeof(*t.urls));
	while (rest.n && str_split(&rest, ',', &url)) {
		if (!is_url(url))
			url = xarena_printf(&r->c->a, "http://%.*s", STR_ARG(url));
		t.urls[t.nurls++] = url;
	}
	if (!is_name(t.name) || t.nurls == 0)
		return err_set(r->err, -EINVAL, "--target is name=url, not '%s'", value);
	if (is_taken(r->c, t.name))
		return err_set(r->err, -EINVAL, "there are two targets called %.*s",
			       STR_ARG(t.name));
	r->c->targets[r->c->ntargets++] = t;
	return 0;
}

static int take_kinds_flag(struct reader *r, const char *value, struct target *t)
{
	struct str rest = str_of(value);

	t->nkinds = 0;
	while (t->nkinds < KINDS_MOST && str_split(&rest, ',', &t->kinds[t->nkinds]))
		if (!is_name(t->kinds[t->nkinds++]))
			return err_set(r->err, -EINVAL, "--kinds is a list such as heap,profile");
	return 0;
}

/* Flags that count for every target, also for those of the file. */
static int take_defaults(struct reader *r, const struct args *args, struct target *t)
{
	const char *const *v = args->values;

	if (v[COLLECT_SECONDS])
		t->seconds = (int64_t)args_number(v[COLLECT_SECONDS]);
	if (t->seconds < 1 || t->seconds > 86400)
		return err_set(r->err, -EINVAL, "--seconds is 1 to 86400");
	return v[COLLECT_KINDS] ? take_kinds_flag(r, v[COLLECT_KINDS], t) : 0;
}

static void take_settings(struct collect_config *c, const struct args *args)
{
	const char *const *v = args->values;

	if (v[COLLECT_ROOT])
		c->root = v[COLLECT_ROOT];
	if (v[COLLECT_INTERVAL])
		c->interval_ns = args_ns(v[COLLECT_INTERVAL]);
	if (v[COLLECT_KEEP_ROUNDS])
		c->keep.rounds = args_number(v[COLLECT_KEEP_ROUNDS]);
	if (v[COLLECT_KEEP_BYTES])
		c->keep.bytes = args_number(v[COLLECT_KEEP_BYTES]);
	if (v[COLLECT_KEEP_AGE])
		c->keep.age_s = args_ns(v[COLLECT_KEEP_AGE]) / second;
	if (v[COLLECT_METRICS])
		c->metrics = v[COLLECT_METRICS];
	c->plain_names |= v[COLLECT_PLAIN] != NULL;
	c->local_time |= v[COLLECT_LOCAL] != NULL;
}

static int read_flags(struct reader *r, const struct args *args)
{
	int rc = take_defaults(r, args, &r->defaults);

	for (size_t i = 0; i < r->c->ntargets && rc == 0; i++)
		rc = take_defaults(r, args, &r->c->targets[i]);
	for (size_t i = 0; i < args->nall && rc == 0; i++)
		if (args->all[i].option == COLLECT_TARGET)
			rc = take_flag(r, args->all[i].value);
	take_settings(r->c, args);
	if (rc == 0 && r->c->ntargets == 0)
		rc = err_set(r->err, -EINVAL, "nothing to collect: give --target or --config");
	if (rc == 0 && r->c->interval_ns < second)
		rc = err_set(r->err, -EINVAL, "the interval must be a second or more");
	return rc;
}

int collect_config_read(struct collect_config *c, const struct args *args, struct err *err)
{
	static const char *const kinds[] = { "profile", "heap",  "goroutine",
					     "mutex",   "block", "threadcreate" };
	struct reader r = { .c = c, .path = args->values[COLLECT_CONFIG], .err = err };
	int rc = 0;

	*c = (struct collect_config){ .root = "/var/log/pprof", .interval_ns = 1800 * second };
	arena_init(&c->a, MEMORY);
	r.defaults.seconds = 30;
	r.defaults.timeout_ms = 15000;
	for (size_t i = 0; i < 6; i++)
		r.defaults.kinds[r.defaults.nkinds++] = str_of(kinds[i]);
	c->targets = xarena(&c->a, ARGS_REPEATS, sizeof(*c->targets));
	if (r.path)
		rc = read_file(&r);
	return rc < 0 ? rc : read_flags(&r, args);
}

void collect_config_release(struct collect_config *c)
{
	arena_release(&c->a);
	*c = (struct collect_config){ 0 };
}
