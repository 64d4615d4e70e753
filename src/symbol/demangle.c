/*
 * demangle.c - names that people wrote, from names that compilers made
 *
 * libiberty knows the C++ and the new Rust encoding.  The reference's library comes from the
 * same hands and prints nearly the same text, so what is left to do is: leave out template
 * arguments, which libiberty cannot (trim_templates()); the old Rust encoding, which the two
 * treat differently; and the reference's ideas of what is a mangled name.
 *
 * Names come from strangers.  libiberty recurses at most once per character, with less than
 * 200 bytes of stack each, so a limit on the length is a limit on the stack.  What it writes
 * can be exponentially longer than the name; it is stopped by a jump out of the function that
 * receives the text, which is safe because it keeps everything on the stack.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/demangle.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/out.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdint.h>

#include <libiberty/demangle.h>

enum {
	MAX_NAME = 64 << 10,
	MAX_DEEP = 8 << 10, /* of a name that libiberty may recurse into without its own limit */
	MAX_TEXT = 64 << 10,
};

struct sink {
	struct out *o;
	jmp_buf stop;
};

typedef int engine(const char *mangled, int options, demangle_callbackref callback, void *ctx);

static void take_text(const char *p, size_t n, void *ctx)
{
	struct sink *sink = ctx;

	if (n > MAX_TEXT - sink->o->n)
		longjmp(sink->stop, 1);
	out_bytes(sink->o, p, n);
}

static bool run_guarded(engine *run, const char *z, int options, struct out *o)
{
	struct sink sink = { .o = o };

	if (setjmp(sink.stop) != 0)
		return false;
	return run(z, options, take_text, &sink) && !o->error;
}

/* Appends what 'name' stands for to 'o', which must be empty.  False: nothing we know. */
static bool run_engine(engine *run, struct str name, int options, struct out *o)
{
	AUTO(freep) char *z = NULL;

	if (name.n > MAX_NAME || memchr(name.p, '\0', name.n))
		return false;
	z = strndup(name.p, name.n);
	if (!z)
		return false;
	/* Rust's encoding can refer to itself, so there the length is no limit. */
	if (run == cplus_demangle_v3_callback && name.n <= MAX_DEEP)
		options |= DMGL_NO_RECURSE_LIMIT;
	if (run_guarded(run, z, options, o))
		return true;
	o->n = 0;
	return false;
}

/* Template arguments */

/* The length of an operator's name at 's' that has brackets in it, "operator<<"; else 0. */
static size_t operator_length(struct str s)
{
	static const char *const symbols[] = {
		"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">",
	};
	struct str symbol;

	if (!str_starts(s, STR("operator")))
		return 0;
	symbol = str_skip(s, 8);
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		if (str_starts(symbol, str_of(symbols[i])))
			return 8 + strlen(symbols[i]);
	}
	return 0;
}

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_';
}

/* A walk through a demangled name that knows brackets of templates from other signs. */
struct trimmer {
	struct out *o;
	struct out open;  /* the brackets that are open, innermost last */
	size_t templates; /* how many of them are template arguments */
	bool keep;        /* template arguments are wanted */
};

static void put(struct trimmer *t, struct str s)
{
	if (t->keep || t->templates == 0)
		out_str(t->o, s);
}

static char innermost(const struct trimmer *t)
{
	return t->open.n ? t->open.p[t->open.n - 1] : '\0';
}

static void close_template(struct trimmer *t)
{
	bool touches = t->o->n && t->o->p[t->o->n - 1] == '>';

	/* libiberty forgets the blank if the last argument is an empty pack. */
	put(t, touches ? STR(" >") : STR(">"));
	t->templates--;
	t->open.n--;
}

static void put_sign(struct trimmer *t, struct str s, bool may_open)
{
	static const char opening[] = "([{", closing[] = ")]}";
	char c = s.p[0];
	const char *pair = c ? strchr(closing, c) : NULL;

	if (c == '<' && may_open) {
		out_char(&t->open, '<');
		t->templates++;
	} else if (c == '>' && innermost(t) == '<') {
		close_template(t);
		return;
	} else if (c && strchr(opening, c)) {
		out_char(&t->open, c);
	} else if (pair && innermost(t) == opening[pair - closing]) {
		t->open.n--;
	}
	put(t, s);
}

/* How many bytes at offset 'i' of 's' are to be taken as one: an operator, or one. */
static size_t token_length(struct str s, size_t i)
{
	struct str left = str_skip(s, i);
	char before = i > 0 ? s.p[i - 1] : '\0';
	size_t n = is_word(before) ? 0 : operator_length(left);

	if (n > 0)
		return n;
	return str_starts(left, STR("->")) || (before == ')' && str_starts(left, STR(">>("))) ? 2
											      : 1;
}

/*
 * What follows the first 'n' bytes of 's' and is to be left out: the blank in "operator< <int>",
 * which belongs to the arguments, and the comma that libiberty writes behind an empty pack.
 */
static size_t surplus(struct str s, size_t n, bool keep)
{
	struct str next = str_skip(s, n);

	if (n > 2)
		return !keep && str_starts(next, STR(" <"));
	if (s.p[0] == '<' && str_starts(next, STR(", ")))
		return 2;
	return s.p[0] == ',' && str_starts(next, STR(" , ")) ? 2 : 0;
}

/*
 * Copies 's' to 'o' with or without template arguments.  '<' and '>' are also found in the names
 * of operators, in "->", and between parentheses: libiberty writes (a)<(b).
 */
static void trim_templates(struct str s, bool keep, struct out *o)
{
	struct trimmer t = { .o = o, .keep = keep };
	bool may_open = true;

	out_init(&t.open, 0);
	for (size_t i = 0; i < s.n;) {
		struct str left = str_skip(s, i);
		struct str token = { left.p, token_length(s, i) };

		if (token.n == 1)
			put_sign(&t, token, may_open);
		else
			put(&t, token);
		may_open = token.n > 1 || (token.p[0] != ')' && (may_open || token.p[0] != '<'));
		i += token.n + surplus(left, token.n, keep);
	}
	if (t.templates > 0) {
		o->n = 0;
		out_str(o, s);
	}
	out_release(&t.open);
}

/* C++ */

/* Cuts off " [clone .cold]" and the like. */
static void cut_clones(struct out *o)
{
	static const struct str clone = { " [clone ", 8 };

	while (o->n && o->p[o->n - 1] == ']') {
		ptrdiff_t at = str_rfind_char(out_view(o), '[');

		if (at < 1 || !str_starts(str_skip(out_view(o), (size_t)at - 1), clone))
			return;
		o->n = (size_t)at - 1;
	}
}

/*
 * 'name' without what the reference takes for a suffix: behind parameters anything that begins
 * with a dot, behind a special name (_ZTV: a vtable) anything.
 */
static struct str cut_suffix(struct str name, bool special)
{
	size_t n = 0;

	while (n < name.n && name.p[n] != '.' &&
	       (!special || is_word(name.p[n]) || name.p[n] == '$'))
		n++;
	return (struct str){ name.p, n };
}

/* Appends the encoding's text in 'text' as 'mode' wants it. */
static void put_text(struct str text, enum demangle_mode mode, struct out *o)
{
	AUTO(out_release) struct out trimmed;

	out_init(&trimmed, 0);
	trim_templates(text, mode != DEMANGLE_DEFAULT, &trimmed);
	out_str(o, out_view(&trimmed));
}

/* With parameters.  What follows the encoding is shown as a clone, or dropped. */
static bool demangle_signature(struct str name, enum demangle_mode mode, struct out *o)
{
	AUTO(out_release) struct out text;
	int options = DMGL_PARAMS | DMGL_ANSI;
	bool special = str_starts(name, STR("_ZT")) || str_starts(name, STR("_ZG"));
	struct str cut = cut_suffix(name, special);

	out_init(&text, 0);
	if (!run_engine(cplus_demangle_v3_callback, name, options, &text)) {
		if (mode != DEMANGLE_FULL ||
		    !run_engine(cplus_demangle_v3_callback, cut, options, &text))
			return false;
		/* A variable has no suffix. */
		if (!special && str_find(out_view(&text), STR("(")) < 0)
			return false;
	}
	if (mode == DEMANGLE_FULL)
		cut_clones(&text);
	put_text(out_view(&text), mode, o);
	return true;
}

/* Appends what the encoding 'name' means, an _Z before it. */
static bool demangle_cxx(struct str name, enum demangle_mode mode, struct out *o)
{
	AUTO(out_release) struct out text;

	out_init(&text, 0);
	if (mode == DEMANGLE_FULL || mode == DEMANGLE_NONE)
		return demangle_signature(name, mode, o);
	if (!run_engine(cplus_demangle_v3_callback, name, DMGL_ANSI, &text))
		return false;
	put_text(out_view(&text), mode, o);
	return true;
}

/* Offset of the last 'what' in 's', or -1. */
static ptrdiff_t find_last(struct str s, struct str what)
{
	for (size_t at = s.n; at-- > 0;) {
		if (str_starts(str_skip(s, at), what))
			return (ptrdiff_t)at;
	}
	return -1;
}

/* clang's blocks: ___Z<encoding>_block_invoke_2 */
static bool demangle_block(struct str name, enum demangle_mode mode, struct out *o)
{
	static const struct str mark = { "_block_invoke", 13 };
	ptrdiff_t at = find_last(name, mark);
	struct str end;

	if (at < 4)
		return false;
	end = str_skip(name, (size_t)at + mark.n);
	if (end.n && end.p[0] == '_')
		end = str_skip(end, 1);
	while (end.n && end.p[0] >= '0' && end.p[0] <= '9')
		end = str_skip(end, 1);
	if (end.n && end.p[0] != '.')
		return false;
	out_text(o, "invocation function for block in ");
	return demangle_cxx((struct str){ name.p + 2, (size_t)at - 2 }, mode, o);
}

/*
 * GNU's initializers of files: _GLOBAL__I_<name>.  The reference prints parameters here in all
 * modes, and if the name is not mangled, the letter and underscores before it.
 */
static bool demangle_global(struct str name, enum demangle_mode mode, struct out *o)
{
	struct str key = str_skip(name, 8);
	bool constructors;

	if (key.n < 4 || !memchr("._$", key.p[0], 3) || key.p[2] != '_')
		return false;
	constructors = key.p[1] == 'I';
	if (!constructors && key.p[1] != 'D')
		return false;
	out_printf(o, "global %s keyed to ", constructors ? "constructors" : "destructors");
	if (!str_starts(str_skip(key, 3), STR("_Z"))) {
		out_str(o, key);
		return true;
	}
	return demangle_signature(str_skip(key, 3), mode, o);
}

/* Rust */

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Sixteen hexadecimal digits, of which five differ: chance is not enough to be Rust. */
static bool is_rust_hash(const char *p)
{
	unsigned seen = 0;

	for (int i = 0; i < 16; i++) {
		if (nibble(p[i]) < 0)
			return false;
		seen |= 1u << nibble(p[i]);
	}
	return __builtin_popcount(seen) >= 5;
}

/* The character that an escape at the start of 's' stands for, and its length; 0 if none. */
static size_t read_rust_escape(struct str s, char *c)
{
	static const char names[] = "SPBPRFLTGTLPRP", meanings[] = "@*&<>()";

	if (str_starts(s, STR("$C$"))) {
		*c = ',';
		return 3;
	}
	if (s.n > 4 && s.p[1] == 'u' && s.p[4] == '$') {
		int high = nibble(s.p[2]), low = nibble(s.p[3]);

		*c = (char)(high * 16 + low);
		return high >= 2 && high <= 7 && low >= 0 ? 5 : 0;
	}
	for (size_t i = 0; s.n > 3 && s.p[3] == '$' && names[2 * i]; i++) {
		*c = meanings[i];
		if (memcmp(s.p + 1, names + 2 * i, 2) == 0)
			return 4;
	}
	return 0;
}

static void put_rust_identifier(struct str id, struct out *o)
{
	if (str_starts(id, STR("_$")))
		id = str_skip(id, 1);
	while (id.n) {
		char c = id.p[0];
		size_t n = 1;

		if (str_starts(id, STR(".."))) {
			out_text(o, "::");
			id = str_skip(id, 2);
			continue;
		}
		if (c == '$')
			n = read_rust_escape(id, &c);
		if (n == 0) {
			out_str(o, id);
			return;
		}
		out_char(o, c);
		id = str_skip(id, n);
	}
}

/* A number and the identifier of that length behind it. */
static bool read_rust_identifier(struct str *s, struct str *id)
{
	size_t n = 0, digits = 0;

	for (; digits < s->n && s->p[digits] >= '0' && s->p[digits] <= '9'; digits++) {
		if (n > MAX_NAME)
			return false;
		n = n * 10 + (size_t)(s->p[digits] - '0');
	}
	if (digits == 0)
		return false;
	*s = str_skip(*s, digits);
	if (n > 0 && s->n && s->p[0] == '_') {
		*s = str_skip(*s, 1);
		n--;
	}
	if (n > s->n)
		return false;
	*id = (struct str){ s->p, n };
	*s = str_skip(*s, n);
	return true;
}

/* Before Rust had an encoding of its own: _ZN<identifiers>17h<hash>E, maybe with a suffix. */
static bool demangle_old_rust(struct str name, struct out *o)
{
	ptrdiff_t dot = find_last(name, STR("E."));
	struct str s, id;

	if (dot > 0)
		name.n = (size_t)dot + 1;
	if (name.n <= 23 || name.n > MAX_NAME || name.p[name.n - 1] != 'E' ||
	    memcmp(name.p + name.n - 20, "17h", 3) != 0 || !is_rust_hash(name.p + name.n - 17))
		return false;
	s = (struct str){ name.p + 3, name.n - 3 - 20 };
	while (s.n) {
		if (!read_rust_identifier(&s, &id))
			return false;
		if (o->n)
			out_text(o, "::");
		put_rust_identifier(id, o);
	}
	return true;
}

static bool demangle_rust(struct str name, struct out *o)
{
	ptrdiff_t dot = str_find(name, STR("."));

	if (dot >= 0)
		name.n = (size_t)dot;
	return run_engine(rust_demangle_callback, name, DMGL_PARAMS | DMGL_ANSI, o);
}

/* Any */

/* Writes to 'o', which is empty, what 'name' is an encoding of.  False: of nothing. */
static bool decode(struct str name, enum demangle_mode mode, struct out *o)
{
	if (str_starts(name, STR("_R")))
		return demangle_rust(name, o);
	if (str_starts(name, STR("_ZN")) && demangle_old_rust(name, o))
		return true;
	o->n = 0;
	if (str_starts(name, STR("_Z")))
		return demangle_cxx(name, mode, o);
	if (str_starts(name, STR("___Z")))
		return demangle_block(name, mode, o);
	if (str_starts(name, STR("_GLOBAL_")))
		return demangle_global(name, mode, o);
	return false;
}

/* Is it what comes out of a C++ demangler?  Java's "x.<init>" and Go's "x.(*T[...]).f" are not. */
static bool looks_demangled(struct str name)
{
	if (str_find(name, STR(".<")) >= 0 || str_find(name, STR("]).")) >= 0)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		if (name.p[i] && strchr("<>[]", name.p[i]))
			return true;
	}
	return str_find(name, STR("::")) >= 0;
}

/* Removes everything between 'open' and 'close' and them; stops at a 'close' too many. */
static void remove_matching(struct out *o, char open, char close)
{
	size_t first = 0, depth = 0, to = 0;

	for (size_t i = 0; i < o->n; i++) {
		char c = o->p[i];

		if (c == close && depth == 0) {
			memmove(o->p + to, o->p + i, o->n - i);
			to += o->n - i;
			break;
		}
		if (c == open && depth++ == 0)
			first = to;
		o->p[to++] = c;
		if (c == close && --depth == 0)
			to = first;
	}
	o->n = to;
}

/* Could 'name' be anything but itself?  Most names of a Go program end here. */
static bool is_ordinary(struct str name)
{
	typedef unsigned char bytes __attribute__((vector_size(16)));
	typedef uint64_t words __attribute__((vector_size(16)));
	bytes found = { 0 };
	words any;
	size_t i = 0;

	if (name.n > 1 && name.p[0] == '_' && strchr("ZRG_", name.p[1]))
		return false;
	for (; name.n - i >= sizeof(bytes); i += sizeof(bytes)) {
		bytes b;

		memcpy(&b, name.p + i, sizeof(b));
		found |= (bytes)((b == '<') | (b == '>') | (b == '[') | (b == ']') | (b == ':'));
	}
	any = (words)found;
	if (any[0] | any[1])
		return false;
	for (; i < name.n; i++) {
		if (strchr("<>[]:", name.p[i]))
			return false;
	}
	return true;
}

/* True if the name is to become what is then in 'o'. */
static bool improve(struct str name, enum demangle_mode mode, struct out *o)
{
	o->n = 0;
	if (is_ordinary(name))
		return false;
	if (decode(name, mode, o) && !o->error && !str_eq(out_view(o), name))
		return true;
	o->n = 0;
	if (mode == DEMANGLE_FULL || mode == DEMANGLE_NONE || !looks_demangled(name))
		return false;
	out_str(o, name);
	if (o->error)
		return false;
	remove_matching(o, '(', ')');
	if (mode == DEMANGLE_DEFAULT)
		remove_matching(o, '<', '>');
	return true;
}

struct str demangle_name(struct str name, enum demangle_mode mode, struct arena *a)
{
	AUTO(out_release) struct out o;
	struct str text;

	out_init(&o, 0);
	if (!improve(name, mode, &o))
		return name;
	text = arena_str(a, out_view(&o));
	return text.p ? text : name;
}

void profile_demangle(struct profile *p, bool force, enum demangle_mode mode)
{
	AUTO(out_release) struct out o;

	out_init(&o, 0);
	for (uint32_t i = 0; i < p->nfunctions; i++) {
		struct function *f = &p->functions[i];

		if (force && f->name != 0 && f->system_name != 0)
			f->name = f->system_name;
		if (f->name != 0 && f->name != f->system_name)
			continue;
		f->name = f->system_name;
		if (improve(profile_str(p, f->system_name), mode, &o))
			f->name = profile_intern_copy(p, out_view(&o));
	}
}
