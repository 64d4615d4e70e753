/*
 * debug-sections.h - the bytes of a file's sections, inflated where they are compressed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ELF_DEBUG_SECTIONS_H
#define ELF_DEBUG_SECTIONS_H

#include "elf/dwarf-read.h"

struct elf_file;

enum { IMAGE_INFLATED = 16 }; /* sections that may be compressed */

/* The bytes of a file, mapped: of debug information much is never looked at. */
struct image {
	struct elf_file *f; /* not owned */
	const uint8_t *p;
	size_t n;
	void *inflated[IMAGE_INFLATED]; /* private, as what follows */
	size_t ninflated;
	uint64_t room; /* how much may still be inflated */
};

/* A section to find: its name, and where to put what it holds. */
struct section_want {
	const char *name;
	struct bytes *to;
};

/* False if the file cannot be mapped, or has the other byte order. */
bool image_open(struct image *im, struct elf_file *f);
void image_release(struct image *im);

/* Finds sections by their names; of one that is not there, or damaged, 'to' is left empty. */
void image_find(struct image *im, const struct section_want *wants, size_t n);

/* One section. */
static inline struct bytes image_section(struct image *im, const char *name)
{
	struct bytes b = { NULL, 0 };
	struct section_want want = { name, &b };

	image_find(im, &want, 1);
	return b;
}

#endif /* ELF_DEBUG_SECTIONS_H */
