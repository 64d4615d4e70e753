/*
 * tar.h - write a tar file, one member after the other
 *
 * As POSIX has it (ustar), with an extended header where a name does not fit, so that every tar
 * reads it, and names with colons survive.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DAEMON_TAR_H
#define DAEMON_TAR_H

#include "base/str.h"

#include <stdint.h>

struct out;

/* A regular file of that name, with '/' between folders; 'when' is seconds after 1970. */
void tar_add(struct out *o, struct str name, int64_t when, struct str bytes);
void tar_end(struct out *o);

#endif /* DAEMON_TAR_H */
