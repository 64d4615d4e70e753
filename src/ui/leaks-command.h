/*
 * leaks-command.h - "sonde leaks": which stacks of a series of heap profiles grow
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_LEAKS_COMMAND_H
#define UI_LEAKS_COMMAND_H

#include "base/args.h"

extern const struct arg leaks_flags[];

/* 'argv[0]' is "leaks".  The status: 0 nothing leaks, 1 something does, 2 it could not be told. */
int leaks_main(int argc, char **argv);

#endif /* UI_LEAKS_COMMAND_H */
