/*
 * binary.h - the file of a program or library: its sections
 *
 * Only the agent reads files.  They are read, not mapped: one that is cut short while we look at it
 * would otherwise kill the host.  A file that is not the one that was loaded (its build id differs)
 * is not opened.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_BINARY_H
#define RUNTIME_BINARY_H

#include "runtime/fd.h"

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__build_id {
	uint8_t bytes[32];
	size_t n; /* 0: none is known, and any file will do */
};

/* All zeros: not open. */
struct sonde__binary {
	struct sonde__fd fd;
	const uint8_t *image; /* or it is in memory, all of it */
	size_t nimage;
	Elf64_Shdr *sections;
	size_t n, mapped;
};

/* False, and closed, if it cannot be read, or is another one. */
bool sonde__binary_open(struct sonde__binary *b, const char *path,
			const struct sonde__build_id *id);
/* What the kernel has put there (the vdso): names no file. */
bool sonde__binary_image(struct sonde__binary *b, const void *image, size_t n);
bool sonde__binary_is_open(const struct sonde__binary *b);
void sonde__binary_close(struct sonde__binary *b);

/* Reads exactly 'n' bytes. */
bool sonde__binary_read(const struct sonde__binary *b, void *to, size_t n, uint64_t offset);
/* The section of that name, or NULL. */
const Elf64_Shdr *sonde__binary_section(const struct sonde__binary *b, const char *name);
/*
 * The bytes of a section, uncompressed if need be, and a zero behind them, in mapped memory; NULL
 * if there is none, or it has more than 'max' bytes.
 */
uint8_t *sonde__binary_load(const struct sonde__binary *b, const char *name, size_t max, size_t *n,
			    size_t *mapped);

/*
 * Where the debug information of the file at 'path' is, if not in the file itself: by its build id,
 * or by the name that it gives.  False if it is nowhere.
 */
bool sonde__binary_open_debug(struct sonde__binary *debug, const struct sonde__binary *b,
			      const char *path, const struct sonde__build_id *id);

#endif /* RUNTIME_BINARY_H */
