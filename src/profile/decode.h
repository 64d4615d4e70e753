/*
 * decode.h - from bytes to a struct profile
 *
 * This is the program's trust boundary.  Before it, bytes from a stranger; after it, every
 * caller may rely on the invariants listed in profile.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_DECODE_H
#define PROFILE_DECODE_H

#include "base/str.h"

#include <stdbool.h>

struct decoder;
struct err;
struct profile;
struct strings;

/*
 * Profiles are large, and unpacking them takes as long as reading them.  A head start is a thread
 * that reads what has been unpacked already:
 *
 *	h = head_start_new(strings);
 *	head_start_feed(h, p, n, expected);	... with more and more bytes
 *	rc = profile_parse(bytes, strings, h, &profile, err);
 *	head_start_free(h);
 *
 * Bytes once fed must not move until profile_parse() or head_start_cancel(), after which nobody
 * looks at them.  What the head start does not understand is left to profile_parse(), which gives
 * the same result with and without one.
 */
struct head_start;

struct head_start *head_start_new(struct strings *strings);
/* The first 'n' bytes at 'p' are there, of about 'expected'. */
void head_start_feed(struct head_start *h, const char *p, size_t n, size_t expected);
void head_start_cancel(struct head_start *h);
void head_start_free(struct head_start *h);
/* For profile_decode(): ends it, and hands over what has been read.  False if that is nothing. */
bool head_start_take(struct head_start *h, struct decoder *d);

/*
 * profile_decode() parses one uncompressed perftools.profiles.Profile message.  Unknown fields
 * are skipped.
 *
 * On success it returns 0 and stores in '*out' a profile that the caller frees with
 * profile_free().  The profile keeps no pointer into 'bytes'.  Its strings go to 'strings', if that
 * is not NULL; 'ahead' may be NULL, too.
 *
 * On failure it returns one of the codes below, leaves '*out' as it was, and describes the
 * failure in 'err':
 *
 *	-EBADMSG	the bytes are not such a message ("byte 12: expected a number")
 *	-ENODATA	there are no bytes ("empty input file")
 *	-ENOTUNIQ	it is several profiles ("concatenated profiles detected")
 *	-EILSEQ		a message, but not a valid profile ("sample has nil location")
 *	-ENOMEM		the profile needs more memory than PROFILE_BUDGET
 *
 * Time and memory are linear in the number of bytes; all cores take part.
 */
int profile_decode(struct str bytes, struct strings *strings, struct head_start *ahead,
		   struct profile **out, struct err *err);

/*
 * profile_parse() is profile_decode() for any format we read: what is not a Profile message is
 * offered to the parsers of legacy.h.  Messages as the reference words them
 * ("parsing profile: unrecognized profile format"), with the place added where bytes that begin
 * as a Profile message go wrong later.
 */
int profile_parse(struct str bytes, struct strings *strings, struct head_start *ahead,
		  struct profile **out, struct err *err);

#endif /* PROFILE_DECODE_H */
