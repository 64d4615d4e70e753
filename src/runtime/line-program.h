/*
 * line-program.h - files and lines of addresses, from .debug_line
 *
 * Every unit's program is run once, for all addresses that are asked for.  Nothing is kept.
 *
 * Code that was inlined has the lines of where it was written.  Who is asked about here is the
 * function that has it in its own code, so the answer is the last line of its own before that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_LINE_PROGRAM_H
#define RUNTIME_LINE_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

/* The second has a zero behind its last byte, or is NULL. */
struct sonde__line_sections {
	const uint8_t *line, *strings; /* .debug_line, .debug_line_str */
	size_t nline, nstrings;
};

struct sonde__spot {
	uint64_t pc, start;        /* addresses in the file: the place, its function */
	uint32_t line, start_line; /* 0: not known */
	uint32_t file;             /* what 'keep' made of its path; 0: not known */
};

/* Spots come by 'pc'. */
void sonde__line_program(const struct sonde__line_sections *s, struct sonde__spot *spots, size_t n,
			 uint32_t (*keep)(const char *path));

#endif /* RUNTIME_LINE_PROGRAM_H */
