/*
 * elf-file.h - a binary that a profile was taken from: what it is, where its pieces go in
 * memory, and which function is at an address
 *
 * A file comes from a stranger as much as a profile does: nothing in it is believed before it
 * was checked, and memory is bounded by a few times the size of the file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ELF_ELF_FILE_H
#define ELF_ELF_FILE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct libelf_calls;
struct window;

/* A part of the file that is loaded into memory (PT_LOAD). */
struct elf_segment {
	uint64_t offset, file_size;    /* in the file */
	uint64_t address, memory_size; /* in memory, as the file was linked */
	uint64_t align;
	bool executable;
};

/* The piece of the file's code from 'start' to before 'end' that belongs to function 'name'. */
struct elf_symbol {
	uint64_t start, end;
	struct str name;
};

struct elf_file {
	char *path;
	char *build_id;         /* the GNU note in lower-case hexadecimal digits, "" if none */
	uint16_t type, machine; /* ET_..., EM_... of <elf.h> */
	struct elf_segment *segments;
	size_t nsegments;
	struct elf_symbol *symbols; /* private: sorted, disjoint; see elf_read_symbols() */
	size_t nsymbols;
	bool has_symbols;                 /* private: they have been read */
	const struct libelf_calls *calls; /* private, as all that follows */
	struct Elf *elf;
	const uint8_t *bytes;  /* of elf_open_memory() or elf_bytes(), or NULL */
	struct window *window; /* they are its, or NULL */
	size_t size;           /* of the file, in bytes */
	int fd;
};

/*
 * elf_open() opens the file at 'path' and reads its headers and its build id, not its symbols.
 * Close with elf_close().  Failure: a negative errno, and what the reference tool says of such a
 * file:
 *
 *	open <path>: <why>				it cannot be opened
 *	open <path>: unrecognized object file		it is a folder, or not ELF, or cut short
 *
 * or which package to install, where libelf is missing.  Never waits, whatever 'path' is.
 */
int elf_open(const char *path, struct elf_file **out, struct err *err);

/* The same for 'n' bytes in memory, which must outlive the file; 'path' is for messages. */
int elf_open_memory(const void *bytes, size_t n, const char *path, struct elf_file **out,
		    struct err *err);

/*
 * All bytes of the file, mapped: NULL if that cannot be done.  They live as long as the file.  They
 * turn into zeros where it becomes shorter (base/window.h): ask elf_check() before believing them.
 */
const uint8_t *elf_bytes(struct elf_file *f);

/* 0 while elf_bytes() are those of the file; else -EIO and a sentence. */
int elf_check(const struct elf_file *f, struct err *err);

/* NULL is allowed. */
void elf_close(struct elf_file *f);

static inline void elf_closep(struct elf_file **f)
{
	elf_close(*f);
}

/*
 * elf_read_symbols() brings in the functions of .symtab or, where there are none, of .dynsym.
 * A file without either is not a failure.  -EBADMSG and a sentence for one whose tables are
 * damaged.  Names live as long as the file.  Once is enough; more often costs nothing.
 */
int elf_read_symbols(struct elf_file *f, struct err *err);

/*
 * The function at 'address' (as the file was linked; see elf_bias()), or NULL.  Of several names
 * for one address it is a global or weak one rather than a local one, then the shortest, then
 * the first in bytewise order.  A function inside another one wins.  A function without a size
 * reaches to the next one, or to the end of its section.
 */
const struct elf_symbol *elf_find_symbol(const struct elf_file *f, uint64_t address);
/*
 * The same for one of many addresses in ascending order: '*at' is 0 at first, and where the last
 * one was found.
 */
const struct elf_symbol *elf_next_symbol(const struct elf_file *f, uint64_t address, size_t *at);

/*
 * elf_functions() is every function of the table that elf_read_symbols() takes, aliases and all, by
 * address, the best name of an address first.  '*out' is to be freed; names live as long as the
 * file.  A function without a size reaches to the next one.
 */
int elf_functions(struct elf_file *f, struct elf_symbol **out, size_t *n, struct err *err);

/*
 * Up to 'n' bytes of code from 'address' on, as the file was linked: fewer where its segment ends,
 * none where there is no code.  They live as long as the file.
 */
struct str elf_code(const struct elf_file *f, uint64_t address, uint64_t n);

/* A section: where it is in memory, and its bytes, which live as long as the file. */
struct elf_part {
	uint64_t address;
	struct str bytes;
};

/* The first section of that name; false if there is none. */
bool elf_section(const struct elf_file *f, const char *name, struct elf_part *out);

/* A piece of a file in the memory of a process, as a profile's mapping or /proc/PID/maps has it. */
struct elf_range {
	uint64_t start, limit; /* addresses; limit 0: not known */
	uint64_t offset;       /* of 'start' in the file */
};

/*
 * elf_bias() is what to subtract from an address in 'r' to get the address as the file was
 * linked.  'r' may be one segment, a part of one, all of them in one, or the whole address space
 * (0 to 0, or 0 to the last address): then addresses are taken to be the file's already.
 */
uint64_t elf_bias(const struct elf_file *f, struct elf_range r);

#endif /* ELF_ELF_FILE_H */
