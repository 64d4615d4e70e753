/*
 * readable.c - the name of a function, as much of it as a person wants to read
 *
 * Every level is made from the one before, so a name cannot grow; each step reads the name anew,
 * since names are short and it is simpler.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/readable.h"

#include "base/cleanup.h"
#include "base/out.h"
#include "symbol/brackets.h"
#include "symbol/readable-steps.h"

enum { MAX_NAME = 64 << 10 };

typedef bool step_fn(struct str s, struct out *o);

/* ------------------------------------------------------------------ languages */

static bool ends_with_one_of(struct str s, const char *const *list)
{
	for (; *list; list++) {
		if (str_ends(s, str_of(*list)))
			return true;
	}
	return false;
}

enum name_style name_style(struct str file)
{
	static const char *const dotted[] = { ".go",  ".java",   ".kt", ".scala",
					      ".clj", ".groovy", ".py", NULL };
	static const char *const scoped[] = { ".c",   ".h",   ".cc", ".cpp", ".cxx", ".hpp", ".hh",
					      ".hxx", ".inl", ".rs", ".m",   ".mm",  ".tcc", NULL };

	if (ends_with_one_of(file, dotted))
		return NAME_DOTTED;
	return ends_with_one_of(file, scoped) ? NAME_SCOPED : NAME_GUESS;
}

static enum name_style guess_style(struct str s)
{
	AUTO(brackets_release) struct brackets b = { 0 };

	if (s.n == 0 || s.p[0] == '<' || str_starts(s, STR("_GLOBAL_")) || !brackets_init(&b, s))
		return NAME_SCOPED;
	for (size_t i = 0; i < s.n; i = step(&b, i)) {
		if (is_at(s, i, STR("::")) || is_operator_at(s, i))
			return NAME_SCOPED;
		if (s.p[i] == '.')
			return NAME_DOTTED;
	}
	return NAME_SCOPED;
}

/* ------------------------------------------------------------------ what surrounds a name */

/* How long the words are that libiberty puts before a name: "vtable for ". */
static size_t prefix_length(struct str s)
{
	static const char *const prefixes[] = {
		"vtable for ",
		"VTT for ",
		"typeinfo for ",
		"typeinfo name for ",
		"guard variable for ",
		"non-virtual thunk to ",
		"virtual thunk to ",
		"covariant return thunk to ",
		"transaction clone for ",
		"non-transaction clone for ",
		"TLS init function for ",
		"TLS wrapper function for ",
		"reference temporary for ",
		"global constructors keyed to ",
		"global destructors keyed to ",
		"invocation function for block in ",
	};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (str_starts(s, str_of(prefixes[i])))
			return strlen(prefixes[i]);
	}
	return 0;
}

static bool is_number(struct str s)
{
	size_t i = 0;

	while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
		i++;
	return s.n > 0 && i == s.n;
}

/* What compilers put behind a function that they split or copied: foo.isra.0.cold */
static bool is_clone_word(struct str s)
{
	static const char *const words[] = { "cold",     "constprop", "isra",     "part",
					     "llvm",     "clone",     "lto_priv", "localalias",
					     "resolver", "ifunc",     "hot",      "unlikely",
					     "__uniq",   NULL };

	for (const char *const *w = words; *w; w++) {
		if (str_is(s, *w))
			return true;
	}
	return false;
}

/* How much of 's' is left when one suffix is cut off: ".cold", ".isra.0". */
static size_t cut_dots(struct str s)
{
	ptrdiff_t dot = str_rfind_char(s, '.');

	if (dot > 0 && is_number(str_skip(s, (size_t)dot + 1))) {
		s.n = (size_t)dot;
		dot = str_rfind_char(s, '.');
	}
	return dot > 0 && is_clone_word(str_skip(s, (size_t)dot + 1)) ? (size_t)dot : SIZE_MAX;
}

/* " [clone .cold]": the same, as libiberty writes it. */
static size_t cut_bracket(struct str s)
{
	ptrdiff_t open = str_ends(s, STR("]")) ? str_rfind_char(s, '[') : -1;

	if (open < 1 || !str_starts(str_skip(s, (size_t)open - 1), STR(" [clone .")))
		return SIZE_MAX;
	return (size_t)open - 1;
}

/* "memcpy@@GLIBC_2.14"; what comes after the @ may hold dots, but no brackets. */
static size_t cut_version(struct str s)
{
	ptrdiff_t at = str_rfind_char(s, '@');

	if (at <= 0 || str_is(str_skip(s, (size_t)at), "@plt"))
		return SIZE_MAX;
	for (size_t i = (size_t)at + 1; i < s.n; i++) {
		if (!is_name_char(s.p[i]) && s.p[i] != '.')
			return SIZE_MAX;
	}
	return (size_t)at - (s.p[at - 1] == '@');
}

/* What is left when one suffix of any kind is cut off; all of it if there is none. */
static size_t cut_one(struct str s)
{
	static size_t (*const cuts[])(struct str) = { cut_dots, cut_bracket, cut_version };

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		size_t n = cuts[i](s);

		if (n != SIZE_MAX && n > 0)
			return n;
	}
	return s.n;
}

static struct str cut_suffixes(struct str s)
{
	size_t n = cut_one(s);

	while (n < s.n) {
		s.n = n;
		n = cut_one(s);
	}
	return s;
}

/* ------------------------------------------------------------------ steps */

/* Appends what 'fn' makes of 's', or 's' itself. */
static void try_step(step_fn *fn, struct str s, struct out *o)
{
	size_t begin = o->n;

	if (fn(s, o))
		return;
	o->n = begin;
	out_str(o, s);
}

/* The same for what is between the words around a name. */
static void take_step(step_fn *fn, struct str s, struct out *o)
{
	static const struct str plt = { "@plt", 4 };
	size_t prefix = prefix_length(s);
	bool stub = str_ends(s, plt) && s.n > plt.n;

	out_str(o, str_range(s, 0, prefix));
	s = str_skip(s, prefix);
	if (stub)
		s.n -= plt.n;
	try_step(fn, s, o);
	if (stub)
		out_str(o, plt);
}

/* -[NSArray objectAtIndex:] is a class and a method already. */
static bool is_objective_c(struct str s)
{
	return (str_starts(s, STR("-[")) || str_starts(s, STR("+["))) && str_ends(s, STR("]"));
}

static void put_objective_c(struct str s, int level, struct out *o)
{
	ptrdiff_t blank = str_find(s, STR(" "));

	if (level == 4 && blank > 0 && (size_t)blank + 2 < s.n)
		out_str(o, str_range(s, (size_t)blank + 1, s.n - 1));
	else
		out_str(o, s);
}

static void shorten(struct str s, enum name_style style, int level, struct out *o)
{
	static step_fn *const scoped[] = { scoped_fold, scoped_signature, scoped_arguments,
					   scoped_class, scoped_function };
	static step_fn *const dotted[] = { NULL, dotted_signature, dotted_arguments, dotted_class,
					   dotted_function };
	step_fn *const *steps = style == NAME_DOTTED ? dotted : scoped;
	AUTO(out_release) struct out before;

	out_init(&before, 0);
	out_str(&before, s);
	for (int i = steps[0] ? 0 : 1; i <= level; i++) {
		o->n = 0;
		take_step(steps[i], out_view(&before), o);
		before.n = 0;
		out_str(&before, out_view(o));
	}
}

void readable_name(struct str full, enum name_style style, int level, struct out *o)
{
	o->n = 0;
	if (level <= 0 || full.n > MAX_NAME) {
		out_str(o, full);
		return;
	}
	if (is_objective_c(full)) {
		put_objective_c(full, level, o);
		return;
	}
	if (style != NAME_DOTTED)
		full = cut_suffixes(full);
	if (style == NAME_GUESS)
		style = guess_style(full);
	shorten(full, style, level, o);
}
