/*
 * source-text.c - find source files and read their lines
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/source-text.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/notify.h"
#include "base/table.h"
#include "base/xalloc.h"
#include "elf/elf-file.h"
#include "graph/node.h"
#include "profile/profile.h"
#include "report/report.h"
#include "report/source-places.h"
#include "symbol/debug-server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A source file larger than this is not one. */
enum { LARGEST_FILE = 64 << 20, LONGEST_LINE = 64 << 10 };

struct source_file {
	struct str path;
	struct file_bytes bytes;
	struct timespec modified;
	const char *error;
	struct str *lines;
	size_t n, cap;
};

struct source_text {
	const struct report *r;
	struct arena arena;
	struct str search, trim;
	struct source_places places;
	struct notify *notify;
	bool served;               /* to a stranger: see may_show() */
	bool has_told, has_warned; /* of files elsewhere; of files that are too new */
	struct source_file *files;
	size_t n, cap;
	struct table index; /* of files, by path */
};

/* The program comes first; a profile of unnamed memory has none. */
static struct str program(const struct report *r)
{
	return r->v->nmappings ? profile_str(r->v, r->v->mappings[0].file) : STR("");
}

struct source_text *source_text_new(const struct report *r)
{
	struct source_text *s = mem_zeroed(1, sizeof(*s));
	AUTO(freep) char *cwd = NULL;

	s->r = r;
	table_init(&s->index, 0);
	arena_init(&s->arena, PROFILE_BUDGET);
	s->search = str_of(r->cfg.source_path);
	if (s->search.n == 0) {
		cwd = getcwd(NULL, 0);
		s->search = xarena_str(&s->arena, str_of(cwd ? cwd : "/"));
	}
	s->trim = str_of(r->cfg.trim_path);
	s->places = (struct source_places){ s->search, program(r), str_of(r->cfg.go_root),
					    str_of(r->cfg.go_modules) };
	s->notify = r->notify;
	s->served = r->cfg.served;
	return s;
}

void source_text_free(struct source_text *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		file_bytes_release(&s->files[i].bytes);
		free(s->files[i].lines);
	}
	free(s->files);
	table_release(&s->index);
	arena_release(&s->arena);
	free(s);
}

static void read_fd(int fd, const char *name, struct source_file *f)
{
	struct stat st;

	if (fstat(fd, &st) == 0)
		f->modified = st.st_mtim;
	(void)file_read_fd(fd, name, LARGEST_FILE, &f->bytes, NULL);
}

static bool is_source_name(struct str path)
{
	static const char *const suffixes[] = {
		"asm",   "c",   "c++", "cc",  "cl",  "cpp", "cs",   "cu",    "cuh",   "cxx",
		"d",     "erl", "ex",  "f",   "f90", "for", "go",   "h",     "h++",   "hh",
		"hpp",   "hs",  "hxx", "inc", "inl", "ipp", "java", "jl",    "js",    "kt",
		"l",     "lua", "m",   "ml",  "mm",  "mod", "nim",  "pas",   "php",   "pl",
		"proto", "py",  "pyx", "rb",  "rs",  "s",   "S",    "scala", "swift", "tcc",
		"tcl",   "ts",  "txx", "v",   "y",   "zig",
	};
	ptrdiff_t dot = str_rfind_char(str_base(path), '.');

	if (str_starts(path, STR("/usr/include/")))
		return true; /* C++ has some without a suffix */
	for (size_t i = 0; dot > 0 && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (str_is(str_skip(str_base(path), (size_t)dot + 1), suffixes[i]))
			return true;
	}
	return false;
}

/*
 * A profile of a stranger may name any file as a source.  Where others may be looking, only what is
 * one by its own name, behind all links, is read.
 */
static bool may_show(int fd)
{
	static const char *const not_files[] = { "/proc/", "/sys/", "/dev/", "/run/" };
	char link[64], real[PATH_MAX];
	struct str path;
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, real, sizeof(real));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || n <= 0 || n == sizeof(real))
		return false;
	path = (struct str){ real, (size_t)n };
	for (size_t i = 0; i < sizeof(not_files) / sizeof(not_files[0]); i++) {
		if (str_starts(path, str_of(not_files[i])))
			return false;
	}
	return is_source_name(path);
}

/* What can be opened has been found, even if nothing can be read from it, such as a folder. */
static bool read_file(const struct source_text *s, const char *name, struct source_file *f,
		      struct err *err)
{
	AUTO(closep) int fd = open(name, O_RDONLY | O_CLOEXEC | (s->served ? O_NONBLOCK : 0));
	char why[128];

	if (fd < 0) {
		err_set(err, -errno, "open %s: %s", name, errno_text(errno, why, sizeof(why)));
		return false;
	}
	if (s->served && !may_show(fd)) {
		err_set(err, -EACCES, "%s is no source file", name);
		return false;
	}
	read_fd(fd, name, f);
	return true;
}

/* Tries 'path' in 'dir' and in every folder above it. */
static bool read_below(struct source_text *s, struct str dir, struct str path,
		       struct source_file *f)
{
	for (;;) {
		struct str name = go_path_join(&s->arena, dir, path);
		struct str parent = go_path_dir(&s->arena, dir);
		AUTO(freep) char *z = mem_str(name);

		if (read_file(s, z, f, NULL))
			return true;
		if (str_eq(parent, dir))
			return false;
		dir = parent;
	}
}

/* Where the reference looks.  On failure says why, as it does. */
static bool find_file(struct source_text *s, struct source_file *f)
{
	struct str path = trim_path(f->path, s->trim, s->search);
	AUTO(freep) char *z = mem_str(path);
	struct err err;

	if (path.n && path.p[0] == '/') {
		if (read_file(s, z, f, &err))
			return true;
		f->error = xarena_str(&s->arena, str_of(err.msg)).p;
		return false;
	}
	for (struct str dir, rest = s->search; str_split(&rest, ':', &dir);) {
		if (read_below(s, dir, path, f))
			return true;
	}
	f->error = xarena_printf(&s->arena, "could not find file %.*s on path %.*s", STR_ARG(path),
				 STR_ARG(s->search))
			   .p;
	return false;
}

struct elsewhere {
	struct source_text *s;
	struct source_file *f;
};

static bool read_elsewhere(const char *name, void *ctx)
{
	AUTO(closep) int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct elsewhere *e = ctx;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	if (e->s->served && !may_show(fd))
		return false;
	read_fd(fd, name, e->f);
	e->f->error = NULL;
	if (!e->s->has_told)
		notify_info(e->s->notify, "Source of %.*s found in %s", STR_ARG(e->f->path), name);
	e->s->has_told = true;
	return true;
}

/* The string of a function's file that is 'path', or 0. */
static uint32_t file_string(const struct profile *p, struct str path)
{
	for (uint32_t i = 0; i < p->nfunctions; i++) {
		if (str_eq(profile_str(p, p->functions[i].file), path))
			return p->functions[i].file;
	}
	return 0;
}

static bool has_line_of(const struct profile *p, const struct location *l, uint32_t file)
{
	for (uint32_t i = 0; i < l->nlines; i++) {
		if (p->functions[p->lines[l->line + i].function].file == file)
			return true;
	}
	return false;
}

/* The mapping whose code was made from 'path'; the program's, where the profile does not tell. */
static const struct mapping *mapping_from(const struct profile *p, struct str path)
{
	uint32_t file = file_string(p, path);

	for (uint32_t i = 0; file && i < p->nlocations; i++) {
		const struct location *l = &p->locations[i];

		if (l->mapping != NONE && has_line_of(p, l, file))
			return &p->mappings[l->mapping];
	}
	return p->nmappings ? &p->mappings[0] : NULL;
}

/* As the profile says or, where it does not, as the file itself. */
static struct str build_id_of(struct source_text *s, const struct mapping *m)
{
	struct str id = profile_str(s->r->v, m->build_id);
	AUTO(freep) char *path = mem_str(profile_str(s->r->v, m->file));
	AUTO(elf_closep) struct elf_file *elf = NULL;

	if (id.n == 0 && elf_open(path, &elf, NULL) == 0)
		id = xarena_str(&s->arena, str_of(elf->build_id));
	return id;
}

static bool fetch_file(struct source_text *s, struct source_file *f)
{
	struct debug_server *server = s->r->cfg.debug_server;
	const struct mapping *m = server ? mapping_from(s->r->v, f->path) : NULL;
	AUTO(freep) char *name = mem_str(f->path), *path = NULL;

	if (m)
		path = debug_server_fetch_source(server, build_id_of(s, m), name, s->notify);
	return path && read_elsewhere(path, &(struct elsewhere){ s, f });
}

/* A line longer than the reference can hold ends the file for it, and so for us. */
static void split_lines(struct source_file *f)
{
	struct str rest = { f->bytes.p, f->bytes.n }, line;

	while (rest.n && str_split(&rest, '\n', &line)) {
		if (line.n >= LONGEST_LINE)
			return;
		if (line.n && line.p[line.n - 1] == '\r')
			line.n--;
		vec_push(f->lines, f->n, f->cap, line);
	}
}

static uint64_t hash_file(uint32_t i, const void *ctx)
{
	const struct source_file *f = &((const struct source_text *)ctx)->files[i];

	return hash_bytes(f->path.p, f->path.n, 0);
}

static struct source_file *known_file(struct source_text *s, struct str path)
{
	struct probe at = table_probe(&s->index, hash_bytes(path.p, path.n, 0));

	while (table_next(&s->index, &at)) {
		if (str_eq(s->files[at.value].path, path))
			return &s->files[at.value];
	}
	return NULL;
}

static struct source_file *add_file(struct source_text *s, struct source_file f)
{
	struct probe at;

	table_reserve(&s->index, hash_file, s);
	at = table_probe(&s->index, hash_bytes(f.path.p, f.path.n, 0));
	while (table_next(&s->index, &at))
		continue;
	table_put(&s->index, &at, (uint32_t)s->n);
	vec_push(s->files, s->n, s->cap, f);
	return &s->files[s->n - 1];
}

static struct source_file *file_for(struct source_text *s, struct str path)
{
	struct source_file *known = known_file(s, path), f = { 0 };

	if (known)
		return known;
	f.path = xarena_str(&s->arena, path);
	if (!find_file(s, &f) &&
	    !source_places_search(&s->places, f.path, read_elsewhere, &(struct elsewhere){ s, &f }))
		(void)fetch_file(s, &f);
	split_lines(&f);
	return add_file(s, f);
}

const char *source_text_error(struct source_text *s, struct str path)
{
	const struct source_file *f = known_file(s, path);

	return f ? f->error : NULL;
}

bool source_text_line(struct source_text *s, struct str path, int64_t number, struct str *line)
{
	const struct source_file *f = file_for(s, path);

	if (number < 1 || (uint64_t)number > f->n)
		return false;
	*line = f->lines[number - 1];
	return true;
}

static bool is_later(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

void source_text_compare(struct source_text *s, struct str path, struct str binary)
{
	const struct source_file *f = known_file(s, path);
	AUTO(freep) char *z = NULL;
	struct stat st;

	if (s->has_warned || !f || f->n == 0 || binary.n == 0)
		return;
	z = mem_str(binary);
	if (stat(z, &st) < 0 || !S_ISREG(st.st_mode) || !is_later(f->modified, st.st_mtim))
		return;
	notify_warn(s->notify, "%.*s is newer than %s: its lines may have moved", STR_ARG(path), z);
	s->has_warned = true;
}
