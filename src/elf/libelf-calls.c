/*
 * libelf-calls.c - the parts of elfutils' libelf we use, loaded when they are first needed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/libelf-calls.h"

#include "base/err.h"
#include "base/lazy.h"

#include <errno.h>

static struct libelf_calls calls;

#define FIND(name) calls.name = (__typeof__(calls.name))lazy_sym(lib, #name)

static void find_all(struct lazy_lib *lib)
{
	FIND(elf_version);
	FIND(elf_begin);
	FIND(elf_memory);
	FIND(elf_end);
	FIND(elf_kind);
	FIND(elf_getscn);
	FIND(elf_nextscn);
	FIND(elf_getdata);
	FIND(elf_getshdrstrndx);
	FIND(elf_strptr);
	FIND(elf_getdata_rawchunk);
	FIND(gelf_getehdr);
	FIND(gelf_getphdr);
	FIND(gelf_getshdr);
	FIND(gelf_getsym);
	FIND(gelf_getnote);
	FIND(gelf_fsize);
}

static int bind_calls(struct lazy_lib *lib, struct err *err)
{
	find_all(lib);
	if (calls.elf_version(EV_CURRENT) == EV_NONE)
		return err_set(err, -ENOENT, "libelf is too old: install the package libelf1");
	return 0;
}

int libelf_load(const struct libelf_calls **out, struct err *err)
{
	static struct lazy_lib lib = { .soname = "libelf.so.1",
				       .package = "libelf1",
				       .bind = bind_calls };

	*out = &calls;
	return lazy_open(&lib, err);
}
