/*
 * cache.c - frames that were found once, on disk
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/cache.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/xalloc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
	FILE_MAX = 256 << 20,
	COPIED_MAX = 1 << 20, /* takes a tenth of a millisecond */
};

int cache_load(const char *folder, const char *name, struct file_bytes *bytes,
	       struct frame_table *t)
{
	AUTO(freep) char *path = mem_printf("%s/%s", folder, name);
	int rc = file_map(path, FILE_MAX, bytes, NULL);

	if (rc)
		return rc;
	if (bytes->n <= COPIED_MAX)
		rc = file_bytes_own(bytes, path, NULL);
	if (rc == 0)
		rc = frame_table_parse((struct str){ bytes->p, bytes->n }, t);
	if (rc)
		file_bytes_release(bytes);
	else
		(void)utimensat(AT_FDCWD, path, NULL, 0);
	return rc;
}

/* ------------------------------------------------------------------ room */

/* A file of the folder. */
struct entry {
	char *path;
	uint64_t size;
	struct timespec used;
};

struct entries {
	struct entry *at;
	size_t n, cap;
	uint64_t size;
};

static int by_use(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->used.tv_sec != y->used.tv_sec)
		return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
	return (x->used.tv_nsec > y->used.tv_nsec) - (x->used.tv_nsec < y->used.tv_nsec);
}

static void list_folder(struct entries *all, const char *folder)
{
	DIR *d = opendir(folder);
	const struct dirent *e;
	struct stat st;

	if (!d)
		return;
	for (e = readdir(d); e; e = readdir(d)) {
		if (str_find(str_of(e->d_name), STR(CACHE_SUFFIX)) < 0 ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		struct entry one = { .path = mem_printf("%s/%s", folder, e->d_name) };

		one.size = (uint64_t)st.st_size;
		one.used = st.st_mtim;
		all->size += one.size;
		vec_push(all->at, all->n, all->cap, one);
	}
	closedir(d);
}

/* Makes room for 'more' bytes; half-written files of a program that was killed go as others do. */
static void make_room(const char *folder, uint64_t more, uint64_t limit)
{
	struct entries all = { 0 };

	list_folder(&all, folder);
	if (all.n && all.size + more > limit)
		qsort(all.at, all.n, sizeof(*all.at), by_use);
	for (size_t i = 0; i < all.n; i++) {
		if (all.size + more > limit && unlink(all.at[i].path) == 0)
			all.size -= all.at[i].size;
		free(all.at[i].path);
	}
	free(all.at);
}

/*
 * Makes the last three folders of the path at most: someone who has no home gets none from us.  For
 * nobody else to read, since names of functions are part of a program.
 */
static void make_folder(const char *folder)
{
	AUTO(freep) char *path = mem_str(str_of(folder));
	char *slash[3];
	size_t n = 0;

	for (char *at = strrchr(path, '/'); at && at > path && n < 3; at = strrchr(path, '/')) {
		slash[n++] = at;
		*at = '\0';
	}
	for (; n > 0; n--) {
		*slash[n - 1] = '/';
		(void)mkdir(path, 0700);
	}
}

static int write_file(const char *path, struct str bytes, struct err *err)
{
	struct file_new f;
	int rc = file_create(&f, path, err);

	if (rc)
		return rc;
	out_str(&f.out, bytes);
	return file_commit(&f, NULL, err);
}

int cache_store(const char *folder, const char *name, struct str table, uint64_t limit,
		struct err *err)
{
	AUTO(freep) char *path = mem_printf("%s/%s", folder, name);

	if (table.n > limit)
		return 0;
	make_folder(folder);
	make_room(folder, table.n, limit);
	return write_file(path, table, err);
}
