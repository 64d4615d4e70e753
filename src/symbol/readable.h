/*
 * readable.h - the name of a function, as much of it as a person wants to read
 *
 * The full name of a C++ function can be a page long.  A level says how much of it is left:
 *
 *	0	everything: return type, parameters, template arguments
 *	1	no return type, parameters and compiler's suffixes; names inside of libraries as
 *		people write them: std::string, std::vector<int>
 *	2	template arguments cut to <…>, anonymous namespaces dropped; a Go import path cut
 *		to the package
 *	3	Class::method, no more than that
 *	4	the bare name of the function
 *
 * A name never has more characters at a higher level.  What is not understood stays as it is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_READABLE_H
#define SYMBOL_READABLE_H

#include "base/str.h"

struct out;

enum { READABLE_LEVELS = 5 };

/* How the language of a function joins names. */
enum name_style {
	NAME_GUESS,  /* not known: the name will tell */
	NAME_DOTTED, /* Go, Java: a.b */
	NAME_SCOPED, /* C, C++, Rust: a::b */
};

/* The style of the language that the source file 'file' is written in. */
enum name_style name_style(struct str file);

/*
 * readable_name() replaces what is in 'o', a sink in memory, by the demangled name 'full' at
 * 'level'.  Any bytes will do; names longer than 64 KiB stay as they are.  Linear time.
 */
void readable_name(struct str full, enum name_style style, int level, struct out *o);

#endif /* SYMBOL_READABLE_H */
