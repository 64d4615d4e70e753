/*
 * assembly.h - machine code with the value of every instruction
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_ASSEMBLY_H
#define REPORT_ASSEMBLY_H

#include "base/arena.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct err;
struct report;

struct assembly_line {
	uint64_t address;
	struct str text;
	struct str place; /* "function file:line", as far as known; "" if not */
	int64_t flat, cum;
};

/* One function of a binary. */
struct assembly_routine {
	struct str *names; /* the first is what it is called, the others are aliases */
	size_t nnames;
	int64_t flat, cum;
	struct assembly_line *lines;
	size_t nlines;
};

struct assembly {
	struct arena arena;                /* everything lives here */
	struct assembly_routine *routines; /* by name */
	size_t n;
};

/*
 * assembly_init() disassembles the functions that match the report's parameter, or include the
 * address it is, and that have samples.  A value between two instructions counts for the first.
 * -ENOENT and the reference's message if there is none.  A binary that cannot be opened is
 * complained about.  Release with assembly_release(), whatever it returns.
 */
int assembly_init(struct assembly *a, struct report *r, struct err *err);
void assembly_release(struct assembly *a);

#endif /* REPORT_ASSEMBLY_H */
