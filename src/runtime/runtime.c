/*
 * runtime.c - what the runtime knows of itself
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/runtime.h"

struct sonde__stats sonde__stats;
atomic_bool sonde__sandboxed;

static _Atomic(const char *) reasons[SONDE__PARTS];

/* The first reason stays: later ones are mostly its consequences. */
void sonde__say_off(enum sonde__part part, const char *why)
{
	const char *none = NULL;

	if ((unsigned)part < SONDE__PARTS)
		atomic_compare_exchange_strong(&reasons[part], &none, why);
}

const char *sonde__why_off(enum sonde__part part)
{
	return (unsigned)part < SONDE__PARTS ? atomic_load(&reasons[part]) : NULL;
}
