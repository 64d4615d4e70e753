/*
 * web-compare.c - the page that tells what changed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/web-compare.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "base/units.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "render/render.h"
#include "report/compare.h"
#include "report/report.h"
#include "ui/web-command.h"
#include "ui/web-views.h"
#include "ui/web-visit.h"
#include "view/own.h"
#include "web/page.h"
#include "web/web-server.h"

#include <errno.h>

static bool is_of_side(struct profile *p, unsigned long i, void *ctx)
{
	const struct sample *s = sample_at(p, i);
	uint32_t base = profile_lookup(p, STR("pprof::base"));
	bool is_old = false;

	for (uint32_t k = 0; k < s->nlabels; k++)
		is_old |= p->labels[s->label + k].key == base;
	return is_old == *(const bool *)ctx;
}

/* As they were before they were subtracted, and without a word of that. */
static void restore(struct profile *p)
{
	struct label *labels = xarena(&p->arena, p->nlabels, sizeof(*labels));
	uint32_t base = profile_lookup(p, STR("pprof::base"));
	uint64_t n = 0;

	own_samples(p);
	own_values(p);
	for (size_t i = 0; i < profile_rows(p) * p->ntypes; i++)
		p->values[i] = wrap_mul(p->values[i], -1);
	for (size_t i = 0; i < p->nsamples; i++) {
		struct sample *s = sample_at(p, i);
		uint64_t first = n;

		for (uint32_t k = 0; k < s->nlabels; k++) {
			if (p->labels[s->label + k].key != base)
				labels[n++] = p->labels[s->label + k];
		}
		s->label = first;
		s->nlabels = (uint32_t)(n - first);
	}
	p->labels = labels;
	p->nlabels = n;
}

struct profile *web_compare_side(struct visit *v)
{
	const struct web_views *views = v->views;
	const char *side = web_arg(v->rq, "side");
	bool old = strcmp(side, "before") == 0;
	struct profile *p;

	if (!views->both || (!old && strcmp(side, "after") != 0 && strcmp(side, "both") != 0))
		return profile_fork(views->profile);
	p = profile_fork(views->both);
	if (strcmp(side, "both") != 0)
		keep_samples(p, is_of_side, &old);
	if (old)
		restore(p);
	return p;
}

/* What makes both sides comparable can be chosen: "by".  NULL if it is not. */
static const char *chosen(const struct visit *v, enum compare_by *by)
{
	static const struct {
		const char *name;
		enum compare_by by;
	} names[] = {
		{ "amounts", COMPARE_AMOUNTS },
		{ "time", COMPARE_TIME },
		{ "shares", COMPARE_SHARES },
		{ "typical", COMPARE_TYPICAL },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(web_arg(v->rq, "by"), names[i].name) == 0) {
			*by = names[i].by;
			return names[i].name;
		}
	}
	return NULL;
}

/* Both sides, filtered as the page is; the caller frees the report, and then the profile. */
static int compare(struct visit *v, struct profile **fork, struct report **r, struct compare *c,
		   struct err *err)
{
	struct compare_sides sides;
	int rc;

	if (!v->views->both)
		return err_set(err, -EINVAL,
			       "There is nothing to compare with: start sonde with -base or "
			       "-diff_base.");
	*fork = profile_fork(v->views->both);
	rc = report_new(r, *fork, REPORT_TEXT, NULL, &v->cfg, &v->notify, err);
	if (rc)
		return rc;
	sides = *v->views->sides;
	(void)chosen(v, &sides.by);
	(*r)->unit = UNIT_AUTO;
	return compare_init(c, *r, &sides, err);
}

void web_compare_command(const struct visit *v, struct out *o)
{
	enum compare_by by;
	const char *name = chosen(v, &by);

	web_command_compare(o, name ? name : "", &v->cfg, v->views->source);
}

int web_compare_show(struct visit *v, const struct page *pg, struct err *err)
{
	AUTO(profile_freep) struct profile *fork = NULL;
	AUTO(report_freep) struct report *r = NULL;
	struct compare c;
	int rc = compare(v, &fork, &r, &c, err);

	if (rc == 0)
		page_compare(pg, r, &c, &v->reply->body);
	return rc;
}

void web_compare_send(struct visit *v)
{
	AUTO(profile_freep) struct profile *fork = NULL;
	AUTO(report_freep) struct report *r = NULL;
	struct compare_rows rows = { .all = !*web_arg(v->rq, "changed"), .most = SIZE_MAX };
	struct compare c;
	struct err err;
	int rc = visit_configure(v, &err);

	if (rc == 0)
		rc = compare(v, &fork, &r, &c, &err);
	if (rc) {
		web_say(v->reply, VISIT_BAD_REQUEST, err.msg);
		return;
	}
	v->reply->type = "application/json";
	render_compare_json(r, &c, rows, &v->reply->body);
}
