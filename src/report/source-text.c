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
#include "base/xalloc.h"
#include "graph/node.h"
#include "profile/profile.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* A source file larger than this is not one. */
enum { LARGEST_FILE = 64 << 20, LONGEST_LINE = 64 << 10 };

struct source_file {
	struct str path;
	struct file_bytes bytes;
	const char *error;
	struct str *lines;
	size_t n, cap;
};

struct source_text {
	struct arena arena;
	struct str search, trim;
	struct source_file *files;
	size_t n, cap;
};

struct source_text *source_text_new(struct str search, struct str trim)
{
	struct source_text *s = mem_zeroed(1, sizeof(*s));

	arena_init(&s->arena, PROFILE_BUDGET);
	s->search = xarena_str(&s->arena, search);
	s->trim = xarena_str(&s->arena, trim);
	return s;
}

struct source_text *source_text_of(const struct report *r)
{
	AUTO(freep) char *cwd = NULL;

	if (*r->cfg.source_path)
		return source_text_new(str_of(r->cfg.source_path), str_of(r->cfg.trim_path));
	cwd = getcwd(NULL, 0);
	return source_text_new(str_of(cwd ? cwd : "/"), str_of(r->cfg.trim_path));
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
	arena_release(&s->arena);
	free(s);
}

/* What can be opened has been found, even if nothing can be read from it, such as a folder. */
static bool read_file(const char *name, struct source_file *f, struct err *err)
{
	AUTO(closep) int fd = open(name, O_RDONLY | O_CLOEXEC);
	char why[128];

	if (fd < 0) {
		err_set(err, -errno, "open %s: %s", name, errno_text(errno, why, sizeof(why)));
		return false;
	}
	(void)file_read_fd(fd, name, LARGEST_FILE, &f->bytes, NULL);
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

		if (read_file(z, f, NULL))
			return true;
		if (str_eq(parent, dir))
			return false;
		dir = parent;
	}
}

static void find_file(struct source_text *s, struct source_file *f)
{
	struct str path = trim_path(f->path, s->trim, s->search);
	AUTO(freep) char *z = mem_str(path);
	struct err err;

	if (path.n && path.p[0] == '/') {
		if (!read_file(z, f, &err))
			f->error = xarena_str(&s->arena, str_of(err.msg)).p;
		return;
	}
	for (struct str dir, rest = s->search; str_split(&rest, ':', &dir);) {
		if (read_below(s, dir, path, f))
			return;
	}
	f->error = xarena_printf(&s->arena, "could not find file %.*s on path %.*s", STR_ARG(path),
				 STR_ARG(s->search))
			   .p;
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

static struct source_file *known_file(struct source_text *s, struct str path)
{
	for (size_t i = 0; i < s->n; i++) {
		if (str_eq(s->files[i].path, path))
			return &s->files[i];
	}
	return NULL;
}

static struct source_file *file_for(struct source_text *s, struct str path)
{
	struct source_file *known = known_file(s, path), f = { 0 };

	if (known)
		return known;
	f.path = xarena_str(&s->arena, path);
	find_file(s, &f);
	split_lines(&f);
	vec_push(s->files, s->n, s->cap, f);
	return &s->files[s->n - 1];
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
