/*
 * web-code.h - the instructions around what is looked for, with frames and values
 *
 * The first half of a web listing: which functions are wanted, where their code is, what it is,
 * and how much each instruction is worth.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_WEB_CODE_H
#define REPORT_WEB_CODE_H

#include "base/arena.h"
#include "base/str.h"
#include "elf/elf-lines.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct report;

/* One of the functions an instruction is part of. */
struct web_frame {
	struct str function, file;
	int64_t line;
};

/* An instruction, or a place in a profile that there is no code for: then 'text' is "". */
struct web_inst {
	uint64_t address; /* in the process */
	uint64_t in_file; /* as the file was linked */
	uint32_t length;  /* up to the next one; 1 for the last */
	uint32_t nframes;
	const struct web_frame *frames; /* innermost first */
	struct str text;
	struct str file; /* where this very instruction comes from */
	int64_t line;
	int64_t flat, cum;
};

struct web_code {
	struct arena arena;
	const struct profile *p;
	struct web_inst *insts; /* in the order in which they are to be shown */
	size_t n, cap;
	bool inlined;     /* private: frames of Go programs are those of inlined calls, too */
	uint8_t *wanted;  /* private: per string, whether it is the name of a wanted function */
	uint32_t *pretty; /* private: per string, the name of the function that has this system name
			   */
};

/*
 * web_code_init() finds the code of functions that match the report's parameter by name, system
 * name, file or binary, or that have samples at the address it is.  'inlined' is that of
 * object_frames().  -ENOENT and the reference's message if there is none.  Release with
 * web_code_release(), whatever it returns.
 */
int web_code_init(struct web_code *w, struct report *r, bool inlined, struct err *err);
void web_code_release(struct web_code *w);

/* Whether a function is one of those looked for, by the name that frames have. */
bool web_code_wants(struct web_code *w, struct str function);

/* A function's name for people. */
struct str web_code_name(struct web_code *w, struct str function);

#endif /* REPORT_WEB_CODE_H */
