/*
 * elf-lines.h - which function, file and line an address belongs to, from debug information
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ELF_ELF_LINES_H
#define ELF_ELF_LINES_H

#include "base/arena.h"
#include "base/par.h"
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct elf_file;
struct err;

struct debug_file;

/* A function in one of its files.  What is not known is "" or 0; several may be the same. */
struct elf_function {
	struct str name;         /* the one the linker knows it by, where there is one */
	struct str file;         /* as the compiler recorded it, with its folder */
	uint32_t start_line;     /* where the function starts */
	uint32_t number : 31;    /* for whoever has the frames: 0 at first */
	uint32_t is_mangled : 1; /* private: the name is */
};

/* One frame at an address.  What is not known is 0. */
struct elf_frame {
	struct elf_function *function;
	uint32_t line, column;
};

/* The frames of an address, innermost first. */
struct elf_place {
	struct elf_frame *frames;
	uint32_t n;
};

/* Some functions. */
struct elf_functions {
	struct elf_function *list;
	size_t n;
};

struct elf_frames {
	struct elf_place *at; /* for each address */
	size_t n;
	struct elf_functions *parts; /* all functions that frames have, and perhaps more */
	size_t nparts;
	size_t nmissing;    /* .dwo files that should have told more, */
	struct str missing; /* and the first of them */
	struct arena arena; /* they live here, as do names: until there is elf_frames_release() */
	struct arena more[PAR_MOST]; /* private: the same, of what each thread has found */
	struct debug_file *debug;    /* private: where other texts are */
};

/* Where else debug information may be.  Lists of folders have colons between them; NULL for none.
 */
struct elf_search {
	const char *debug_folders; /* /usr/lib/debug unless told otherwise */
	/* Asks for the debug information of a build id elsewhere; a path to free(), or NULL. */
	char *(*fetch)(const char *build_id, void *ctx);
	void *ctx;
};

/*
 * elf_resolve() finds the frames of 'n' addresses, as the file was linked and in ascending order.
 * An address without debug information gets the name of its symbol (in a Go program also the line
 * that Go's own table has), one without that no frame.  Damaged debug information is not an error:
 * what can be read of it is used.
 * Release with elf_frames_release(), before the file is closed: names are used where they are.
 */
int elf_resolve(struct elf_file *f, const struct elf_search *search, const uint64_t *addresses,
		size_t n, struct elf_frames *out, struct err *err);
/* 0 if all files that names are in were whole until now; else -EIO and a sentence. */
int elf_frames_check(const struct elf_frames *f, struct err *err);
void elf_frames_release(struct elf_frames *f);

#endif /* ELF_ELF_LINES_H */
