/*
 * dumps-command.h - "sonde dumps": what a store has, and bringing it back
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_DUMPS_COMMAND_H
#define UI_DUMPS_COMMAND_H

#include "base/args.h"

extern const struct arg dumps_flags[];

/* 'argv[0]' is "dumps".  The status to exit with: 0, 1 if it failed, 2 for wrong use. */
int dumps_main(int argc, char **argv);

#endif /* UI_DUMPS_COMMAND_H */
