/*
 * preloadable.c - whether the loader would take libsonde.so into a program
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/preloadable.h"

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { SCRIPTS = 4 }; /* as many as Linux follows from one to the next */

/* The parts of an executable file that matter here. */
struct image {
	struct str bytes;
	Elf64_Ehdr head; /* the first members are the same for 32 bits */
	struct str interp;
	struct str dynstr; /* names of the libraries it needs are among these */
};

static struct str cut(struct str s, uint64_t at, uint64_t n)
{
	if (at > s.n || n > s.n - at)
		return (struct str){ "", 0 };
	return (struct str){ s.p + at, n };
}

static bool segment(const struct image *im, size_t i, Elf64_Phdr *to)
{
	struct str at = cut(im->bytes, im->head.e_phoff + i * sizeof(*to), sizeof(*to));

	if (i >= im->head.e_phnum || !at.n)
		return false;
	memcpy(to, at.p, sizeof(*to));
	return true;
}

/* The bytes of the file that are loaded at 'address'. */
static struct str loaded(const struct image *im, uint64_t address, uint64_t n)
{
	Elf64_Phdr ph;

	for (size_t i = 0; segment(im, i, &ph); i++) {
		if (ph.p_type == PT_LOAD && address >= ph.p_vaddr &&
		    address - ph.p_vaddr < ph.p_filesz)
			return cut(im->bytes, ph.p_offset + (address - ph.p_vaddr), n);
	}
	return (struct str){ "", 0 };
}

static void find_dynstr(struct image *im, struct str dynamic)
{
	uint64_t at = 0, n = 0;
	Elf64_Dyn d;

	for (; dynamic.n >= sizeof(d); dynamic = str_skip(dynamic, sizeof(d))) {
		memcpy(&d, dynamic.p, sizeof(d));
		if (d.d_tag == DT_STRTAB)
			at = d.d_un.d_ptr;
		if (d.d_tag == DT_STRSZ)
			n = d.d_un.d_val;
	}
	im->dynstr = loaded(im, at, n);
}

/* False for what is not an ELF file. */
static bool image_open(struct image *im, struct str bytes)
{
	Elf64_Phdr ph;

	*im = (struct image){ .bytes = bytes };
	if (bytes.n < sizeof(im->head) || memcmp(bytes.p, ELFMAG, SELFMAG) != 0)
		return false;
	memcpy(&im->head, bytes.p, sizeof(im->head));
	if (im->head.e_ident[EI_CLASS] != ELFCLASS64)
		return true;
	for (size_t i = 0; segment(im, i, &ph); i++) {
		struct str s = cut(bytes, ph.p_offset, ph.p_filesz);

		if (ph.p_type == PT_INTERP && s.n)
			im->interp = (struct str){ s.p, strnlen(s.p, s.n) };
		if (ph.p_type == PT_DYNAMIC)
			find_dynstr(im, s);
	}
	return true;
}

static const char *sanitizer(const struct image *im)
{
	static const char *const names[] = { "libasan.so", "libhwasan.so", "liblsan.so",
					     "libtsan.so" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (str_find(im->dynstr, str_of(names[i])) >= 0)
			return names[i];
	}
	return NULL;
}

static int check_image(const char *path, const struct image *im, const struct image *lib,
		       struct err *err)
{
	const char *found = sanitizer(im);

	if (im->head.e_machine != lib->head.e_machine ||
	    im->head.e_ident[EI_CLASS] != lib->head.e_ident[EI_CLASS])
		return err_set(err, -ENOEXEC, "'%s' is for another kind of processor than libsonde",
			       path);
	if (!im->interp.n)
		return err_set(err, -ENOEXEC,
			       "'%s' is statically linked, so no library can be loaded into it; "
			       "it must be linked without -static",
			       path);
	if (!str_starts(str_base(im->interp), str_of("ld-linux")))
		return err_set(err, -ENOEXEC,
			       "'%s' needs the C library of '%.*s', and libsonde is made for the "
			       "GNU C library",
			       path, STR_ARG(im->interp));
	if (found)
		return err_set(err, -EBUSY,
			       "'%s' is built with a sanitizer (%s), which allows no other library "
			       "to look after its memory",
			       path, found);
	return 0;
}

/* As the kernel decides on AT_SECURE, which makes the loader ignore LD_PRELOAD. */
static int check_rights(const char *path, struct err *err)
{
	struct stat st;
	bool other;

	if (stat(path, &st))
		return 0;
	other = (st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
		((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		 st.st_gid != getegid()) ||
		(geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
	if (other)
		return err_set(err, -EACCES,
			       "'%s' gets rights of its own when it is started (setuid, setgid or "
			       "capabilities), so the system preloads nothing into it",
			       path);
	return 0;
}

/* "#!/bin/sh -e": the program that runs the script. */
static bool script_runner(struct str bytes, char *to, size_t size)
{
	struct str line, word;

	if (!str_starts(bytes, str_of("#!")))
		return false;
	bytes = str_skip(bytes, 2);
	if (!str_split(&bytes, '\n', &line) || !str_field(&line, &word) || word.n >= size)
		return false;
	memcpy(to, word.p, word.n);
	to[word.n] = '\0';
	return true;
}

static int check_program(const char *path, const struct image *lib, int scripts, struct err *err)
{
	struct file_bytes b;
	char runner[4096];
	struct image im;
	int rc = check_rights(path, err);

	if (rc || file_map(path, SIZE_MAX / 2, &b, NULL))
		return rc;
	if (image_open(&im, (struct str){ b.p, b.n }))
		rc = check_image(path, &im, lib, err);
	else if (scripts && script_runner((struct str){ b.p, b.n }, runner, sizeof(runner)))
		rc = check_program(runner, lib, scripts - 1, err);
	file_bytes_release(&b);
	return rc;
}

int preloadable(const char *path, const char *library, struct err *err)
{
	struct file_bytes b;
	struct image lib;
	int rc = file_map(library, SIZE_MAX / 2, &b, err);

	if (rc)
		return rc;
	if (image_open(&lib, (struct str){ b.p, b.n }))
		rc = check_program(path, &lib, SCRIPTS, err);
	else
		rc = err_set(err, -ENOEXEC, "'%s' is not a library", library);
	file_bytes_release(&b);
	return rc;
}
