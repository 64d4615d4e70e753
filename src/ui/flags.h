/*
 * flags.h - command line flags as Go's flag package reads them
 *
 * "-name", "--name", "-name=value", and "-name value" unless the flag is boolean.  The first
 * argument that is not a flag ends them, and so does "--".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_FLAGS_H
#define UI_FLAGS_H

#include "ui/options.h"

#include <stddef.h>

struct err;

struct flag {
	const char *name;
	enum option_type type;
	void *value; /* bool *, int *, double *, const char **: by type */
};

/*
 * flags_parse() stores what argv[1] ... say about 'n' flags, and in '*first' the place of the
 * first argument behind them.  Strings are borrowed from 'argv'.
 *
 * Fails with -EINVAL and Go's message at the first bad flag, and with -ECANCELED at "-h" or
 * "-help" if there is no flag of that name.  Flags before it have then been stored.
 */
int flags_parse(const struct flag *flags, size_t n, int argc, const char *const *argv, int *first,
		struct err *err);

#endif /* UI_FLAGS_H */
