/*
 * settings.h - configurations that people have saved in pprof's web pages
 *
 * The file is the reference's: "pprof/settings.json" in the folder for configurations.  What it
 * does not mention is false, 0 or "", not the default.  It appears whole or not at all; one process
 * changes it from one thread at a time.
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
	size_t found; /* in the file: more than 'n' if there are more than anybody needs */
};

/* Where the file is, to be freed, or NULL if the environment does not say. */
char *settings_path(void);

/*
 * settings_read() reads the file 'path' into memory of 'a'.  None (or a NULL path) is no failure.
 */
int settings_read(struct settings *s, const char *path, struct arena *a, struct err *err);

/*
 * settings_save() puts 'cfg' into the file under 'name', in the place of one of the same name, and
 * makes the file if there is none.  settings_delete() removes the first of that name.  The file is
 * left alone where that fails, and where it cannot be read.
 */
int settings_save(const char *path, const char *name, const struct config *cfg, struct err *err);
int settings_delete(const char *path, const char *name, struct err *err);

/* Whether the value of 'o' is kept in the file. */
bool option_is_stored(const struct option *o);

#endif /* UI_SETTINGS_H */
