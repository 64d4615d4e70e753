/*
 * readable-scoped.c - names of C, C++ and Rust functions, from one level to the next
 *
 * A name is a list of parts with :: between them.  A part is an identifier, maybe with template
 * arguments, or one of the things that compilers make names of: (anonymous namespace),
 * {lambda(int)#1}, <alloc::vec::Vec<T> as core::ops::Drop>, operator T.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "symbol/brackets.h"
#include "symbol/readable-steps.h"

struct part {
	size_t at, end;
};

struct parts {
	struct part *at;
	size_t n, cap;
};

static void parts_release(struct parts *p)
{
	free(p->at);
}

static struct str part_text(const struct brackets *b, struct part p)
{
	return str_range(b->s, p.at, p.end);
}

/* "operator bool", "operator new", "operator"" _km": what follows the blank is part of the name. */
static bool is_word_operator(struct str s)
{
	return is_operator_at(s, 0) && s.n > 8 && (s.p[8] == ' ' || s.p[8] == '"');
}

/*
 * The end of the part that begins at 'i'.  The type in "operator std::string" has parts of its own;
 * it ends at the parameters.
 */
static size_t part_end(const struct brackets *b, size_t i, size_t end)
{
	bool type = is_word_operator(str_range(b->s, i, end));

	for (; i < end; i = step(b, i)) {
		if (opens(b, i) && b->s.p[i] == '(')
			type = false;
		if (!type && is_at(b->s, i, STR("::")))
			return i;
	}
	return end;
}

/* The parts of what is between 'at' and 'end'. */
static void split(const struct brackets *b, size_t at, size_t end, struct parts *parts)
{
	for (;;) {
		struct part p = { at, part_end(b, at, end) };

		vec_push(parts->at, parts->n, parts->cap, p);
		if (p.end >= end)
			return;
		at = p.end + 2;
	}
}

/* A name has no blanks and no dots, but in brackets and behind "operator". */
static bool is_plain(const struct brackets *b, const struct parts *parts)
{
	for (size_t k = 0; k < parts->n; k++) {
		struct part p = parts->at[k];

		if (p.at == p.end || p.at > p.end)
			return false;
		if (is_word_operator(part_text(b, p)))
			continue;
		for (size_t i = p.at; i < p.end; i = step(b, i)) {
			if (b->s.p[i] == '.' || (b->s.p[i] == ' ' && !is_at(b->s, i, STR(" <"))))
				return false;
		}
	}
	return true;
}

/* ------------------------------------------------------------------ level 1: no signature */

/* What may follow the parameters of a method. */
static const struct str qualifiers[] = {
	{ " const", 6 }, { " volatile", 9 }, { " &&", 3 }, { " &", 2 }, { " noexcept", 9 }
};

enum { NQUALIFIERS = sizeof(qualifiers) / sizeof(qualifiers[0]) };

/* How long the qualifier at the end of 's' is; 0 if there is none. */
static size_t qualifier_before(struct str s)
{
	for (size_t i = 0; i < NQUALIFIERS; i++) {
		if (str_ends(s, qualifiers[i]))
			return qualifiers[i].n;
	}
	return 0;
}

static size_t qualifier_at(struct str s, size_t at)
{
	for (size_t i = 0; i < NQUALIFIERS; i++) {
		if (is_at(s, at, qualifiers[i]))
			return qualifiers[i].n;
	}
	return 0;
}

/* Where " const &" and the like at 'end' begin, if that is behind a parenthesis. */
static size_t qualifiers_start(const struct brackets *b, size_t end)
{
	size_t e = end, n = qualifier_before(str_range(b->s, 0, e));

	while (n) {
		e -= n;
		n = qualifier_before(str_range(b->s, 0, e));
	}
	return e > 0 && b->s.p[e - 1] == ')' && is_bracket(b, e - 1) ? e : end;
}

/* Whether the pair of parentheses at 'open' follows a name, rather than being part of it. */
static bool follows_name(const struct brackets *b, size_t open)
{
	char before = open > 0 ? b->s.p[open - 1] : ' ';

	return before != ' ' && before != ':' && before != '(';
}

/* Cuts parameters and what is behind them off the end.  False: there are none. */
static bool cut_parameters(const struct brackets *b, size_t *end)
{
	size_t e = qualifiers_start(b, *end), open;

	if (e == 0 || b->s.p[e - 1] != ')' || !is_bracket(b, e - 1))
		return false;
	open = b->match[e - 1];
	if (!follows_name(b, open))
		return false;
	*end = open;
	return true;
}

/*
 * A function that returns a pointer to a function, "void (*f(int))(char)", has its name inside:
 * narrows the range to that.
 */
static bool enter_pointer(const struct brackets *b, size_t *at, size_t *end)
{
	size_t e = *end, open;

	/* Or to an array: "int (&f())[3]". */
	if (e > 0 && b->s.p[e - 1] == ']' && is_bracket(b, e - 1))
		e = b->match[e - 1];
	if (e == 0 || b->s.p[e - 1] != ')' || !is_bracket(b, e - 1))
		return false;
	open = b->match[e - 1];
	if (open < *at || (b->s.p[open + 1] != '*' && b->s.p[open + 1] != '&'))
		return false;
	*at = open + 1;
	while (b->s.p[*at] == '*' || b->s.p[*at] == '&')
		(*at)++;
	*end = e - 1;
	return true;
}

/* Behind all the qualifiers at 'i'. */
static size_t skip_qualifiers(struct str s, size_t i)
{
	size_t n = qualifier_at(s, i);

	while (n) {
		i += n;
		n = qualifier_at(s, i);
	}
	return i;
}

/* Where the name begins, behind the return type. */
static size_t name_start(const struct brackets *b, size_t at, size_t end)
{
	size_t start = at, i = at;

	while (i < end && !is_operator_at(b->s, i)) {
		size_t behind = skip_qualifiers(b->s, i);

		/* In "A::f() const::g" they are those of a function in which g is. */
		if (b->s.p[i] == ' ' && (behind == i || !is_at(b->s, behind, STR("::"))))
			start = i + 1;
		i = behind > i ? behind : step(b, i);
	}
	return start;
}

/* The name without its signature, as a range.  True if there was one. */
static bool find_name(const struct brackets *b, size_t *at, size_t *end)
{
	bool cut = false;

	*at = 0;
	*end = b->s.n;
	while (cut_parameters(b, end) || enter_pointer(b, at, end))
		cut = true;
	if (cut)
		*at = name_start(b, *at, *end);
	return cut;
}

/* clang's 'lambda'(int) and $_0. */
static bool is_clang_closure(struct str s)
{
	return str_starts(s, STR("'lambda")) || str_starts(s, STR("'unnamed")) ||
	       str_starts(s, STR("$_"));
}

/* A part without parameters, unless they are all that tells it apart, and without [abi:...]. */
static void put_without_parameters(const struct brackets *b, struct part p, bool last,
				   struct out *o)
{
	struct str text = part_text(b, p);
	bool keep = is_clang_closure(text) || (last && is_word_operator(text));

	for (size_t i = p.at; i < p.end; i = step(b, i)) {
		struct str piece = str_range(b->s, i, step(b, i));

		if (opens(b, i) && b->s.p[i] == '(' && i > p.at && !keep)
			return;
		if (!str_starts(piece, STR("[abi:")))
			out_str(o, piece);
	}
}

/* std::string::basic_string, a constructor: the class has got its short name already. */
static bool put_constructor(const struct brackets *b, const struct parts *parts, size_t k,
			    struct out *o)
{
	struct str name = part_text(b, parts->at[k]), class;
	bool destructor = str_starts(name, STR("~"));

	if (k == 0)
		return false;
	name = str_skip(name, destructor);
	class = part_text(b, parts->at[k - 1]);
	if (!str_starts(name, STR("basic_")) || !str_ends(class, str_skip(name, 6)) ||
	    class.n > name.n - 3)
		return false;
	if (destructor)
		out_char(o, '~');
	out_str(o, class);
	return true;
}

/* Whether 's' is the hash that Rust puts behind a name: h and 16 digits. */
static bool is_rust_hash(struct str s)
{
	size_t i = 1;

	while (i < s.n && ((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
		i++;
	return s.n == 17 && s.p[0] == 'h' && i == s.n;
}

bool scoped_signature(struct str s, struct out *o)
{
	AUTO(brackets_release) struct brackets b = { 0 };
	AUTO(parts_release) struct parts parts = { 0 };
	size_t at, end, begin = o->n;

	if (!brackets_init(&b, s))
		return false;
	find_name(&b, &at, &end);
	split(&b, at, end, &parts);
	if (parts.n > 1 && is_rust_hash(part_text(&b, parts.at[parts.n - 1])))
		parts.n--;
	for (size_t k = 0; k < parts.n; k++) {
		if (k)
			out_text(o, "::");
		if (!put_constructor(&b, &parts, k, o))
			put_without_parameters(&b, parts.at[k], k + 1 == parts.n, o);
	}
	brackets_release(&b);
	parts.n = 0;
	/* What is left must be a name. */
	s = str_skip(out_view(o), begin);
	if (!brackets_init(&b, s))
		return false;
	split(&b, 0, s.n, &parts);
	return is_plain(&b, &parts);
}

/* ------------------------------------------------------------------ levels 2 to 4 */

/* Reads a name that has no signature.  False: it is not understood. */
static bool read_parts(struct brackets *b, struct str s, struct parts *parts)
{
	if (!brackets_init(b, s))
		return false;
	/* "<unknown>" is no name. */
	if (opens(b, 0) && s.p[0] == '<' && b->match[0] + (size_t)1 == s.n)
		return false;
	split(b, 0, s.n, parts);
	return is_plain(b, parts);
}

/* Rust's <Type>, <Type as Trait>, <impl Trait for Type> and <impl Type>, rather than arguments. */
static bool is_rust_self(const struct brackets *b, struct part p)
{
	if (!opens(b, p.at) || b->s.p[p.at] != '<')
		return false;
	if (p.at == 0 || is_at(b->s, p.at, STR("<impl ")))
		return true;
	for (size_t i = p.at + 1; i < b->match[p.at]; i = step(b, i)) {
		if (is_at(b->s, i, STR(" as ")))
			return true;
	}
	return false;
}

static bool is_nameless(struct str s)
{
	return str_is(s, "(anonymous namespace)") || str_is(s, "{anonymous}") ||
	       str_is(s, "_GLOBAL__N_1") || str_starts(s, STR("{impl#"));
}

/* Copies with all template arguments cut. */
static void put_arguments_cut(const struct brackets *b, size_t from, size_t end, struct out *o)
{
	for (size_t i = from; i < end; i = step(b, i)) {
		bool empty = opens(b, i) && b->match[i] == i + 1;

		if (opens(b, i) && b->s.p[i] == '<')
			out_text(o, empty ? "<>" : "<…>");
		else
			out_str(o, str_range(b->s, i, step(b, i)));
	}
}

/* {lambda(int)#1} as {lambda#1} */
static void put_lambda(const struct brackets *b, struct part p, struct out *o)
{
	size_t i = p.at;

	if (b->s.p[i] == '{')
		out_char(o, b->s.p[i++]);
	for (; i < p.end; i = step(b, i)) {
		if (!opens(b, i) || b->s.p[i] != '(')
			out_str(o, str_range(b->s, i, step(b, i)));
	}
}

static void put_part_cut(const struct brackets *b, struct part p, struct out *o)
{
	struct str text = part_text(b, p);

	if (str_starts(text, STR("{lambda(")) || is_clang_closure(text)) {
		put_lambda(b, p, o);
	} else if (is_rust_self(b, p)) {
		size_t close = b->match[p.at];

		out_char(o, '<');
		put_arguments_cut(b, p.at + 1, close, o);
		out_char(o, '>');
		put_arguments_cut(b, close + 1, p.end, o);
	} else {
		put_arguments_cut(b, p.at, p.end, o);
	}
}

bool scoped_arguments(struct str s, struct out *o)
{
	AUTO(brackets_release) struct brackets b = { 0 };
	AUTO(parts_release) struct parts parts = { 0 };

	if (!read_parts(&b, s, &parts))
		return false;
	for (size_t k = 0; k < parts.n; k++) {
		bool last = k + 1 == parts.n;

		if (!last && is_nameless(part_text(&b, parts.at[k])))
			continue;
		put_part_cut(&b, parts.at[k], o);
		if (!last)
			out_text(o, "::");
	}
	return true;
}

/* What says nothing without the function it is in: a lambda, a closure. */
static bool is_closure(struct str s)
{
	return str_starts(s, STR("{")) || is_clang_closure(s);
}

/* Copies without template arguments, and without the blank in "operator< <int>". */
static void put_bare(const struct brackets *b, size_t at, size_t end, struct out *o)
{
	for (size_t i = at; i < end; i = step(b, i)) {
		bool arguments = opens(b, i) && b->s.p[i] == '<';
		bool blank = b->s.p[i] == ' ' && opens(b, i + 1) && b->s.p[i + 1] == '<';

		if (!arguments && !blank)
			out_str(o, str_range(b->s, i, step(b, i)));
	}
}

/* The last name, and its closures, in the type of <Type as Trait> and the like. */
static void put_rust_type(const struct brackets *b, struct part p, struct out *o)
{
	size_t at = p.at + 1, end = b->match[p.at];
	bool impl = is_at(b->s, at, STR("impl "));

	if (impl)
		at += 5;
	for (size_t i = at; i < end; i = step(b, i)) {
		if (impl && is_at(b->s, i, STR(" for ")))
			at = i + 5;
		else if (!impl && is_at(b->s, i, STR(" as ")))
			end = i;
	}
	for (size_t i = at; i < end; i = step(b, i)) {
		if (is_at(b->s, i, STR("::")) && i + 2 < end && b->s.p[i + 2] != '{')
			at = i + 2;
	}
	put_bare(b, at, end, o);
}

static void put_part_bare(const struct brackets *b, struct part p, struct out *o)
{
	if (is_rust_self(b, p))
		put_rust_type(b, p, o);
	else
		put_bare(b, p.at, p.end, o);
}

/* What compilers call the function of a lambda. */
static bool is_call(struct str s)
{
	return str_starts(s, STR("operator()")) || str_is(s, "_FUN") || str_is(s, "__invoke");
}

/* Leaves out parts that are only arguments (Rust's Vec::<T>::new), and calls of lambdas. */
static void drop_idle_parts(const struct brackets *b, struct parts *parts)
{
	size_t n = 0;

	for (size_t k = 0; k < parts->n; k++) {
		struct part p = parts->at[k];
		struct str text = part_text(b, p);
		bool arguments = opens(b, p.at) && text.p[0] == '<' &&
				 b->match[p.at] + (size_t)1 == p.end && !is_rust_self(b, p);
		bool call = n > 0 && is_call(text) && is_closure(part_text(b, parts->at[n - 1]));

		if ((!arguments || parts->n == 1) && !call)
			parts->at[n++] = p;
	}
	parts->n = n;
}

/* Keeps the function with its closures, and 'scopes' parts before it. */
static bool keep_last(struct str s, size_t scopes, struct out *o)
{
	AUTO(brackets_release) struct brackets b = { 0 };
	AUTO(parts_release) struct parts parts = { 0 };
	size_t k;

	if (!read_parts(&b, s, &parts))
		return false;
	drop_idle_parts(&b, &parts);
	if (parts.n == 0)
		return false;
	k = parts.n - 1;
	while (k > 0 && is_closure(part_text(&b, parts.at[k])))
		k--;
	for (k -= k < scopes ? k : scopes; k < parts.n; k++) {
		put_part_bare(&b, parts.at[k], o);
		if (k + 1 < parts.n)
			out_text(o, "::");
	}
	return true;
}

bool scoped_class(struct str s, struct out *o)
{
	return keep_last(s, 1, o);
}

bool scoped_function(struct str s, struct out *o)
{
	return keep_last(s, 0, o);
}
