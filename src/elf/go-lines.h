/*
 * go-lines.h - the line table that every Go program carries (.gopclntab)
 *
 * It is there in stripped programs, too, and it is what Go's own tools go by.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ELF_GO_LINES_H
#define ELF_GO_LINES_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_file;

struct go_lines {
	struct str data;                /* private, as all that follows */
	struct str names, files, units; /* functions' names, files' names, files of a unit */
	struct str values, functions;   /* pc-value tables; functions, and their index */
	uint64_t text;                  /* where the code starts; offsets count from here */
	uint32_t nfunctions;
	uint8_t version, quantum, pointer, field; /* sizes in bytes */
	bool big_endian;
};

/* What an address belongs to: as Go's tools have it, the function is the one it was inlined into,
 * and file and line are those of the code itself. */
struct go_line {
	struct str function, file;
	int64_t line;
	uint64_t start, end; /* of the function */
};

/*
 * False if 'f' is not a Go program, or an old or damaged one.  'f' must outlive 'g', and its
 * symbols should have been read: the one of a program that can be loaded anywhere says where its
 * code is.
 */
bool go_lines_init(struct go_lines *g, const struct elf_file *f);

/* The same for the bytes of a table alone, which must outlive 'g'. */
bool go_lines_parse(struct go_lines *g, struct str table);

/* False for an address that is in no function.  Parts of 'line' that are not known are empty. */
bool go_lines_find(const struct go_lines *g, uint64_t address, struct go_line *line);

#endif /* ELF_GO_LINES_H */
