/*
 * demangle.c - names that people wrote, from names that compilers made
 *
 * libiberty knows the C++ and the new Rust encoding.  The reference's library comes from the
 * same hands and prints nearly the same text, so what is left to do is: leave out template
 * arguments, which libiberty cannot (trim_templates()); the old Rust encoding, which the two
 * treat differently; and the reference's ideas of what is a mangled name.
 *
 * Names come from strangers, and libiberty is trusting.  It recurses at most once per character,
 * with less than 200 bytes of stack each, so a limit on the length is a limit on the stack.  Its
 * time is not limited by that, in three ways: the text can be exponentially longer than the name,
 * because parts of a name can refer to earlier parts; it searches all of such a part for a
 * parameter pack before it writes any of it; and it reads what follows "operator T" twice, in
 * each "operator T" within.  See run_guarded() and is_explosive().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/demangle.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/out.h"
#include "profile/profile.h"
#include "symbol/demangle-quick.h"

#include <setjmp.h>
#include <stdint.h>

#include <libiberty/demangle.h>

/*
 * Not to be used: cplus_demangle().  It needs libiberty's xmalloc(), and would get base/xalloc.h's,
 * which has the same name and other arguments.  What is used here calls malloc() itself.
 */

enum {
	MAX_NAME = 64 << 10,
	MAX_DEEP = 8 << 10, /* of a name that libiberty may recurse into without its own limit */
	MAX_TEXT = 64 << 10,
	MAX_PARTS = 64 << 10, /* of a name with packs, counting again what is referred to */
	MAX_CONVERSIONS = 12, /* "operator T" in one name */
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

/* A jump out of take_text() is safe because libiberty has everything on the stack. */
static bool run_guarded(engine *run, const char *z, int options, struct out *o)
{
	struct sink sink = { .o = o };

	if (setjmp(sink.stop) != 0)
		return false;
	return run(z, options, take_text, &sink) && !o->error;
}

/* Takes the parts of 'c' off '*left', each as often as it would be printed. */
static void count_parts(const struct demangle_component *c, int depth, size_t *left)
{
	if (!c || *left == 0)
		return;
	*left = depth < MAX_DEEP ? *left - 1 : 0;
	switch (c->type) {
	case DEMANGLE_COMPONENT_NAME:
	case DEMANGLE_COMPONENT_TEMPLATE_PARAM:
	case DEMANGLE_COMPONENT_FUNCTION_PARAM:
	case DEMANGLE_COMPONENT_SUB_STD:
	case DEMANGLE_COMPONENT_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_EXTENDED_BUILTIN_TYPE:
	case DEMANGLE_COMPONENT_OPERATOR:
	case DEMANGLE_COMPONENT_CHARACTER:
	case DEMANGLE_COMPONENT_NUMBER:
	case DEMANGLE_COMPONENT_UNNAMED_TYPE:
	case DEMANGLE_COMPONENT_FIXED_TYPE:
		break;
	case DEMANGLE_COMPONENT_CTOR:
		count_parts(c->u.s_ctor.name, depth + 1, left);
		break;
	case DEMANGLE_COMPONENT_DTOR:
		count_parts(c->u.s_dtor.name, depth + 1, left);
		break;
	case DEMANGLE_COMPONENT_EXTENDED_OPERATOR:
		count_parts(c->u.s_extended_operator.name, depth + 1, left);
		break;
	case DEMANGLE_COMPONENT_LAMBDA:
	case DEMANGLE_COMPONENT_DEFAULT_ARG:
		count_parts(c->u.s_unary_num.sub, depth + 1, left);
		break;
	default:
		count_parts(c->u.s_binary.left, depth + 1, left);
		count_parts(c->u.s_binary.right, depth + 1, left);
		break;
	}
}

static size_t count_text(struct str s, struct str what)
{
	size_t n = 0;

	for (ptrdiff_t at = str_find(s, what); at >= 0; at = str_find(s, what)) {
		s = str_skip(s, (size_t)at + what.n);
		n++;
	}
	return n;
}

/* Would libiberty take forever over the C++ name 'z'? */
static bool is_explosive(const char *z, int options)
{
	struct str name = str_of(z);
	size_t left = MAX_PARTS;
	AUTO(freep) void *memory = NULL;

	if (count_text(name, STR("cvT")) > MAX_CONVERSIONS)
		return true;
	if (str_find(name, STR("Dp")) < 0 && str_find(name, STR("sp")) < 0 &&
	    str_find(name, STR("sZ")) < 0)
		return false;
	count_parts(cplus_demangle_v3_components(z, options, &memory), 0, &left);
	return left == 0;
}

/* Appends what 'name' stands for to 'o', which must be empty.  False: nothing we know. */
static bool run_engine(engine *run, struct str name, int options, struct out *o)
{
	AUTO(out_release) struct out z; /* the name, with a NUL behind it */

	out_init(&z, MAX_NAME + 1);
	out_str(&z, name);
	out_char(&z, '\0');
	if (z.error || memchr(name.p, '\0', name.n))
		return false;
	/* Rust's encoding can refer to itself, so there the length is no limit. */
	if (run == cplus_demangle_v3_callback && name.n <= MAX_DEEP)
		options |= DMGL_NO_RECURSE_LIMIT;
	if (run == cplus_demangle_v3_callback && is_explosive(z.p, options))
		return false;
	if (run_guarded(run, z.p, options, o))
		return true;
	o->n = 0;
	return false;
}

/* Template arguments */

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_';
}

/* Does offset 'i' of 's' come right behind the word "operator"? */
static bool is_behind_operator(struct str s, size_t i)
{
	return i >= 8 && memcmp(s.p + i - 8, "operator", 8) == 0 &&
	       (i == 8 || !is_word(s.p[i - 9]));
}

/* The length of the operator at the start of 's', if it has brackets in it; else 0. */
static size_t operator_length(struct str s)
{
	static const char *const symbols[] = {
		"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">",
	};

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		if (str_starts(s, str_of(symbols[i])))
			return strlen(symbols[i]);
	}
	return 0;
}

/* A walk through a demangled name that knows brackets of templates from other signs. */
struct trimmer {
	struct out *o;
	struct out open;  /* the brackets that are open, innermost last */
	size_t templates; /* how many of them are template arguments */
	bool keep;        /* template arguments are wanted */
	bool may_open;    /* a '<' here would be one of them */
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

static void put_sign(struct trimmer *t, struct str s)
{
	static const char opening[] = "([{", closing[] = ")]}";
	char c = s.p[0];
	const char *pair = strchr(closing, c);

	if (c == '<' && t->may_open) {
		out_char(&t->open, '<');
		t->templates++;
	} else if (c == '>' && innermost(t) == '<') {
		close_template(t);
		return;
	} else if (strchr(opening, c)) {
		out_char(&t->open, c);
	} else if (pair && innermost(t) == opening[pair - closing]) {
		t->open.n--;
	}
	put(t, s);
}

/*
 * Puts what begins with a sign at offset 'i' of 's' and returns how long it is.  '<' and '>' are
 * also found in the names of operators, in "->", and between parentheses: libiberty writes
 * (a)<(b).  It also writes a comma behind an empty pack.
 */
static size_t put_token(struct trimmer *t, struct str s, size_t i)
{
	struct str left = str_skip(s, i);
	size_t n = is_behind_operator(s, i) ? operator_length(left) : 0;

	if (n > 0) {
		put(t, (struct str){ left.p, n });
		t->may_open = true;
		/* "operator< <int>": the blank belongs to the arguments. */
		return n + (!t->keep && str_starts(str_skip(left, n), STR(" <")));
	}
	if (str_starts(left, STR("->")) ||
	    (i > 0 && left.p[-1] == ')' && str_starts(left, STR(">>(")))) {
		put(t, (struct str){ left.p, 2 });
		t->may_open = true;
		return 2;
	}
	n = str_starts(left, STR(", , ")) || (t->may_open && str_starts(left, STR("<, "))) ? 3 : 1;
	put_sign(t, (struct str){ left.p, 1 });
	t->may_open = left.p[0] != ')' && (t->may_open || left.p[0] != '<');
	return n;
}

/* Copies 's' to 'o' with or without template arguments. */
static void trim_templates(struct str s, bool keep, struct out *o)
{
	static const bool sign[256] = {
		['<'] = true, ['>'] = true, ['('] = true, [')'] = true, ['['] = true,
		[']'] = true, ['{'] = true, ['}'] = true, ['-'] = true, [','] = true,
	};
	struct trimmer t = { .o = o, .keep = keep, .may_open = true };
	size_t start = o->n;

	out_init(&t.open, 0);
	for (size_t i = 0; i < s.n;) {
		size_t n = 0;

		while (i + n < s.n && !sign[(unsigned char)s.p[i + n]])
			n++;
		put(&t, (struct str){ s.p + i, n });
		t.may_open |= n > 0;
		i += n;
		if (i < s.n)
			i += put_token(&t, s, i);
	}
	if (t.templates > 0) {
		o->n = start;
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
	trim_templates(out_view(&text), mode != DEMANGLE_DEFAULT, o);
	return true;
}

/* Appends what the encoding 'name' means, an _Z before it. */
static bool demangle_cxx(struct str name, enum demangle_mode mode, struct out *o)
{
	AUTO(out_release) struct out text;
	size_t start = o->n;

	out_init(&text, 0);
	if (mode == DEMANGLE_FULL || mode == DEMANGLE_NONE)
		return demangle_signature(name, mode, o);
	if (mode == DEMANGLE_DEFAULT && demangle_quickly(name, o))
		return true;
	o->n = start;
	if (!run_engine(cplus_demangle_v3_callback, name, DMGL_ANSI, &text))
		return false;
	trim_templates(out_view(&text), mode != DEMANGLE_DEFAULT, o);
	return true;
}

/* Offset of the last 'what' in 's', or -1.  Looks for the end of it first, which is rarer. */
static ptrdiff_t find_last(struct str s, struct str what)
{
	while (s.n >= what.n) {
		ptrdiff_t at = str_rfind_char(s, what.p[what.n - 1]);

		if (at + 1 < (ptrdiff_t)what.n)
			return -1;
		s.n = (size_t)at;
		if (memcmp(s.p + s.n + 1 - what.n, what.p, what.n) == 0)
			return at + 1 - (ptrdiff_t)what.n;
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

	if (key.n < 4 || (key.p[0] != '.' && key.p[0] != '_' && key.p[0] != '$') || key.p[2] != '_')
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

typedef unsigned char sixteen __attribute__((vector_size(16)));
typedef uint64_t two __attribute__((vector_size(16)));

/* Which of 16 bytes are signs that only names of C++, Java or Go's generics have? */
static sixteen find_signs(const char *p)
{
	sixteen b;

	memcpy(&b, p, sizeof(b));
	return (sixteen)((b == '<') | (b == '>') | (b == '[') | (b == ']') | (b == ':'));
}

/* Is 'name' beyond improvement?  Most names of a Go program are, and there may be 100,000. */
static bool is_ordinary(struct str name)
{
	char padded[16] = { 0 };
	sixteen found = { 0 };
	two any;

	if (name.n == 0)
		return true;
	if (name.n > 1 && name.p[0] == '_' && strchr("ZRG_", name.p[1]))
		return false;
	if (name.n < 16) {
		memcpy(padded, name.p, name.n);
		found = find_signs(padded);
	} else {
		for (size_t i = 0; i + 16 < name.n; i += 16)
			found |= find_signs(name.p + i);
		found |= find_signs(name.p + name.n - 16);
	}
	any = (two)found;
	return !(any[0] | any[1]);
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
