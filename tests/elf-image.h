/*
 * elf-image.h - small ELF files for tests, made to measure
 *
 *	struct image im = { .type = ET_DYN };
 *	image_function(&im, "main", 0x1000, 16, STB_GLOBAL);
 *	image_make(&im, &out);
 *
 * They have headers, a build id and symbols, and not a byte of code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TESTS_ELF_IMAGE_H
#define TESTS_ELF_IMAGE_H

#include "base/out.h"

#include <assert.h>
#include <elf.h>
#include <stdbool.h>
#include <string.h>

/* Two sections of code, where image_function() puts what lies in them. */
#define IMAGE_TEXT      0x1000
#define IMAGE_TEXT_SIZE 0x1000
#define IMAGE_MORE      0x3000
#define IMAGE_MORE_SIZE 0x100

enum { IMAGE_SECTIONS = 8 };

struct image {
	unsigned type; /* ET_... */
	Elf64_Phdr segments[6];
	unsigned nsegments;
	Elf64_Sym symbols[16]; /* the first one stays empty */
	char names[512];       /* the first byte stays NUL */
	unsigned nsymbols, nnames;
	const char *build_id;      /* bytes, as text; NULL: no note */
	bool note_without_segment; /* the note is in a section only */
	bool dynamic;              /* .dynsym and not .symtab */
	Elf64_Shdr sections[IMAGE_SECTIONS];
};

static inline void image_segment(struct image *im, uint64_t offset, uint64_t address,
				 uint64_t file_size, unsigned flags)
{
	im->segments[im->nsegments++] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = flags,
		.p_offset = offset,
		.p_vaddr = address,
		.p_filesz = file_size,
		.p_memsz = file_size,
		.p_align = 0x1000,
	};
}

static inline Elf64_Sym *image_symbol(struct image *im, const char *name, uint64_t value,
				      uint64_t size, unsigned bind, unsigned type)
{
	Elf64_Sym *s = &im->symbols[++im->nsymbols];
	size_t n = strlen(name) + 1;

	if (im->nnames == 0)
		im->nnames = 1;
	assert(im->nsymbols < 16 && im->nnames + n <= sizeof(im->names));
	memcpy(im->names + im->nnames, name, n);
	*s = (Elf64_Sym){
		.st_name = im->nnames,
		.st_info = (unsigned char)ELF64_ST_INFO(bind, type),
		.st_shndx = 1,
		.st_value = value,
		.st_size = size,
	};
	im->nnames += (unsigned)n;
	return s;
}

static inline void image_function(struct image *im, const char *name, uint64_t value, uint64_t size,
				  unsigned bind)
{
	image_symbol(im, name, value, size, bind, STT_FUNC);
}

static inline Elf64_Shdr *image_section(struct image *im, unsigned i, unsigned type,
					const struct out *o, uint64_t size)
{
	im->sections[i].sh_type = type;
	im->sections[i].sh_offset = o->n;
	im->sections[i].sh_size = size;
	return &im->sections[i];
}

static inline void image_code(struct image *im, unsigned i, uint64_t address, uint64_t size)
{
	im->sections[i] = (Elf64_Shdr){
		.sh_type = SHT_NOBITS,
		.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = address,
		.sh_size = size,
	};
}

static inline void image_note(struct image *im, struct out *o)
{
	size_t n = im->build_id ? strlen(im->build_id) : 0, room = (n + 3) & ~(size_t)3;
	Elf64_Nhdr note = { .n_namesz = 4, .n_descsz = (Elf64_Word)n, .n_type = NT_GNU_BUILD_ID };
	Elf64_Phdr *ph;

	if (n == 0)
		return;
	image_section(im, 3, SHT_NOTE, o, sizeof(note) + 4 + room)->sh_addralign = 4;
	if (!im->note_without_segment) {
		ph = &im->segments[im->nsegments++];
		*ph = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = o->n, .p_align = 4 };
		ph->p_filesz = im->sections[3].sh_size;
		im->sections[3].sh_type = SHT_PROGBITS;
	}
	out_bytes(o, &note, sizeof(note));
	out_bytes(o, "GNU", 4);
	out_bytes(o, im->build_id, n);
	out_fill(o, '\0', room - n);
}

/* Writes the file to the memory sink 'o', which must be empty.  Release that with out_release(). */
static inline void image_make(struct image *im, struct out *o)
{
	Elf64_Ehdr h = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = (Elf64_Half)im->type,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(h),
		.e_ehsize = sizeof(h),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = IMAGE_SECTIONS,
		.e_shstrndx = 6,
	};
	Elf64_Shdr *table;

	out_init(o, 0);
	out_bytes(o, &h, sizeof(h));
	out_bytes(o, im->segments, sizeof(im->segments));
	image_code(im, 1, IMAGE_TEXT, IMAGE_TEXT_SIZE);
	image_code(im, 2, IMAGE_MORE, IMAGE_MORE_SIZE);
	image_note(im, o);
	image_section(im, 4, SHT_STRTAB, o, im->nnames);
	out_bytes(o, im->names, im->nnames);
	out_fill(o, '\0', -o->n & 7);
	table = image_section(im, 5, im->dynamic ? SHT_DYNSYM : SHT_SYMTAB, o,
			      (im->nsymbols + 1) * sizeof(Elf64_Sym));
	table->sh_link = 4;
	table->sh_entsize = sizeof(Elf64_Sym);
	table->sh_addralign = 8;
	out_bytes(o, im->symbols, table->sh_size);
	image_section(im, 6, SHT_STRTAB, o, 1);
	out_fill(o, '\0', 8);
	h.e_shoff = o->n;
	h.e_phnum = (Elf64_Half)im->nsegments;
	out_bytes(o, im->sections, sizeof(im->sections));
	memcpy(o->p, &h, sizeof(h));
	memcpy(o->p + sizeof(h), im->segments, sizeof(im->segments));
}

#endif /* TESTS_ELF_IMAGE_H */
