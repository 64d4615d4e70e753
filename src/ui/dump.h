/*
 * dump.h - the tables of options and commands, for the manual and for other shells
 *
 * The build runs "sonde --dump-options=<what>" and puts the result together with what is
 * written by hand in docs/man/ and completions/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_DUMP_H
#define UI_DUMP_H

struct err;
struct out;

/* 'what' is "usage", "man", "man-run", "bash", "zsh" or "fish"; -EINVAL for anything else. */
int dump(const char *what, struct out *o, struct err *err);

#endif /* UI_DUMP_H */
