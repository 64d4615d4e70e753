/*
 * file.c - whole files in, whole files out
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/scratch.h"
#include "base/window.h"
#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
	SOME = 64 << 10, /* room for a file of unknown size, at first */
	LARGE = 4 << 20, /* from here on it pays to have */
	HUGE_PAGE = 2 << 20,
};

static int failed(struct err *err, const char *what, const char *path, int code)
{
	char why[128];

	return err_set(err, code, "%s %s: %s", what, path, errno_text(-code, why, sizeof(why)));
}

/* Room for a file: with huge pages where it is large, since faults then take most of the time. */
static char *new_room(size_t n)
{
	size_t size = (n + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	char *p;

	if (n < LARGE || size < n)
		return malloc(n);
	p = aligned_alloc(HUGE_PAGE, size);
	if (p)
		(void)madvise(p, size, MADV_HUGEPAGE);
	return p;
}

/* Where the bytes come from. */
struct origin {
	int fd;
	bool regular; /* read from its beginning, whatever has been done with the descriptor */
	size_t size;  /* how many bytes there are likely to be */
};

static struct origin look_at(int fd)
{
	struct origin o = { .fd = fd };
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		o = (struct origin){ fd, true, (size_t)st.st_size };
	return o;
}

static ssize_t read_some(const struct origin *o, char *p, size_t n, size_t at)
{
	return o->regular ? pread(o->fd, p, n, (off_t)at) : read(o->fd, p, n);
}

static int read_all(const struct origin *o, const char *name, size_t max, struct file_bytes *b,
		    struct err *err)
{
	size_t cap = o->regular ? o->size + 1 : SOME, n = 0; /* one more, to see the end */
	AUTO(freep) char *p = new_room(cap);
	ssize_t got = 1;

	if (!p)
		return failed(err, "read", name, -ENOMEM);
	while (got != 0) {
		if (n == cap) {
			char *more = realloc(p, cap * 2);

			if (!more)
				return failed(err, "read", name, -ENOMEM);
			p = more;
			cap *= 2;
		}
		got = read_some(o, p + n, cap - n, n);
		if (got < 0 && errno != EINTR)
			return failed(err, "read", name, -errno);
		n += got > 0 ? (size_t)got : 0;
		if (n > max)
			return failed(err, "read", name, -EFBIG);
	}
	*b = (struct file_bytes){ .p = TAKE(p), .n = n };
	return 0;
}

int file_read_fd(int fd, const char *name, size_t max, struct file_bytes *b, struct err *err)
{
	struct origin o = look_at(fd);

	if (o.size > max)
		return failed(err, "read", name, -EFBIG);
	return read_all(&o, name, max, b, err);
}

int file_map_fd(int fd, const char *name, size_t max, struct file_bytes *b, struct err *err)
{
	struct origin o = look_at(fd);
	struct window *w;

	if (o.size > max)
		return failed(err, "read", name, -EFBIG);
	w = o.regular ? window_open(fd, o.size, true) : NULL;
	if (!w)
		return read_all(&o, name, max, b, err);
	*b = (struct file_bytes){ window_bytes(w), o.size, true, w };
	return 0;
}

int file_bytes_check(const struct file_bytes *b, const char *name, struct err *err)
{
	return window_check(b->window, name, err);
}

void file_bytes_pass(const struct file_bytes *b, size_t from, size_t to)
{
	if (b->window)
		window_pass(b->window, from, to);
}

int file_bytes_own(struct file_bytes *b, const char *name, struct err *err)
{
	struct file_bytes copy = { .n = b->n };
	int rc;

	if (!b->window)
		return 0;
	copy.p = new_room(copy.n);
	if (!copy.p)
		return failed(err, "read", name, -ENOMEM);
	memcpy(copy.p, b->p, copy.n);
	rc = file_bytes_check(b, name, err);
	if (rc) {
		file_bytes_release(&copy);
		return rc;
	}
	file_bytes_release(b);
	*b = copy;
	return 0;
}

int file_read(const char *path, size_t max, struct file_bytes *b, struct err *err)
{
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return failed(err, "open", path, -errno);
	return file_read_fd(fd, path, max, b, err);
}

int file_map(const char *path, size_t max, struct file_bytes *b, struct err *err)
{
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return failed(err, "open", path, -errno);
	return file_map_fd(fd, path, max, b, err);
}

void file_bytes_release(struct file_bytes *b)
{
	if (b->window)
		window_close(b->window);
	else if (b->mapped)
		munmap(b->p, b->n);
	else
		free(b->p);
	*b = (struct file_bytes){ 0 };
}

static void forget(struct file_new *f)
{
	if (f->out.fd >= 0)
		close(f->out.fd);
	out_release(&f->out);
	if (f->temp)
		scratch_forget(f->temp);
	free(f->given);
	free(f->path);
	free(f->temp);
	*f = (struct file_new){ .out.fd = -1 };
}

static int open_direct(struct file_new *f, const char *path, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0)
		return failed(err, "open", path, -errno);
	*f = (struct file_new){ .given = mem_str(str_of(path)), .path = mem_str(str_of(path)) };
	out_init_fd(&f->out, fd);
	return 0;
}

/* Takes over 'path', which may be another one than the caller knows: that of a link's file. */
static int open_temp(struct file_new *f, const char *given, char *path, mode_t mode,
		     struct err *err)
{
	char *temp = mem_printf("%s.XXXXXX", path);
	int fd = mkostemp(temp, O_CLOEXEC);
	int code = -errno;

	if (fd < 0) {
		failed(err, "open", given, code);
		free(temp);
		free(path);
		return code;
	}
	scratch_add(temp);
	(void)fchmod(fd, mode);
	*f = (struct file_new){ .given = mem_str(str_of(given)), .path = path, .temp = temp };
	out_init_fd(&f->out, fd);
	return 0;
}

int file_create(struct file_new *f, const char *path, struct err *err)
{
	struct stat st;
	mode_t mask;
	char *real;

	if (stat(path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return open_direct(f, path, err);
		if (access(path, W_OK) != 0)
			return failed(err, "open", path, -errno);
		real = realpath(path, NULL);
		if (real)
			return open_temp(f, path, real, st.st_mode & 07777, err);
	}
	mask = umask(0);
	umask(mask);
	return open_temp(f, path, mem_str(str_of(path)), 0666 & ~mask, err);
}

int file_create_numbered(struct file_new *f, const char *prefix, const char *suffix,
			 struct err *err)
{
	mode_t mask = umask(0);
	int rc;

	umask(mask);
	rc = open_temp(f, prefix, mem_str(str_of(prefix)), 0666 & ~mask, err);
	if (rc == 0)
		f->suffix = suffix;
	return rc;
}

/* Never replaces a file: two programs that choose at once get different numbers. */
static int rename_numbered(struct file_new *f)
{
	for (int i = 1; i < 10000; i++) {
		char *path = mem_printf("%s%03d%s", f->path, i, f->suffix);

		if (renameat2(AT_FDCWD, f->temp, AT_FDCWD, path, RENAME_NOREPLACE) == 0) {
			free(f->path);
			f->path = path;
			return 0;
		}
		free(path);
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int rename_into_place(struct file_new *f)
{
	if (f->suffix)
		return rename_numbered(f);
	if (f->temp && rename(f->temp, f->path) != 0)
		return -errno;
	return 0;
}

int file_commit(struct file_new *f, char **name, struct err *err)
{
	int rc = out_finish(&f->out);
	int fd = f->out.fd;

	f->out.fd = -1;
	if (close(fd) != 0 && rc == 0)
		rc = -errno;
	if (rc == 0)
		rc = rename_into_place(f);
	if (rc != 0) {
		failed(err, "write", f->given, rc);
		file_abandon(f);
		return rc;
	}
	if (name)
		*name = TAKE(f->path);
	forget(f);
	return 0;
}

void file_abandon(struct file_new *f)
{
	if (f->temp)
		(void)unlink(f->temp);
	forget(f);
}

/* ------------------------------------------------------------------ folders */

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int make_folder(const char *path, unsigned mode)
{
	if (is_folder(path) || mkdir(path, mode) == 0)
		return 0;
	if (errno == EEXIST) /* another process was faster, or it is a file */
		return is_folder(path) ? 0 : -ENOTDIR;
	return -errno;
}

int file_make_folders(const char *path, unsigned mode, char **at)
{
	AUTO(freep) char *part = mem_str(str_of(path));
	int rc = 0;

	for (char *p = part + 1; rc == 0 && *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		rc = make_folder(part, mode);
		if (rc == 0)
			*p = '/';
	}
	if (rc == 0)
		rc = make_folder(part, mode);
	if (rc && at)
		*at = TAKE(part);
	return rc;
}
