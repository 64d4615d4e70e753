/*
 * family.h - whether a process was started by one that has the runtime already
 *
 * The environment that switches us on is inherited by everything the host starts: the compiler by
 * make, every command by a script.  They are not what somebody wants to look at, and the address is
 * taken.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_FAMILY_H
#define RUNTIME_FAMILY_H

#include <stdbool.h>

/* Whether a process above this one has an agent, which was not told to serve elsewhere. */
bool sonde__family_serves(const char *addr);

#endif /* RUNTIME_FAMILY_H */
