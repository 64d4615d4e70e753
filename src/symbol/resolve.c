/*
 * resolve.c - the frames of addresses in one binary, from the cache or from the binary
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/resolve.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/notify.h"
#include "base/xalloc.h"
#include "elf/elf-file.h"
#include "elf/elf-lines.h"
#include "profile/profile.h"
#include "symbol/cache.h"
#include "symbol/debug-server.h"
#include "symbol/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char *debug_folders(const struct resolver *r)
{
	return r->options->debug_folders ? r->options->debug_folders : "/usr/lib/debug";
}

/* ------------------------------------------------------------------ names of cache files */

/* What frames depend on, as one number. */
struct stamp {
	uint64_t sum;
};

static void stamp_text(struct stamp *s, const char *text)
{
	s->sum = hash_mix(s->sum, hash_bytes(text, strlen(text), 0));
}

static void stamp_file(struct stamp *s, const struct stat *st)
{
	s->sum = hash_mix(s->sum, (uint64_t)st->st_size + 1);
	s->sum = hash_mix(s->sum, (uint64_t)st->st_mtim.tv_sec);
	s->sum = hash_mix(s->sum, (uint64_t)st->st_mtim.tv_nsec);
}

/* A file, or a folder: its time changes when a file comes or goes. */
static void stamp_path(struct stamp *s, char *path)
{
	static const struct stat none;
	struct stat st;

	stamp_file(s, stat(path, &st) == 0 ? &st : &none);
	free(path);
}

/* Everywhere that debug information may be installed in a folder of it, for later. */
static void stamp_debug_folder(struct stamp *s, struct str folder, const struct elf_file *f,
			       struct str dir)
{
	const char *id = f->build_id;

	if (strlen(id) > 2)
		stamp_path(s,
			   mem_printf("%.*s/.build-id/%.2s/%s.debug", STR_ARG(folder), id, id + 2));
	stamp_path(s, mem_printf("%.*s/.dwz", STR_ARG(folder)));
	stamp_path(s, mem_printf("%.*s%.*s", STR_ARG(folder), STR_ARG(dir)));
}

/*
 * The name of the file in the cache: by build id or, without one, by path, and by all that may hold
 * debug information now, so that frames are looked for again where some is installed later.
 */
static char *name_in_cache(const struct resolver *r, const struct elf_file *f)
{
	struct stamp s = { 0 };
	struct str path = str_of(f->path), folder, rest = str_of(debug_folders(r));
	ptrdiff_t slash = str_rfind_char(path, '/');
	struct str dir = { path.p, slash < 0 ? 0 : (size_t)slash };
	struct stat st;

	if (stat(f->path, &st) != 0)
		return NULL; /* a binary in memory */
	stamp_file(&s, &st);
	if (!*f->build_id)
		s.sum = hash_mix(hash_mix(s.sum, st.st_ino), st.st_dev);
	stamp_path(&s, mem_printf("%s.debug", f->path));
	stamp_path(&s, mem_printf("%s.dwp", f->path));
	stamp_path(&s, mem_printf("%.*s/.debug", STR_ARG(dir)));
	while (str_split(&rest, ':', &folder))
		stamp_debug_folder(&s, folder, f, dir);
	if (r->server)
		stamp_text(&s, r->server->urls);
	return mem_printf("%.80s-%016lx" CACHE_SUFFIX, *f->build_id ? f->build_id : "file", s.sum);
}

/* ------------------------------------------------------------------ the binary */

/* Asks the server for debug information, and remembers how that went. */
struct question {
	struct debug_server *server;
	struct notify *notify;
	bool asked, answered;
};

static char *ask_server(const char *build_id, void *ctx)
{
	struct question *q = ctx;
	char *path =
		debug_server_fetch(q->server, DEBUG_SERVER_DEBUGINFO, str_of(build_id), q->notify);

	q->asked = true;
	q->answered |= path != NULL;
	return path;
}

/* As elf_resolve(), from symbol tables alone. */
static int resolve_by_symbols(struct elf_file *f, const uint64_t *addresses, size_t n,
			      struct elf_frames *out, struct err *err)
{
	const struct elf_symbol *s, *last = NULL;
	struct elf_functions *part;
	struct elf_frame *frames;
	int rc = elf_read_symbols(f, err);

	if (rc)
		return rc;
	arena_init(&out->arena, PROFILE_BUDGET);
	out->at = xarena(&out->arena, n + 1, sizeof(*out->at));
	out->n = n;
	frames = xarena(&out->arena, n + 1, sizeof(*frames));
	part = xarena(&out->arena, 1, sizeof(*part));
	part->list = xarena(&out->arena, n + 1, sizeof(*part->list));
	out->parts = part;
	out->nparts = 1;
	for (size_t i = 0; i < n; i++) {
		s = elf_find_symbol(f, addresses[i]);
		if (!s)
			continue;
		if (s != last)
			part->list[part->n++].name = s->name;
		last = s;
		frames[i].function = &part->list[part->n - 1];
		out->at[i] = (struct elf_place){ &frames[i], 1 };
	}
	return 0;
}

static bool is_complete(const struct elf_frames *f)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->at[i].n == 0)
			return false;
	}
	return true;
}

/* Success, too, may have something in 'err'. */
static int look(struct resolver *r, struct elf_file *f, const uint64_t *addresses, size_t n,
		struct elf_frames *out, struct question *q, struct err *err)
{
	struct elf_search search = { .debug_folders = debug_folders(r),
				     .fetch = r->server ? ask_server : NULL,
				     .ctx = q };
	int rc;

	if (r->fast)
		return resolve_by_symbols(f, addresses, n, out, err);
	rc = elf_resolve(f, &search, addresses, n, out, err);
	if (rc == 0 && out->nmissing == 1)
		err_set(err, 0, "%.*s is missing", STR_ARG(out->missing));
	else if (rc == 0 && out->nmissing > 1)
		err_set(err, 0, "%.*s and %zu other .dwo files are missing", STR_ARG(out->missing),
			out->nmissing - 1);
	if (rc == 0 && !is_complete(out))
		(void)elf_read_symbols(f, err); /* what was wrong, if anything was */
	return rc;
}

/* ------------------------------------------------------------------ binary and cache */

/* The addresses that are not in the table; how many is in '*count'. */
static uint64_t *list_missing(const struct frame_table *t, const uint64_t *addresses, size_t n,
			      size_t *count)
{
	uint64_t *missing = mem_new(n + 1, sizeof(*missing));
	size_t at = 0;

	*count = 0;
	for (size_t i = 0; i < n; i++) {
		while (at < t->n && t->addresses[at] < addresses[i])
			at++;
		if (at == t->n || t->addresses[at] != addresses[i])
			missing[(*count)++] = addresses[i];
	}
	return missing;
}

/* While the caller already uses the table. */
static void store(void *ctx)
{
	struct resolved *out = ctx;
	const struct symbolize_options *o = out->resolver->options;
	uint64_t limit = o->cache_limit ? o->cache_limit : SYMBOL_CACHE_MAX;

	frame_table_seal(&out->made);
	out->stored =
		cache_store(o->cache_folder, out->name, out_view(&out->made), limit, &out->why);
}

/* Makes a table of what is in 'out' already and of what the binary says about 'missing'. */
static int extend(struct resolver *r, struct elf_file *f, const uint64_t *missing, size_t n,
		  struct resolved *out, struct err *err)
{
	struct question q = { .server = r->server, .notify = r->options->notify };
	struct elf_frames fresh = { 0 };
	int rc = look(r, f, missing, n, &fresh, &q, err);

	if (rc == 0)
		rc = frame_table_build(&out->table, missing, &fresh, &out->made, err);
	if (rc == 0)
		rc = elf_frames_check(&fresh, err);
	if (rc)
		out_release(&out->made);
	if (rc == 0)
		frame_table_view(out_view(&out->made), &out->table);
	if (rc == 0 && out->name && q.asked == q.answered && fresh.nmissing == 0)
		par_start(&out->storing, store, out);
	elf_frames_release(&fresh);
	return rc;
}

int resolve(struct resolver *r, struct elf_file *f, const uint64_t *addresses, size_t n,
	    struct resolved *out, struct err *err)
{
	AUTO(freep) uint64_t *missing = NULL;
	size_t count;

	*out = (struct resolved){ .resolver = r };
	out_init(&out->made, 0);
	if (r->options->cache_folder && !r->fast)
		out->name = name_in_cache(r, f);
	if (out->name)
		(void)cache_load(r->options->cache_folder, out->name, &out->cached, &out->table);
	missing = list_missing(&out->table, addresses, n, &count);
	return count ? extend(r, f, missing, count, out, err) : 0;
}

struct file_bytes resolved_take(struct resolved *r)
{
	struct file_bytes bytes = r->cached;

	par_wait(&r->storing);
	if (r->made.n) {
		bytes = (struct file_bytes){ .p = r->made.p, .n = r->made.n };
		r->made.p = NULL;
	} else {
		r->cached = (struct file_bytes){ 0 };
	}
	resolved_release(r);
	return bytes;
}

void resolved_release(struct resolved *r)
{
	par_wait(&r->storing);
	if (r->stored < 0 && !atomic_exchange(&r->resolver->warned, true))
		notify_warn(r->resolver->options->notify,
			    "names are not kept for the next time: %s", r->why.msg);
	file_bytes_release(&r->cached);
	out_release(&r->made);
	free(r->name);
}
