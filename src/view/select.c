/*
 * select.c - which of its numbers a sample counts for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "view/select.h"

#include "base/err.h"
#include "base/units.h"
#include "base/wrap.h"
#include "profile/labels.h"
#include "view/config.h"

#include <errno.h>

int selection_init(struct selection *s, const struct profile *p, const struct config *cfg,
		   struct err *err)
{
	int index;

	if (p->ntypes == 0)
		return err_set(err, -EINVAL, "profile has no samples");
	index = profile_sample_index(p, str_of(cfg->sample_index), err);
	if (index < 0)
		return index;
	*s = (struct selection){ (uint32_t)index, cfg->mean };
	return 0;
}

static bool is_base(const struct profile *p, const struct sample *s, uint32_t key, uint32_t yes)
{
	for (uint32_t i = 0; i < s->nlabels; i++) {
		const struct label *l = &p->labels[s->label + i];

		if (l->key == key && l->str == yes)
			return true;
	}
	return false;
}

bool selection_has_base(const struct profile *p)
{
	uint32_t key = profile_lookup(p, STR("pprof::base")), yes = profile_lookup(p, STR("true"));
	bool found = false;

	if (key == NONE || yes == NONE)
		return false;
	for (size_t i = 0; i < p->nsamples && !found; i++)
		found = is_base(p, sample_at(p, i), key, yes);
	return found;
}

int64_t selection_total(const struct selection *s, const struct profile *p)
{
	uint32_t key = profile_lookup(p, STR("pprof::base")), yes = profile_lookup(p, STR("true"));
	bool compared = key != NONE && yes != NONE;
	int64_t total = 0, div = 0, base_total = 0, base_div = 0;

	for (size_t i = 0; i < p->nsamples; i++) {
		int64_t v = abs_i64(selected_value(s, p, i));
		int64_t d = selected_divisor(s, p, i);

		total = wrap_add(total, v);
		div = wrap_add(div, d);
		if (compared && is_base(p, sample_at(p, i), key, yes)) {
			base_total = wrap_add(base_total, v);
			base_div = wrap_add(base_div, d);
		}
	}
	if (base_total > 0) {
		total = base_total;
		div = base_div;
	}
	return div ? wrap_div(total, div) : total;
}
