/*
 * args.c - options of our own commands, from one table each
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/args.h"

#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"

#include <errno.h>
#include <stdlib.h>

static const uint64_t most = (uint64_t)1 << 62;

static bool read_digits(const char **p, uint64_t *n)
{
	const char *start = *p;

	for (*n = 0; **p >= '0' && **p <= '9'; (*p)++) {
		if (*n > most / 10)
			return false;
		*n = *n * 10 + (uint64_t)(**p - '0');
	}
	return *p > start;
}

bool size_parse(const char *text, uint64_t *n)
{
	static const char units[] = "KMGT";
	const char *unit;

	if (!text || !read_digits(&text, n))
		return false;
	if (!*text)
		return true;
	unit = strchr(units, *text >= 'a' ? *text - 'a' + 'A' : *text);
	if (!unit || text[1])
		return false;
	for (const char *u = units; u <= unit; u++) {
		if (*n > most >> 10)
			return false;
		*n <<= 10;
	}
	return true;
}

static uint64_t unit_ns(struct str unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", 1000000000 },
		{ "", 1000000000 },
		{ "m", 60000000000 },
		{ "h", 3600000000000 },
		{ "d", 86400000000000 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (str_is(unit, units[i].name))
			return units[i].ns;
	return 0;
}

/* "1.5s": digits, perhaps a point and more, and a unit. */
static bool read_part(const char **p, double *ns)
{
	uint64_t whole, unit;
	double value, place = 1;
	size_t n;

	if (!read_digits(p, &whole))
		return false;
	value = (double)whole;
	if (**p == '.') {
		for ((*p)++; **p >= '0' && **p <= '9'; (*p)++) {
			place /= 10;
			value += place * (**p - '0');
		}
	}
	n = strspn(*p, "abcdefghijklmnopqrstuvwxyz");
	unit = unit_ns((struct str){ *p, n });
	*p += n;
	*ns += value * (double)unit;
	return unit > 0 && *ns < (double)most;
}

bool time_parse(const char *text, int64_t *ns)
{
	double sum = 0;

	if (!text || !*text)
		return false;
	while (*text)
		if (!read_part(&text, &sum))
			return false;
	*ns = (int64_t)(sum + 0.5);
	return true;
}

uint64_t args_number(const char *value)
{
	uint64_t n = 0;

	(void)size_parse(value, &n);
	return n;
}

int64_t args_ns(const char *value)
{
	int64_t ns = 0;

	(void)time_parse(value, &ns);
	return ns;
}

/* "-o": the one option that begins so. */
static int find_letter(const struct arg *table, char letter)
{
	int found = -1;

	for (int i = 0; table[i].name; i++) {
		if (table[i].name[0] != letter)
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

static int find(const struct arg *table, struct str name, struct err *err)
{
	int i = name.n == 1 ? find_letter(table, name.p[0]) : -1;

	if (i >= 0)
		return i;
	for (i = 0; table[i].name; i++)
		if (str_is(name, table[i].name))
			return i;
	return err_set(err, -EINVAL, "there is no option --%.*s; see --help", STR_ARG(name));
}

static int check_value(const struct arg *arg, const char *value, struct err *err)
{
	uint64_t n;
	int64_t ns;

	if (!value != !arg->value)
		return err_set(err, -EINVAL, "--%s takes %s value", arg->name, value ? "no" : "a");
	if (arg->value && arg->kind == ARG_NUMBER && !size_parse(value, &n))
		return err_set(err, -EINVAL, "--%s takes a number, not '%s'", arg->name, value);
	if (arg->value && arg->kind == ARG_TIME && !time_parse(value, &ns))
		return err_set(err, -EINVAL, "--%s takes a time such as 30s or 5m, not '%s'",
			       arg->name, value);
	return 0;
}

/* Takes in one option, which has its value after an equals sign or takes it from '*next'. */
static int take(struct args *a, const char *word, char ***next, struct err *err)
{
	struct str rest = str_of(word), name;
	const char *value = strchr(word, '=');
	int i, rc;

	str_split(&rest, '=', &name);
	if (str_is(name, "help") || str_is(name, "h")) {
		a->help = true;
		return value ? err_set(err, -EINVAL, "--help takes no value") : 0;
	}
	i = find(a->table, name, err);
	if (i < 0)
		return i;
	if (value)
		value++;
	else if (a->table[i].value && **next)
		value = *(*next)++;
	rc = check_value(&a->table[i], value, err);
	if (rc < 0)
		return rc;
	a->values[i] = value ? value : "";
	if (a->nall == ARGS_REPEATS)
		return err_set(err, -E2BIG, "too many options");
	a->all[a->nall].option = (size_t)i;
	a->all[a->nall++].value = a->values[i];
	return 0;
}

static bool is_option(const char *word)
{
	return word && word[0] == '-' && word[1] && strcmp(word, "--") != 0;
}

static int take_options(struct args *a, char ***next, struct err *err)
{
	int rc = 0;

	while (rc == 0 && is_option(**next)) {
		const char *word = *(*next)++;

		rc = take(a, word + 1 + (word[1] == '-'), next, err);
	}
	return rc;
}

int args_parse(struct args *a, const struct arg *table, char **next, args_end *ends,
	       struct err *err)
{
	char **to = next;
	bool more = true;
	int rc;

	*a = (struct args){ .table = table, .rest = next };
	while (more) {
		rc = take_options(a, &next, err);
		if (rc < 0)
			return rc;
		more = *next && strcmp(*next, "--") != 0;
		if (more) {
			*to++ = *next++;
			more = !ends || !ends(a->rest, (size_t)(to - a->rest));
		} else if (*next) {
			next++;
		}
	}
	while (*next)
		*to++ = *next++;
	*to = NULL;
	return 0;
}

void args_help(const struct arg *table, struct out *o)
{
	for (const struct arg *f = table; f->name; f++) {
		struct str rest = str_of(f->help), line;
		char *left = mem_printf("--%s%s%s", f->name, f->value ? " " : "",
					f->value ? f->value : "");

		out_printf(o, "  %-22s", left);
		for (int i = 0; str_split(&rest, '\n', &line); i++)
			out_printf(o, "%s %.*s\n", i ? "                        " : "",
				   STR_ARG(line));
		free(left);
	}
	out_printf(o, "  %-22s %s\n", "--help", "Show this text");
}
