/*
 * leaks-command.c - "sonde leaks": which stacks of a series of heap profiles grow
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/out.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "profile/decode.h"
#include "profile/profile.h"
#include "render/json.h"
#include "report/growth.h"
#include "source/rounds.h"
#include "source/source.h"
#include "source/unpack.h"
#include "store/dumps.h"
#include "store/place.h"
#include "ui/environment.h"
#include "ui/own-command.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLEAN, LEAKS, FAILED };
enum { FRAMES_SHOWN = 12 };
static const size_t memory = (size_t)4 << 30;

enum { FLAG_STORE, FLAG_COMPONENT, FLAG_FRAMES, FLAG_JSON };

static const struct arg flags[] = {
	[FLAG_STORE] = { "store", "place",
			 "Look at dumps: the words are their prefixes.  dir:PATH, kube: or\n"
			 "kube:NAMESPACE",
			 ARG_FILE },
	[FLAG_COMPONENT] = { "component", "name",
			     "Of a collected tree, only this component; all if not set", ARG_TEXT },
	[FLAG_FRAMES] = { "frames", "n", "How many frames of a stack to show; 12 if not set",
			  ARG_NUMBER },
	[FLAG_JSON] = { "json", NULL, "The answer as JSON", ARG_TEXT },
	{ NULL, NULL, NULL, ARG_TEXT },
};

/* One series: the profiles of one component. */
struct component {
	struct str name;
	char **paths;
	size_t n, cap;
};

struct leaks {
	const struct args *args;
	struct arena a;
	struct component *components;
	size_t n, cap;
};

static void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void complain(const char *fmt, ...)
{
	char text[4200];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	(void)fprintf(stderr, "sonde leaks: %s\n", text);
}

/* --- which profiles ---------------------------------------------------------------------- */

static struct component *find_component(struct leaks *k, struct str name)
{
	struct component c = { .name = name };

	for (size_t i = 0; i < k->n; i++)
		if (str_eq(k->components[i].name, name))
			return &k->components[i];
	c.name = xarena_str(&k->a, name);
	vec_push(k->components, k->n, k->cap, c);
	return &k->components[k->n - 1];
}

static void add_path(struct leaks *k, struct str component, const char *path)
{
	const char *only = k->args->values[FLAG_COMPONENT];
	struct component *c;

	if (only && !str_is(component, only))
		return;
	c = find_component(k, component);
	vec_push(c->paths, c->n, c->cap, mem_str(str_of(path)));
}

/* "kube-apiserver-heap-2020-10-01-22:08:40.pprof": the part before "-heap-". */
static bool is_heap(struct str file, struct str *component)
{
	ptrdiff_t at = str_find(file, STR("-heap-"));

	if (!str_ends(file, STR(".pprof")) || at <= 0)
		return false;
	*component = (struct str){ file.p, (size_t)at };
	return true;
}

static void add_heap(void *ctx, const char *path, const char *name)
{
	struct str component;

	if (is_heap(str_of(name), &component))
		add_path(ctx, component, path);
}

static void add_word(struct leaks *k, const char *word)
{
	struct stat st;

	if (stat(word, &st) == 0 && S_ISDIR(st.st_mode))
		rounds_walk(word, add_heap, k);
	else
		add_path(k, STR(""), word);
}

/* --- reading them ------------------------------------------------------------------------ */

static int add_bytes(struct growth *g, struct str bytes, int64_t when, struct err *err)
{
	struct profile *p = NULL;
	int rc = profile_parse(bytes, NULL, NULL, &p, err);

	if (rc == 0)
		rc = growth_add(g, p, when ? when : p->time_nanos, err);
	profile_free(p);
	return rc;
}

static int add_file(struct growth *g, const char *path, struct err *err)
{
	struct source_request rq = { .source = path };
	struct source_bytes b;
	int rc = source_read(&rq, &b, err);

	if (rc < 0)
		return rc;
	rc = add_bytes(g, (struct str){ b.bytes.p, b.bytes.n }, 0, err);
	source_bytes_release(&b);
	return rc;
}

static int add_dump(struct growth *g, struct store *s, struct str prefix, const struct dump *d,
		    struct err *err)
{
	AUTO(arena_release) struct arena a;
	struct file_bytes b = { 0 };
	struct out bytes;
	int rc;

	arena_init(&a, memory);
	out_init(&bytes, memory);
	rc = dumps_get(s, prefix, d->generation, &a, &bytes, NULL, err);
	if (rc == 0) {
		b = (struct file_bytes){ .p = mem_new(bytes.n + 1, 1), .n = bytes.n };
		memcpy(b.p, bytes.p, bytes.n);
		rc = unpack(&b, memory, NULL, NULL, err);
	}
	out_release(&bytes);
	if (rc == 0)
		rc = add_bytes(g, (struct str){ b.p, b.n }, d->stored * 1000000000, err);
	file_bytes_release(&b);
	return rc;
}

static int read_dumps(struct growth *g, struct store *s, struct str prefix, struct err *err)
{
	AUTO(arena_release) struct arena a;
	struct record r;
	int rc;

	arena_init(&a, memory);
	rc = record_read(s, prefix, &a, &r, err);
	for (size_t i = r.nolder; rc == 0 && i-- > 0;)
		rc = add_dump(g, s, prefix, &r.older[i], err);
	if (rc == 0 && r.newest.names.n)
		rc = add_dump(g, s, prefix, &r.newest, err);
	return rc;
}

/* --- telling ----------------------------------------------------------------------------- */

static void write_bytes(struct out *o, double bytes)
{
	unit_print(o, (int64_t)bytes, STR("bytes"), UNIT_AUTO);
}

static void write_rate(struct out *o, double slope)
{
	out_text(o, slope < 0 ? "" : "+");
	write_bytes(o, slope * 3600);
	out_text(o, "/h");
}

static void write_chance(struct out *o, double chance)
{
	if (chance < 1e-12)
		out_text(o, "by chance: practically never");
	else
		out_printf(o, "by chance: 1 in %.0f", 1 / chance);
}

static void write_frames(struct out *o, const struct growth_row *r, size_t most)
{
	if (r->level == GROWTH_HEAP)
		out_text(o, "      the whole heap, in no place more than in others\n");
	if (r->level == GROWTH_FUNCTION)
		out_text(o, "      in stacks that end in\n");
	for (size_t i = 0; i < r->nframes && i < most; i++)
		out_printf(o, "      %.*s\n", STR_ARG(r->frames[i]));
	if (r->nframes > most)
		out_printf(o, "      ... and %zu more\n", r->nframes - most);
}

static void write_row(struct out *o, const struct growth_row *r, size_t most)
{
	out_text(o, r->verdict == GROWTH_LEAK ? "LEAK  " : "maybe ");
	write_bytes(o, (double)r->bytes);
	if (r->objects > 0) {
		out_printf(o, " in %lld objects of ", (long long)r->objects);
		write_bytes(o, (double)r->bytes / (double)r->objects);
	}
	out_text(o, ", ");
	write_rate(o, r->slope);
	out_text(o, " (95%: ");
	write_rate(o, r->low);
	out_text(o, " to ");
	write_rate(o, r->high);
	out_text(o, ")\n      since ");
	go_time(o, r->since, GO_DATE_2024);
	out_text(o, ", ");
	write_chance(o, r->chance);
	out_char(o, '\n');
	write_frames(o, r, most);
}

static size_t count(const struct growth_result *r, enum growth_verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->rows[i].verdict == verdict;
	return n;
}

static void write_verdict(struct out *o, const struct growth_result *r)
{
	size_t leaks = count(r, GROWTH_LEAK), maybe = count(r, GROWTH_MAYBE);

	if (leaks)
		out_printf(o, "verdict: %zu %s\n", leaks, leaks == 1 ? "leak" : "leaks");
	else if (maybe)
		out_text(o, "verdict: not sure yet; more profiles would tell\n");
	else
		out_text(o, "verdict: nothing leaks\n");
}

static void write_text(struct out *o, struct str name, const struct growth_result *r, size_t most)
{
	if (name.n)
		out_printf(o, "%.*s: ", STR_ARG(name));
	out_printf(o, "%zu profiles over ", r->profiles);
	go_duration(o, (r->last - r->first) / 1000000000 * 1000000000);
	if (r->restarts)
		out_printf(o, " since the last of %zu restarts", r->restarts);
	out_text(o, ", heap ");
	write_bytes(o, (double)r->before);
	out_text(o, " -> ");
	write_bytes(o, (double)r->after);
	out_text(o, " (");
	write_rate(o, r->slope);
	out_text(o, ")\n");
	for (size_t i = 0; i < r->n; i++)
		write_row(o, &r->rows[i], most);
	write_verdict(o, r);
}

static void json_row(struct json *j, const struct growth_row *r)
{
	static const char *const levels[] = { "stack", "function", "heap" };

	json_open(j, NULL, '{');
	json_string(j, "verdict", r->verdict == GROWTH_LEAK ? STR("leak") : STR("maybe"));
	json_string(j, "level", str_of(levels[r->level]));
	json_int(j, "bytesPerHour", (int64_t)(r->slope * 3600));
	json_int(j, "low", (int64_t)(r->low * 3600));
	json_int(j, "high", (int64_t)(r->high * 3600));
	json_int(j, "chancePerBillion", (int64_t)(fmin(r->chance, 1) * 1e9));
	json_int(j, "sinceNanos", r->since);
	json_int(j, "bytes", r->bytes);
	json_int(j, "objects", r->objects);
	json_int(j, "grownBytes", r->grown);
	json_open(j, "frames", '[');
	for (size_t i = 0; i < r->nframes; i++)
		json_string(j, NULL, r->frames[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static void write_json(struct json *j, struct str name, const struct growth_result *r)
{
	json_open(j, NULL, '{');
	json_string(j, "component", name);
	json_int(j, "profiles", (int64_t)r->profiles);
	json_int(j, "restarts", (int64_t)r->restarts);
	json_int(j, "firstNanos", r->first);
	json_int(j, "lastNanos", r->last);
	json_int(j, "heapBefore", r->before);
	json_int(j, "heapAfter", r->after);
	json_int(j, "bytesPerHour", (int64_t)(r->slope * 3600));
	json_int(j, "leaks", (int64_t)count(r, GROWTH_LEAK));
	json_open(j, "growing", '[');
	for (size_t i = 0; i < r->n; i++)
		json_row(j, &r->rows[i]);
	json_close(j, ']');
	json_close(j, '}');
}

/* --- all together ------------------------------------------------------------------------ */

/* A profile that cannot be read is named, and the others count. */
static struct growth *read_files(const struct component *c, struct err *err)
{
	struct growth *g = growth_new();

	for (size_t i = 0; i < c->n; i++)
		if (add_file(g, c->paths[i], err) < 0)
			complain("%s: %s", c->paths[i], err->msg);
	return g;
}

static int tell(struct leaks *k, struct growth *g, struct str name, struct out *o, struct json *j)
{
	const char *frames = k->args->values[FLAG_FRAMES];
	struct growth_result r;
	struct err err;

	if (growth_find(g, &r, &err) < 0) {
		complain("%.*s%s%s", STR_ARG(name), name.n ? ": " : "", err.msg);
		return FAILED;
	}
	if (k->args->values[FLAG_JSON])
		write_json(j, name, &r);
	else
		write_text(o, name, &r, frames ? args_number(frames) : FRAMES_SHOWN);
	return count(&r, GROWTH_LEAK) ? LEAKS : CLEAN;
}

static int worse(int a, int b)
{
	static const int badness[] = { [CLEAN] = 0, [LEAKS] = 2, [FAILED] = 1 };

	return badness[a] > badness[b] ? a : b;
}

static int tell_files(struct leaks *k, struct out *o, struct json *j)
{
	struct err err = { "" };
	int status;

	for (char **w = k->args->rest; *w; w++)
		add_word(k, *w);
	status = k->n ? CLEAN : FAILED;
	if (!k->n)
		complain("there are no heap profiles: files called NAME-heap-DATE.pprof");
	for (size_t i = 0; i < k->n; i++) {
		struct growth *g = read_files(&k->components[i], &err);

		status = worse(status, tell(k, g, k->components[i].name, o, j));
		growth_free(g);
	}
	return status;
}

static int tell_dumps(struct leaks *k, const char *where, struct out *o, struct json *j)
{
	AUTO(store_closep) struct store *s = NULL;
	struct err err = { "" };
	int status = CLEAN;

	if (store_open(where, environment_place(), &s, &err) < 0) {
		complain("%s", err.msg);
		return FAILED;
	}
	for (char **w = k->args->rest; *w; w++) {
		struct growth *g = growth_new();

		if (read_dumps(g, s, str_of(*w), &err) < 0) {
			complain("%s", err.msg);
			status = worse(status, FAILED);
		} else {
			status = worse(status, tell(k, g, str_of(*w), o, j));
		}
		growth_free(g);
	}
	return status;
}

static void release(struct leaks *k)
{
	for (size_t i = 0; i < k->n; i++) {
		for (size_t p = 0; p < k->components[i].n; p++)
			free(k->components[i].paths[p]);
		free(k->components[i].paths);
	}
	free(k->components);
	arena_release(&k->a);
}

static int run_leaks(const struct args *args)
{
	struct leaks k = { .args = args };
	struct json j = { 0 };
	struct out o;
	int status;

	if (!args->rest[0]) {
		complain("what shall I look at? see sonde leaks --help");
		return FAILED;
	}
	arena_init(&k.a, memory);
	out_init_fd(&o, STDOUT_FILENO);
	j.o = &o;
	if (args->values[FLAG_JSON])
		json_open(&j, NULL, '[');
	status = args->values[FLAG_STORE] ? tell_dumps(&k, args->values[FLAG_STORE], &o, &j)
					  : tell_files(&k, &o, &j);
	if (args->values[FLAG_JSON])
		json_close(&j, ']');
	if (own_print("leaks", &o))
		status = FAILED;
	release(&k);
	return status;
}

const struct own_command own_leaks = {
	.name = "leaks",
	.what = "Tell which stacks of a series of heap profiles grow",
	.usage = "usage: sonde leaks [options] folder|profile...\n"
		 "       sonde leaks --store place [options] prefix...\n"
		 "\n"
		 "Looks at heap profiles of one program over time - a tree that sonded has "
		 "collected,\n"
		 "stored dumps, or files - and says which stacks grow: how fast, since when, how "
		 "many\n"
		 "objects of what size live, and how sure that is.  The status is 1 if something "
		 "leaks,\n"
		 "0 if nothing does, 2 if that cannot be told.\n"
		 "\n"
		 "  sonde leaks /var/log/pprof\n",
	.flags = flags,
	.next = "file",
	.run = run_leaks,
};
