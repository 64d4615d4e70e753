/*
 * file.h - whole files in, whole files out
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/out.h"
#include "base/str.h"

#include <stdbool.h>

struct err;
struct window;

/* The bytes of a file. */
struct file_bytes {
	char *p;
	size_t n;
	bool mapped;           /* private, as what follows: from mmap(), not from malloc() */
	struct window *window; /* of file_map_fd(), or NULL */
};

/*
 * file_read() brings in all of 'path', at most 'max' bytes.  Failure: a negative errno, and
 * "open <path>: <why>" or "read <path>: <why>" in 'err', as the reference tool words it;
 * -EFBIG for a file larger than 'max'.  Release with file_bytes_release().
 */
int file_read(const char *path, size_t max, struct file_bytes *out, struct err *err);
/* The same for an open descriptor; 'name' is for the message.  The descriptor stays open. */
int file_read_fd(int fd, const char *name, size_t max, struct file_bytes *out, struct err *err);
void file_bytes_release(struct file_bytes *b);

/*
 * file_map() and file_map_fd() are the same without a copy, where the file can be mapped.  For
 * files that are large, or that little is looked at of, and only for readers that look at no byte
 * twice: base/window.h says why.  When all has been read, file_bytes_check() is 0, or -EIO and a
 * sentence if the file became shorter meanwhile.  file_bytes_own() makes it a copy after all, or
 * fails as file_bytes_check() does; bytes that are not mapped stay where they are.
 */
int file_map(const char *path, size_t max, struct file_bytes *out, struct err *err);
int file_map_fd(int fd, const char *name, size_t max, struct file_bytes *out, struct err *err);
int file_bytes_check(const struct file_bytes *b, const char *name, struct err *err);
int file_bytes_own(struct file_bytes *b, const char *name, struct err *err);
/* What is between 'from' and 'to' has been read; if it is mapped, it takes no memory any more. */
void file_bytes_pass(const struct file_bytes *b, size_t from, size_t to);

/*
 * A file that appears whole or not at all: bytes go to a temporary file in the same folder,
 * and file_commit() renames it.  An existing file keeps its permissions; a symbolic link is
 * followed; what is not a regular file (a pipe, /dev/stdout) is written to directly.
 *
 *	rc = file_create(&f, path, err);
 *	out_...(&f.out, ...);
 *	rc = file_commit(&f, err);	or file_abandon(&f)
 *
 * After file_create() has failed, or file_commit() has returned, there is nothing to release.
 */
struct file_new {
	struct out out;
	char *given;        /* private: what the caller calls it, for messages */
	char *path;         /* private: where it is to appear, or the part before the number */
	char *temp;         /* private: NULL when written directly */
	const char *suffix; /* private: what follows the number, or NULL */
};

int file_create(struct file_new *f, const char *path, struct err *err);

/*
 * file_create_numbered() is file_create() for "<prefix>NNN<suffix>" with the first NNN from
 * 001 to 9999 that is free when it is committed.  'suffix' must outlive 'f'.
 */
int file_create_numbered(struct file_new *f, const char *prefix, const char *suffix,
			 struct err *err);

/* 'name', if not NULL, receives the path the file now has; the caller frees it. */
int file_commit(struct file_new *f, char **name, struct err *err);
void file_abandon(struct file_new *f);

/*
 * file_make_folders() makes the folder 'path' and those above it that are missing.  0 or a negative
 * errno; '*at', if not NULL, then is the one that could not be made, to be freed.
 */
int file_make_folders(const char *path, unsigned mode, char **at);

#endif /* BASE_FILE_H */
