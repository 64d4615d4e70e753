/*
 * round-tree.c - the folder that rounds of profiles are collected in
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "daemon/round-tree.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char ending[] = ".pprof";

struct round {
	char *name;
	int64_t when;
	uint64_t bytes;
};

static int failed(struct err *err, const char *what, const char *path, int code)
{
	char why[128];

	return err_set(err, code, "%s %s: %s", what, path, errno_text(-code, why, sizeof(why)));
}

void tree_stamp(const struct tree *t, int64_t seconds, char stamp[STAMP_BYTES])
{
	time_t when = (time_t)seconds;
	struct tm tm;

	if (t->local_time)
		localtime_r(&when, &tm);
	else
		gmtime_r(&when, &tm);
	strftime(stamp, STAMP_BYTES, t->plain_names ? STAMP_FORMAT_PLAIN : STAMP_FORMAT, &tm);
}

static int make_folders(const char *path, struct err *err)
{
	AUTO(freep) char *part = mem_str(str_of(path));

	for (char *p = part + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		(void)mkdir(part, 0755);
		*p = '/';
	}
	if (mkdir(part, 0755) != 0 && errno != EEXIST)
		return failed(err, "make", path, -errno);
	return 0;
}

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* "x.pprof.a1B2c3" is what was being written when a collector was killed. */
static bool is_half(struct str name)
{
	struct str whole = name;

	if (name.n < 7)
		return false;
	whole.n -= 7;
	return name.p[whole.n] == '.' && str_ends(whole, str_of(ending));
}

static void remove_halves(const char *folder)
{
	AUTO(closedirp) DIR *d = opendir(folder);

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
		if (is_half(str_of(e->d_name)))
			(void)unlinkat(dirfd(d), e->d_name, 0);
}

/* All rounds, oldest first; the caller frees them. */
static int list_rounds(const struct tree *t, struct round **rounds, size_t *n, struct err *err)
{
	AUTO(closedirp) DIR *d = opendir(t->root);
	size_t cap = 0;

	*rounds = NULL;
	*n = 0;
	if (!d)
		return failed(err, "open", t->root, -errno);
	for (struct dirent *e = readdir(d); e; e = readdir(d)) {
		struct round r = { 0 };

		if (!stamp_parse(str_of(e->d_name), &r.when))
			continue;
		r.name = mem_printf("%s/%s", t->root, e->d_name);
		vec_push(*rounds, *n, cap, r);
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct round *x = a, *y = b;

	return x->when < y->when ? -1 : x->when > y->when;
}

static void free_rounds(struct round *rounds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(rounds[i].name);
	free(rounds);
}

static void sweep(const struct tree *t)
{
	struct round *rounds;
	size_t n;

	if (list_rounds(t, &rounds, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		remove_halves(rounds[i].name);
	free_rounds(rounds, n);
}

int tree_open(struct tree *t, struct err *err)
{
	AUTO(freep) char *path = mem_printf("%s/.lock", t->root);
	int rc = make_folders(t->root, err);

	if (rc < 0)
		return rc;
	t->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (t->lock < 0)
		return failed(err, "open", path, -errno);
	if (flock(t->lock, LOCK_EX | LOCK_NB) != 0) {
		close(t->lock);
		return err_set(err, -EBUSY, "another collector works in %s", t->root);
	}
	sweep(t);
	return 0;
}

void tree_close(struct tree *t)
{
	close(t->lock);
}

/* To the disk before it has its name, so that a power cut leaves a whole file or none. */
static int commit(struct file_new *f, struct err *err)
{
	if (out_finish(&f->out) == 0 && fsync(f->out.fd) != 0)
		f->out.error = -errno;
	return file_commit(f, NULL, err);
}

int64_t tree_newest(const struct tree *t)
{
	struct round *rounds;
	int64_t newest = 0;
	size_t n;

	if (list_rounds(t, &rounds, &n, NULL) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		newest = rounds[i].when > newest ? rounds[i].when : newest;
	free_rounds(rounds, n);
	return newest;
}

int tree_write(const struct tree *t, const char *stamp, struct str component, struct str kind,
	       struct str bytes, struct err *err)
{
	AUTO(freep) char *folder = mem_printf("%s/%s", t->root, stamp);
	AUTO(freep)
	char *path = mem_printf("%s/%.*s-%.*s-%s%s", folder, STR_ARG(component), STR_ARG(kind),
				stamp, ending);
	struct file_new f;
	int rc;

	if (mkdir(folder, 0755) != 0 && errno != EEXIST)
		return failed(err, "make", folder, -errno);
	rc = file_create(&f, path, err);
	if (rc < 0)
		return rc;
	out_str(&f.out, bytes);
	return commit(&f, err);
}

/* --- what may stay ----------------------------------------------------------------------- */

static uint64_t size_of_round(const char *folder)
{
	AUTO(closedirp) DIR *d = opendir(folder);
	uint64_t sum = 0;
	struct stat st;

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	return sum;
}

static int remove_round(const char *folder, struct err *err)
{
	AUTO(closedirp) DIR *d = opendir(folder);

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		struct str name = str_of(e->d_name);

		if (str_ends(name, str_of(ending)) || is_half(name))
			(void)unlinkat(dirfd(d), e->d_name, 0);
	}
	/* Somebody put something else there: that is theirs. */
	if (rmdir(folder) != 0 && errno != ENOTEMPTY && errno != EEXIST)
		return failed(err, "remove", folder, -errno);
	return 0;
}

int tree_trim(const struct tree *t, const struct tree_limits *limits, int64_t now, struct err *err)
{
	struct round *rounds;
	uint64_t sum = 0;
	size_t n, left;
	int rc = list_rounds(t, &rounds, &n, err), gone = 0;

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		if (rounds[i].when > now)
			rounds[i].when = INT64_MIN;
	if (n)
		qsort(rounds, n, sizeof(*rounds), by_time);
	for (size_t i = 0; limits->bytes && i < n; i++) {
		rounds[i].bytes = size_of_round(rounds[i].name);
		sum += rounds[i].bytes;
	}
	left = n;
	for (size_t i = 0; i + 1 < n && rc == 0; i++, left--) {
		bool many = limits->rounds && left > limits->rounds;
		bool large = limits->bytes && sum > limits->bytes;
		bool old = limits->age_s && rounds[i].when != INT64_MIN &&
			   now - rounds[i].when > limits->age_s;

		if (!many && !large && !old)
			break;
		rc = remove_round(rounds[i].name, err);
		sum -= rounds[i].bytes;
		gone++;
	}
	free_rounds(rounds, n);
	return rc < 0 ? rc : gone;
}
