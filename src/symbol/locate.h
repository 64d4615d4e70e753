/*
 * locate.h - find the binaries a profile was taken from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_LOCATE_H
#define SYMBOL_LOCATE_H

struct notify;
struct profile;

/*
 * binaries_locate() looks in the folders of 'search_path' (separated by ':') for a copy of the
 * binary of each mapping, and where it finds one makes that the mapping's file.  For a mapping
 * of /usr/bin/server with build id abcdef, the places in folder P are, first to last
 *
 *	P/abcdef/server
 *	P/abcdef/<any file>
 *	P/usr/bin/server/abcdef
 *	P/ab/cdef.debug
 *	P/server
 *	P/usr/bin/server
 *	P/usr/bin/server.debug
 *	P/usr/bin/.debug/server.debug
 *	P/usr/lib/debug/usr/bin/server.debug
 *
 * A file is taken only if its own build id is the mapping's; of one that has another, 'n' is
 * told.  A mapping without a build id takes the first binary there is.  A mapping for which
 * there is nothing stays as it is.
 *
 * A profile without mappings gets one, of everything, so that a binary can be named for it.
 *
 * 'p' must own its arrays: freshly parsed, no view.  Any thread may call this.
 */
void binaries_locate(struct profile *p, const char *search_path, struct notify *n);

#endif /* SYMBOL_LOCATE_H */
