/*
 * check.h - is this a valid profile?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_CHECK_H
#define PROFILE_CHECK_H

struct err;
struct profile;

/*
 * profile_check_tables() makes sure that mappings, functions and locations have ids that are not 0
 * and unique, and that every line has a function.  0, or -EILSEQ and the reference's message.
 */
int profile_check_tables(const struct profile *p, struct err *err);

#endif /* PROFILE_CHECK_H */
