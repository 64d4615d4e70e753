/*
 * legacy-maps.c - the memory map in an old profile
 *
 *	00400000-00dd3000 r-xp 00000000 fd:01 1234    /usr/bin/program
 *	400000-dd3000 /usr/bin/program (@1000) 0123abcd
 *
 * The two forms are those of the reference's expressions
 *
 *	range = \s*(?:0x)?(X+)[\s-]?\s*(?:0x)?(X+):?		X = [[:xdigit:]]
 *	perm  = (?:\s+([-rwxp]+))?
 *	proc  = ^ range perm (?:\s+(X+))? \s+X+:X+ \s+\d+ (?:\s+(\S+))?
 *	brief = ^ range perm (?:\s+(\S+))? (?:\s+\(@(X+)\))? (?:\s+(X+))?
 *
 * including what nobody meant: "abc" is the range from 0xab to 0xc, and "4-5 pprof" has the
 * permissions "ppr" and no file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/legacy-maps.h"

#include "base/cleanup.h"
#include "base/gotext.h"
#include "profile/build.h"
#include "profile/legacy-text.h"
#include "profile/legacy-vars.h"

#include <errno.h>

bool maps_begin_at(struct str line)
{
	/* Both have an 'M', which lines of samples do not have. */
	if (line.n == 0 || !memchr(line.p, 'M', line.n))
		return false;
	return str_find(line, STR("--- Memory map: ---")) >= 0 ||
	       str_find(line, STR("MAPPED_LIBRARIES:")) >= 0;
}

/* "0x" only counts in front of a hexadecimal number. */
static void eat_prefix(struct str *s)
{
	if (s->n > 2 && s->p[0] == '0' && s->p[1] == 'x' && text_is_hex(s->p[2]))
		*s = str_skip(*s, 2);
}

/* A range whose numbers are apart. */
static bool eat_range(struct str *s, struct maps_entry *e)
{
	text_spaces(s);
	eat_prefix(s);
	if (!text_hex(s, &e->start))
		return false;
	if (!text_eat(s, "-"))
		text_spaces(s);
	text_spaces(s);
	eat_prefix(s);
	if (!text_hex(s, &e->limit))
		return false;
	text_eat(s, ":");
	return true;
}

/* The expressions allow for nothing between them: then the last digit is the second number. */
static bool eat_joined_range(struct str *s, struct maps_entry *e)
{
	text_spaces(s);
	eat_prefix(s);
	if (!text_hex(s, &e->start) || e->start.n < 2)
		return false;
	e->start.n--;
	*s = (struct str){ s->p - 1, s->n + 1 };
	eat_prefix(s);
	text_hex(s, &e->limit);
	text_eat(s, ":");
	return true;
}

static bool is_permission(char c)
{
	return c == '-' || c == 'r' || c == 'w' || c == 'x' || c == 'p';
}

static bool eat_permissions(struct str *s, struct str *word)
{
	struct str rest = *s;
	size_t n = 0;

	text_spaces(&rest);
	while (n < rest.n && is_permission(rest.p[n]))
		n++;
	if (n == 0 || rest.p == s->p)
		return false;
	*word = (struct str){ rest.p, n };
	*s = str_skip(rest, n);
	return true;
}

/* White space, then what 'eat' eats; nothing if there is not both. */
static bool eat_next(struct str *s, bool (*eat)(struct str *s, struct str *word), struct str *word)
{
	struct str rest = *s, found;

	if (!text_spaces(&rest) || !eat(&rest, &found))
		return false;
	*word = found;
	*s = rest;
	return true;
}

/* "X+:X+", the device. */
static bool eat_pair(struct str *s, struct str *word)
{
	return text_hex(s, word) && text_eat(s, ":") && text_hex(s, word);
}

/* What follows the range in the form of /proc/self/maps. */
static bool eat_proc_rest(struct str s, struct maps_entry *e)
{
	struct str device, inode;

	eat_permissions(&s, &e->permissions);
	if (!eat_next(&s, eat_pair, &device)) {
		if (!eat_next(&s, text_hex, &e->offset) || !eat_next(&s, eat_pair, &device))
			return false;
	}
	if (!eat_next(&s, text_digits, &inode))
		return false;
	eat_next(&s, text_word, &e->file);
	return true;
}

static bool parse_proc(struct str line, struct maps_entry *e)
{
	struct str s = line;

	*e = (struct maps_entry){ 0 };
	if (eat_range(&s, e) && eat_proc_rest(s, e))
		return true;
	s = line;
	*e = (struct maps_entry){ 0 };
	return eat_joined_range(&s, e) && eat_proc_rest(s, e);
}

/* "(@X+)" */
static bool eat_at_offset(struct str *s, struct str *word)
{
	return text_eat(s, "(@") && text_hex(s, word) && text_eat(s, ")");
}

static bool parse_brief(struct str line, struct maps_entry *e)
{
	struct str s = line;

	*e = (struct maps_entry){ 0 };
	if (!eat_range(&s, e)) {
		s = line;
		if (!eat_joined_range(&s, e))
			return false;
	}
	eat_permissions(&s, &e->permissions);
	eat_next(&s, text_word, &e->file);
	eat_next(&s, eat_at_offset, &e->offset);
	eat_next(&s, text_hex, &e->build_id);
	return true;
}

bool maps_parse_entry(struct str line, struct maps_entry *e)
{
	return parse_proc(line, e) || parse_brief(line, e);
}

/* "file.cc:123] " in front of the line, as Google's logging library puts it. */
static struct str without_log_prefix(struct str line)
{
	size_t end = 0, colon;

	while (end < line.n && line.p[end] != '[' && line.p[end] != ']')
		end++;
	if (end + 1 >= line.n || line.p[end] != ']' || !text_is_space(line.p[end + 1]))
		return line;
	for (colon = end; colon > 0 && text_is_digit(line.p[colon - 1]);)
		colon--;
	if (colon == end || colon < 2 || line.p[colon - 1] != ':')
		return line;
	return str_skip(line, end + 2);
}

static bool read_number(struct str text, uint64_t *v)
{
	return go_parse_uint(text, 16, 64, v, NULL) == 0;
}

/* Adds the mapping that 'line' describes, if it is executable; false if it describes none. */
static bool read_entry(struct str line, struct builder *b)
{
	struct mapping m = { 0 };
	struct maps_entry e;

	if (!maps_parse_entry(line, &e))
		return false;
	if (e.permissions.n && !memchr(e.permissions.p, 'x', e.permissions.n))
		return true;
	if (!read_number(e.start, &m.start) || !read_number(e.limit, &m.limit) ||
	    (e.offset.n && !read_number(e.offset, &m.offset)))
		return false;
	if (e.file.n)
		m.file = profile_intern_copy(b->p, e.file);
	if (e.build_id.n)
		m.build_id = profile_intern_copy(b->p, e.build_id);
	*builder_mapping(b) = m;
	return true;
}

static int read_line(struct str line, struct builder *b, struct vars *v, struct err *err)
{
	int rc = vars_expand(v, &line, err);
	struct str name;

	if (rc || read_entry(line, b) || str_find(line, STR("=")) < 0)
		return rc;
	str_split(&line, '=', &name);
	return vars_set(v, text_trim(name), text_trim(line), err);
}

int maps_read(struct lines *l, struct builder *b, struct err *err)
{
	AUTO(vars_release) struct vars v;
	int rc = 0;

	vars_init(&v, l->rest.n);
	while (rc == 0 && lines_next(l))
		rc = read_line(without_log_prefix(l->line), b, &v, err);
	if (rc == 0)
		rc = lines_error(l, err);
	if (rc)
		return rc;
	mappings_tidy(b);
	mappings_attach(b);
	return 0;
}

int maps_find(struct lines *l, struct builder *b, struct err *err)
{
	int rc = lines_error(l, err);

	while (rc == 0 && !maps_begin_at(l->line)) {
		if (!lines_next(l))
			break;
	}
	if (rc == 0)
		rc = lines_error(l, err);
	return rc ? rc : maps_read(l, b, err);
}
