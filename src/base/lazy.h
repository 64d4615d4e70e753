/*
 * lazy.h - libraries that are loaded by the command that needs them
 *
 * libcurl brings some forty libraries with it, and loading them takes longer than a whole
 * "sonde -top".  So what only some commands need is opened when they need it:
 *
 *	static struct lazy_lib curl = { "libcurl.so.4", "libcurl4" };
 *	...
 *	rc = lazy_open(&curl, err);
 *	init = lazy_sym(&curl, "curl_easy_init");
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_LAZY_H
#define BASE_LAZY_H

#include <stdbool.h>

struct err;

struct lazy_lib {
	const char *soname;
	const char *package; /* the Debian package to name when it is missing */
	/* Called once when it has been loaded, or NULL: finds the calls, says what else is wrong.
	 */
	int (*bind)(struct lazy_lib *lib, struct err *err);
	void *handle; /* private */
	bool ready;   /* private */
};

/*
 * Loads the library, once; any thread may call it.  On failure returns -ENOENT and says which
 * package to install, or what bind() returned.
 */
int lazy_open(struct lazy_lib *lib, struct err *err);

/*
 * The address of 'name' in a library that lazy_open() has loaded.  A missing symbol is a
 * broken installation: it ends the program with a message.
 */
void *lazy_sym(struct lazy_lib *lib, const char *name);

#endif /* BASE_LAZY_H */
