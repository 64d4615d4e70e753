/*
 * shorten.h - function names without what everybody knows
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RENDER_SHORTEN_H
#define RENDER_SHORTEN_H

#include "base/str.h"

struct arena;

/*
 * shorten_name() drops the import path of a Go function, the packages and parameters of a Java
 * method, and the namespaces of a C++ method, as the reference does on pictures.  The result is
 * part of 'name' or lives in 'a'.
 */
struct str shorten_name(struct arena *a, struct str name);

#endif /* RENDER_SHORTEN_H */
