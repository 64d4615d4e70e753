/*
 * store-dir.c - dumps in a directory
 *
 * A chunk is a file of its bytes, the record a file of JSON, each under the name it would have in
 * Kubernetes.  Everything is written beside its place, brought to the disk, and renamed; the record
 * only under a lock of the directory, and only over the file that was read: its number and time
 * tell which that was.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/par.h"
#include "base/xalloc.h"
#include "store/jansson.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { RECORD_MAX = 4 << 20, CHUNK_MAX = 16 << 20, BATCH_MAX = 64, WAITERS = PAR_MOST };
static const char lock_name[] = ".lock";
static const char temporary[] = ".temporary.";

struct dir_store {
	struct store store;
	int fd;
	char *path;
};

static struct dir_store *of(struct store *s)
{
	return (struct dir_store *)s;
}

static int failed(const struct dir_store *d, struct err *err, const char *what, struct str name,
		  int code)
{
	char why[128];

	return err_set(err, code, "%s %s/%.*s: %s", what, d->path, STR_ARG(name),
		       errno_text(-code, why, sizeof(why)));
}

/*
 * The name a file has until it is complete.  Records are written by one at a time: what one that
 * died has left is written over by the next.
 */
static const char *temp_name(struct str name, char *buf, size_t size)
{
	static const struct str record = { "-heap", 5 };

	(void)snprintf(buf, size, "%s%d.%.*s", temporary,
		       str_ends(name, record) ? 0 : (int)getpid(), STR_ARG(name));
	return buf;
}

static int write_all(int fd, struct str bytes)
{
	while (bytes.n) {
		ssize_t n = write(fd, bytes.p, bytes.n);

		if (n < 0 && errno != EINTR)
			return -errno;
		bytes = str_skip(bytes, n > 0 ? (size_t)n : 0);
	}
	return 0;
}

/* Writes 'bytes' under a temporary name; the open file, or a negative errno. */
static int write_temp(const struct dir_store *d, struct str name, struct str bytes, struct err *err)
{
	char temp[NAME_MAX + 1];
	int fd, rc;

	temp_name(name, temp, sizeof(temp));
	fd = openat(d->fd, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return failed(d, err, "create", name, -errno);
	rc = write_all(fd, bytes);
	if (rc < 0) {
		close(fd);
		(void)unlinkat(d->fd, temp, 0);
		return failed(d, err, "write", name, rc);
	}
	/* The disk starts now; we wait for it when all have been written. */
	(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	return fd;
}

static int settle(const struct dir_store *d, int fd, struct str name, struct err *err)
{
	char temp[NAME_MAX + 1], final[NAME_MAX + 1];
	int rc = fsync(fd) == 0 ? 0 : -errno;

	if (close(fd) != 0 && rc == 0)
		rc = -errno;
	temp_name(name, temp, sizeof(temp));
	(void)snprintf(final, sizeof(final), "%.*s", STR_ARG(name));
	if (rc == 0 && renameat(d->fd, temp, d->fd, final) != 0)
		rc = -errno;
	if (rc == 0)
		return 0;
	(void)unlinkat(d->fd, temp, 0);
	return failed(d, err, "write", name, rc);
}

static int sync_dir(const struct dir_store *d, struct err *err)
{
	return fsync(d->fd) == 0 ? 0 : failed(d, err, "write", STR("."), -errno);
}

/*
 * Files that wait for the disk.  Several threads wait at once, because the file system then writes
 * its journal once for many of them.
 */
struct settling {
	const struct dir_store *d;
	const struct store_chunk *chunks;
	int fds[BATCH_MAX];
	size_t n;
	atomic_size_t next;
	int codes[WAITERS];
	struct err errors[WAITERS];
};

static void settle_share(int i, void *ctx)
{
	struct settling *s = ctx;

	for (;;) {
		size_t at = atomic_fetch_add(&s->next, 1);
		int rc;

		if (at >= s->n)
			return;
		rc = settle(s->d, s->fds[at], s->chunks[at].name,
			    s->codes[i] == 0 ? &s->errors[i] : NULL);
		s->codes[i] = s->codes[i] == 0 ? rc : s->codes[i];
	}
}

static int put_some(const struct dir_store *d, const struct store_chunk *chunks, size_t n,
		    struct err *err)
{
	struct settling s = { .d = d, .chunks = chunks };
	int rc = 0;

	while (s.n < n && rc >= 0) {
		rc = write_temp(d, chunks[s.n].name, chunks[s.n].bytes, err);
		if (rc >= 0)
			s.fds[s.n++] = rc;
	}
	rc = rc < 0 ? rc : 0;
	if (s.n)
		par_run(s.n < WAITERS ? (int)s.n : WAITERS, settle_share, &s);
	for (int i = 0; i < WAITERS && rc == 0; i++)
		if (s.codes[i] < 0)
			rc = err_set(err, s.codes[i], "%s", s.errors[i].msg);
	return rc;
}

static int dir_put(struct store *s, struct str prefix, const struct store_chunk *chunks, size_t n,
		   struct err *err)
{
	int rc = 0;

	(void)prefix;
	for (size_t i = 0; i < n && rc == 0; i += BATCH_MAX)
		rc = put_some(of(s), chunks + i, n - i < BATCH_MAX ? n - i : BATCH_MAX, err);
	return rc < 0 ? rc : sync_dir(of(s), err);
}

static int dir_copy(struct store *s, struct str prefix, const struct store_chunk *chunks,
		    const struct str *to, size_t n, struct err *err)
{
	struct dir_store *d = of(s);

	(void)prefix;
	for (size_t i = 0; i < n; i++) {
		char temp[NAME_MAX + 1], from[NAME_MAX + 1], final[NAME_MAX + 1];

		temp_name(to[i], temp, sizeof(temp));
		(void)snprintf(from, sizeof(from), "%.*s", STR_ARG(chunks[i].name));
		(void)snprintf(final, sizeof(final), "%.*s", STR_ARG(to[i]));
		(void)unlinkat(d->fd, temp, 0);
		if (linkat(d->fd, from, d->fd, temp, 0) != 0)
			return failed(d, err, "link", to[i], -errno);
		if (renameat(d->fd, temp, d->fd, final) != 0)
			return failed(d, err, "rename", to[i], -errno);
		/* Two names of one file already: rename() leaves both. */
		(void)unlinkat(d->fd, temp, 0);
	}
	return sync_dir(d, err);
}

static int read_file(const struct dir_store *d, struct str name, size_t max, struct arena *a,
		     struct str *bytes, struct err *err)
{
	struct str path = xarena_printf(a, "%.*s", STR_ARG(name));
	AUTO(closep) int fd = openat(d->fd, path.p, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct file_bytes b;
	int rc;

	*bytes = STR("");
	if (fd < 0)
		return failed(d, err, "open", name, -errno);
	rc = file_read_fd(fd, path.p, max, &b, err);
	if (rc < 0)
		return rc;
	*bytes = arena_str(a, (struct str){ b.p, b.n });
	file_bytes_release(&b);
	return bytes->p ? 0 : failed(d, err, "read", name, -ENOMEM);
}

static int dir_get(struct store *s, const struct str *names, size_t n, struct arena *a,
		   struct str *bytes, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++)
		rc = read_file(of(s), names[i], CHUNK_MAX, a, &bytes[i], err);
	return rc;
}

static int dir_remove(struct store *s, const struct str *names, size_t n, struct err *err)
{
	struct dir_store *d = of(s);

	for (size_t i = 0; i < n; i++) {
		char name[NAME_MAX + 1];

		(void)snprintf(name, sizeof(name), "%.*s", STR_ARG(names[i]));
		if (unlinkat(d->fd, name, 0) != 0 && errno != ENOENT)
			return failed(d, err, "remove", names[i], -errno);
	}
	return sync_dir(d, err);
}

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Calls 'each' for every name; it may add to 'names'. */
static int read_names(const struct dir_store *d, struct arena *a, struct str **names, size_t *n,
		      bool (*wanted)(struct str *name, struct str prefix, struct arena *a),
		      struct str prefix, struct err *err)
{
	int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(closedirp) DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	size_t cap = 64;

	if (!dir)
		return failed(d, err, "read", STR("."), -errno);
	*names = xarena(a, cap, sizeof(**names));
	*n = 0;
	for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		struct str name = str_of(e->d_name);

		if (!wanted(&name, prefix, a))
			continue;
		if (*n == cap) {
			*names = xarena_grow(a, *names, cap, cap * 2, sizeof(**names));
			cap *= 2;
		}
		(*names)[(*n)++] = xarena_str(a, name);
	}
	return 0;
}

static bool is_chunk(struct str *name, struct str prefix, struct arena *a)
{
	struct str start = xarena_printf(a, "%.*s-heap-", STR_ARG(prefix)), rest = *name, part;

	if (str_starts(*name, start))
		return true;
	/* ".temporary.123.main-landscaper-heap-0" */
	if (!str_starts(rest, str_of(temporary)))
		return false;
	rest = str_skip(rest, sizeof(temporary) - 1);
	return str_split(&rest, '.', &part) && str_starts(rest, start);
}

static int dir_list(struct store *s, struct str prefix, struct arena *a, struct str **names,
		    size_t *n, struct err *err)
{
	return read_names(of(s), a, names, n, is_chunk, prefix, err);
}

static bool is_record(struct str *name, struct str prefix, struct arena *a)
{
	static const struct str ending = { "-heap", 5 };

	(void)prefix;
	(void)a;
	if (name->p[0] == '.' || !str_ends(*name, ending) || name->n == ending.n)
		return false;
	name->n -= ending.n;
	return true;
}

static int dir_prefixes(struct store *s, struct arena *a, struct str **prefixes, size_t *n,
			struct err *err)
{
	return read_names(of(s), a, prefixes, n, is_record, STR(""), err);
}

/* --- the record -------------------------------------------------------------------------- */

/* What its bytes are: who changes them and back again has changed nothing. */
static struct str version_of(struct str text, struct arena *a)
{
	return xarena_printf(a, "%zu.%016llx", text.n,
			     (unsigned long long)hash_bytes(text.p, text.n, 0));
}

static int parse_record(const struct jansson_calls *j, json_t *json, struct arena *a,
			struct store_record *out)
{
	size_t n = 0;

	if (!json_is_object(json))
		return -EINVAL;
	for (void *i = j->object_iter(json); i; i = j->object_iter_next(json, i))
		n++;
	out->pairs = xarena(a, n + 1, sizeof(*out->pairs));
	for (void *i = j->object_iter(json); i; i = j->object_iter_next(json, i)) {
		json_t *v = j->object_iter_value(i);

		if (!json_is_string(v))
			return -EINVAL;
		out->pairs[out->npairs++] = (struct store_pair){
			xarena_str(a, str_of(j->object_iter_key(i))),
			xarena_str(a, (struct str){ j->string_value(v), j->string_length(v) }),
		};
	}
	return 0;
}

static int dir_read(struct store *s, struct str prefix, struct arena *a, struct store_record *out,
		    struct err *err)
{
	struct str name = store_record_name(a, prefix), text;
	const struct jansson_calls *j;
	json_error_t wrong;
	json_t *json;
	int rc = jansson_load(&j, err);

	*out = (struct store_record){ .version = STR("") };
	if (rc < 0)
		return rc;
	rc = read_file(of(s), name, RECORD_MAX, a, &text, err);
	if (rc < 0)
		return rc == -ENOENT ? 0 : rc;
	json = j->loadb(text.p, text.n, 0, &wrong);
	rc = parse_record(j, json, a, out);
	jansson_free(j, json);
	out->version = version_of(text, a);
	if (rc < 0)
		return err_set(err, rc, "%s/%.*s is no record of dumps", of(s)->path,
			       STR_ARG(name));
	return 0;
}

/* One at a time changes records; the kernel lets go of it when a process dies. */
static int lock_dir(const struct dir_store *d, struct err *err)
{
	int fd = openat(d->fd, lock_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return failed(d, err, "lock", str_of(lock_name), -errno);
	while (flock(fd, LOCK_EX) != 0) {
		if (errno != EINTR) {
			int code = -errno;

			close(fd);
			return failed(d, err, "lock", str_of(lock_name), code);
		}
	}
	return fd;
}

static char *record_json(const struct jansson_calls *j, const struct store_record *r)
{
	json_t *json = j->object();
	char *text;

	for (size_t i = 0; i < r->npairs; i++) {
		char key[64];

		(void)snprintf(key, sizeof(key), "%.*s", STR_ARG(r->pairs[i].key));
		j->object_set_new(json, key, j->stringn(r->pairs[i].value.p, r->pairs[i].value.n));
	}
	text = j->dumps(json, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	jansson_free(j, json);
	return text;
}

static int check_version(const struct dir_store *d, struct str name, struct str version,
			 struct arena *a, struct err *err)
{
	struct str text, is = STR("");
	int rc = read_file(d, name, RECORD_MAX, a, &text, err);

	if (rc < 0 && rc != -ENOENT)
		return rc;
	if (rc == 0)
		is = version_of(text, a);
	if (str_eq(is, version))
		return 0;
	return err_set(err, -ESTALE, "%s/%.*s was changed by another program", d->path,
		       STR_ARG(name));
}

static int dir_write(struct store *s, struct str prefix, struct store_record *r, struct arena *a,
		     struct err *err)
{
	struct dir_store *d = of(s);
	AUTO(freep) char *text = NULL;
	AUTO(closep) int lock = lock_dir(d, err);
	struct str name = store_record_name(a, prefix);
	const struct jansson_calls *j;
	int rc = lock < 0 ? lock : jansson_load(&j, err);

	if (rc == 0)
		rc = check_version(d, name, r->version, a, err);
	if (rc < 0)
		return rc;
	text = record_json(j, r);
	if (!text)
		return failed(d, err, "write", name, -ENOMEM);
	rc = write_temp(d, name, str_of(text), err);
	if (rc >= 0)
		rc = settle(d, rc, name, err);
	if (rc == 0)
		rc = sync_dir(d, err);
	if (rc == 0)
		r->version = version_of(str_of(text), a);
	return rc;
}

static int dir_drop(struct store *s, struct str prefix, struct str version, struct err *err)
{
	struct dir_store *d = of(s);
	AUTO(closep) int lock = lock_dir(d, err);
	AUTO(arena_release) struct arena a;
	struct str name;
	int rc = lock < 0 ? lock : 0;

	arena_init(&a, RECORD_MAX);
	name = store_record_name(&a, prefix);
	if (rc == 0)
		rc = check_version(d, name, version, &a, err);
	if (rc == 0)
		rc = dir_remove(s, &name, 1, err);
	return rc;
}

static void dir_close(struct store *s)
{
	struct dir_store *d = of(s);

	close(d->fd);
	free(d->path);
	free((void *)d->store.where);
	free(d);
}

static const struct store_calls dir_calls = {
	.put = dir_put,
	.copy = dir_copy,
	.get = dir_get,
	.remove = dir_remove,
	.list = dir_list,
	.prefixes = dir_prefixes,
	.read = dir_read,
	.write = dir_write,
	.drop = dir_drop,
	.close = dir_close,
};

int store_open_dir(const char *path, struct store **out, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dir_store *d;
	char why[128];

	if (fd < 0) {
		int code = -errno;

		return err_set(err, code, "open %s: %s", path, errno_text(-code, why, sizeof(why)));
	}
	d = mem_zeroed(1, sizeof(*d));
	d->store.calls = &dir_calls;
	d->store.where = mem_printf("dir:%s", path);
	d->path = mem_str(str_of(path));
	d->fd = fd;
	*out = &d->store;
	return 0;
}
