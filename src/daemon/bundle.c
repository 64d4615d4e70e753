/*
 * bundle.c - "sonded bundle": the profiles of a run in one file, for another machine
 *
 * One profile is in memory at a time.  Only those that can be read go in, and which binaries they
 * need stands in build-ids.txt, so that nobody finds out on the other machine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "daemon/command.h"
#include "daemon/round-tree.h"
#include "daemon/tar.h"
#include "profile/decode.h"
#include "profile/profile.h"
#include "source/unpack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FLAG_OUTPUT, FLAG_SINCE, FLAG_COMPONENT, FLAG_ADD };
enum { LINES_MAX = 1 << 16, LINE_MAX_BYTES = 4096 };
static const size_t file_max = (size_t)2 << 30, content_max = (size_t)4 << 30;
static const char ending[] = ".pprof";

static const struct arg flags[] = {
	[FLAG_OUTPUT] = { "output", "file", "The file to write (also -o); - for standard output",
			  ARG_FILE },
	[FLAG_SINCE] = { "since", "time",
			 "Only rounds since then: 24h (ago), or 2020-10-01-22:08:40", ARG_TEXT },
	[FLAG_COMPONENT] = { "component", "name",
			     "Only profiles of this one; may be given more than once", ARG_TEXT },
	[FLAG_ADD] = { "add", "file", "A file to put in as well, such as a log; likewise",
		       ARG_FILE },
	{ NULL, NULL, NULL, ARG_TEXT },
};

struct bundle {
	const struct args *args;
	struct out *o;
	struct strings *lines; /* "build-id file", each once */
	char *name;            /* the folder that everything is in */
	int64_t since;
	uint64_t profiles, left_out;
};

/* --- which binaries ---------------------------------------------------------------------- */

/* A name is any text: what would break a line, or a terminal, is replaced. */
static void add_line(struct bundle *b, const struct profile *p, const struct mapping *m)
{
	struct str id = profile_str(p, m->build_id), file = profile_str(p, m->file);
	char *text =
		mem_printf("%.*s %.*s", id.n ? (int)id.n : 1, id.n ? id.p : "-", STR_ARG(file));
	struct str line = str_of(text);
	uint32_t number;

	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	if (b->lines->n < LINES_MAX && line.n < LINE_MAX_BYTES && (id.n || file.n))
		strings_intern(b->lines, &line, 1, &number);
	free(text);
}

static int compare(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void write_lines(struct bundle *b)
{
	AUTO(freep) char *name = mem_printf("%s/build-ids.txt", b->name);
	struct out text;

	out_init(&text, 0);
	qsort(b->lines->at, b->lines->n, sizeof(*b->lines->at), compare);
	for (size_t i = 1; i < b->lines->n; i++) { /* the first is the empty one */
		out_str(&text, b->lines->at[i]);
		out_char(&text, '\n');
	}
	tar_add(b->o, str_of(name), (int64_t)time(NULL), out_view(&text));
	out_release(&text);
}

/* --- one file ---------------------------------------------------------------------------- */

/* Whether it can be read; its binaries are noted then. */
static bool is_profile(struct bundle *b, struct str bytes)
{
	struct file_bytes copy = { .p = mem_new(bytes.n, 1), .n = bytes.n };
	struct profile *p = NULL;
	bool ok;

	memcpy(copy.p, bytes.p, bytes.n);
	ok = bytes.n && unpack(&copy, content_max, NULL, NULL, NULL) == 0 &&
	     profile_decode((struct str){ copy.p, copy.n }, NULL, NULL, &p, NULL) == 0;
	for (uint32_t i = 0; ok && i < p->nmappings; i++)
		add_line(b, p, &p->mappings[i]);
	profile_free(p);
	file_bytes_release(&copy);
	return ok || str_starts(bytes, STR("go 1.")); /* an execution trace */
}

static int not_added(const char *path, int code, struct err *err)
{
	char why[128];

	return err_set(err, -code, "open %s: %s", path, errno_text(code, why, sizeof(why)));
}

static int read_file(int fd, const char *path, struct stat *st, struct file_bytes *bytes,
		     struct err *err)
{
	if (fd < 0 || fstat(fd, st) != 0)
		return not_added(path, errno, err);
	if (!S_ISREG(st->st_mode))
		return err_set(err, -EINVAL, "open %s: not a file", path);
	return file_read_fd(fd, path, file_max, bytes, err);
}

/* Never through a link: what is in a bundle is what was in the tree. */
static int add_file(struct bundle *b, const char *path, const char *name, bool profile,
		    struct err *err)
{
	AUTO(closep)
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (profile ? O_NOFOLLOW : 0));
	struct file_bytes bytes = { 0 };
	struct stat st = { 0 };
	int rc = read_file(fd, path, &st, &bytes, err);

	if (rc < 0 && profile) {
		b->left_out++;
		return 0;
	}
	if (rc < 0)
		return rc;
	if (profile && !is_profile(b, (struct str){ bytes.p, bytes.n })) {
		b->left_out++;
	} else {
		tar_add(b->o, str_of(name), (int64_t)st.st_mtime, (struct str){ bytes.p, bytes.n });
		b->profiles += profile;
	}
	file_bytes_release(&bytes);
	return b->o->error;
}

/* --- the tree ---------------------------------------------------------------------------- */

/* "kube-apiserver-heap-2020-10-01-22:08:40.pprof" is of kube-apiserver. */
static bool is_of(struct str file, struct str stamp, struct str component)
{
	size_t tail = 1 + stamp.n + sizeof(ending) - 1;
	struct str kind;

	if (!str_starts(file, component) || file.n <= component.n + 1 + tail ||
	    file.p[component.n] != '-')
		return false;
	kind = str_skip(file, component.n + 1);
	kind.n -= tail;
	return str_find(kind, STR("-")) < 0;
}

static bool is_wanted(const struct bundle *b, struct str file, struct str stamp)
{
	bool any = false;

	if (!str_ends(file, str_of(ending)))
		return false;
	for (size_t i = 0; i < b->args->nall; i++) {
		if (b->args->all[i].option != FLAG_COMPONENT)
			continue;
		any = true;
		if (is_of(file, stamp, str_of(b->args->all[i].value)))
			return true;
	}
	return !any;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int list(const char *folder, struct dirent ***names, struct err *err)
{
	int n = scandir(folder, names, NULL, by_name);
	char why[128];

	if (n < 0)
		return err_set(err, -errno, "open %s: %s", folder,
			       errno_text(errno, why, sizeof(why)));
	return n;
}

static void free_names(struct dirent **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static int add_round(struct bundle *b, const char *root, const char *stamp, struct err *err)
{
	AUTO(freep) char *folder = mem_printf("%s/%s", root, stamp);
	struct dirent **names = NULL;
	int n = list(folder, &names, err), rc = 0;

	if (n == -ENOENT || n == -ENOTDIR) /* it has become too old meanwhile */
		return 0;
	for (int i = 0; i < n && rc == 0 && !daemon_stop; i++) {
		AUTO(freep) char *path = mem_printf("%s/%s", folder, names[i]->d_name);
		AUTO(freep)
		char *name = mem_printf("%s/%s/%s", b->name, stamp, names[i]->d_name);

		if (is_wanted(b, str_of(names[i]->d_name), str_of(stamp)))
			rc = add_file(b, path, name, true, err);
	}
	if (n >= 0)
		free_names(names, n);
	return n < 0 ? n : rc;
}

static int add_other(struct bundle *b, const char *path, struct err *err)
{
	struct str base = str_base(str_of(path));
	AUTO(freep) char *name = mem_printf("%s/%.*s", b->name, STR_ARG(base));

	return add_file(b, path, name, false, err);
}

static int add_tree(struct bundle *b, const char *root, struct err *err)
{
	struct dirent **names = NULL;
	int n = list(root, &names, err), rc = 0;

	for (int i = 0; i < n && rc == 0 && !daemon_stop; i++) {
		struct str name = str_of(names[i]->d_name);
		int64_t when;

		if (stamp_parse(name, &when) && when >= b->since) {
			rc = add_round(b, root, name.p, err);
		} else if (str_ends(name, STR(".log"))) {
			AUTO(freep) char *path = mem_printf("%s/%s", root, name.p);

			rc = add_other(b, path, err);
		}
	}
	if (n >= 0)
		free_names(names, n);
	return n < 0 ? n : rc;
}

/* --- the command ------------------------------------------------------------------------- */

static int write_bundle(struct bundle *b, const char *root, struct err *err)
{
	int rc = add_tree(b, root, err);

	for (size_t i = 0; i < b->args->nall && rc == 0; i++)
		if (b->args->all[i].option == FLAG_ADD)
			rc = add_other(b, b->args->all[i].value, err);
	if (rc == 0 && daemon_stop)
		rc = err_set(err, -EINTR, "interrupted");
	if (rc < 0)
		return rc;
	write_lines(b);
	tar_end(b->o);
	return 0;
}

static int write_file(struct bundle *b, const char *root, const char *path, struct err *err)
{
	struct file_new f;
	char why[128];
	struct out o;
	int rc;

	if (strcmp(path, "-") == 0) {
		out_init_fd(&o, STDOUT_FILENO);
		b->o = &o;
		rc = write_bundle(b, root, err);
		if (out_finish(&o) < 0 && rc == 0)
			rc = err_set(err, o.error, "write /dev/stdout: %s",
				     errno_text(-o.error, why, sizeof(why)));
		out_release(&o);
		b->o = NULL;
		return rc;
	}
	rc = file_create(&f, path, err);
	if (rc < 0)
		return rc;
	b->o = &f.out;
	rc = write_bundle(b, root, err);
	b->o = NULL;
	if (rc < 0 && !f.out.error) {
		file_abandon(&f);
		return rc;
	}
	return file_commit(&f, NULL, err);
}

/* Ago, or at that time; 0: since ever. */
static bool read_since(const char *text, int64_t *since)
{
	int64_t ns;

	*since = INT64_MIN;
	if (!text)
		return true;
	if (time_parse(text, &ns)) {
		*since = (int64_t)time(NULL) - ns / 1000000000;
		return true;
	}
	return stamp_parse(str_of(text), since);
}

static int run_bundle(const struct args *args)
{
	const char *root = args->rest[0], *path = args->values[FLAG_OUTPUT];
	AUTO(freep) char *real = root ? realpath(root, NULL) : NULL;
	struct bundle b = { .args = args };
	struct err err = { "" };
	struct out said;
	int rc;

	if (!root || args->rest[1] || !path)
		return daemon_complain("bundle", "which tree, and into which file? see --help",
				       STATUS_WRONG_USE);
	if (!read_since(args->values[FLAG_SINCE], &b.since))
		return daemon_complain("bundle", "--since takes 24h or 2020-10-01-22:08:40",
				       STATUS_WRONG_USE);
	b.name = mem_str(str_base(str_of(real ? real : root)));
	if (b.name[0] == '/')
		memcpy(b.name, "r", 1);
	b.lines = strings_new();
	rc = write_file(&b, root, path, &err);
	strings_release(b.lines);
	free(b.name);
	if (rc < 0)
		return daemon_complain("bundle", err.msg, STATUS_FAILED);
	out_init_fd(&said, STDERR_FILENO);
	out_printf(&said, "%" PRIu64 " profiles", b.profiles);
	if (b.left_out)
		out_printf(&said, "; left out %" PRIu64 " files that cannot be read as profiles",
			   b.left_out);
	out_char(&said, '\n');
	(void)out_finish(&said);
	out_release(&said);
	return STATUS_OK;
}

const struct daemon_command command_bundle = {
	.name = "bundle",
	.what = "Pack the profiles of a run into one file",
	.usage = "usage: sonded bundle [options] tree -o file\n"
		 "\n"
		 "Writes a tar file with the profiles of a tree that \"sonded collect\" has made,\n"
		 "those that can be read, its logs, and build-ids.txt: the build ids and names of\n"
		 "all binaries in them, to look for symbols elsewhere.\n"
		 "\n"
		 "  sonded bundle /var/log/pprof --since 24h -o run.tar\n",
	.flags = flags,
	.run = run_bundle,
};
