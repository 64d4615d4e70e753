/*
 * eh-frame.h - unwind tables from .eh_frame
 *
 * The bytes come from whatever the host has loaded: nothing in them is believed.  Entries that make
 * no sense are left out, and code they were for is walked by frame pointer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_EH_FRAME_H
#define RUNTIME_EH_FRAME_H

#include "runtime/unwind-rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__eh_frame {
	const uint8_t *bytes; /* of .eh_frame */
	size_t n;
	uint64_t address;    /* where they were in memory */
	uint64_t text, data; /* what pointers may be relative to; 0: nothing */
	uint64_t low, high;  /* code that rows are wanted for; pcs count from 'low' */
};

/*
 * Length of the .eh_frame at 'bytes', with its terminator if it has one, not more than 'n': walks
 * lengths only.
 */
size_t sonde__eh_frame_length(const uint8_t *bytes, size_t n);

/*
 * Reads '.eh_frame_hdr' of 'n' bytes that is at 'address' in memory; false if it does not say where
 * .eh_frame is.
 */
bool sonde__eh_frame_find(const uint8_t *hdr, size_t n, uint64_t address, uint64_t *eh_frame);

/*
 * The rule at 'pc' of the entry at 'at' bytes into the section, and of no other: looks at that
 * entry and the one it refers to only, and needs no memory.
 */
uint32_t sonde__eh_frame_rule(const struct sonde__eh_frame *in, uint64_t at, uint64_t pc);

/*
 * Fills in 't' with at most 'max_rows' rows in memory from os.h.  0, -ENOENT when there is nothing
 * in it, -ENOMEM when there is no memory; -E2BIG when there are too many rows.
 */
int sonde__table_build(struct sonde__table *t, const struct sonde__eh_frame *in, size_t max_rows);
void sonde__table_release(struct sonde__table *t);

#endif /* RUNTIME_EH_FRAME_H */
