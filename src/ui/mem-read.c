/*
 * mem-read.c - the memory of a control group, and of the processes in it
 *
 * Both versions of control groups are there in the wild, also on one machine: what counts memory is
 * version 1 where its controller is mounted, else version 2.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/mem-read.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { TEXT_MAX = 4 << 20, DEPTH_MAX = 32, PROCESSES_MAX = 1 << 20, NAME_MAX_SHOWN = 512 };
static const size_t memory = (size_t)256 << 20;

/* The names of the same files in both versions. */
struct files {
	const char *current, *limit, *anon, *cache;
};
static const struct files v1 = { "memory.usage_in_bytes", "memory.limit_in_bytes", "total_rss ",
				 "total_cache " };
static const struct files v2 = { "memory.current", "memory.max", "anon ", "file " };

/* --- small files ------------------------------------------------------------------------- */

/* A text of the kernel, in 'a'; "" if it cannot be read. */
static struct str read_text(struct arena *a, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static struct str read_text(struct arena *a, const char *fmt, ...)
{
	char path[4096];
	struct file_bytes b;
	struct str text;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(path) || file_read(path, TEXT_MAX, &b, NULL) < 0)
		return STR("");
	text = xarena_str(a, (struct str){ b.p, b.n });
	file_bytes_release(&b);
	return text;
}

static bool read_number(struct str s, uint64_t *n)
{
	return go_parse_uint(str_trim(s), 10, 64, n, NULL) >= 0;
}

/* The number behind 'key' at the start of a line. */
static bool find_number(struct str text, const char *key, uint64_t *n)
{
	struct str line, word;

	while (str_split(&text, '\n', &line)) {
		if (!str_starts(line, str_of(key)))
			continue;
		line = str_skip(line, strlen(key));
		return str_field(&line, &word) && read_number(word, n);
	}
	return false;
}

/* --- where the files are ----------------------------------------------------------------- */

struct str mem_find_path(struct str text, bool unified)
{
	struct str line, number, controllers;

	while (str_split(&text, '\n', &line)) {
		struct str rest = line, name;

		if (!str_split(&rest, ':', &number) || !str_split(&rest, ':', &controllers))
			continue;
		if (unified && str_is(number, "0") && controllers.n == 0)
			return rest;
		while (!unified && str_split(&controllers, ',', &name))
			if (str_is(name, "memory"))
				return rest;
	}
	return STR("");
}

/* Blanks in names of mounts are written as "\040". */
static struct str unescape(struct str s, struct arena *a)
{
	char *to = xarena(a, s.n + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		const char *p = s.p + i;
		bool octal = *p == '\\' && s.n - i > 3 && p[1] >= '0' && p[1] <= '3' &&
			     p[2] >= '0' && p[2] <= '7' && p[3] >= '0' && p[3] <= '7';

		to[n++] = octal ? (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + p[3] - '0') : *p;
		i += octal ? 3 : 0;
	}
	return (struct str){ to, n };
}

static bool has_word(struct str list, const char *wanted)
{
	struct str word;

	while (str_split(&list, ',', &word))
		if (str_is(word, wanted))
			return true;
	return false;
}

/* "36 35 0:30 ROOT POINT rw,relatime shared:1 - TYPE SOURCE OPTIONS" */
static bool is_mount(struct str line, bool unified, struct str *root, struct str *point)
{
	ptrdiff_t dash = str_find(line, STR(" - "));
	struct str head = line, tail, word, options;

	if (dash < 0)
		return false;
	head.n = (size_t)dash;
	tail = str_skip(line, (size_t)dash + 3);
	for (int i = 0; i < 3; i++)
		if (!str_field(&head, &word))
			return false;
	if (!str_field(&head, root) || !str_field(&head, point) || !str_field(&tail, &word))
		return false;
	if (unified)
		return str_is(word, "cgroup2");
	return str_is(word, "cgroup") && str_field(&tail, &word) && str_field(&tail, &options) &&
	       has_word(options, "memory");
}

struct str mem_find_mount(struct str mountinfo, bool unified, struct str path, struct arena *a)
{
	struct str line, root, point;

	while (str_split(&mountinfo, '\n', &line)) {
		if (!is_mount(line, unified, &root, &point))
			continue;
		root = unescape(root, a);
		point = unescape(point, a);
		/* What is mounted may be a part of the tree: our own, in a container. */
		if (!str_is(root, "/") && str_starts(path, root) &&
		    (path.n == root.n || path.p[root.n] == '/'))
			path = str_skip(path, root.n);
		else if (!str_is(root, "/"))
			path = STR("");
		if (str_is(path, "/"))
			path = STR("");
		return xarena_printf(a, "%.*s%.*s", STR_ARG(point), STR_ARG(path));
	}
	return STR("");
}

static bool is_folder(struct str path)
{
	struct stat st;

	return path.n && stat(path.p, &st) == 0 && S_ISDIR(st.st_mode);
}

static int find_group(struct mem_group *g, const char *pid, struct err *err)
{
	struct str groups = read_text(&g->a, "/proc/%s/cgroup", pid);
	struct str mounts = read_text(&g->a, "/proc/self/mountinfo");

	if (!groups.n)
		return err_set(err, -ESRCH, "there is no process %s", pid);
	for (int unified = 0; unified < 2; unified++) {
		struct str path = mem_find_path(groups, unified), folder;

		if (!path.n)
			continue;
		folder = mem_find_mount(mounts, unified, path, &g->a);
		if (folder.n && !is_folder(folder)) /* a container that sees its own group only */
			folder = mem_find_mount(mounts, unified, STR(""), &g->a);
		g->path = path;
		g->folder = folder;
		if (is_folder(folder))
			return 0;
	}
	return err_set(err, -ENOENT, "the control groups of this machine are not mounted");
}

/* --- processes --------------------------------------------------------------------------- */

bool mem_parse_rollup(struct str text, struct mem_process *p)
{
	static const char *const keys[] = { "Rss:", "Pss:", "Swap:" };
	uint64_t *const numbers[] = { &p->rss, &p->pss, &p->swap };
	bool any = false;

	for (size_t i = 0; i < 3; i++) {
		uint64_t kilobytes;

		if (!find_number(text, keys[i], &kilobytes) || kilobytes > UINT64_MAX >> 10)
			continue;
		*numbers[i] = kilobytes << 10;
		any = true;
	}
	return any;
}

/* Names are the processes' own choice: nothing in them may reach a terminal's ears. */
static struct str readable_name(struct arena *a, int pid)
{
	struct str raw = read_text(a, "/proc/%d/cmdline", pid);
	bool words = raw.n > 0;
	size_t n;
	char *to;

	if (!words)
		raw = str_trim(read_text(a, "/proc/%d/comm", pid));
	n = raw.n < NAME_MAX_SHOWN ? raw.n : NAME_MAX_SHOWN;
	to = xarena(a, n + 1, 1);
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)raw.p[i];

		to[i] = c == '\0' ? ' ' : c < ' ' || c >= 0x7f ? '?' : (char)c;
	}
	return str_trim((struct str){ to, n });
}

/* Pages in memory: the second number of statm; 0 if it is none. */
static uint64_t resident(struct str statm)
{
	struct str word = STR("");
	uint64_t pages = 0;

	for (int i = 0; i < 2; i++)
		if (!str_field(&statm, &word))
			return 0;
	return read_number(word, &pages) ? pages : 0;
}

/* False if there is no such process any more, or it has no memory: the kernel's. */
static bool read_process(struct mem_group *g, struct mem_process *p)
{
	uint64_t pages;

	if (!mem_parse_rollup(read_text(&g->a, "/proc/%d/smaps_rollup", p->pid), p)) {
		pages = resident(read_text(&g->a, "/proc/%d/statm", p->pid));
		if (pages == 0)
			return false;
		p->rss = pages * (uint64_t)sysconf(_SC_PAGESIZE);
		p->no_pss = true;
	}
	p->name = readable_name(&g->a, p->pid);
	return true;
}

static void add_processes(struct mem_group *g, struct str list, size_t *cap)
{
	struct str word;

	while (g->n < PROCESSES_MAX && str_field(&list, &word)) {
		struct mem_process p = { 0 };
		uint64_t pid;

		if (!read_number(word, &pid) || pid == 0 || pid > INT32_MAX)
			continue;
		p.pid = (int)pid;
		if (!read_process(g, &p))
			continue;
		vec_push(g->processes, g->n, *cap, p);
		g->rss += p.rss;
		g->pss += p.pss;
		g->swap += p.swap;
		g->unread += p.no_pss;
	}
}

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* What a group uses, those below it use. */
static void walk(struct mem_group *g, const char *folder, size_t *cap, int depth)
{
	AUTO(closedirp) DIR *d = opendir(folder);

	add_processes(g, read_text(&g->a, "%s/cgroup.procs", folder), cap);
	for (struct dirent *e = d ? readdir(d) : NULL; e && depth < DEPTH_MAX; e = readdir(d)) {
		AUTO(freep) char *path = NULL;

		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		path = mem_printf("%s/%s", folder, e->d_name);
		walk(g, path, cap, depth + 1);
	}
}

/* --- the group --------------------------------------------------------------------------- */

static void read_counters(struct mem_group *g)
{
	const char *folder = g->folder.p;
	const struct files *f = &v2;
	struct str stat = read_text(&g->a, "%s/memory.stat", folder);

	g->counted = read_number(read_text(&g->a, "%s/%s", folder, f->current), &g->current);
	if (!g->counted) {
		f = &v1;
		g->counted =
			read_number(read_text(&g->a, "%s/%s", folder, f->current), &g->current);
	}
	if (!read_number(read_text(&g->a, "%s/%s", folder, f->limit), &g->limit) ||
	    g->limit >= (uint64_t)INT64_MAX / 4096 * 4096)
		g->limit = UINT64_MAX;
	(void)find_number(stat, f->anon, &g->anon);
	(void)find_number(stat, f->cache, &g->cache);
}

static bool is_pid(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n > 0 && n < 10 && !text[n];
}

int mem_read(const char *what, struct mem_group *g, struct err *err)
{
	size_t cap = 0;
	int rc;

	*g = (struct mem_group){ 0 };
	arena_init(&g->a, memory);
	if (!*what || is_pid(what)) {
		rc = find_group(g, *what ? what : "self", err);
		if (rc < 0)
			return rc;
	} else {
		g->path = g->folder = xarena_printf(&g->a, "%s", what);
		if (!is_folder(g->folder) ||
		    access(xarena_printf(&g->a, "%s/cgroup.procs", what).p, R_OK) != 0)
			return err_set(
				err, -ENOENT,
				"'%s' is neither a process nor the folder of a control group",
				what);
	}
	walk(g, g->folder.p, &cap, 0);
	read_counters(g);
	return 0;
}

void mem_release(struct mem_group *g)
{
	free(g->processes);
	arena_release(&g->a);
	*g = (struct mem_group){ 0 };
}
