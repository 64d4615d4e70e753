/*
 * encode.h - from a struct profile to profile.proto bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_ENCODE_H
#define PROFILE_ENCODE_H

struct out;
struct profile;

/*
 * profile_encode() appends the uncompressed message to 'o', byte for byte as the reference does
 * (order of fields and strings, lists packed from three numbers on), plus the columns and the
 * documentation link, which it would lose.
 */
void profile_encode(const struct profile *p, struct out *o);

/* The same through gzip. */
void profile_write(const struct profile *p, struct out *o);

#endif /* PROFILE_ENCODE_H */
