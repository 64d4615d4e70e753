/*
 * lazy.c - libraries that are loaded by the command that needs them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/lazy.h"

#include "base/err.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int lazy_open(struct lazy_lib *lib, struct err *err)
{
	if (!lib->handle)
		lib->handle = dlopen(lib->soname, RTLD_NOW | RTLD_LOCAL);
	if (!lib->handle)
		return err_set(err, -ENOENT, "this needs %s: install the package %s", lib->soname,
			       lib->package);
	return 0;
}

void *lazy_sym(struct lazy_lib *lib, const char *name)
{
	void *sym = dlsym(lib->handle, name);

	if (sym)
		return sym;
	fprintf(stderr, "%s has no %s\n", lib->soname, name);
	exit(2);
}
