/*
 * frame-table.h - the frames of many addresses of one binary, as one piece of memory
 *
 * What is found in a binary and what is kept in the cache look the same: a file of the cache is
 * used where it is mapped.  Functions are named once, however many frames they have, with their
 * readable names beside those of the linker, since making them readable takes time.
 *
 * Numbers are the machine's: a table of another kind of machine has another magic number.  Behind
 * the header follow, without gaps,
 *
 *	uint64_t addresses[naddresses]			in ascending order, each once
 *	uint64_t hashes[ntexts]				hash_bytes() of each text
 *	uint32_t first[naddresses + 1]
 *	struct table_frame frames[nframes]
 *	struct table_function functions[nfunctions]
 *	uint32_t ends[ntexts]				where each text ends; the first starts at 0
 *	char text[nbytes]				with a NUL byte behind each
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_FRAME_TABLE_H
#define SYMBOL_FRAME_TABLE_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct elf_frames;
struct err;
struct out;

/* Changes with the format, and when a binary is understood in another way: old ones are void. */
#define FRAME_TABLE_MAGIC UINT64_C(0x33306d7973646e73)

struct table_header {
	uint64_t magic;
	uint64_t checksum; /* of all that follows this member */
	uint64_t naddresses, nframes, nfunctions, ntexts, nbytes;
};

struct table_frame {
	uint32_t function;
	uint32_t line, column;
};

struct table_function {
	uint32_t name, readable, file; /* texts */
	uint32_t start_line;
};

/* The frames of addresses[i] are frames[first[i]] up to frames[first[i + 1]], innermost first. */
struct frame_table {
	size_t n; /* addresses */
	const uint64_t *addresses;
	const uint64_t *hashes; /* whoever has written them may be wrong */
	const uint32_t *first;
	const struct table_frame *frames;
	const struct table_function *functions;
	size_t nfunctions;
	const uint32_t *ends;
	size_t ntexts;
	const char *text;
};

/* What has to be in the header of a table: of all bytes but the magic number and itself. */
uint64_t frame_table_checksum(struct str bytes);

/*
 * frame_table_parse() checks 'bytes' from their first to their last, whoever has written them; 't'
 * then points into them.  They must lie at a multiple of eight.  Returns 0, or -EBADMSG.
 */
int frame_table_parse(struct str bytes, struct frame_table *t);

/* The same for what frame_table_build() has written just now: nothing is checked. */
void frame_table_view(struct str bytes, struct frame_table *t);

static inline struct str frame_table_text(const struct frame_table *t, uint32_t i)
{
	uint32_t start = i ? t->ends[i - 1] + 1 : 0;

	return (struct str){ t->text + start, t->ends[i] - start };
}

/*
 * frame_table_build() writes a table of all that is in 'old' and in 'fresh', which has the frames
 * of addresses[0 .. fresh->n), in ascending order, none of them in 'old'.  Returns 0, or -EFBIG
 * where there is more than a table can hold, and says so.
 */
int frame_table_build(const struct frame_table *old, const uint64_t *addresses,
		      const struct elf_frames *fresh, struct out *to, struct err *err);

/* Puts in the checksum, without which nobody else will take it.  No other bytes change. */
void frame_table_seal(struct out *o);

#endif /* SYMBOL_FRAME_TABLE_H */
