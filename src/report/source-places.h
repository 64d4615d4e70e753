/*
 * source-places.h - where people's source files are, when they are not where a profile says
 *
 * A profile names files as the build saw them: on another machine, in a container, or, with Go's
 * -trimpath, not at all.  Here is where such a file may be on this machine.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_SOURCE_PLACES_H
#define REPORT_SOURCE_PLACES_H

#include "base/str.h"

#include <stdbool.h>

struct source_places {
	struct str search;     /* the source path: folders with colons between them */
	struct str binary;     /* the program, or "" */
	struct str go_root;    /* Go's own packages, or "" for the usual places */
	struct str go_modules; /* module caches: folders with colons between them */
};

/*
 * source_places_search() offers 'try' one name after the other for 'path', the name that a profile
 * has, until it returns true.  In order:
 *
 *	next to the build	the end of 'path' below the program's folder
 *	Debian's sources	the end of 'path' below /usr/src, /usr/src/debug and
 *				/usr/lib/debug/usr/src, and in each folder there
 *	Go's packages		/usr/local/go/src/fmt/print.go, $GOROOT/src/..., fmt/print.go
 *	Go's module cache	.../pkg/mod/..., github.com/Some/module@v1.2.3/file.go
 *	vendor folders		of 'search' and above; and the module that is there itself
 *
 * Never for a path with a ".." in it, so never outside of these folders.  False if nothing was
 * taken.
 */
bool source_places_search(const struct source_places *p, struct str path,
			  bool (*try)(const char *name, void *ctx), void *ctx);

#endif /* REPORT_SOURCE_PLACES_H */
