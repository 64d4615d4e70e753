/*
 * usage.h - what sonde says about itself
 *
 * The reference's text, byte for byte, from the tables in options.c and commands.c; and after
 * it what only sonde has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_USAGE_H
#define UI_USAGE_H

struct out;

/* What "-h" prints. */
void usage_write(struct out *o);

/* What "help" prints in the shell. */
void usage_write_help(struct out *o);

#endif /* UI_USAGE_H */
