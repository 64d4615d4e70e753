/*
 * symbolize.h - give a profile's addresses the names of functions, with files and lines
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_SYMBOLIZE_H
#define SYMBOL_SYMBOLIZE_H

#include "symbol/remote.h"

#include <stdint.h>

struct debug_server;
struct err;
struct notify;
struct profile;

struct symbolize_options {
	const char *mode; /* of -symbolize */
	struct notify *notify;
	const char *debug_folders;   /* with ':' between them; NULL: /usr/lib/debug */
	const char *cache_folder;    /* for what was found; NULL: nowhere */
	uint64_t cache_limit;        /* in bytes; 0: SYMBOL_CACHE_MAX */
	struct debug_server *server; /* for what is not here; NULL: none */
	struct remote_options remote;
};

/*
 * profile_symbolize() does what -symbolize=<mode> asks for: words separated by ':', in any case.
 *
 *	""			names from binaries, then from the server the profile came from
 *	none, no		nothing at all
 *	local			from binaries on this machine
 *	fastlocal		from their symbol tables: no files, no lines
 *	remote			from the server the profile came from
 *	force			mappings that have names already as well
 *	demangle=WORD		full, none, templates: how C++ names are shown, and 'force';
 *				default
 *
 * Other words are complained about through the notify and ignored, as is a binary that cannot be
 * opened or has another build id than its mapping.  Names of functions are then demangled.
 *
 * Functions inlined at an address become several lines of its location, innermost first.  What a
 * profile already says about a location is kept where that is more than we find.
 *
 * 'p' must own its arrays.  Returns 0, -EOVERFLOW where the profile has no room for more lines, or
 * what symbolize_remotely() says.  Binaries are looked at on all cores; memory is that of the
 * largest ones.
 */
int profile_symbolize(struct profile *p, const struct symbolize_options *o, struct err *err);

#endif /* SYMBOL_SYMBOLIZE_H */
