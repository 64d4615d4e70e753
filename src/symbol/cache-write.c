/*
 * cache-write.c - frames that were found once, on disk: keeping them, and not too many
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/table.h"
#include "base/xalloc.h"
#include "symbol/cache-format.h"
#include "symbol/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

/* ------------------------------------------------------------------ strings */

/* Every string once; functions come in runs, so the one before is looked at first. */
struct texts {
	struct table index;
	struct str *at;
	size_t n, cap;
	uint64_t bytes;
};

static uint64_t hash_text(struct str s)
{
	return hash_bytes(s.p, s.n, 0);
}

static uint64_t rehash_text(uint32_t value, const void *ctx)
{
	return hash_text(((const struct texts *)ctx)->at[value]);
}

static uint32_t text_number(struct texts *t, struct str s)
{
	struct probe at;

	table_reserve(&t->index, rehash_text, t);
	at = table_probe(&t->index, hash_text(s));
	while (table_next(&t->index, &at)) {
		if (str_eq(t->at[at.value], s))
			return at.value;
	}
	table_put(&t->index, &at, (uint32_t)t->n);
	vec_push(t->at, t->n, t->cap, s);
	t->bytes += s.n;
	return (uint32_t)t->n - 1;
}

/* ------------------------------------------------------------------ bytes */

static bool fits(const struct elf_frame *f)
{
	return f->line >= 0 && f->line <= UINT32_MAX && f->column >= 0 && f->column <= UINT32_MAX &&
	       f->start_line >= 0 && f->start_line <= UINT32_MAX;
}

/* What cannot be written is left out by the caller: the whole file then is. */
static bool convert(const struct frame_list *list, struct texts *t, struct cache_frame *out)
{
	size_t n = list->first[list->n];

	for (size_t i = 0; i < n; i++) {
		const struct elf_frame *f = &list->frames[i];

		if (!fits(f))
			return false;
		out[i] = (struct cache_frame){
			.function = text_number(t, f->function),
			.file = text_number(t, f->file),
			.line = (uint32_t)f->line,
			.column = (uint32_t)f->column,
			.start_line = (uint32_t)f->start_line,
		};
	}
	return t->bytes <= UINT32_MAX;
}

static void print_texts(struct out *o, const struct texts *t)
{
	uint32_t end = 0;

	for (size_t i = 0; i < t->n; i++) {
		end += (uint32_t)t->at[i].n;
		out_bytes(o, &end, sizeof(end));
	}
	for (size_t i = 0; i < t->n; i++)
		out_str(o, t->at[i]);
}

static void seal(struct out *o)
{
	struct cache_header *h = (void *)o->p;

	if (!o->error)
		h->checksum = hash_bytes(o->p + CACHE_UNSUMMED, o->n - CACHE_UNSUMMED, CACHE_MAGIC);
}

/* The whole file; 'o' is empty if there is something that the format has no place for. */
static void print(struct out *o, const struct frame_list *list)
{
	size_t nframes = list->first[list->n];
	AUTO(freep) struct cache_frame *converted = mem_new(nframes + 1, sizeof(*converted));
	struct texts t = { 0 };

	table_init(&t.index, 1024);
	if (convert(list, &t, converted)) {
		struct cache_header h = {
			.magic = CACHE_MAGIC,
			.naddresses = list->n,
			.nframes = nframes,
			.nstrings = t.n,
			.ntext = t.bytes,
		};

		out_bytes(o, &h, sizeof(h));
		out_bytes(o, list->addresses, list->n * sizeof(*list->addresses));
		out_bytes(o, list->first, (list->n + 1) * sizeof(*list->first));
		out_bytes(o, converted, nframes * sizeof(*converted));
		print_texts(o, &t);
		seal(o);
	}
	table_release(&t.index);
	free(t.at);
}

/* ------------------------------------------------------------------ the folder */

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

int cache_store(const char *folder, const char *name, const struct frame_list *list, uint64_t limit,
		struct err *err)
{
	AUTO(freep) char *path = mem_printf("%s/%s", folder, name);
	struct out o;
	int rc = 0;

	out_init(&o, limit);
	print(&o, list);
	if (!o.error && o.n && o.n <= limit) {
		make_folder(folder);
		make_room(folder, o.n, limit);
		rc = write_file(path, out_view(&o), err);
	}
	out_release(&o);
	return rc;
}
