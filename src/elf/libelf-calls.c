/*
 * libelf-calls.c - the parts of elfutils' libelf we use, loaded when they are first needed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/libelf-calls.h"

#include "base/err.h"
#include "base/lazy.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

static struct lazy_lib lib = { .soname = "libelf.so.1", .package = "libelf1" };
static struct libelf_calls calls;
static bool loaded;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define FIND(name) calls.name = (__typeof__(calls.name))lazy_sym(&lib, #name)

static void find_all(void)
{
	FIND(elf_version);
	FIND(elf_begin);
	FIND(elf_memory);
	FIND(elf_end);
	FIND(elf_kind);
	FIND(elf_getscn);
	FIND(elf_nextscn);
	FIND(elf_getdata);
	FIND(elf_getdata_rawchunk);
	FIND(gelf_getehdr);
	FIND(gelf_getphdr);
	FIND(gelf_getshdr);
	FIND(gelf_getsym);
	FIND(gelf_getnote);
	FIND(gelf_fsize);
}

static int load(struct err *err)
{
	int rc = lazy_open(&lib, err);

	if (rc)
		return rc;
	find_all();
	if (calls.elf_version(EV_CURRENT) == EV_NONE)
		return err_set(err, -ENOENT, "libelf is too old: install the package libelf1");
	loaded = true;
	return 0;
}

int libelf_load(const struct libelf_calls **out, struct err *err)
{
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (!loaded)
		rc = load(err);
	pthread_mutex_unlock(&lock);
	*out = &calls;
	return rc;
}
