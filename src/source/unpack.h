/*
 * unpack.h - compressed bytes in, plain bytes out
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SOURCE_UNPACK_H
#define SOURCE_UNPACK_H

#include <stddef.h>

struct err;
struct file_bytes;
struct notify;

/*
 * Somebody who wants to begin before everything is there.  grown() is called from the thread that
 * unpacks: the first 'n' bytes at 'p' are there, of about 'expected'.  They stay where they are,
 * unless lost() is called, after which nobody may look at them any more.  After unpack() has
 * returned 0, neither is called.
 */
struct unpack_watcher {
	void (*grown)(struct unpack_watcher *w, const char *p, size_t n, size_t expected);
	void (*lost)(struct unpack_watcher *w);
};

/*
 * unpack() replaces '*b' by what it holds: the content of a gzip file (any number of members,
 * as Go reads them) or of a zstd file (any number of frames).  What begins like neither stays
 * as it is, even if it is larger than 'max'.  The compressed bytes are released as soon as the
 * plain ones are there, and the plain ones are written once, to memory of their own.
 *
 * Returns 0.  On failure '*b' is as it was, 'err' has "decompressing profile: <why>", where the
 * reference has it in its words, and the code is one of
 *
 *	-EBADMSG	truncated, or not what its first bytes promise
 *	-EFBIG		the content is larger than 'max' bytes
 *	-ENOMEM		there is no memory for it
 *	-EIO		the file became shorter meanwhile; file_bytes_check() says so, too
 *
 * Memory: never more than the content, nor than 'max', beside the input.  Time is linear.
 * 'n' learns of progress on large input.  Any thread may call it.  'w' may be NULL; it is not
 * called for small input.
 */
int unpack(struct file_bytes *b, size_t max, struct unpack_watcher *w, struct notify *n,
	   struct err *err);

#endif /* SOURCE_UNPACK_H */
