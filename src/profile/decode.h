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

struct err;
struct profile;
struct strings;

/*
 * profile_decode() parses one uncompressed perftools.profiles.Profile message.  Unknown fields
 * are skipped.
 *
 * On success it returns 0 and stores in '*out' a profile that the caller frees with
 * profile_free().  The profile keeps no pointer into 'bytes'.  Its strings go to 'strings', if that
 * is not NULL.
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
int profile_decode(struct str bytes, struct strings *strings, struct profile **out,
		   struct err *err);

/*
 * profile_parse() is profile_decode() for any format we read: what is not a Profile message is
 * offered to the parsers of legacy.h.  Messages as the reference words them
 * ("parsing profile: unrecognized profile format"), with the place added where bytes that begin
 * as a Profile message go wrong later.
 */
int profile_parse(struct str bytes, struct strings *strings, struct profile **out, struct err *err);

#endif /* PROFILE_DECODE_H */
