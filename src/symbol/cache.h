/*
 * cache.h - frames that were found once, on disk
 *
 * Finding the frames of an address in the debug information of a large program takes long, and
 * they never change: so they are kept, one file per binary and state of its debug information,
 * which the name of the file tells.  What is in the folder was written by us, but is read as if
 * a stranger had: anything may happen to a file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_CACHE_H
#define SYMBOL_CACHE_H

#include "base/file.h"
#include "elf/elf-lines.h"

#include <stddef.h>
#include <stdint.h>

/* The folder never has more bytes than this, unless the caller says otherwise. */
#define SYMBOL_CACHE_MAX ((uint64_t)256 << 20)

/* What the names of its files end in. */
#define CACHE_SUFFIX ".sym"

struct err;
struct cache_frame;

/* The frames of addresses[i] are frames[first[i]] up to frames[first[i + 1]], innermost first. */
struct frame_list {
	const uint64_t *addresses; /* in ascending order, each once */
	size_t n;
	const struct elf_frame *frames;
	const uint32_t *first;
};

/* What a file of the cache has, in place. */
struct cached_frames {
	struct file_bytes bytes;
	size_t n;                  /* addresses */
	const uint64_t *addresses; /* as in frame_list */
	const uint32_t *first;
	const struct cache_frame *frames;
	const uint32_t *ends; /* of strings in 'text' */
	const char *text;
};

/*
 * cached_parse() checks 'bytes', from their first to their last; 'c' then points into them.
 * Returns 0, or -EBADMSG for what no cache_store() has written.
 */
int cached_parse(struct str bytes, struct cached_frames *c);

/* The frame 'i' of all; its strings are in 'c'. */
struct elf_frame cached_frame(const struct cached_frames *c, size_t i);

/*
 * cache_load() reads the file 'name' in 'folder', and notes that it was used.  Returns 0 or a
 * negative errno, -ENOENT if there is none; release with cached_release().
 */
int cache_load(const char *folder, const char *name, struct cached_frames *c);
void cached_release(struct cached_frames *c);

/*
 * cache_store() puts 'list' in the file 'name'.
 * Makes the folder and two above it if need be; removes what has not been used for longest where
 * the folder would get larger than 'limit'.  Returns 0, or a negative errno and why.
 */
int cache_store(const char *folder, const char *name, const struct frame_list *list, uint64_t limit,
		struct err *err);

#endif /* SYMBOL_CACHE_H */
