/*
 * names.h - functions of a view get names a person can read
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef VIEW_NAMES_H
#define VIEW_NAMES_H

struct config;
struct profile;

/*
 * names_apply() renames the functions of 'v', a new view, as the options names and merge_names say;
 * nothing happens where names has its default.  Names are remembered for the next view.  Functions
 * that get the same name are one to every report that goes by names.  Without merge_names, those
 * whose full names differ keep as much as it takes to tell them apart.
 */
void names_apply(struct profile *v, const struct config *cfg);

#endif /* VIEW_NAMES_H */
