/*
 * regex-build.c - writes a PCRE2 pattern while a Go pattern is being read
 *
 * Go reads a pattern with a stack of expressions, on which operators work.  The only ones an
 * operator can still touch are the one on top and the groups that are open, so nothing else
 * is kept: every expression is written in PCRE2's syntax as soon as it is read, and a frame
 * for each open group remembers where its last expression begins.  A repetition that follows
 * something that PCRE2 would not repeat puts parentheses around it.
 *
 * Go limits patterns by measures of its syntax tree: height, size, product of nested counts.
 * Each expression carries these measures up, as struct piece.  (Go measures after it has
 * factored common prefixes out of alternatives; we do not factor, which matters only to
 * alternatives hundreds of levels deep.)
 *
 * No group captures: nobody here asks what a part of a pattern matched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/gotext.h"
#include "base/regex-syntax.h"
#include "base/xalloc.h"

#include <stdlib.h>

/* Go's limits. */
enum { MAX_HEIGHT = 1000, MAX_SIZE = (128 << 20) / 40 };

/* Ours: open groups.  PCRE2 10.42 gives up at 500 ("(?| and/or (?J: ... too deeply nested"). */
enum { MAX_OPEN = 450 };

/* What an expression is, as far as Go's tree is concerned. */
enum kind { NOTHING, EMPTY, LITERAL, CLASS, CONCAT, ALTERNATE, OTHER };

struct piece {
	enum kind kind;
	bool fold;       /* a literal: ignores case */
	bool nullable;   /* can match nothing */
	uint32_t height; /* of the tree */
	uint32_t copies; /* of its innermost part, after all counted repetitions */
	uint64_t size;   /* of Go's program */
};

/* Pieces that have been put together, and the last one of them. */
struct pieces {
	struct piece all, last;
};

/* How the text of an expression takes a repetition operator. */
enum binding { ATOM, LOOSE };

struct regex_frame {
	unsigned flags;   /* to return to when the group ends */
	unsigned written; /* the same, of those that PCRE2 has been told */
	bool captures;
	size_t text;                /* offset of the group in the PCRE2 pattern */
	struct pieces alternatives; /* before the last '|' */
	struct pieces sequence;     /* since then, without 'top' */
	struct piece top;           /* the last expression; NOTHING if there is none yet */
	size_t top_text;            /* its offset in the PCRE2 pattern */
	enum binding top_binding;
};

static struct regex_frame *frame(const struct regex_build *b)
{
	return &b->frames[b->nframes - 1];
}

static struct out *text(struct regex_build *b)
{
	return &b->t->pcre;
}

static void fail(struct regex_build *b, const char *why)
{
	if (!b->why)
		b->why = why;
}

/* Go's tree: measures */

static void check_limits(struct regex_build *b, const struct piece *piece)
{
	if (piece->size > MAX_SIZE)
		fail(b, REGEX_TOO_LARGE);
	else if (piece->height > MAX_HEIGHT)
		fail(b, REGEX_TOO_DEEP);
}

static bool is_one_rune(const struct piece *piece)
{
	return piece->kind == CLASS || (piece->kind == LITERAL && piece->size == 1);
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The height that 'part' gives to an expression of 'kind': one of the same kind dissolves. */
static uint32_t height_in(enum kind kind, const struct piece *part)
{
	return part->kind == kind ? part->height : part->height + 1;
}

static void join(struct pieces *to, enum kind kind, const struct piece *part)
{
	struct piece *all = &to->all;

	if (all->kind == NOTHING) {
		to->all = to->last = *part;
		return;
	}
	if (kind == ALTERNATE && is_one_rune(&to->last) && is_one_rune(part)) {
		/* a|b is [ab] */
		if (is_one_rune(all))
			all->kind = CLASS;
		to->last.kind = CLASS;
		return;
	}
	all->size += part->size + (kind == ALTERNATE);
	all->copies = max_u32(all->copies, part->copies);
	if (kind == ALTERNATE)
		all->nullable |= part->nullable;
	else
		all->nullable &= part->nullable;
	if (kind == CONCAT && part->kind == LITERAL && to->last.kind == LITERAL &&
	    part->fold == to->last.fold) {
		to->last.size += part->size;
		return;
	}
	all->height = max_u32(height_in(kind, all), height_in(kind, part));
	all->kind = kind;
	to->last = *part;
}

/* Adds the last expression to the sequence it ends. */
static void settle_top(struct regex_frame *f)
{
	if (f->top.kind == NOTHING)
		return;
	join(&f->sequence, CONCAT, &f->top);
	f->top.kind = NOTHING;
}

/* Adds the sequence to the alternatives of its group. */
static void settle_sequence(struct regex_build *b)
{
	struct regex_frame *f = frame(b);
	struct piece empty = { EMPTY, false, true, 1, 1, 1 };

	settle_top(f);
	if (f->sequence.all.kind == NOTHING)
		f->sequence.all = empty;
	check_limits(b, &f->sequence.all);
	join(&f->alternatives, ALTERNATE, &f->sequence.all);
	f->sequence.all.kind = NOTHING;
	b->t->empty_branch |= f->alternatives.all.kind == ALTERNATE && f->alternatives.all.nullable;
	check_limits(b, &f->alternatives.all);
}

/* Expressions */

/* Tells PCRE2 about the flags in 'mask', if they are not what it knows. */
static void write_flags(struct regex_build *b, unsigned mask)
{
	unsigned on = b->flags & ~b->written & mask;
	unsigned off = ~b->flags & b->written & mask;

	if (!on && !off)
		return;
	out_printf(text(b), "(?%s%s%s%s%s)", on & REGEX_FOLD ? "i" : "",
		   on & REGEX_DOT_NL ? "s" : "", off ? "-" : "", off & REGEX_FOLD ? "i" : "",
		   off & REGEX_DOT_NL ? "s" : "");
	b->written ^= on | off;
}

/* The text from offset 'from' on is an expression, of the measures in 'piece'. */
static void push(struct regex_build *b, struct piece piece, size_t from, enum binding binding)
{
	struct regex_frame *f = frame(b);

	settle_top(f);
	f->top = piece;
	f->top_text = from;
	f->top_binding = binding;
	check_limits(b, &piece);
}

static void push_simple(struct regex_build *b, const char *z, enum binding binding)
{
	struct piece piece = { OTHER, false, true, 1, 1, 1 };
	size_t from = text(b)->n;

	out_text(text(b), z);
	push(b, piece, from, binding);
}

static void encode_rune(struct out *o, uint32_t rune)
{
	if (rune < 0x80) {
		out_char(o, (char)rune);
		return;
	}
	if (rune < 0x800) {
		out_char(o, (char)(0xc0 | rune >> 6));
	} else {
		if (rune < 0x10000) {
			out_char(o, (char)(0xe0 | rune >> 12));
		} else {
			out_char(o, (char)(0xf0 | rune >> 18));
			out_char(o, (char)(0x80 | (rune >> 12 & 0x3f)));
		}
		out_char(o, (char)(0x80 | (rune >> 6 & 0x3f)));
	}
	out_char(o, (char)(0x80 | (rune & 0x3f)));
}

/* U+FFFD also stands for bytes that are not UTF-8, which a search for bytes does not find. */
static void note_plain(struct regex_build *b, uint32_t rune)
{
	struct regex_text *t = b->t;

	if ((b->flags & REGEX_FOLD) || t->at_end || rune == GO_RUNE_ERROR ||
	    rune_is_surrogate(rune))
		t->plain = false;
	else if (t->plain)
		encode_rune(&t->literal, rune);
}

void regex_put_literal(struct regex_build *b, uint32_t rune)
{
	struct piece piece = { LITERAL, b->flags & REGEX_FOLD, false, 1, 1, 1 };
	size_t from;

	note_plain(b, rune);
	write_flags(b, REGEX_FOLD);
	from = text(b)->n;
	if (rune_is_surrogate(rune))
		out_text(text(b), "(?:(?!))");
	else
		regex_quote_rune(text(b), rune);
	push(b, piece, from, ATOM);
}

void regex_put_class(struct regex_build *b, const struct regex_class *c, bool negated)
{
	struct piece piece = { CLASS, false, false, 1, 1, 1 };
	size_t from;

	b->t->plain = false;
	write_flags(b, REGEX_FOLD);
	from = text(b)->n;
	regex_class_write(c, negated, text(b));
	push(b, piece, from, ATOM);
}

void regex_put_dot(struct regex_build *b)
{
	struct piece piece = { CLASS, false, false, 1, 1, 1 };
	size_t from;

	b->t->plain = false;
	write_flags(b, REGEX_DOT_NL);
	from = text(b)->n;
	out_char(text(b), '.');
	push(b, piece, from, ATOM);
}

void regex_put_begin_text(struct regex_build *b)
{
	struct regex_text *t = b->t;

	if (t->at_start || t->at_end || t->literal.n)
		t->plain = false;
	t->at_start = true;
	push_simple(b, "\\A", LOOSE);
}

void regex_put_end_text(struct regex_build *b)
{
	if (b->t->at_end)
		b->t->plain = false;
	b->t->at_end = true;
	push_simple(b, "\\z", LOOSE);
}

void regex_put_assertion(struct regex_build *b, const char *z)
{
	b->t->plain = false;
	push_simple(b, z, LOOSE);
}

/* Groups */

void regex_put_bar(struct regex_build *b)
{
	b->t->plain = false;
	settle_sequence(b);
	out_char(text(b), '|');
}

void regex_open_group(struct regex_build *b, bool captures)
{
	struct regex_frame f = { .flags = b->flags, .written = b->written, .captures = captures };

	b->t->plain = false;
	b->too_deep |= b->nframes > MAX_OPEN;
	f.text = text(b)->n;
	out_text(text(b), "(?:");
	vec_push(b->frames, b->nframes, b->frames_cap, f);
}

bool regex_close_group(struct regex_build *b)
{
	struct regex_frame f;
	struct piece piece;

	settle_sequence(b);
	if (b->nframes == 1)
		return false;
	f = b->frames[--b->nframes];
	b->flags = f.flags;
	b->written = f.written;
	piece = f.alternatives.all;
	if (f.captures) {
		piece.kind = OTHER;
		piece.height++;
		piece.size += 2;
	}
	out_char(text(b), ')');
	push(b, piece, f.text, ATOM);
	return true;
}

/* Repetition */

/* Puts "(?:" and ")" around the last expression. */
static void wrap_top(struct regex_build *b)
{
	struct out *o = text(b);
	size_t from = frame(b)->top_text;

	out_text(o, "(?:)");
	if (o->error)
		return;
	memmove(o->p + from + 3, o->p + from, o->n - 4 - from);
	memcpy(o->p + from, "(?:", 3);
	o->p[o->n - 1] = ')';
}

static void write_repeat(struct regex_build *b, const struct regex_repeat *r, bool lazy)
{
	if (frame(b)->top_binding == LOOSE)
		wrap_top(b);
	if (r->op != '{')
		out_char(text(b), r->op);
	else if (r->max < 0)
		out_printf(text(b), "{%d,}", r->min);
	else
		out_printf(text(b), "{%d,%d}", r->min, r->max);
	if (lazy)
		out_char(text(b), '?');
	frame(b)->top_binding = LOOSE;
}

static void measure_repeat(struct piece *piece, const struct regex_repeat *r)
{
	uint64_t size = piece->size;
	uint32_t copies = (uint32_t)(r->max < 0 ? r->min : r->max);

	piece->kind = OTHER;
	piece->nullable |= r->op == '*' || r->op == '?' || (r->op == '{' && r->min == 0);
	piece->height++;
	if (r->op != '{') {
		piece->size = size + (r->op == '*' ? 2 : 1);
		return;
	}
	if (r->max < 0)
		piece->size = r->min ? 1 + (uint64_t)r->min * size : 2 + size;
	else
		piece->size = (uint64_t)r->max * size + (uint64_t)(r->max - r->min);
	if (piece->size < 1)
		piece->size = 1;
	if (r->max == 0)
		piece->copies = 1;
	else if (copies > 0)
		piece->copies *= copies;
}

bool regex_can_repeat(const struct regex_build *b)
{
	return frame(b)->top.kind != NOTHING;
}

bool regex_put_repeat(struct regex_build *b, const struct regex_repeat *r, bool lazy)
{
	struct piece *top = &frame(b)->top;

	b->t->plain = false;
	write_repeat(b, r, lazy);
	measure_repeat(top, r);
	check_limits(b, top);
	return r->op != '{' || (r->min < 2 && r->max < 2) || top->copies <= REGEX_MAX_REPEAT;
}

void regex_build_init(struct regex_build *b, struct regex_text *t)
{
	struct regex_frame f = { .flags = 0 };

	*b = (struct regex_build){ .t = t };
	vec_push(b->frames, b->nframes, b->frames_cap, f);
	t->plain = true;
}

void regex_build_release(struct regex_build *b)
{
	free(b->frames);
}

bool regex_build_finish(struct regex_build *b)
{
	settle_sequence(b);
	if (b->nframes > 1)
		return false;
	if (b->too_deep)
		fail(b, REGEX_TOO_DEEP);
	if (b->t->pcre.error || b->t->literal.error)
		fail(b, REGEX_TOO_LARGE);
	return true;
}
