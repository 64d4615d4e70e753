/*
 * symbolize.c - give a profile's addresses the names of functions, with files and lines
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/symbolize.h"

#include "base/notify.h"
#include "base/str.h"
#include "profile/profile.h"
#include "symbol/demangle.h"
#include "symbol/local.h"

#include <strings.h>

struct plan {
	bool none, local, remote, fast, force;
	enum demangle_mode demangle;
};

static bool word_is(struct str word, const char *z)
{
	return word.n == strlen(z) && strncasecmp(word.p, z, word.n) == 0;
}

/* How to demangle, with or without "demangle=" in front: the reference takes both. */
static bool read_demangle_word(struct plan *plan, struct str word)
{
	static const struct {
		const char *word;
		enum demangle_mode mode;
	} modes[] = {
		{ "full", DEMANGLE_FULL },
		{ "none", DEMANGLE_NONE },
		{ "templates", DEMANGLE_TEMPLATES },
	};

	if (word.n >= 9 && strncasecmp(word.p, "demangle=", 9) == 0)
		word = str_skip(word, 9);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (word_is(word, modes[i].word)) {
			plan->demangle = modes[i].mode;
			plan->force = true;
			return true;
		}
	}
	return word_is(word, "default");
}

/* False for a word that means nothing. */
static bool read_word(struct plan *plan, struct str word)
{
	if (word.n == 0)
		return true;
	if (word_is(word, "none") || word_is(word, "no")) {
		plan->none = true;
	} else if (word_is(word, "local") || word_is(word, "fastlocal")) {
		plan->local = true;
		plan->remote = false;
		plan->fast |= word_is(word, "fastlocal");
	} else if (word_is(word, "remote")) {
		plan->local = false;
		plan->remote = true;
	} else if (word_is(word, "force")) {
		plan->force = true;
	} else {
		return read_demangle_word(plan, word);
	}
	return true;
}

static struct plan read_mode(const char *mode, struct notify *n)
{
	struct plan plan = { .local = true, .remote = true };
	struct str word, rest = str_of(mode);

	while (!plan.none && str_split(&rest, ':', &word)) {
		if (read_word(&plan, word))
			continue;
		notify_warn(n, "ignoring unrecognized symbolization option: %s", mode);
		notify_warn(n, "expecting -symbolize=[local|fastlocal|remote|none][:force]"
			       "[:demangle=[none|full|templates|default]");
	}
	return plan;
}

int profile_symbolize(struct profile *p, const struct symbolize_options *o, struct err *err)
{
	struct plan plan = read_mode(o->mode, o->notify);
	int rc = 0;

	if (plan.none)
		return 0;
	if (plan.local)
		rc = symbolize_locally(p, o, plan.fast, plan.force, err);
	if (rc == 0 && plan.remote)
		rc = symbolize_remotely(p, &o->remote, plan.force, err);
	if (rc == 0)
		profile_demangle(p, plan.force, plan.demangle);
	return rc;
}
