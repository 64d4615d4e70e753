/*
 * collection.h - several profiles behind one address: /ui/of/NAME/top is the top of one of them
 *
 * A profile is brought in when somebody first asks for it; a few stay in memory, those that were
 * asked for last.  A name is all that is needed to bring it in again, so addresses stay good.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_COLLECTION_H
#define UI_COLLECTION_H

#include "base/str.h"
#include "report/compare.h"
#include "ui/options.h"

#include <stdbool.h>

struct config;
struct err;
struct profile;
struct collection;
struct web_reply;
struct web_request;

/* What a name stands for. */
struct collection_item {
	struct profile *profile;
	struct profile *both;       /* of a comparison: web-views.h; may be 'profile' */
	struct compare_sides sides; /* of 'both' */

	/* What a command would be given to show the same; the texts are freed with it.  Or none. */
	struct source_options source;
	char **sources;
	size_t nsources;
};

/*
 * 'open' brings in what 'name' stands for, from any thread, one at a time for each name.  Failure
 * is a negative errno and a sentence for the person.  'home' is what the page is called that all of
 * them are listed on: /ui/.
 */
struct collection *collection_new(const struct config *cfg, const char *settings, const char *home,
				  int (*open)(void *ctx, struct str name,
					      struct collection_item *to, struct err *err),
				  void *ctx);

/* Answers what is under /of/, and the files that pages load; false: neither of these was asked. */
bool collection_answer(struct collection *s, const struct web_request *rq, struct web_reply *reply);

#endif /* UI_COLLECTION_H */
