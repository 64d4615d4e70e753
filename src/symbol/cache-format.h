/*
 * cache-format.h - the bytes of a file of the cache
 *
 * Numbers are the machine's: a file of another kind of machine has another magic number.  Behind
 * the header follow, without gaps,
 *
 *	uint64_t addresses[naddresses]
 *	uint32_t first[naddresses + 1]
 *	struct cache_frame frames[nframes]
 *	uint32_t ends[nstrings]			where each string ends; the first one starts at 0
 *	char text[ntext]
 *
 * Private to the cache.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_CACHE_FORMAT_H
#define SYMBOL_CACHE_FORMAT_H

#include <stdint.h>

/* Changes with the format: an old file is then as good as none. */
#define CACHE_MAGIC UINT64_C(0x31306d7973646e73)

struct cache_header {
	uint64_t magic;
	uint64_t checksum; /* of all that follows this member */
	uint64_t naddresses, nframes, nstrings, ntext;
};

struct cache_frame {
	uint32_t function, file; /* strings */
	uint32_t line, column, start_line;
};

enum { CACHE_UNSUMMED = 16 }; /* bytes before what the checksum is of */

#endif /* SYMBOL_CACHE_FORMAT_H */
