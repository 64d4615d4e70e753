/*
 * packages.h - which package of the system a file belongs to
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_PACKAGES_H
#define REPORT_PACKAGES_H

#include "base/str.h"

struct arena;

/* Debian's lists of what packages have installed. */
#define PACKAGES_FOLDER "/var/lib/dpkg/info"

/*
 * packages_debug() is the package that has the debug symbols of the file 'path', by the lists in
 * 'folder': "libfoo1-dbgsym", or "libc6-dbg", which is older than the rule.  "" if no package has
 * the file.  The result lives in 'a'.  Reads all lists: for a few files only.
 */
struct str packages_debug(const char *folder, struct str path, struct arena *a);

#endif /* REPORT_PACKAGES_H */
