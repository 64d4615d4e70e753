/*
 * objects.h - the binaries a profile was taken from, opened to look at their code
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_OBJECTS_H
#define REPORT_OBJECTS_H

#include "base/arena.h"
#include "base/str.h"
#include "elf/elf-lines.h"
#include "elf/go-lines.h"
#include "symbol/binary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code;
struct elf_file;
struct elf_symbol;
struct err;
struct report;

struct object {
	struct binary binary;
	struct elf_file *elf; /* NULL: it cannot be opened; the binary's */
	const struct report *r;
	struct elf_symbol *functions;
	size_t nfunctions;
	bool is_go;
	struct go_lines go;
};

struct objects {
	const struct report *r;
	struct object *at; /* one per binary; private, as all that follows */
	size_t n, cap;
};

/* 'r' must outlive it. */
void objects_init(struct objects *o, const struct report *r);
void objects_release(struct objects *o);

/*
 * The binary of mapping 'm' of the profile, opened the first time it is asked for, and fetched from
 * the debug server where it is not here.  NULL if there is none, or only one with another build id;
 * 'err' then says why, the first time.  The pointer is good until the next call.
 */
struct object *objects_open(struct objects *o, uint32_t m, struct err *err);

/* What to subtract from an address in mapping 'm' to get the address as its file was linked. */
uint64_t object_bias(const struct objects *o, const struct object *object, uint32_t m);

/*
 * object_code() reads code of the file from 'start' to before 'end'; see code_read().  What is
 * called has the name that people know.
 */
int object_code(struct object *o, uint64_t start, uint64_t end, bool intel, struct code *out,
		struct err *err);

/*
 * object_frames() finds function, file and line of 'n' ascending addresses of the file; see
 * elf_resolve().  Of a Go program it says what Go's own tools say: one frame, with the name of the
 * function that the rest was inlined into; unless 'inlined' asks for those, too.  Release with
 * elf_frames_release().
 */
void object_frames(struct object *o, const uint64_t *addresses, size_t n, bool inlined,
		   struct elf_frames *out);

#endif /* REPORT_OBJECTS_H */
