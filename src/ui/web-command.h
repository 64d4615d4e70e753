/*
 * web-command.h - the command line that prints what a page shows
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_WEB_COMMAND_H
#define UI_WEB_COMMAND_H

#include "report/report.h"

struct config;
struct out;
struct source_options;

/*
 * web_command() writes "sonde -top -focus='a b' profile.pb.gz" for a report of 'kind', with 'param'
 * if the kind takes one: words as a shell reads them, in printable ASCII.  Nothing where no command
 * prints the report.
 */
void web_command(struct out *o, enum report_kind kind, const char *param, const struct config *cfg,
		 const struct source_options *so);

/*
 * The same for "sonde compare", by what is asked for ("" if nothing is).  Nothing where it has no
 * option for what the page was asked.
 */
void web_command_compare(struct out *o, const char *by, const struct config *cfg,
			 const struct source_options *so);

/* For "sonde leaks": one component of a tree (NULL: there is only one), or a prefix of a store. */
void web_command_leaks(struct out *o, const char *tree, const char *component);
void web_command_leaks_store(struct out *o, const char *store, const char *prefix);

#endif /* UI_WEB_COMMAND_H */
