/*
 * dwarf-split.h - units whose entries are in a .dwo file of their own, or in a package of such
 * files
 *
 * -gsplit-dwarf makes them; dwp and llvm-dwp make packages: "program.dwp" beside "program".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ELF_DWARF_SPLIT_H
#define ELF_DWARF_SPLIT_H

#include "elf/debug-sections.h"
#include "elf/dwarf.h"

/* A unit, or what it stands for. */
struct split_unit {
	struct dwarf_unit *unit; /* the one to read: that of the other file, if there is one */
	bool missing;            /* there should be one */
	struct elf_file *file;   /* private, as what follows */
	struct image image;
	struct dwarf dwarf;
};

/*
 * split_open() opens the .dwo file of a unit, where it has one: beside 'program', where the
 * compiler left it, or in a package.  Its id must be the unit's.  Close with split_close().
 */
void split_open(struct split_unit *s, struct dwarf_unit *skeleton, const char *program,
		struct dwarf_reader *r);
void split_close(struct split_unit *s);

/* Whether the file became shorter while it was read. */
bool split_is_cut(const struct split_unit *s);

#endif /* ELF_DWARF_SPLIT_H */
