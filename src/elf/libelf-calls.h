/*
 * libelf-calls.h - the parts of elfutils' libelf we use, loaded when they are first needed
 *
 * Most profiles bring their function names with them, and then no binary is opened at all.
 * libelf's own headers are included for their types and constants; nothing links to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ELF_LIBELF_CALLS_H
#define ELF_LIBELF_CALLS_H

#include <gelf.h>
#include <libelf.h>

struct err;

/* Each is libelf's function of the same name. */
struct libelf_calls {
	unsigned (*elf_version)(unsigned version);
	Elf *(*elf_begin)(int fd, Elf_Cmd cmd, Elf *ref);
	Elf *(*elf_memory)(char *image, size_t size);
	int (*elf_end)(Elf *elf);
	Elf_Kind (*elf_kind)(Elf *elf);
	Elf_Scn *(*elf_getscn)(Elf *elf, size_t index);
	Elf_Scn *(*elf_nextscn)(Elf *elf, Elf_Scn *scn);
	Elf_Data *(*elf_getdata)(Elf_Scn *scn, Elf_Data *data);
	Elf_Data *(*elf_getdata_rawchunk)(Elf *elf, int64_t offset, size_t size, Elf_Type type);
	int (*elf_getshdrstrndx)(Elf *elf, size_t *index);
	char *(*elf_strptr)(Elf *elf, size_t section, size_t offset);
	GElf_Ehdr *(*gelf_getehdr)(Elf *elf, GElf_Ehdr *dst);
	GElf_Phdr *(*gelf_getphdr)(Elf *elf, int index, GElf_Phdr *dst);
	GElf_Shdr *(*gelf_getshdr)(Elf_Scn *scn, GElf_Shdr *dst);
	GElf_Sym *(*gelf_getsym)(Elf_Data *data, int index, GElf_Sym *dst);
	size_t (*gelf_getnote)(Elf_Data *data, size_t offset, GElf_Nhdr *result,
			       size_t *name_offset, size_t *desc_offset);
	size_t (*gelf_fsize)(Elf *elf, Elf_Type type, size_t count, unsigned version);
};

/* Loads libelf, once; any thread may call it.  0, or -ENOENT and which package to install. */
int libelf_load(const struct libelf_calls **out, struct err *err);

#endif /* ELF_LIBELF_CALLS_H */
