/*
 * debug-file.h - all that is known of a binary's functions and lines, wherever it lies
 *
 * Debug information is in the binary, or in a file of its own that the binary's build id or its
 * .gnu_debuglink leads to; parts of that may be in a supplementary file that several binaries
 * share (dwz).  Names of functions may be in any of them, or compressed in .gnu_debugdata.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ELF_DEBUG_FILE_H
#define ELF_DEBUG_FILE_H

#include "elf/debug-sections.h"
#include "elf/dwarf.h"

struct elf_file;
struct elf_search;
struct err;

/* One of the files, and its DWARF. */
struct debug_part {
	struct elf_file *f;
	struct image image;
	struct dwarf dwarf;
	bool owned; /* 'f' is closed with it */
};

struct debug_file {
	struct debug_part main, split, alt; /* the binary; its debug file; what dwz took out */
	struct dwarf *dwarf;    /* the DWARF to use; one without units if there is none */
	const char *dwarf_path; /* of the file it is in */
	uint64_t shift;         /* added to an address of the binary: that of 'dwarf' */
	uint64_t code_start;    /* no code of 'dwarf' lies below */
	struct elf_file *mini;  /* of .gnu_debugdata */
	void *mini_bytes;
};

/*
 * debug_open() finds and maps what there is; units are not read yet.  What is damaged, or belongs
 * to another binary, is passed over.  'search' may be NULL.
 */
void debug_open(struct debug_file *d, struct elf_file *f, const struct elf_search *search);
void debug_release(struct debug_file *d);

/* elf_check() of all of its files. */
int debug_check(const struct debug_file *d, struct err *err);

/* Reads the names of functions. */
void debug_read_symbols(struct debug_file *d);
/* Where symbols were found last, for addresses in ascending order; all zero at first. */
struct debug_symbols {
	size_t split, mini, main;
};

/* The name of the function at an address of the binary; "" if there is none. */
struct str debug_find_symbol(const struct debug_file *d, uint64_t address,
			     struct debug_symbols *at);

/* Finds the sections of DWARF in an image; 'suffix' is "" or ".dwo". */
void dwarf_find_sections(struct image *im, const char *suffix, struct dwarf_sections *s);

#endif /* ELF_DEBUG_FILE_H */
