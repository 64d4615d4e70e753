/*
 * demangle.h - names that people wrote, from names that compilers made
 *
 * C++ and Rust compilers encode a function's scope, template arguments and parameters in the
 * symbol's name.  Here they become readable again, the way the reference tool shows them: by
 * default without parameters and template arguments, since a profile is about functions, not
 * about signatures.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include "base/str.h"

#include <stdbool.h>

struct arena;
struct profile;

enum demangle_mode {
	DEMANGLE_DEFAULT,   /* no parameters, no template arguments */
	DEMANGLE_TEMPLATES, /* no parameters */
	DEMANGLE_FULL,      /* all but suffixes like ".cold" */
	DEMANGLE_NONE,      /* everything: the reference has the word, and demangles nonetheless */
};

/*
 * profile_demangle() gives every function of 'p' a readable name, made from its system name.
 * Functions that have a name other than their system name keep it, unless 'force' is set.
 * Costs next to nothing where no name looks mangled.
 */
void profile_demangle(struct profile *p, bool force, enum demangle_mode mode);

/*
 * demangle_name() is the readable form of one name, in 'a', or 'name' itself where there is
 * none: it is not mangled, not well-formed, longer than 64 KiB, or would become that long.
 * A name that seems to have been demangled by someone else ("a::b<int>(char)") is shortened
 * as the mode says.
 */
struct str demangle_name(struct str name, enum demangle_mode mode, struct arena *a);

/* A name without the version that linkers put behind those of libraries: "write@@GLIBC_2.2.5". */
static inline struct str demangle_unversioned(struct str name)
{
	const char *at = name.n > 1 ? memchr(name.p + 1, '@', name.n - 1) : NULL;

	return at ? (struct str){ name.p, (size_t)(at - name.p) } : name;
}

#endif /* SYMBOL_DEMANGLE_H */
