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
#include "profile/profile.h"
#include "symbol/debug-server.h"
#include "symbol/symbolize.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
	FINDINGS = 1, /* changes when elf_resolve() finds something else than before */
};

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
	struct stamp s = { FINDINGS };
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
	stamp_path(&s, mem_printf("%.*s/.debug", STR_ARG(dir)));
	while (str_split(&rest, ':', &folder))
		stamp_debug_folder(&s, folder, f, dir);
	if (r->server)
		stamp_text(&s, r->options->debuginfod);
	return mem_printf("%.80s-%016lx" CACHE_SUFFIX, *f->build_id ? f->build_id : "file", s.sum);
}

/* ------------------------------------------------------------------ the binary */

/* Asks the server for debug information, and remembers how that went. */
struct question {
	struct debug_server *server;
	bool asked, answered;
};

static char *ask_server(const char *build_id, void *ctx)
{
	struct question *q = ctx;
	char *path = debug_server_fetch(q->server, DEBUG_SERVER_DEBUGINFO, str_of(build_id));

	q->asked = true;
	q->answered |= path != NULL;
	return path;
}

static int resolve_by_symbols(struct elf_file *f, const uint64_t *addresses, size_t n,
			      struct resolved *out, struct err *err)
{
	struct elf_frame *frames;
	uint32_t *first, count = 0;
	int rc = elf_read_symbols(f, err);

	if (rc)
		return rc;
	arena_init(&out->arena, PROFILE_BUDGET);
	frames = xarena(&out->arena, n + 1, sizeof(*frames));
	first = xarena(&out->arena, n + 1, sizeof(*first));
	for (size_t i = 0; i < n; i++) {
		const struct elf_symbol *s = elf_find_symbol(f, addresses[i]);

		if (s)
			frames[count++].function = s->name;
		first[i + 1] = count;
	}
	out->list = (struct frame_list){ addresses, n, frames, first };
	return 0;
}

/* ------------------------------------------------------------------ binary and cache */

/* Addresses that the cache does not have, and what the binary says about them. */
struct fresh {
	uint64_t *addresses;
	size_t n;
	struct elf_frames frames;
};

/* Where to copy from for one address after the other, in ascending order. */
struct walk {
	const struct cached_frames *cached;
	const struct fresh *fresh;
	size_t cached_at, fresh_at;
};

static bool is_cached(struct walk *w, uint64_t address)
{
	while (w->cached_at < w->cached->n && w->cached->addresses[w->cached_at] < address)
		w->cached_at++;
	return w->cached_at < w->cached->n && w->cached->addresses[w->cached_at] == address;
}

/* The frames of the next address are at '*from' up to the returned number; 'cached': of which. */
static size_t next_frames(struct walk *w, uint64_t address, size_t *from, bool *cached)
{
	const uint32_t *first;

	*cached = is_cached(w, address);
	first = *cached ? w->cached->first + w->cached_at : w->fresh->frames.first + w->fresh_at++;
	*from = first[0];
	return first[1];
}

static size_t count_frames(struct walk w, const uint64_t *addresses, size_t n)
{
	size_t count = 0, from;
	bool cached;

	for (size_t i = 0; i < n; i++) {
		size_t to = next_frames(&w, addresses[i], &from, &cached);

		count += to - from;
	}
	return count;
}

/* Puts the frames of 'addresses' together from both places; each is in one of them. */
static struct frame_list assemble(struct walk w, const uint64_t *addresses, size_t n,
				  struct arena *a)
{
	struct elf_frame *frames = xarena(a, count_frames(w, addresses, n) + 1, sizeof(*frames));
	uint32_t *first = xarena(a, n + 1, sizeof(*first));
	uint32_t at = 0;
	size_t from;
	bool cached;

	for (size_t i = 0; i < n; i++) {
		size_t to = next_frames(&w, addresses[i], &from, &cached);

		for (; from < to; from++)
			frames[at++] = cached ? cached_frame(w.cached, from)
					      : w.fresh->frames.frames[from];
		first[i + 1] = at;
	}
	return (struct frame_list){ addresses, n, frames, first };
}

static void collect_missing(const struct cached_frames *cached, const uint64_t *addresses, size_t n,
			    struct fresh *out)
{
	struct walk w = { .cached = cached };

	out->addresses = mem_new(n + 1, sizeof(*out->addresses));
	for (size_t i = 0; i < n; i++) {
		if (!is_cached(&w, addresses[i]))
			out->addresses[out->n++] = addresses[i];
	}
}

/* All addresses that are in either, in ascending order; there are both->n + fresh->n. */
static uint64_t *unite(const struct cached_frames *cached, const struct fresh *fresh)
{
	uint64_t *all = mem_new(cached->n + fresh->n + 1, sizeof(*all));
	size_t n = 0, i = 0;

	for (size_t j = 0; j < fresh->n; j++) {
		while (i < cached->n && cached->addresses[i] < fresh->addresses[j])
			all[n++] = cached->addresses[i++];
		all[n++] = fresh->addresses[j];
	}
	while (i < cached->n)
		all[n++] = cached->addresses[i++];
	return all;
}

static void store(struct resolver *r, const char *name, struct walk w)
{
	AUTO(freep) uint64_t *all = unite(w.cached, w.fresh);
	uint64_t limit = r->options->cache_limit ? r->options->cache_limit : SYMBOL_CACHE_MAX;
	struct frame_list list;
	struct arena arena;
	struct err why;
	int rc;

	arena_init(&arena, PROFILE_BUDGET);
	list = assemble(w, all, w.cached->n + w.fresh->n, &arena);
	rc = cache_store(r->options->cache_folder, name, &list, limit, &why);
	if (rc < 0 && rc != -ENOENT && !atomic_exchange(&r->warned, true))
		notify_warn(r->options->notify, "names are not kept for the next time: %s",
			    why.msg);
	arena_release(&arena);
}

static bool is_complete(const struct elf_frames *f)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->first[i] == f->first[i + 1])
			return false;
	}
	return true;
}

/* Finds in the binary what the cache does not have.  Success, too, may have something in 'err'. */
static int resolve_missing(struct resolver *r, struct elf_file *f, struct fresh *fresh,
			   struct question *q, struct err *err)
{
	struct elf_search search = { .debug_folders = debug_folders(r),
				     .fetch = r->server ? ask_server : NULL,
				     .ctx = q };

	int rc = elf_resolve(f, &search, fresh->addresses, fresh->n, &fresh->frames, err);

	if (rc == 0 && !is_complete(&fresh->frames))
		(void)elf_read_symbols(f, err); /* what was wrong, if anything was */
	return rc;
}

static int resolve_cached(struct resolver *r, struct elf_file *f, const char *name,
			  const uint64_t *addresses, size_t n, struct resolved *out,
			  struct err *err)
{
	struct question q = { .server = r->server };
	struct fresh fresh = { 0 };
	struct walk w = { .cached = &out->cached, .fresh = &fresh };
	int rc = 0;

	(void)cache_load(r->options->cache_folder, name, &out->cached);
	collect_missing(&out->cached, addresses, n, &fresh);
	if (fresh.n)
		rc = resolve_missing(r, f, &fresh, &q, err);
	if (rc == 0 && fresh.n && q.asked == q.answered)
		store(r, name, w);
	arena_init(&out->arena, PROFILE_BUDGET);
	if (rc == 0)
		out->list = assemble(w, addresses, n, &out->arena);
	out->fresh = fresh.frames;
	free(fresh.addresses);
	return rc;
}

static int resolve_uncached(struct resolver *r, struct elf_file *f, const uint64_t *addresses,
			    size_t n, struct resolved *out, struct err *err)
{
	struct question q = { .server = r->server };
	struct fresh all = { .addresses = (uint64_t *)(uintptr_t)addresses, .n = n };
	int rc = resolve_missing(r, f, &all, &q, err);

	out->fresh = all.frames;
	if (rc == 0)
		out->list =
			(struct frame_list){ addresses, n, out->fresh.frames, out->fresh.first };
	return rc;
}

int resolve(struct resolver *r, struct elf_file *f, const uint64_t *addresses, size_t n,
	    struct resolved *out, struct err *err)
{
	AUTO(freep) char *name = NULL;

	if (r->fast)
		return resolve_by_symbols(f, addresses, n, out, err);
	if (r->options->cache_folder)
		name = name_in_cache(r, f);
	if (name)
		return resolve_cached(r, f, name, addresses, n, out, err);
	return resolve_uncached(r, f, addresses, n, out, err);
}

void resolved_release(struct resolved *r)
{
	arena_release(&r->arena);
	elf_frames_release(&r->fresh);
	cached_release(&r->cached);
}
