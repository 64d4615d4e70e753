/*
 * source-places.c - where people's source files are, when they are not where a profile says
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/source-places.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/out.h"
#include "base/xalloc.h"

#include <ctype.h>
#include <dirent.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>

/* Folders below /usr/src that are looked into, and how large a go.mod may be. */
enum { MOST_FOLDERS = 256, LARGEST_MODULE_FILE = 1 << 20 };

struct seeker {
	const struct source_places *places;
	struct arena arena;
	bool (*try)(const char *name, void *ctx);
	void *ctx;
};

static bool try_in(struct seeker *s, struct str folder, struct str rest)
{
	AUTO(freep) char *name = NULL;

	if (folder.n == 0 || rest.n == 0)
		return false;
	name = mem_printf("%.*s/%.*s", STR_ARG(folder), STR_ARG(rest));
	return s->try(name, s->ctx);
}

/* Whether a path can be put behind a folder and stays below it. */
static bool is_safe(struct str path)
{
	if (path.n == 0 || path.n >= PATH_MAX || memchr(path.p, '\0', path.n))
		return false;
	for (struct str part; str_split(&path, '/', &part);) {
		if (str_is(part, ".."))
			return false;
	}
	return true;
}

/* The path without the folder it starts in.  False if there is only one name left. */
static bool shorten(struct str *path)
{
	const char *slash = memchr(path->p, '/', path->n);

	if (!slash)
		return false;
	*path = str_skip(*path, (size_t)(slash - path->p) + 1);
	return path->n > 0;
}

/* Without slashes and "./" at the start. */
static struct str relative(struct str path)
{
	for (;;) {
		if (str_starts(path, STR("/")))
			path = str_skip(path, 1);
		else if (str_starts(path, STR("./")))
			path = str_skip(path, 2);
		else
			return path;
	}
}

/* Tries the ends of 'path' below 'folder', the longest first, with at least 'least' names. */
static bool try_ends(struct seeker *s, struct str folder, struct str path, int least)
{
	struct str rest = relative(path);

	do {
		int names = 1;

		for (size_t i = 0; i < rest.n; i++)
			names += rest.p[i] == '/';
		if (names < least)
			return false;
		if (try_in(s, folder, rest))
			return true;
	} while (shorten(&rest));
	return false;
}

/* ------------------------------------------------------------------ builds and packages */

static bool try_build(struct seeker *s, struct str path)
{
	struct str binary = s->places->binary;
	ptrdiff_t slash = str_rfind_char(binary, '/');

	if (slash <= 0)
		return false;
	binary.n = (size_t)slash;
	return try_ends(s, binary, path, 1);
}

/* Sources of packages are in folders of their own, of which the path may know nothing. */
static bool try_folders_in(struct seeker *s, const char *root, struct str path)
{
	DIR *dir = opendir(root);
	bool found = false;

	if (!dir)
		return false;
	for (int i = 0; i < MOST_FOLDERS && !found; i++) {
		const struct dirent *e = readdir(dir);
		AUTO(freep) char *folder = NULL;

		if (!e)
			break;
		if (e->d_name[0] == '.')
			continue;
		folder = mem_printf("%s/%s", root, e->d_name);
		found = try_in(s, str_of(folder), path);
	}
	closedir(dir);
	return found;
}

static bool try_packages(struct seeker *s, struct str path)
{
	static const char *const roots[] = { "/usr/src", "/usr/src/debug",
					     "/usr/lib/debug/usr/src" };
	bool is_short = path.p[0] != '/' && memchr(relative(path).p, '/', relative(path).n);

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		if (try_ends(s, str_of(roots[i]), path, 2))
			return true;
		if (is_short && try_folders_in(s, roots[i], relative(path)))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ Go's own packages */

/* Whether 'folder' is one that a Go toolchain would be in: go, go1.22, go-1.19, $GOROOT. */
static bool is_go_root(struct str folder)
{
	if (str_is(folder, "$GOROOT") || str_starts(folder, STR("toolchain@")))
		return true;
	if (!str_starts(folder, STR("go")))
		return false;
	for (size_t i = 2; i < folder.n; i++) {
		if (!isdigit((unsigned char)folder.p[i]) && !strchr("-.", folder.p[i]))
			return false;
	}
	return true;
}

/* What comes after <go>/src/ in 'path', or all of a -trimpath name; "" if it is neither. */
static struct str in_go_root(struct str path)
{
	struct str before = { 0 }, part, rest = path;
	const char *slash = memchr(path.p, '/', path.n);

	while (str_split(&rest, '/', &part)) {
		if (str_is(part, "src") && is_go_root(before))
			return rest;
		before = part;
	}
	/* Only Go's own packages have no dot in the first part of their name. */
	if (!slash || slash == path.p || memchr(path.p, '.', (size_t)(slash - path.p)))
		return (struct str){ 0 };
	return path;
}

static bool try_go_root(struct seeker *s, struct str root, struct str rest)
{
	AUTO(freep) char *src = mem_printf("%.*s/src", STR_ARG(root));

	return try_in(s, str_of(src), rest);
}

static bool try_go_roots(struct seeker *s, struct str path)
{
	static const char *const usual[] = { "/usr/local/go", "/usr/lib/go", "/usr/lib/go-*",
					     "/usr/share/go-*" };
	struct str rest = in_go_root(path);
	bool found = false;

	if (rest.n == 0)
		return false;
	if (s->places->go_root.n)
		return try_go_root(s, s->places->go_root, rest);
	for (size_t i = 0; !found && i < sizeof(usual) / sizeof(usual[0]); i++) {
		glob_t g;

		if (glob(usual[i], 0, NULL, &g) != 0)
			continue;
		for (size_t k = g.gl_pathc; !found && k-- > 0;)
			found = try_go_root(s, str_of(g.gl_pathv[k]), rest);
		globfree(&g);
	}
	return found;
}

/* ------------------------------------------------------------------ modules */

/*
 * The name of a module's file in the cache: capital letters of the module become '!' and a small
 * one, so that names are different on every file system.  Those of the file stay.
 */
static struct str escaped(struct seeker *s, struct str path)
{
	const char *at = memchr(path.p, '@', path.n);
	const char *slash = at ? memchr(at, '/', (size_t)(path.p + path.n - at)) : NULL;
	size_t module = slash ? (size_t)(slash - path.p) : 0;
	struct out o;
	struct str name;

	out_init(&o, 0);
	for (size_t i = 0; i < path.n; i++) {
		char c = path.p[i];

		if (i < module && c >= 'A' && c <= 'Z') {
			out_char(&o, '!');
			c = (char)(c - 'A' + 'a');
		}
		out_char(&o, c);
	}
	name = xarena_str(&s->arena, out_view(&o));
	out_release(&o);
	return name;
}

static bool try_module_caches(struct seeker *s, struct str path)
{
	ptrdiff_t in_cache = str_find(path, STR("/pkg/mod/"));
	struct str rest = { 0 };

	if (in_cache >= 0)
		rest = str_skip(path, (size_t)in_cache + strlen("/pkg/mod/"));
	else if (path.p[0] != '/' && memchr(path.p, '@', path.n))
		rest = path;
	if (rest.n == 0)
		return false;
	for (struct str folder, list = s->places->go_modules; str_split(&list, ':', &folder);) {
		if (try_in(s, folder, rest) || try_in(s, folder, escaped(s, rest)))
			return true;
	}
	return false;
}

/* What is behind "vendor" in 'path', or the name of a module without its version, or "". */
static struct str vendored(struct seeker *s, struct str path)
{
	ptrdiff_t at = str_find(path, STR("/vendor/"));
	const char *version = memchr(path.p, '@', path.n);
	const char *rest =
		version ? memchr(version, '/', (size_t)(path.p + path.n - version)) : NULL;
	ptrdiff_t in_cache = str_find(path, STR("/pkg/mod/"));
	const char *start = in_cache >= 0 ? path.p + in_cache + strlen("/pkg/mod/") : path.p;

	if (at >= 0)
		return str_skip(path, (size_t)at + strlen("/vendor/"));
	if (!rest || start > version || *start == '/')
		return (struct str){ 0 };
	return xarena_printf(&s->arena, "%.*s%.*s", (int)(version - start), start,
			     (int)(path.p + path.n - rest), rest);
}

/* What is behind the name of the module in 'folder', if 'path' starts with it; else "". */
static struct str in_module(struct seeker *s, struct str folder, struct str path)
{
	AUTO(freep) char *name = mem_printf("%.*s/go.mod", STR_ARG(folder));
	struct file_bytes bytes = { 0 };
	struct str rest, line, word, module = { 0 }, found = { 0 };

	if (file_read(name, LARGEST_MODULE_FILE, &bytes, NULL) != 0)
		return found;
	rest = (struct str){ bytes.p, bytes.n };
	while (module.n == 0 && str_split(&rest, '\n', &line)) {
		if (str_field(&line, &word) && str_is(word, "module") && str_field(&line, &word))
			module = word;
	}
	if (module.n && str_starts(path, module) && path.n > module.n + 1 &&
	    path.p[module.n] == '/')
		found = xarena_str(&s->arena, str_skip(path, module.n + 1));
	file_bytes_release(&bytes);
	return found;
}

/* A folder of the source path and those above it. */
static bool try_module_at(struct seeker *s, struct str folder, struct str path, struct str vendor)
{
	for (;;) {
		struct str parent = go_path_dir(&s->arena, folder);
		AUTO(freep) char *vendors = mem_printf("%.*s/vendor", STR_ARG(folder));

		if (try_in(s, str_of(vendors), vendor) ||
		    try_in(s, folder, in_module(s, folder, path)))
			return true;
		if (str_eq(parent, folder))
			return false;
		folder = parent;
	}
}

static bool try_modules(struct seeker *s, struct str path)
{
	struct str vendor = vendored(s, path);

	if (try_module_caches(s, path))
		return true;
	for (struct str folder, list = s->places->search; str_split(&list, ':', &folder);) {
		if (try_module_at(s, folder, path, vendor))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ together */

bool source_places_search(const struct source_places *p, struct str path,
			  bool (*try)(const char *name, void *ctx), void *ctx)
{
	struct seeker s = { .places = p, .try = try, .ctx = ctx };
	bool found;

	if (!is_safe(path))
		return false;
	arena_init(&s.arena, (size_t)64 << 20);
	found = try_build(&s, path) || try_packages(&s, path) || try_go_roots(&s, path) ||
		try_modules(&s, path);
	arena_release(&s.arena);
	return found;
}
