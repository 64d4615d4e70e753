/*
 * mini-debug.h - .gnu_debugdata: a compressed file in a file, with the names of its functions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ELF_MINI_DEBUG_H
#define ELF_MINI_DEBUG_H

struct elf_file;
struct image;

/*
 * The file in .gnu_debugdata, to be closed, with its bytes to free() afterwards; NULL if there is
 * none, or it is damaged, or there is no liblzma.
 */
struct elf_file *mini_debug_open(struct image *im, void **bytes);

#endif /* ELF_MINI_DEBUG_H */
