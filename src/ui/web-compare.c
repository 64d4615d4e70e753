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
#include "profile/profile.h"
#include "render/render.h"
#include "report/compare.h"
#include "report/report.h"
#include "ui/web-views.h"
#include "ui/web-visit.h"
#include "web/page.h"
#include "web/web-server.h"

#include <errno.h>

/* What makes both sides comparable can be chosen: "by". */
static enum compare_by chosen(const struct visit *v)
{
	static const struct {
		const char *name;
		enum compare_by by;
	} names[] = {
		{ "amounts", COMPARE_AMOUNTS },
		{ "time", COMPARE_TIME },
		{ "shares", COMPARE_SHARES },
	};
	const char *by = web_arg(v->rq, "by");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(by, names[i].name) == 0)
			return names[i].by;
	}
	return v->views->sides->by;
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
	sides.by = chosen(v);
	(*r)->unit = UNIT_AUTO;
	return compare_init(c, *r, &sides, err);
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
	struct compare_rows rows = { .all = true, .most = SIZE_MAX };
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
