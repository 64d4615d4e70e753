/*
 * demangle-quick.h - the C++ names that are nearly all of them, demangled without their arguments
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_DEMANGLE_QUICK_H
#define SYMBOL_DEMANGLE_QUICK_H

#include "base/str.h"

#include <stdbool.h>

struct out;

/*
 * demangle_quickly() appends to 'o' the name of the function or variable that 'name' is the
 * encoding of, without parameters and template arguments: "std::map::~map" for _ZNSt3mapI...ED2Ev.
 * That is what libiberty's text comes to without them, at a tenth of the time.
 *
 * False: this is not one of the names that are understood here, and may be well-formed or not.
 * What has been appended is then to be thrown away.
 */
bool demangle_quickly(struct str name, struct out *o);

#endif /* SYMBOL_DEMANGLE_QUICK_H */
