/*
 * lazy.c - libraries that are loaded by the command that needs them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/lazy.h"

#include "base/err.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int load(struct lazy_lib *lib, struct err *err)
{
	int rc;

	if (!lib->handle)
		lib->handle = dlopen(lib->soname, RTLD_NOW | RTLD_LOCAL);
	if (!lib->handle)
		return err_set(err, -ENOENT, "this needs %s: install the package %s", lib->soname,
			       lib->package);
	rc = lib->bind ? lib->bind(lib, err) : 0;
	lib->ready = rc == 0;
	return rc;
}

int lazy_open(struct lazy_lib *lib, struct err *err)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int rc = 0;

	pthread_mutex_lock(&lock);
	if (!lib->ready)
		rc = load(lib, err);
	pthread_mutex_unlock(&lock);
	return rc;
}

void *lazy_sym(struct lazy_lib *lib, const char *name)
{
	void *sym = dlsym(lib->handle, name);

	if (sym)
		return sym;
	fprintf(stderr, "%s has no %s\n", lib->soname, name);
	exit(2);
}
