/*
 * legacy-folded.h - folded stacks: one line per stack, as flame graphs are made from
 *
 *	main;parse;read 12
 *
 * Root first, frames apart by ";", and after the last blank how often.  A name may contain
 * blanks.  Lines that begin with "#" and empty ones are skipped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_LEGACY_FOLDED_H
#define PROFILE_LEGACY_FOLDED_H

#include "base/str.h"

struct err;
struct profile;

/*
 * folded_parse() reads 'data' into a profile with the sample type samples/count, which the
 * caller frees with profile_free(); it keeps no pointer into 'data'.  On failure '*out' stays
 * as it was:
 *
 *	-ENOTSUP	the first line is not a stack: "unrecognized profile format"
 *	-EBADMSG	it is, with a ";", but a later line is not; the message names the line
 *
 * Any text can look like one line of this, so try it after everything else.
 */
int folded_parse(struct str data, struct profile **out, struct err *err);

#endif /* PROFILE_LEGACY_FOLDED_H */
