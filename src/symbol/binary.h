/*
 * binary.h - which binary the code of each mapping is in, and whether we have it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_BINARY_H
#define SYMBOL_BINARY_H

#include "base/str.h"
#include "base/table.h"
#include "elf/elf-file.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debug_server;
struct err;
struct notify;

/* One binary, as mappings name it: several mappings may be of the same one. */
struct binary {
	uint32_t file, build_id; /* strings of the profile */
	char *path;              /* where it is; NULL: we do not have it */
	char *why;               /* what is wrong with it, or NULL */
	bool is_missing;         /* rather than a wrong one */
	struct elf_file *elf;    /* NULL: closed for the time being, see binary_open() */
};

struct binaries {
	struct binary *at;
	size_t n, cap;
	uint32_t *of;       /* per mapping: which one; NONE if no addresses are to be named */
	uint64_t *bias;     /* per mapping that has one: see elf_bias() */
	struct table index; /* private */
};

/*
 * binaries_find() opens the binary of each mapping that has locations and no names yet (or has,
 * with 'force').  What is wrong with one is told to 'n' in the reference's words, and it is not
 * used: above all one with another build id than the mapping's.
 *
 * A file that was deleted while it ran ("/usr/bin/x (deleted)") may have been put back: the one
 * without that suffix is then taken, if it is the same.  'server', if not NULL, is asked for what
 * is not here.  What has no file is skipped; but where the kernel's own [vdso] is the running
 * kernel's, we have that in our memory.
 *
 * Release with binaries_release().
 */
void binaries_find(struct binaries *b, const struct profile *p, bool force,
		   struct debug_server *server, struct notify *n);
void binaries_release(struct binaries *b);

/*
 * binary_find() does the same for the code of one mapping, whatever names it has; 'elf' is then
 * open. 0, or a negative errno and why: "" where nobody would expect a file.  Release it in both
 * cases.
 */
int binary_find(struct binary *b, const struct profile *p, const struct mapping *m,
		struct debug_server *server, struct notify *n, struct err *err);
void binary_release(struct binary *b);

/* Makes sure 'elf' is open.  0, or a negative errno and why. */
int binary_open(struct binary *b, struct err *err);
/* May close it, if many are open. */
void binary_rest(const struct binaries *all, struct binary *b);

/* "Local symbolization failed for <binary>: <why>" */
void binary_complain(const struct profile *p, const struct binary *b, const char *why,
		     struct notify *n);

/* Whether a mapping of that name is something of the kernel's that no file has the code of. */
bool binary_is_virtual(struct str file);

#endif /* SYMBOL_BINARY_H */
