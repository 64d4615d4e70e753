/*
 * binary.c - which binary the code of each mapping is in, and whether we have it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/binary.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/notify.h"
#include "base/xalloc.h"
#include "symbol/debug-server.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/auxv.h>

/* More binaries than this are closed between uses, since descriptors are few. */
enum { OPEN_MOST = 64 };

#define VDSO "[vdso]"

/* ------------------------------------------------------------------ names */

static bool contains_http(struct str s)
{
	for (size_t i = 0; i + 4 <= s.n; i++) {
		if (strncasecmp(s.p + i, "http", 4) == 0)
			return true;
	}
	return false;
}

/* Whether 'file' is a URL of a kind of http: the source stands in for an unknown binary. */
static bool is_http_url(struct str file)
{
	size_t n = 0;

	while (n < file.n && (isalnum((unsigned char)file.p[n]) || strchr("+-.", file.p[n])))
		n++;
	return n < file.n && file.p[n] == ':' && isalpha((unsigned char)file.p[0]) &&
	       contains_http((struct str){ file.p, n });
}

bool binary_is_virtual(struct str file)
{
	struct str name = str_base(file);

	return str_starts(name, STR("[")) || str_starts(name, STR("linux-vdso")) ||
	       str_starts(file, STR("/dev/dri/"));
}

static bool is_vdso(struct str file)
{
	struct str name = str_base(file);

	return str_is(name, VDSO) || str_starts(name, STR("linux-vdso"));
}

void binary_complain(const struct profile *p, const struct binary *b, const char *why,
		     struct notify *n)
{
	struct str base = str_base(profile_str(p, b->file)), id = profile_str(p, b->build_id);

	if (id.n == 0)
		notify_warn(n, "Local symbolization failed for %.*s: %s", STR_ARG(base), why);
	else
		notify_warn(n, "Local symbolization failed for %.*s (build ID %.*s): %s",
			    STR_ARG(base), STR_ARG(id), why);
}

/* ------------------------------------------------------------------ opening */

/* The code that the kernel lends every process: nobody but us has seen that of this kernel. */
static int open_vdso(struct elf_file **out, struct err *err)
{
	const void *at = (const void *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *h = at;

	if (!at || h->e_ident[EI_CLASS] != ELFCLASS64)
		return err_set(err, -ENOENT, "there is no vdso");
	return elf_open_memory(at, h->e_shoff + (size_t)h->e_shnum * h->e_shentsize, VDSO, out,
			       err);
}

int binary_open(struct binary *b, struct err *err)
{
	if (b->elf)
		return 0;
	if (strcmp(b->path, VDSO) == 0)
		return open_vdso(&b->elf, err);
	return elf_open(b->path, &b->elf, err);
}

static void close_elf(struct binary *b)
{
	elf_close(b->elf);
	b->elf = NULL;
}

void binary_rest(const struct binaries *all, struct binary *b)
{
	if (all->n > OPEN_MOST)
		close_elf(b);
}

void binary_release(struct binary *b)
{
	close_elf(b);
	free(b->path);
	free(b->why);
}

/* ------------------------------------------------------------------ finding */

struct finder {
	struct binaries *all;
	const struct profile *p;
	struct debug_server *server;
	struct notify *notify;
	bool force;
	bool code;    /* is what is wanted: a file of debug information does not do */
	bool missing; /* something is */
};

static void fail(struct binary *b, bool is_missing, const char *why)
{
	close_elf(b);
	free(b->path);
	b->path = NULL;
	free(b->why);
	b->why = mem_str(str_of(why));
	b->is_missing = is_missing;
}

static bool has_build_id(const struct binary *b, struct str id)
{
	return id.n == 0 || !*b->elf->build_id || str_is(id, b->elf->build_id);
}

/* Takes the file at 'path' if it is there and the right one; the path is then the binary's. */
static void try_path(struct finder *f, struct binary *b, char *path)
{
	struct err why;

	free(b->path);
	b->path = path;
	if (binary_open(b, &why) < 0)
		fail(b, true, why.msg);
	else if (!has_build_id(b, profile_str(f->p, b->build_id)))
		fail(b, false, "build ID mismatch");
}

/* "/usr/bin/x (deleted)" may be there again. */
static void try_undeleted(struct finder *f, struct binary *b, struct str file)
{
	AUTO(freep) char *why = TAKE(b->why);

	file.n -= strlen(" (deleted)");
	try_path(f, b, mem_str(file));
	if (!b->path && b->is_missing) {
		free(b->why);
		b->why = TAKE(why);
	} else if (b->path && b->build_id == 0) {
		notify_warn(f->notify,
			    "%.*s was deleted while it ran: names are those of the file that is "
			    "there now",
			    STR_ARG(file));
	}
}

static void try_server(struct finder *f, struct binary *b)
{
	struct str id = profile_str(f->p, b->build_id);
	AUTO(freep) char *why = TAKE(b->why);
	bool is_missing = b->is_missing;
	char *path = debug_server_fetch(f->server, DEBUG_SERVER_EXECUTABLE, id, f->notify);

	if (!path && !f->code)
		path = debug_server_fetch(f->server, DEBUG_SERVER_DEBUGINFO, id, f->notify);
	if (path)
		try_path(f, b, path);
	if (!b->path) {
		free(b->why);
		b->why = TAKE(why);
		b->is_missing = is_missing;
	}
}

static void find_vdso(struct finder *f, struct binary *b)
{
	struct str id = profile_str(f->p, b->build_id);

	b->path = mem_str(STR(VDSO));
	if (id.n == 0 || binary_open(b, NULL) < 0 || !str_is(id, b->elf->build_id))
		fail(b, false, "");
}

static void find_binary(struct finder *f, struct binary *b)
{
	struct str file = profile_str(f->p, b->file);
	AUTO(freep) char *path = mem_str(file);

	if (is_vdso(file)) {
		find_vdso(f, b);
		return;
	}
	if (strlen(path) != file.n) {
		AUTO(freep) char *why = mem_printf("open %s: invalid argument", path);

		fail(b, true, why);
		return;
	}
	if (file.n)
		try_path(f, b, TAKE(path));
	else
		fail(b, true, "");
	if (!b->path && str_ends(file, STR(" (deleted)")))
		try_undeleted(f, b, file);
	if (!b->path && f->server && b->build_id)
		try_server(f, b);
}

int binary_find(struct binary *b, const struct profile *p, const struct mapping *m,
		struct debug_server *server, struct notify *n, struct err *err)
{
	struct finder f = { .p = p, .server = server, .notify = n, .code = true };

	*b = (struct binary){ .file = m->file, .build_id = m->build_id };
	find_binary(&f, b);
	if (b->path)
		return 0;
	if (b->is_missing || !*b->why)
		return err_set(err, -ENOENT, "%s", b->why);
	return err_set(err, -ESTALE, "%.*s: %s", STR_ARG(profile_str(p, m->file)), b->why);
}

/* ------------------------------------------------------------------ mappings */

static uint64_t hash_binary(uint32_t file, uint32_t build_id)
{
	return hash_mix(file, build_id);
}

static uint64_t rehash_binary(uint32_t value, const void *ctx)
{
	const struct binary *b = &((const struct binaries *)ctx)->at[value];

	return hash_binary(b->file, b->build_id);
}

/* The binary of 'm'; looked for when it is first asked for. */
static uint32_t binary_of(struct finder *f, const struct mapping *m)
{
	struct binaries *all = f->all;
	struct binary one = { .file = m->file, .build_id = m->build_id };
	struct probe at;

	table_reserve(&all->index, rehash_binary, all);
	at = table_probe(&all->index, hash_binary(m->file, m->build_id));
	while (table_next(&all->index, &at)) {
		const struct binary *b = &all->at[at.value];

		if (b->file == m->file && b->build_id == m->build_id)
			return at.value;
	}
	table_put(&all->index, &at, (uint32_t)all->n);
	find_binary(f, &one);
	vec_push(all->at, all->n, all->cap, one);
	return (uint32_t)all->n - 1;
}

/* Whether mapping 'i' is one to find a binary for; says what there is to say if not. */
static bool is_wanted(struct finder *f, uint32_t i)
{
	const struct mapping *m = &f->p->mappings[i];
	struct str file = profile_str(f->p, m->file), id = profile_str(f->p, m->build_id);

	if (!f->force && (m->has_functions || m->has_filenames || m->has_line_numbers))
		return false;
	if (file.n == 0 && !(f->server && id.n)) {
		if (i == 0)
			notify_warn(f->notify, "Main binary filename not available.");
		else
			f->missing = true;
		return false;
	}
	if (binary_is_virtual(file) && !is_vdso(file))
		return false;
	return id.n != 0 || !is_http_url(file);
}

static void find_one(struct finder *f, uint32_t i)
{
	const struct mapping *m = &f->p->mappings[i];
	uint32_t which = is_wanted(f, i) ? binary_of(f, m) : NONE;
	struct binary *b = which == NONE ? NULL : &f->all->at[which];
	struct err why;

	f->all->of[i] = NONE;
	if (!b)
		return;
	if (b->path && binary_open(b, &why) < 0)
		fail(b, true, why.msg);
	if (b->path) {
		struct elf_range r = { m->start, m->limit, m->offset };

		f->all->of[i] = which;
		f->all->bias[i] = elf_bias(b->elf, r);
		binary_rest(f->all, b);
	} else {
		if (*b->why)
			binary_complain(f->p, b, b->why, f->notify);
		f->missing |= b->is_missing;
	}
}

static bool *used_mappings(const struct profile *p)
{
	bool *used = mem_zeroed((size_t)p->nmappings + 1, sizeof(*used));

	for (uint32_t i = 0; i < p->nlocations; i++) {
		if (p->locations[i].mapping != NONE)
			used[p->locations[i].mapping] = true;
	}
	return used;
}

void binaries_find(struct binaries *b, const struct profile *p, bool force,
		   struct debug_server *server, struct notify *n)
{
	struct finder f = { .all = b, .p = p, .server = server, .notify = n, .force = force };
	AUTO(freep) bool *used = used_mappings(p);

	*b = (struct binaries){ .of = mem_new((size_t)p->nmappings + 1, sizeof(*b->of)),
				.bias = mem_zeroed((size_t)p->nmappings + 1, sizeof(*b->bias)) };
	table_init(&b->index, 0);
	for (uint32_t i = 0; i < p->nmappings; i++) {
		b->of[i] = NONE;
		if (used[i])
			find_one(&f, i);
	}
	if (f.missing)
		notify_warn(n, "Some binary filenames not available. Symbolization may be "
			       "incomplete.\nTry setting PPROF_BINARY_PATH to the search path for "
			       "local binaries.");
}

void binaries_release(struct binaries *b)
{
	for (size_t i = 0; i < b->n; i++)
		binary_release(&b->at[i]);
	table_release(&b->index);
	free(b->at);
	free(b->of);
	free(b->bias);
	*b = (struct binaries){ 0 };
}
