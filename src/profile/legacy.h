/*
 * legacy.h - profiles in the formats that were there before profile.proto
 *
 * The text and binary formats that the reference tool reads, recognised in its order and by
 * its rules, and two that it does not: jemalloc's "heap_v2/RATE" and folded stacks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_LEGACY_H
#define PROFILE_LEGACY_H

#include "base/str.h"

struct err;
struct profile;

/*
 * legacy_parse() finds out what 'data' (not compressed) is, and reads it.  On success it
 * stores in '*out' a profile that the caller frees with profile_free(), and that keeps no
 * pointer into 'data'.  On failure '*out' stays as it was:
 *
 *	-ENOTSUP	none of the formats: "unrecognized profile format"
 *	-EBADMSG	one of them, but malformed; the message is the reference's
 *	-EMSGSIZE	a line of 64 KiB or more where the reference reads line by line
 *	-E2BIG		a memory map whose $variables grow out of proportion
 *
 * Time and memory are linear in the size of 'data', but for a factor log(mappings).
 */
int legacy_parse(struct str data, struct profile **out, struct err *err);

#endif /* PROFILE_LEGACY_H */
