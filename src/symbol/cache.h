/*
 * cache.h - frames that were found once, on disk
 *
 * Finding the frames of an address in the debug information of a large program takes long, and
 * they never change: so they are kept, one file per binary and state of its debug information,
 * which the name of the file tells.  What is in the folder was written by us, but is read as if
 * a stranger had: anything may happen to a file.  A large one is used where it is mapped
 * (base/window.h), since a copy takes as long as all else; files come by rename(), and no program
 * writes to one that is there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_CACHE_H
#define SYMBOL_CACHE_H

#include "base/file.h"
#include "symbol/frame-table.h"

#include <stdint.h>

/* The folder never has more bytes than this, unless the caller says otherwise. */
#define SYMBOL_CACHE_MAX ((uint64_t)256 << 20)

/* What the names of its files end in. */
#define CACHE_SUFFIX ".sym"

struct err;

/*
 * cache_load() reads the file 'name' in 'folder', and notes that it was used.  The table points
 * into '*bytes', to be released by the caller.  Returns 0, or a negative errno: -ENOENT if there
 * is none.
 */
int cache_load(const char *folder, const char *name, struct file_bytes *bytes,
	       struct frame_table *t);

/*
 * cache_store() keeps the bytes of a table in the file 'name'.  Makes the folder and two above it
 * if need be; removes what has not been used for longest where the folder would get larger than
 * 'limit'.  Returns 0, or a negative errno and why.
 */
int cache_store(const char *folder, const char *name, struct str table, uint64_t limit,
		struct err *err);

#endif /* SYMBOL_CACHE_H */
