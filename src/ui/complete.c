/*
 * complete.c - what a half-typed line of the shell could become
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/complete.h"

#include "base/gotext.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "ui/commands.h"
#include "ui/options.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

static void add(struct completions *c, struct str word, const char *suffix)
{
	vec_push(c->words, c->n, c->cap, mem_printf("%.*s%s", STR_ARG(word), suffix));
}

static void offer(struct completions *c, struct str typed, const char *word, const char *suffix)
{
	if (str_starts(str_of(word), typed))
		add(c, str_of(word), suffix);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_unique(struct completions *c)
{
	size_t n = 0;

	if (c->n)
		qsort(c->words, c->n, sizeof(*c->words), compare);
	for (size_t i = 0; i < c->n; i++) {
		if (n && strcmp(c->words[n - 1], c->words[i]) == 0)
			free(c->words[i]);
		else
			c->words[n++] = c->words[i];
	}
	c->n = n;
}

static void offer_commands(struct completions *c, struct str typed)
{
	for (const struct command *cmd = commands; cmd->name; cmd++)
		offer(c, typed, cmd->name, "");
}

/* 'bare': just the names, for "help".  Otherwise with what must follow them. */
static void offer_options(struct completions *c, struct str typed, bool bare)
{
	for (const struct option *o = config_options; o->name; o++) {
		if (!bare || o->help)
			offer(c, typed, o->name, bare || o->type == OPTION_BOOL ? "" : "=");
		for (const struct choice *ch = o->choices; ch && ch->name; ch++) {
			if (choice_is_flag(ch))
				offer(c, typed, ch->name, bare ? "" : "=true");
		}
	}
}

static void offer_sample_types(struct completions *c, struct str typed, const char *prefix,
			       const struct profile *p)
{
	for (uint32_t i = 0; i < p->ntypes; i++) {
		struct str type = profile_str(p, p->types[i].type);
		char *word = mem_printf("%s%.*s", prefix, STR_ARG(type));

		offer(c, typed, word, "");
		free(word);
	}
}

static void offer_first_words(struct completions *c, struct str typed, const struct profile *p)
{
	static const char *const words[] = { "help", "options", "quit", "exit" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		offer(c, typed, words[i], "");
	offer_commands(c, typed);
	offer_options(c, typed, false);
	offer_sample_types(c, typed, "", p);
	offer_sample_types(c, typed, "mean_", p);
	offer_sample_types(c, typed, "total_", p);
}

/* A regular expression that matches 'name' and is one word. */
static void out_pattern(struct out *o, struct str name)
{
	size_t n;

	for (; name.n; name = str_skip(name, n)) {
		uint32_t r = go_rune(name, &n);

		if (go_is_space(r) || r == 0) {
			out_char(o, '.');
			continue;
		}
		if (r < 0x80 && strchr("()[]{}*+?|^$\\", (int)r))
			out_char(o, '\\');
		out_bytes(o, name.p, n);
	}
}

/* Names that begin with what was typed; if there are none, names that have it anywhere. */
static void offer_functions(struct completions *c, struct str typed, const char *prefix,
			    const struct profile *p)
{
	for (int anywhere = 0; anywhere < 2 && c->n == 0; anywhere++) {
		for (uint32_t i = 0; i < p->nfunctions; i++) {
			struct str name = profile_str(p, p->functions[i].name);
			struct out o;

			if (name.n == 0)
				continue;
			out_init(&o, 0);
			out_text(&o, prefix);
			out_pattern(&o, name);
			name = str_skip(out_view(&o), strlen(prefix));
			if (anywhere ? str_find(name, typed) >= 0 : str_starts(name, typed))
				add(c, out_view(&o), "");
			out_release(&o);
		}
	}
}

static void offer_file(struct completions *c, struct str dir, struct str base,
		       const struct dirent *e)
{
	struct str name = str_of(e->d_name);
	char *path;

	if (!str_starts(name, base) || (name.p[0] == '.' && base.n == 0))
		return;
	path = mem_printf("%.*s%s", STR_ARG(dir), name.p);
	add(c, str_of(path), e->d_type == DT_DIR ? "/" : "");
	free(path);
}

static void offer_files(struct completions *c, struct str typed)
{
	struct str dir = { typed.p, (size_t)(str_rfind_char(typed, '/') + 1) };
	char *folder = mem_printf("%.*s.", STR_ARG(dir));
	DIR *d = opendir(folder);

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d))
		offer_file(c, dir, str_skip(typed, dir.n), e);
	if (d)
		closedir(d);
	free(folder);
}

static void offer_words(struct completions *c, struct str typed, const char *const *words)
{
	for (; *words; words++)
		offer(c, typed, *words, "");
}

static void offer_values(struct completions *c, struct str typed, const struct option *o,
			 const struct profile *p)
{
	static const char *const switches[] = { "true", "false", NULL };
	static const char *const units[] = {
		"minimum",      "auto",      "bytes",     "kilobytes",   "megabytes",
		"gigabytes",    "terabytes", "petabytes", "nanoseconds", "microseconds",
		"milliseconds", "seconds",   "hours",     NULL
	};

	if (o->type == OPTION_BOOL)
		offer_words(c, typed, switches);
	for (const struct choice *ch = o->choices; ch && ch->name; ch++)
		offer(c, typed, ch->name, "");
	if (o->value == VALUE_UNIT)
		offer_words(c, typed, units);
	else if (o->value == VALUE_SAMPLE_TYPE)
		offer_sample_types(c, typed, "", p);
	else if (o->value == VALUE_REGEXP)
		offer_functions(c, typed, "", p);
	else if (o->value == VALUE_FILE || o->value == VALUE_DIR)
		offer_files(c, typed);
}

/* What is being typed: the words before it, and itself. */
struct typing {
	struct str first, previous, word;
	size_t nbefore; /* words before it */
};

static struct typing words_of(struct str line)
{
	struct typing t = { { 0 }, { 0 }, { line.p + line.n, 0 }, 0 };
	struct str rest = line, word;

	while (go_field(&rest, &word)) {
		if (rest.n == 0) { /* the cursor touches it */
			t.word = word;
			break;
		}
		if (t.nbefore++ == 0)
			t.first = word;
		t.previous = word;
	}
	return t;
}

static void complete_word(struct completions *c, const struct typing *t, const struct profile *p)
{
	bool minus = t->word.n && t->word.p[0] == '-';

	if (t->nbefore == 0)
		offer_first_words(c, t->word, p);
	else if (str_is(t->first, "help") && t->nbefore == 1) {
		offer_commands(c, t->word);
		offer_options(c, t->word, true);
	} else if (str_is(t->previous, ">")) {
		offer_files(c, t->word);
	} else if (t->word.n && t->word.p[0] == '>') {
		c->start++;
		offer_files(c, str_skip(t->word, 1));
	} else if (!str_is(t->first, "tags") && !str_is(t->first, "help")) {
		offer_functions(c, str_skip(t->word, minus), minus ? "-" : "", p);
		if (minus)
			offer(c, t->word, "-cum", "");
	}
}

void complete(const struct profile *p, struct str line, struct completions *c)
{
	struct str rest = line, left;
	const struct choice *choice;
	const struct option *o;
	struct typing t;

	*c = (struct completions){ 0 };
	str_split(&rest, '=', &left);
	o = left.n < line.n ? option_find(go_trim(left), &choice) : NULL;
	if (o) {
		while (rest.n && go_is_space((unsigned char)rest.p[0]))
			rest = str_skip(rest, 1);
		c->start = (size_t)(rest.p - line.p);
		if (!choice)
			offer_values(c, rest, o, p);
	} else {
		t = words_of(line);
		c->start = (size_t)(t.word.p - line.p);
		complete_word(c, &t, p);
	}
	sort_unique(c);
}

void completions_release(struct completions *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->words[i]);
	free(c->words);
	*c = (struct completions){ 0 };
}

size_t completions_common(const struct completions *c)
{
	size_t n = c->n ? strlen(c->words[0]) : 0;

	for (size_t i = 1; i < c->n; i++) {
		size_t same = 0;

		while (same < n && c->words[0][same] == c->words[i][same])
			same++;
		n = same;
	}
	while (n && ((unsigned char)c->words[0][n] & 0xc0) == 0x80) /* not half a character */
		n--;
	return n;
}
