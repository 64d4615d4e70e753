/*
 * symbolize.h - give a profile's addresses the names of functions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_SYMBOLIZE_H
#define SYMBOL_SYMBOLIZE_H

struct err;
struct notify;
struct profile;

/*
 * profile_symbolize() does what -symbolize=<mode> asks for: words separated by ':', in any case.
 *
 *	none, no		nothing at all
 *	local, fastlocal	names from binaries on this machine (so does "")
 *	remote			no names from binaries
 *	force			mappings that have names already as well
 *	demangle=WORD		full, none, templates: how C++ names are shown, and 'force';
 *				default
 *
 * Other words are complained about through 'n' and ignored, as is a binary that cannot be opened
 * or has another build id than its mapping.  Names of functions are then demangled.
 *
 * What a profile already says about a location is kept where it is more than a name: a symbol
 * table knows neither files nor lines.
 *
 * 'p' must own its arrays.  Returns 0, or -EOVERFLOW where the profile has no room for more
 * lines.  Binaries are looked at one after the other; memory is that of the largest.
 */
int profile_symbolize(struct profile *p, const char *mode, struct notify *n, struct err *err);

#endif /* SYMBOL_SYMBOLIZE_H */
