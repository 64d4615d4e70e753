/*
 * regex-syntax.c - reads a pattern as Go 1.19's regexp/syntax does
 *
 * Every rule and every message is Go's, in its Perl mode, which is what regexp.Compile uses.
 * What has been read goes to regex-build.c at once.  The first failure sticks; what is read
 * after it has no effect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/regex-syntax.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"

#include <errno.h>

/* More than PCRE2 would take; it is for the parentheses we add to nested repetitions. */
enum { MAX_TEXT = 16 << 20 };

struct parser {
	struct str pattern;
	size_t at;        /* the next byte to read */
	ptrdiff_t repeat; /* offset of the repetition operator just read, or -1 */
	struct regex_build b;
	const char *why; /* the first failure, or NULL */
	struct str where;
};

static void fail(struct parser *p, const char *why, struct str where)
{
	if (p->why)
		return;
	p->why = why;
	p->where = where;
}

static struct str slice(const struct parser *p, size_t from, size_t to)
{
	return (struct str){ p->pattern.p + from, to - from };
}

static struct str rest(const struct parser *p)
{
	return str_skip(p->pattern, p->at);
}

/* The byte 'i' places ahead, or -1 at the end. */
static int peek(const struct parser *p, size_t i)
{
	return i < p->pattern.n - p->at ? (unsigned char)p->pattern.p[p->at + i] : -1;
}

/* Reads one character; at the end of the pattern it is GO_RUNE_ERROR. */
static uint32_t next_rune(struct parser *p)
{
	uint32_t rune;
	size_t n;

	if (p->at == p->pattern.n)
		return GO_RUNE_ERROR;
	rune = go_rune(rest(p), &n);
	if (rune == GO_RUNE_ERROR && n == 1)
		fail(p, "invalid UTF-8", rest(p));
	else
		p->at += n;
	return rune;
}

static void check_utf8(struct parser *p, struct str s)
{
	size_t n;

	for (; s.n && !p->why; s = str_skip(s, n)) {
		if (go_rune(s, &n) == GO_RUNE_ERROR && n == 1)
			fail(p, "invalid UTF-8", s);
	}
}

/* Groups */

static bool is_word(int c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z');
}

/* (?P<name> */
static void read_named_group(struct parser *p)
{
	struct str s = rest(p);
	ptrdiff_t end = str_find(s, STR(">"));
	struct str name;
	bool valid;

	if (end < 0) {
		check_utf8(p, s);
		fail(p, "invalid named capture", s);
		return;
	}
	name = (struct str){ s.p + 4, (size_t)end - 4 };
	check_utf8(p, name);
	valid = name.n > 0;
	for (size_t i = 0; i < name.n; i++)
		valid &= is_word((unsigned char)name.p[i]);
	p->at += (size_t)end + 1;
	if (!valid) {
		fail(p, "invalid named capture", (struct str){ s.p, (size_t)end + 1 });
		return;
	}
	regex_open_group(&p->b, true);
}

static unsigned flag_of(uint32_t rune)
{
	switch (rune) {
	case 'i':
		return REGEX_FOLD;
	case 'm':
		return REGEX_MULTI_LINE;
	case 's':
		return REGEX_DOT_NL;
	case 'U':
		return REGEX_NON_GREEDY;
	}
	return 0;
}

/* (?flags) and (?flags: */
static void read_flags(struct parser *p)
{
	size_t from = p->at;
	unsigned flags = p->b.flags;
	bool negative = false, saw_flag = false;

	p->at += 2;
	while (p->at < p->pattern.n && !p->why) {
		uint32_t rune = next_rune(p);
		unsigned flag = flag_of(rune);

		if (flag) {
			flags = negative ? flags & ~flag : flags | flag;
			saw_flag = true;
		} else if (rune == '-' && !negative) {
			negative = true;
			saw_flag = false;
		} else if ((rune == ':' || rune == ')') && (saw_flag || !negative)) {
			if (rune == ':')
				regex_open_group(&p->b, false);
			p->b.flags = flags;
			return;
		} else {
			break;
		}
	}
	fail(p, "invalid or unsupported Perl syntax", slice(p, from, p->at));
}

static void read_open(struct parser *p)
{
	if (peek(p, 1) != '?') {
		regex_open_group(&p->b, true);
		p->at++;
	} else if (peek(p, 2) == 'P' && peek(p, 3) == '<' && peek(p, 4) >= 0) {
		read_named_group(p);
	} else {
		read_flags(p);
	}
}

/* Repetition */

/* The operator spans [from, p->at), but for a '?' behind it. */
static void apply_repeat(struct parser *p, const struct regex_repeat *r, size_t from)
{
	bool lazy = p->b.flags & REGEX_NON_GREEDY;

	if (peek(p, 0) == '?') {
		p->at++;
		lazy = !lazy;
	}
	if (p->repeat >= 0)
		fail(p, "invalid nested repetition operator", slice(p, (size_t)p->repeat, p->at));
	else if (!regex_can_repeat(&p->b))
		fail(p, "missing argument to repetition operator", slice(p, from, p->at));
	else if (!regex_put_repeat(&p->b, r, lazy) && !p->b.why)
		fail(p, "invalid repeat count", slice(p, from, p->at));
	p->repeat = (ptrdiff_t)from;
}

static bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* A decimal number 'i' places ahead, without leading zeros; 'n' is -1 if it is too large. */
static bool scan_int(const struct parser *p, size_t *i, int *n)
{
	if (!is_digit(peek(p, *i)) || (peek(p, *i) == '0' && is_digit(peek(p, *i + 1))))
		return false;
	*n = 0;
	for (; is_digit(peek(p, *i)); ++*i) {
		if (*n >= 0)
			*n = *n >= 100000000 ? -1 : *n * 10 + peek(p, *i) - '0';
	}
	return true;
}

/* {n}, {n,} or {n,m}.  Returns its length, or 0 for something else. */
static size_t scan_braces(const struct parser *p, struct regex_repeat *r)
{
	size_t i = 1;

	r->op = '{';
	if (!scan_int(p, &i, &r->min))
		return 0;
	r->max = r->min;
	if (peek(p, i) == ',') {
		i++;
		r->max = -1;
		if (peek(p, i) != '}') {
			if (!scan_int(p, &i, &r->max))
				return 0;
			if (r->max < 0)
				r->min = -1;
		}
	}
	return peek(p, i) == '}' ? i + 1 : 0;
}

static void read_braces(struct parser *p)
{
	struct regex_repeat r;
	size_t from = p->at;
	size_t n = scan_braces(p, &r);

	if (n == 0) {
		regex_put_literal(&p->b, '{');
		p->at++;
		return;
	}
	p->at += n;
	if (r.min < 0 || r.min > REGEX_MAX_REPEAT || r.max > REGEX_MAX_REPEAT ||
	    (r.max >= 0 && r.min > r.max)) {
		fail(p, "invalid repeat count", slice(p, from, p->at));
		return;
	}
	apply_repeat(p, &r, from);
}

static void read_repeat(struct parser *p)
{
	struct regex_repeat r = { .op = p->pattern.p[p->at] };
	size_t from = p->at;

	p->at++;
	apply_repeat(p, &r, from);
}

/* Escapes */

static bool is_octal(int c)
{
	return c >= '0' && c <= '7';
}

static int hex_value(uint32_t c)
{
	if (c >= '0' && c <= '9')
		return (int)c - '0';
	if (c >= 'a' && c <= 'f')
		return (int)c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return (int)c - 'A' + 10;
	return -1;
}

/* The digits of \x{...} and the brace behind them.  False if they are not right. */
static bool read_hex_braces(struct parser *p, uint32_t *rune)
{
	*rune = 0;
	for (int ndigits = 0; p->at < p->pattern.n && !p->why; ndigits++) {
		uint32_t c = next_rune(p);

		if (c == '}')
			return ndigits > 0;
		if (hex_value(c) < 0)
			return false;
		*rune = *rune * 16 + (uint32_t)hex_value(c);
		if (*rune > RUNE_MAX)
			return false;
	}
	return false;
}

/* Behind \x. */
static bool read_hex(struct parser *p, uint32_t *rune)
{
	uint32_t high, low;

	if (p->at == p->pattern.n)
		return false;
	high = next_rune(p);
	if (p->why)
		return false;
	if (high == '{')
		return read_hex_braces(p, rune);
	low = next_rune(p);
	if (hex_value(high) < 0 || hex_value(low) < 0)
		return false;
	*rune = (uint32_t)(hex_value(high) * 16 + hex_value(low));
	return true;
}

static void read_octal(struct parser *p, uint32_t *rune)
{
	for (int i = 1; i < 3 && is_octal(peek(p, 0)); i++)
		*rune = *rune * 8 + (uint32_t)(p->pattern.p[p->at++] - '0');
}

/* The character that the letter or digit 'c' behind a backslash means. */
static bool read_escaped(struct parser *p, uint32_t c, uint32_t *rune)
{
	static const char letters[] = "afnrtv", meanings[] = "\a\f\n\r\t\v";
	const char *found = c < 0x80 && c ? strchr(letters, (int)c) : NULL;

	if (found) {
		*rune = (unsigned char)meanings[found - letters];
		return true;
	}
	if (c == 'x')
		return read_hex(p, rune);
	if (c == '0' || (c >= '1' && c <= '7' && is_octal(peek(p, 0)))) {
		*rune = c - '0';
		read_octal(p, rune);
		return true;
	}
	*rune = c;
	return c < 0x80 && (c == '_' || !is_word((int)c));
}

/* A backslash and the character it stands for. */
static uint32_t read_escape(struct parser *p)
{
	size_t from = p->at;
	uint32_t c, rune = 0;

	p->at++;
	if (p->at == p->pattern.n) {
		fail(p, "trailing backslash at end of expression", STR(""));
		return 0;
	}
	c = next_rune(p);
	if (!p->why && !read_escaped(p, c, &rune))
		fail(p, "invalid escape sequence", slice(p, from, p->at));
	return rune;
}

/* \Q...\E */
static void read_quoted(struct parser *p)
{
	struct str s = str_skip(rest(p), 2);
	ptrdiff_t end = str_find(s, STR("\\E"));
	struct str quoted = { s.p, end < 0 ? s.n : (size_t)end };
	size_t next = p->at + 2 + quoted.n + (end < 0 ? 0 : 2);
	size_t n;

	check_utf8(p, quoted);
	for (; quoted.n; quoted = str_skip(quoted, n))
		regex_put_literal(&p->b, go_rune(quoted, &n));
	p->at = next;
}

/* Classes */

/* A named set of characters: \pN, \p{Greek}, \d, [:alpha:]. */
struct set {
	struct str seq; /* all of it, as written */
	struct str name;
	bool negated;
	bool is_property;
};

/* \p{name}, \p{^name}, \pN, and the same with P */
static void read_property(struct parser *p, struct set *set)
{
	struct str s = rest(p);
	ptrdiff_t end = str_find(s, STR("}"));

	p->at += 2;
	if (next_rune(p) != '{') {
		set->seq = (struct str){ s.p, s.n - rest(p).n };
		set->name = str_skip(set->seq, 2);
	} else if (end < 0) {
		check_utf8(p, s);
		fail(p, "invalid character class range", s);
		return;
	} else {
		set->seq = (struct str){ s.p, (size_t)end + 1 };
		set->name = (struct str){ s.p + 3, (size_t)end - 3 };
		check_utf8(p, set->name);
		p->at += (size_t)end - 2;
	}
	set->is_property = true;
	set->negated = s.p[1] == 'P';
	if (set->name.n && set->name.p[0] == '^') {
		set->negated = !set->negated;
		set->name = str_skip(set->name, 1);
	}
}

/* A backslash that begins a set.  False, with nothing read, if it does not. */
static bool read_set_escape(struct parser *p, struct set *set)
{
	static const char letters[] = "dswDSW", names[] = "dswdsw";
	const char *found;
	int c = peek(p, 1);

	*set = (struct set){ .seq = STR("") };
	if (peek(p, 0) != '\\' || c <= 0)
		return false;
	if (c == 'p' || c == 'P') {
		read_property(p, set);
		return true;
	}
	found = strchr(letters, c);
	if (!found)
		return false;
	set->name = (struct str){ names + (found - letters), 1 };
	set->negated = found - letters >= 3;
	p->at += 2;
	return true;
}

/* [:name:] or [:^name:] */
static bool read_set_posix(struct parser *p, struct set *set)
{
	struct str s = rest(p);
	ptrdiff_t end;

	if (!str_starts(s, STR("[:")))
		return false;
	end = str_find(str_skip(s, 2), STR(":]"));
	if (end < 0)
		return false;
	*set = (struct set){ .seq = { s.p, (size_t)end + 4 }, .name = { s.p + 2, (size_t)end } };
	if (set->name.n && set->name.p[0] == '^') {
		set->negated = true;
		set->name = str_skip(set->name, 1);
	}
	/* The Perl letters are in the same table, but are not POSIX names. */
	if (set->name.n == 1)
		set->name.n = 0;
	p->at += set->seq.n;
	return true;
}

static void add_set(struct parser *p, struct regex_class *c, const struct set *set, bool negated)
{
	bool known;

	if (p->why)
		return;
	known = set->is_property ? regex_class_property(c, set->name, negated)
				 : regex_class_ascii(c, set->name, negated);
	if (!known)
		fail(p, "invalid character class range", set->seq);
}

/* One character of the class that begins at offset 'class'. */
static uint32_t read_class_rune(struct parser *p, size_t class)
{
	if (p->at == p->pattern.n) {
		fail(p, "missing closing ]", slice(p, class, p->pattern.n));
		return 0;
	}
	return peek(p, 0) == '\\' ? read_escape(p) : next_rune(p);
}

/* a or a-z */
static void read_class_range(struct parser *p, size_t class, struct regex_class *c)
{
	size_t from = p->at;
	uint32_t lo = read_class_rune(p, class);
	uint32_t hi = lo;

	if (!p->why && peek(p, 0) == '-' && peek(p, 1) >= 0 && peek(p, 1) != ']') {
		p->at++;
		hi = read_class_rune(p, class);
		if (hi < lo)
			fail(p, "invalid character class range", slice(p, from, p->at));
	}
	if (!p->why)
		regex_class_range(c, lo, hi);
}

static void read_class(struct parser *p)
{
	AUTO(regex_class_release) struct regex_class c;
	size_t from = p->at;
	bool negated = peek(p, 1) == '^';
	size_t first = from + 1 + negated;
	struct set set;

	regex_class_init(&c, p->b.flags & REGEX_FOLD);
	p->at = first;
	while (!p->why && (peek(p, 0) != ']' || p->at == first)) {
		if (read_set_posix(p, &set) || read_set_escape(p, &set))
			add_set(p, &c, &set, set.negated);
		else
			read_class_range(p, from, &c);
	}
	p->at++;
	if (!p->why)
		regex_put_class(&p->b, &c, negated);
}

/* A backslash outside of brackets. */
static void read_backslash(struct parser *p)
{
	AUTO(regex_class_release) struct regex_class c;
	struct set set;

	regex_class_init(&c, p->b.flags & REGEX_FOLD);
	if (read_set_escape(p, &set)) {
		/* The negation is left to the brackets, which makes a shorter class. */
		add_set(p, &c, &set, false);
		if (!p->why)
			regex_put_class(&p->b, &c, set.negated);
		return;
	}
	switch (peek(p, 1)) {
	case 'A':
		regex_put_begin_text(&p->b);
		break;
	case 'z':
		regex_put_end_text(&p->b);
		break;
	case 'b':
		regex_put_assertion(&p->b, "\\b");
		break;
	case 'B':
		regex_put_assertion(&p->b, "\\B");
		break;
	case 'C':
		fail(p, "invalid escape sequence", slice(p, p->at, p->at + 2));
		break;
	case 'Q':
		read_quoted(p);
		return;
	default:
		regex_put_literal(&p->b, read_escape(p));
		return;
	}
	p->at += 2;
}

/* The pattern */

static void read_one(struct parser *p)
{
	bool lines = p->b.flags & REGEX_MULTI_LINE;

	switch (peek(p, 0)) {
	case '(':
		read_open(p);
		return;
	case ')':
		if (!regex_close_group(&p->b))
			fail(p, "unexpected )", p->pattern);
		break;
	case '|':
		regex_put_bar(&p->b);
		break;
	case '[':
		read_class(p);
		return;
	case '*':
	case '+':
	case '?':
		read_repeat(p);
		return;
	case '{':
		read_braces(p);
		return;
	case '\\':
		read_backslash(p);
		return;
	case '^':
		if (lines)
			regex_put_assertion(&p->b, "^");
		else
			regex_put_begin_text(&p->b);
		break;
	case '$':
		if (lines)
			regex_put_assertion(&p->b, "$");
		else
			regex_put_end_text(&p->b);
		break;
	case '.':
		regex_put_dot(&p->b);
		break;
	default:
		regex_put_literal(&p->b, next_rune(p));
		return;
	}
	p->at++;
}

static void read_pattern(struct parser *p)
{
	while (p->at < p->pattern.n && !p->why) {
		ptrdiff_t before = p->repeat;

		read_one(p);
		if (p->repeat == before)
			p->repeat = -1;
		if (p->b.why)
			fail(p, p->b.why, p->pattern);
	}
	if (p->why)
		return;
	if (!regex_build_finish(&p->b) && !p->b.why)
		fail(p, "missing closing )", p->pattern);
	if (p->b.why)
		fail(p, p->b.why, p->pattern);
}

int regex_translate(struct str pattern, struct regex_text *t, struct err *err)
{
	struct parser p = { .pattern = pattern, .repeat = -1 };

	*t = (struct regex_text){ .plain = false };
	out_init(&t->pcre, MAX_TEXT);
	out_init(&t->literal, 0);
	regex_build_init(&p.b, t);
	read_pattern(&p);
	regex_build_release(&p.b);
	return p.why ? regex_error(err, p.why, p.where) : 0;
}

void regex_text_release(struct regex_text *t)
{
	out_release(&t->pcre);
	out_release(&t->literal);
}

int regex_error(struct err *err, const char *what, struct str expr)
{
	return err_set(err, -EINVAL, "error parsing regexp: %s: `%.*s`", what, STR_ARG(expr));
}
