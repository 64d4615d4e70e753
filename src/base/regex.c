/*
 * regex.c - regular expressions with Go's syntax and Go's answers
 *
 * regex-syntax.c translates the pattern, PCRE2 runs it.  PCRE2 backtracks, where Go takes
 * linear time, and for some patterns that means until the end of the world.  So it may take
 * only so many steps; a pattern that ever needs more is from then on run by PCRE2's other
 * algorithm, which looks at all possibilities at once.  That one is slower on ordinary
 * patterns, and reports the longest match, not the preferred one; whether there is a match,
 * and where it starts, it tells as Go does.
 *
 * Go reads a byte that is not UTF-8 as U+FFFD.  PCRE2 would never match it.  A subject that
 * has such bytes is therefore copied, with U+FFFD in their place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/regex.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/regex-syntax.h"
#include "base/xalloc.h"

#include <errno.h>
#include <stdatomic.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
	MATCH_LIMIT = 200000,      /* steps of one search: some milliseconds */
	HEAP_LIMIT_KIB = 20 << 10, /* memory of one search without JIT */
	NEST_LIMIT = 2500,         /* parentheses; regex-build.c allows fewer */
	MAX_WORKSPACE = 1 << 20,   /* numbers that a breadth-first search may keep */
	NSPARE = 4,
};

/* A breadth-first search takes up to 'size of the pattern' squared steps for each byte. */
#define HARD_LIMIT ((uint64_t)1 << 31)

/* What searches change, and so must be safe to change from several threads. */
struct scratch {
	_Atomic(pcre2_match_data *) spare[NSPARE];
	_Atomic bool hard; /* backtracking took too long */
};

struct regex {
	struct str pattern;
	struct str literal;
	bool plain, at_start, at_end; /* see struct regex_text */
	bool jit;
	pcre2_code *code; /* NULL for a plain one */
	pcre2_match_context *limits;
	struct scratch *scratch;
};

struct span {
	size_t start, end;
};

static void out_of_memory(void)
{
	/* Ends the program, with the message that every allocation ends with. */
	mem_new(SIZE_MAX / 2, 1);
}

static pcre2_compile_context *make_context(void)
{
	pcre2_compile_context *c = pcre2_compile_context_create(NULL);

	if (!c)
		out_of_memory();
	pcre2_set_newline(c, PCRE2_NEWLINE_LF);
	pcre2_set_parens_nest_limit(c, NEST_LIMIT);
	return c;
}

/*
 * The machine code of PCRE2 10.42 looks for the first characters of a match before it tries
 * one, and is wrong about those of (a|)b*c: it does not find the c in "c".  Fixed in 10.43
 * (its issue 336); until then it must not look ahead in such patterns.
 */
static pcre2_code *compile_text(const struct regex_text *t)
{
	pcre2_compile_context *context = make_context();
	struct str text = out_view(&t->pcre);
	uint32_t options = PCRE2_UTF | PCRE2_MULTILINE | PCRE2_ALT_CIRCUMFLEX;
	PCRE2_SIZE where;
	int why;
	pcre2_code *code;

	if (t->empty_branch)
		options |= PCRE2_NO_START_OPTIMIZE;
	code = pcre2_compile((PCRE2_SPTR)text.p, text.n, options, &why, &where, context);
	pcre2_compile_context_free(context);
	return code;
}

static void set_limits(struct regex *re)
{
	re->limits = pcre2_match_context_create(NULL);
	if (!re->limits)
		out_of_memory();
	pcre2_set_match_limit(re->limits, MATCH_LIMIT);
	pcre2_set_heap_limit(re->limits, HEAP_LIMIT_KIB);
}

int regex_compile(struct str pattern, struct regex **out, struct err *err)
{
	AUTO(regex_text_release) struct regex_text t;
	AUTO(regex_freep) struct regex *re = NULL;
	int rc = regex_translate(pattern, &t, err);

	if (rc)
		return rc;
	re = mem_zeroed(1, sizeof(*re));
	re->pattern = (struct str){ mem_str(pattern), pattern.n };
	re->plain = t.plain;
	re->at_start = t.at_start;
	re->at_end = t.at_end;
	if (t.plain) {
		re->literal = (struct str){ mem_str(out_view(&t.literal)), t.literal.n };
	} else {
		re->code = compile_text(&t);
		if (!re->code)
			return regex_error(err, REGEX_TOO_LARGE, pattern);
		re->jit = pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE) == 0;
		re->scratch = mem_zeroed(1, sizeof(*re->scratch));
		set_limits(re);
	}
	*out = TAKE(re);
	return 0;
}

void regex_free(struct regex *re)
{
	if (!re)
		return;
	for (int i = 0; re->scratch && i < NSPARE; i++)
		pcre2_match_data_free(re->scratch->spare[i]);
	free(re->scratch);
	pcre2_match_context_free(re->limits);
	pcre2_code_free(re->code);
	free((char *)re->literal.p);
	free((char *)re->pattern.p);
	free(re);
}

struct str regex_pattern(const struct regex *re)
{
	return re->pattern;
}

/* Plain text */

static bool find_plain(const struct regex *re, struct str s, size_t from, struct span *found)
{
	struct str text = re->literal;
	size_t last = s.n - text.n; /* where a match would end the subject */
	ptrdiff_t at;

	if (text.n > s.n || from > last || (re->at_start && from > 0))
		return false;
	if (re->at_start || re->at_end) {
		if (re->at_start && re->at_end && last > 0)
			return false;
		from = re->at_start ? 0 : last;
		if (memcmp(s.p + from, text.p, text.n) != 0)
			return false;
	} else {
		at = str_find(str_skip(s, from), text);
		if (at < 0)
			return false;
		from += (size_t)at;
	}
	*found = (struct span){ from, from + text.n };
	return true;
}

/* PCRE2 */

static pcre2_match_data *take_data(struct scratch *s)
{
	pcre2_match_data *md = NULL;

	for (int i = 0; i < NSPARE && !md; i++)
		md = atomic_exchange(&s->spare[i], NULL);
	if (!md)
		md = pcre2_match_data_create(1, NULL);
	if (!md)
		out_of_memory();
	return md;
}

static void put_data(struct scratch *s, pcre2_match_data *md)
{
	for (int i = 0; i < NSPARE && md; i++)
		md = atomic_exchange(&s->spare[i], md);
	pcre2_match_data_free(md);
}

static int run_backtracking(const struct regex *re, struct str s, size_t from, pcre2_match_data *md)
{
	PCRE2_SPTR p = (PCRE2_SPTR)s.p;
	int rc = PCRE2_ERROR_JIT_STACKLIMIT;

	if (re->jit)
		rc = pcre2_jit_match(re->code, p, s.n, from, 0, md, re->limits);
	if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
		rc = pcre2_match(re->code, p, s.n, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, md,
				 re->limits);
	return rc;
}

/* Breadth first.  What would take too long does not match. */
static int run_hard(const struct regex *re, struct str s, size_t from, pcre2_match_data *md)
{
	int rc = PCRE2_ERROR_DFA_WSSIZE;
	size_t code = 0;

	pcre2_pattern_info(re->code, PCRE2_INFO_SIZE, &code);
	if (s.n > HARD_LIMIT / ((uint64_t)code * code + 1))
		return PCRE2_ERROR_NOMATCH;
	for (size_t n = 1 << 10; rc == PCRE2_ERROR_DFA_WSSIZE && n <= MAX_WORKSPACE; n *= 4) {
		AUTO(freep) int *workspace = mem_new(n, sizeof(int));

		rc = pcre2_dfa_match(re->code, (PCRE2_SPTR)s.p, s.n, from, PCRE2_NO_UTF_CHECK, md,
				     re->limits, workspace, n);
	}
	return rc;
}

/* 's' is UTF-8. */
static bool find_pcre(const struct regex *re, struct str s, size_t from, struct span *found)
{
	pcre2_match_data *md = take_data(re->scratch);
	int rc = PCRE2_ERROR_MATCHLIMIT;
	PCRE2_SIZE *extent = pcre2_get_ovector_pointer(md);

	if (!re->scratch->hard)
		rc = run_backtracking(re, s, from, md);
	if (rc < 0 && rc != PCRE2_ERROR_NOMATCH) {
		re->scratch->hard = true;
		rc = run_hard(re, s, from, md);
	}
	*found = (struct span){ extent[0], extent[1] };
	put_data(re->scratch, md);
	return rc >= 0;
}

/* Subjects */

static bool is_ascii(struct str s)
{
	const char *p = s.p, *end = s.p + s.n;
	uint64_t bits = 0;

	for (; end - p >= 8; p += 8) {
		uint64_t eight;

		memcpy(&eight, p, 8);
		bits |= eight;
	}
	for (; p < end; p++)
		bits |= (unsigned char)*p;
	return !(bits & 0x8080808080808080u);
}

/* The first character of 's'; '*n' is its length, '*valid' whether it is UTF-8. */
static void look_at(struct str s, size_t *n, bool *valid)
{
	uint32_t rune = go_rune(s, n);

	*valid = rune != GO_RUNE_ERROR || *n > 1;
}

static bool is_utf8(struct str s)
{
	bool valid = true;
	size_t n;

	for (; s.n && valid; s = str_skip(s, n))
		look_at(s, &n, &valid);
	return valid;
}

/*
 * A subject that is not UTF-8, repaired: 'text' is what PCRE2 gets, and at[i] the offset in the
 * original of its byte i.
 */
struct repaired {
	struct out text;
	size_t *at;
};

static void repair(struct str s, struct repaired *r)
{
	size_t from = 0, n;
	bool valid;

	out_init(&r->text, 0);
	r->at = mem_new(3 * s.n + 1, sizeof(*r->at));
	for (; from < s.n; from += n) {
		struct str left = str_skip(s, from);
		struct str c;

		look_at(left, &n, &valid);
		c = valid ? (struct str){ left.p, n } : STR("\xef\xbf\xbd");
		for (size_t i = 0; i < c.n; i++)
			r->at[r->text.n + i] = from;
		out_str(&r->text, c);
	}
	if (r->text.error)
		out_of_memory();
	r->at[r->text.n] = s.n;
}

static void repaired_release(struct repaired *r)
{
	out_release(&r->text);
	free(r->at);
}

static bool find_repaired(const struct regex *re, struct str s, size_t from, struct span *found)
{
	AUTO(repaired_release) struct repaired r;
	size_t start = 0;

	repair(s, &r);
	while (start < r.text.n && r.at[start] < from)
		start++;
	if (!find_pcre(re, out_view(&r.text), start, found))
		return false;
	*found = (struct span){ r.at[found->start], r.at[found->end] };
	return true;
}

static bool find(const struct regex *re, struct str s, size_t from, struct span *found)
{
	if (from > s.n)
		return false;
	if (!s.p)
		s.p = "";
	if (re->plain)
		return find_plain(re, s, from, found);
	if (is_ascii(s))
		return find_pcre(re, s, from, found);
	if (!is_utf8(s))
		return find_repaired(re, s, from, found);
	while (from < s.n && ((unsigned char)s.p[from] & 0xc0) == 0x80)
		from++;
	return find_pcre(re, s, from, found);
}

bool regex_match(const struct regex *re, struct str subject)
{
	struct span found;

	return find(re, subject, 0, &found);
}

bool regex_find(const struct regex *re, struct str subject, size_t from, size_t *start, size_t *end)
{
	struct span found;

	if (!find(re, subject, from, &found))
		return false;
	*start = found.start;
	*end = found.end;
	return true;
}
