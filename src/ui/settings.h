/*
 * settings.h - configurations that people have saved in pprof's web pages
 *
 * The file is the reference's: "pprof/settings.json" in the folder for configurations.  What it
 * does not mention is false, 0 or "", not the default.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_SETTINGS_H
#define UI_SETTINGS_H

#include "view/config.h"

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct err;
struct option;

struct saved_config {
	const char *name;
	struct config cfg;
};

struct settings {
	struct saved_config *at;
	size_t n;
};

/* Where the file is, to be freed, or NULL if the environment does not say. */
char *settings_path(void);

/*
 * settings_read() reads the file 'path' into memory of 'a'.  None (or a NULL path) is no failure.
 */
int settings_read(struct settings *s, const char *path, struct arena *a, struct err *err);

/* Whether the value of 'o' is kept in the file. */
bool option_is_stored(const struct option *o);

#endif /* UI_SETTINGS_H */
