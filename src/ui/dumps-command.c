/*
 * dumps-command.c - "sonde dumps": what a store has, and bringing it back
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/args.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/out.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "render/json.h"
#include "store/dumps.h"
#include "store/place.h"
#include "ui/environment.h"
#include "ui/own-command.h"
#include "ui/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t memory = (size_t)2 << 30;

enum { FLAG_STORE, FLAG_OUTPUT, FLAG_JSON };

static const struct arg flags[] = {
	[FLAG_STORE] = { "store", "place",
			 "Where the dumps are: dir:PATH, kube: or kube:NAMESPACE\n"
			 "SONDE_DUMP if not set",
			 ARG_FILE },
	[FLAG_OUTPUT] = { "output", "file",
			  "Where \"get\" puts the dump; standard output if not set", ARG_FILE },
	[FLAG_JSON] = { "json", NULL, "The list as JSON", ARG_TEXT },
	{ NULL, NULL, NULL, ARG_TEXT },
};

/* What a command works with. */
struct command {
	const struct args *args;
	struct arena a;
	struct store *store;
	struct str prefix;
	uint64_t generation; /* 0: not said */
};

/* "main-landscaper@3" */
static int split_name(struct command *c, const char *word, struct err *err)
{
	struct str rest = str_of(word), number;

	str_split(&rest, '@', &c->prefix);
	if (!dumps_prefix_ok(c->prefix))
		return err_set(err, -EINVAL, "'%s' cannot be the prefix of a dump", word);
	if (str_split(&rest, '@', &number) &&
	    (go_parse_uint(number, 10, 64, &c->generation, NULL) < 0 || c->generation == 0))
		return err_set(err, -EINVAL, "'%s' names no generation", word);
	return 0;
}

static void bytes_text(struct out *o, uint64_t n, int width)
{
	struct out value;

	out_init(&value, 0);
	unit_print(&value, (int64_t)n, STR("bytes"), UNIT_AUTO);
	out_padded(o, out_view(&value), width);
	out_release(&value);
}

static void list_text(struct out *o, struct arena *a, struct str prefix, const struct dump *d)
{
	struct str name = xarena_printf(a, "%.*s@%" PRIu64, STR_ARG(prefix), d->generation);

	out_padded(o, name, -34);
	if (d->heap_inuse) /* else nobody said */
		bytes_text(o, d->heap_inuse, 12);
	else
		out_padded(o, STR("-"), 12);
	bytes_text(o, d->length, 10);
	out_printf(o, "%8zu  %-20.*s  %.*s\n", d->chunks, STR_ARG(date_text(a, d->stored)),
		   STR_ARG(d->pod));
}

static void list_json(struct json *j, struct arena *a, struct str prefix, const struct dump *d)
{
	json_open(j, NULL, '{');
	json_string(j, "prefix", prefix);
	json_int(j, "generation", (int64_t)d->generation);
	json_int(j, "heapInUse", (int64_t)d->heap_inuse);
	json_int(j, "heapAlloc", (int64_t)d->heap_alloc);
	json_int(j, "length", (int64_t)d->length);
	json_int(j, "chunks", (int64_t)d->chunks);
	json_string(j, "sha256", d->sha256);
	json_string(j, "stored", date_text(a, d->stored));
	json_string(j, "pod", d->pod);
	json_string(j, "run", d->run);
	json_close(j, '}');
}

static void list_one(struct command *c, struct out *o, struct json *j, struct str prefix,
		     const struct dump *d)
{
	if (!d->names.n)
		return;
	if (c->args->values[FLAG_JSON])
		list_json(j, &c->a, prefix, d);
	else
		list_text(o, &c->a, prefix, d);
}

static int list_prefix(struct command *c, struct out *o, struct json *j, struct str prefix,
		       struct err *err)
{
	struct record r;
	int rc = record_read(c->store, prefix, &c->a, &r, err);

	if (rc < 0)
		return rc;
	list_one(c, o, j, prefix, &r.newest);
	for (size_t i = 0; i < r.nolder; i++)
		list_one(c, o, j, prefix, &r.older[i]);
	return 0;
}

static int list(struct command *c, struct err *err)
{
	struct str *prefixes = &c->prefix;
	struct json j = { 0 };
	size_t n = 1;
	struct out o;
	int rc = 0, written;

	if (!c->prefix.n)
		rc = c->store->calls->prefixes(c->store, &c->a, &prefixes, &n, err);
	out_init_fd(&o, STDOUT_FILENO);
	j.o = &o;
	if (c->args->values[FLAG_JSON])
		json_open(&j, NULL, '[');
	else if (rc == 0 && n)
		out_printf(&o, "%-34s %11s %9s %7s  %-20s  %s\n", "dump", "heap in use", "length",
			   "chunks", "stored", "pod");
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = list_prefix(c, &o, &j, prefixes[i], err);
	if (c->args->values[FLAG_JSON])
		json_close(&j, ']');
	written = own_write(&o, rc == 0 ? err : NULL);
	return rc < 0 ? rc : written;
}

static int fetch(struct command *c, struct out *bytes, struct err *err)
{
	out_init(bytes, memory);
	return dumps_get(c->store, c->prefix, c->generation, &c->a, bytes, NULL, err);
}

static int get(struct command *c, struct err *err)
{
	const char *path = c->args->values[FLAG_OUTPUT];
	struct file_new f;
	struct out bytes;
	int rc = fetch(c, &bytes, err);

	if (rc == 0 && !path) {
		struct out o;

		out_init_fd(&o, STDOUT_FILENO);
		out_str(&o, out_view(&bytes));
		rc = own_write(&o, err);
	} else if (rc == 0) {
		rc = file_create(&f, path, err);
		if (rc == 0) {
			out_str(&f.out, out_view(&bytes));
			rc = file_commit(&f, NULL, err);
		}
	}
	out_release(&bytes);
	return rc;
}

/* The dump goes to a file in memory, and this process becomes a sonde that reads it. */
static int open_dump(struct command *c, char **options, struct err *err)
{
	char name[] = "sonde", *words[64] = { name };
	size_t n = 1;
	struct out bytes;
	int fd, rc = fetch(c, &bytes, err);

	if (rc < 0) {
		out_release(&bytes);
		return rc;
	}
	fd = memfd_create("dump", 0);
	if (fd < 0 || write(fd, bytes.p, bytes.n) != (ssize_t)bytes.n)
		rc = err_set(err, -errno, "no memory for the dump: %m");
	out_release(&bytes);
	if (rc < 0)
		return rc;
	for (; *options && n < 62; options++)
		words[n++] = *options;
	words[n] = mem_printf("/proc/self/fd/%d", fd);
	execv("/proc/self/exe", words);
	return err_set(err, -errno, "cannot start sonde: %m");
}

static int run(struct command *c, const char *verb, char **rest, struct err *err)
{
	struct dumps_writer w = { .owner = str_of("sonde") };

	if (strcmp(verb, "list") == 0)
		return list(c, err);
	if (strcmp(verb, "get") == 0)
		return get(c, err);
	if (strcmp(verb, "open") == 0)
		return open_dump(c, rest, err);
	return dumps_remove(c->store, c->prefix, &w, c->generation, err);
}

static int check_words(struct command *c, struct err *err)
{
	static const char *const verbs[] = { "list", "get", "open", "rm", NULL };
	const char *verb = c->args->rest[0];
	size_t i = 0;

	while (verb && verbs[i] && strcmp(verb, verbs[i]) != 0)
		i++;
	if (!verb || !verbs[i])
		return err_set(err, -EINVAL, "list, get, open or rm? see sonde dumps --help");
	if (!c->args->rest[1])
		return strcmp(verb, "list") == 0
			       ? 0
			       : err_set(err, -EINVAL, "which dump? see sonde dumps --help");
	if (c->args->rest[2] && strcmp(verb, "open") != 0)
		return err_set(err, -EINVAL, "one dump at a time, and '%s' is another",
			       c->args->rest[2]);
	return split_name(c, c->args->rest[1], err);
}

static int run_dumps(const struct args *args)
{
	AUTO(store_closep) struct store *store = NULL;
	struct command c = { .args = args };
	struct terminal terminal;
	struct err err = { "" };
	const char *where = args->values[FLAG_STORE];
	int rc = check_words(&c, &err);

	if (!where)
		where = getenv("SONDE_DUMP");
	if (rc == 0 && (!where || !*where))
		rc = err_set(&err, -EINVAL, "which store? give --store, or set SONDE_DUMP");
	if (rc < 0)
		return own_complain("dumps", &err, OWN_WRONG_USE);
	arena_init(&c.a, memory);
	rc = store_open(where, environment_place(), &store, &err);
	c.store = store;
	terminal_init(&terminal);
	if (rc == 0) {
		store->notify = &terminal.notify;
		rc = run(&c, args->rest[0], args->rest[1] ? args->rest + 2 : args->rest + 1, &err);
	}
	arena_release(&c.a);
	return rc < 0 ? own_complain("dumps", &err, OWN_FAILED) : OWN_OK;
}

static bool ends_at_opened(char **words, size_t n)
{
	return n == 2 && strcmp(words[0], "open") == 0;
}

const struct own_command own_dumps = {
	.name = "dumps",
	.what = "List, fetch and open stored heap dumps",
	.usage = "usage: sonde dumps list [options] [prefix]\n"
		 "       sonde dumps get [options] prefix[@generation]\n"
		 "       sonde dumps open [options] prefix[@generation] [options of sonde]\n"
		 "       sonde dumps rm [options] prefix[@generation]\n"
		 "\n"
		 "Heap dumps that libsonde or sonded has stored: lists them, brings one back, "
		 "checked\n"
		 "and in one piece, opens it as \"sonde FILE\" does, or removes it.\n"
		 "\n"
		 "  sonde dumps list --store kube:shop\n"
		 "  sonde dumps open --store kube:shop main-landscaper -top\n",
	.flags = flags,
	.ends = ends_at_opened,
	.next = "list get open rm",
	.run = run_dumps,
};
