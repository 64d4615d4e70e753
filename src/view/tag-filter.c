/*
 * tag-filter.c - choose samples by their labels
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "view/tag-filter.h"

#include "base/err.h"
#include "base/gotext.h"
#include "base/notify.h"
#include "base/out.h"
#include "base/regex.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "profile/labels.h"
#include "profile/profile.h"
#include "view/label-units.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct tag_filter {
	const struct label_units *units;
	bool has_key;
	struct str key;

	bool is_range;
	double low, high;
	struct str unit;

	struct regex **res;
	size_t nres, cap;
};

/* ------------------------------------------------------------------ ranges */

/* A number with an optional unit, as it stands in the text. */
struct quantity {
	struct str whole, number, unit;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Finds the next quantity at or after '*at', and moves '*at' behind it. */
static bool next_quantity(struct str text, size_t *at, struct quantity *q)
{
	for (size_t i = *at; i < text.n; i++) {
		bool sign = text.p[i] == '+' || text.p[i] == '-';
		size_t digits = i + sign, end;

		if (digits >= text.n || !is_digit(text.p[digits]))
			continue;
		for (end = digits; end < text.n && is_digit(text.p[end]); end++)
			;
		q->number = (struct str){ text.p + i, end - i };
		q->unit = (struct str){ text.p + end, 0 };
		while (end < text.n && is_alpha(text.p[end])) {
			end++;
			q->unit.n++;
		}
		q->whole = (struct str){ text.p + i, end - i };
		*at = end;
		return true;
	}
	return false;
}

static int scale_quantity(const struct quantity *q, struct str to, double *v, struct str *unit,
			  struct err *err)
{
	struct err why;
	int64_t n;

	if (go_parse_int(q->number, 10, 64, &n, &why) != 0)
		return err_set(err, -EINVAL, "failed to parse int %.*s: %s", STR_ARG(q->number),
			       why.msg);
	*v = unit_scale(n, q->unit, (struct unit_target){ to, false }, unit);
	return 0;
}

/* One quantity: the text must be it, with or without a colon on one side. */
static bool read_half_range(struct tag_filter *f, struct str text, const struct quantity *q)
{
	struct str before = { text.p, (size_t)(q->whole.p - text.p) };
	struct str after = str_skip(text, before.n + q->whole.n);

	if (before.n == 0 && str_eq(after, STR(":"))) {
		f->high = INFINITY;
		return true;
	}
	f->high = f->low;
	if (str_eq(before, STR(":")) && after.n == 0) {
		f->low = -INFINITY;
		return true;
	}
	return before.n == 0 && after.n == 0;
}

/* Whether 'text' is a range; if so it is filled in.  Negative for numbers that do not fit. */
static int read_range(struct tag_filter *f, struct str text, struct err *err)
{
	struct quantity a, b;
	struct str unit2 = STR("");
	size_t at = 0;
	int rc;

	if (!next_quantity(text, &at, &a))
		return 0;
	rc = scale_quantity(&a, a.unit, &f->low, &f->unit, err);
	if (rc)
		return rc;
	if (!next_quantity(text, &at, &b))
		return read_half_range(f, text, &a);
	if (a.whole.p != text.p || b.whole.p != a.whole.p + a.whole.n + 1 ||
	    a.whole.p[a.whole.n] != ':' || a.whole.n + 1 + b.whole.n != text.n)
		return 0;
	rc = scale_quantity(&b, f->unit, &f->high, &unit2, err);
	if (rc)
		return rc;
	return str_eq(f->unit, unit2);
}

static bool in_range(const struct tag_filter *f, const struct label *l)
{
	struct str unit;
	double v = unit_scale(l->num, label_unit(f->units, l->key),
			      (struct unit_target){ f->unit, false }, &unit);

	return str_eq(unit, f->unit) && v >= f->low && v <= f->high;
}

/* ------------------------------------------------------------------ expressions */

static int read_regexps(struct tag_filter *f, const char *name, struct str text, struct err *err)
{
	struct err why;

	for (struct str part, rest = text; str_split(&rest, ',', &part);) {
		struct regex *re;

		if (regex_compile(part, &re, &why) != 0)
			return err_set(err, -EINVAL, "parsing %s regexp: %s", name, why.msg);
		vec_push(f->res, f->nres, f->cap, re);
	}
	return 0;
}

/* Whether some "key:value" of the sample matches. */
static bool match_pair(const struct regex *re, const struct profile *p, const struct sample *s)
{
	bool hit = false;
	struct out o;

	out_init(&o, 0);
	for (uint32_t i = 0; i < s->nlabels && !hit; i++) {
		const struct label *l = &p->labels[s->label + i];

		if (!label_is_string(l))
			break;
		o.n = 0;
		out_str(&o, profile_str(p, l->key));
		out_char(&o, ':');
		out_str(&o, profile_str(p, l->str));
		hit = regex_match(re, out_view(&o));
	}
	out_release(&o);
	return hit;
}

static bool match_value(const struct tag_filter *f, struct str value)
{
	for (size_t i = 0; i < f->nres; i++) {
		if (regex_match(f->res[i], value))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------ both */

int tag_filter_new(struct tag_filter **out, const char *name, struct str text,
		   const struct label_units *units, struct notify *notify, struct err *err)
{
	struct tag_filter *f;
	const char *equals;
	int rc;

	*out = NULL;
	if (text.n == 0)
		return 0;
	f = mem_zeroed(1, sizeof(*f));
	f->units = units;
	equals = memchr(text.p, '=', text.n);
	if (equals) {
		f->key = (struct str){ text.p, (size_t)(equals - text.p) };
		f->has_key = f->key.n > 0;
		text = str_skip(text, f->key.n + 1);
	}
	rc = read_range(f, text, err);
	if (rc > 0) {
		notify_warn(notify, "%s:Interpreted '%.*s' as range, not regexp", name,
			    STR_ARG(text));
		f->is_range = true;
	} else if (rc == 0) {
		rc = read_regexps(f, name, text, err);
	}
	if (rc < 0) {
		tag_filter_free(f);
		return rc;
	}
	*out = f;
	return 0;
}

void tag_filter_free(struct tag_filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nres; i++)
		regex_free(f->res[i]);
	free(f->res);
	free(f);
}

/* Whether a label of the wanted key (or of any) is in the range, or matches. */
static bool match_any(const struct tag_filter *f, const struct profile *p, const struct sample *s)
{
	for (uint32_t i = 0; i < s->nlabels; i++) {
		const struct label *l = &p->labels[s->label + i];

		if (f->has_key && !str_eq(profile_str(p, l->key), f->key))
			continue;
		if (f->is_range ? !label_is_string(l) && in_range(f, l)
				: label_is_string(l) && match_value(f, profile_str(p, l->str)))
			return true;
	}
	return false;
}

bool tag_filter_match(const struct tag_filter *f, const struct profile *p, const struct sample *s)
{
	if (f->is_range || f->has_key)
		return match_any(f, p, s);
	for (size_t i = 0; i < f->nres; i++) {
		if (!match_pair(f->res[i], p, s))
			return false;
	}
	return true;
}
