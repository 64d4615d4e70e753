/*
 * symbolize.c - give a profile's addresses the names of functions
 *
 * First every mapping is looked at, in the profile's order, because that is the order of the
 * messages.  Then the addresses that can be named are sorted by file, mapping and address, so
 * that each binary is read once and only one is open at a time.  Functions are made last, in the
 * order of locations, as the reference makes them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/symbolize.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/notify.h"
#include "base/str.h"
#include "base/table.h"
#include "base/xalloc.h"
#include "elf/elf-file.h"
#include "profile/profile.h"
#include "symbol/demangle.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

/* An address that is in a binary we have. */
struct item {
	uint64_t address;
	uint32_t file;    /* string */
	uint32_t mapping; /* index */
	uint32_t location;
};

struct symbolizer {
	struct profile *p;
	struct notify *notify;
	bool force;
	bool *wanted;    /* per mapping: it has locations; then: and a binary */
	uint32_t *names; /* per location: string, or 0 */
	struct item *items;
	size_t nitems;
};

/* ------------------------------------------------------------------ which binaries */

static bool contains_http(struct str s)
{
	for (size_t i = 0; i + 4 <= s.n; i++) {
		if (strncasecmp(s.p + i, "http", 4) == 0)
			return true;
	}
	return false;
}

/* Whether 'file' is a URL of a kind of http: the source stands in for an unknown binary. */
static bool is_http_url(struct str file)
{
	size_t n = 0;

	while (n < file.n && (isalnum((unsigned char)file.p[n]) || strchr("+-.", file.p[n])))
		n++;
	return n < file.n && file.p[n] == ':' && isalpha((unsigned char)file.p[0]) &&
	       contains_http((struct str){ file.p, n });
}

/* Whether the mapping is something of the kernel's that no file has the code of. */
static bool is_unsymbolizable(struct str file)
{
	struct str name = str_base(file);

	return str_starts(name, STR("[")) || str_starts(name, STR("linux-vdso")) ||
	       str_starts(file, STR("/dev/dri/"));
}

/* What messages call the mapping. */
static char *mapping_name(const struct profile *p, const struct mapping *m)
{
	struct str base = str_base(profile_str(p, m->file)), id = profile_str(p, m->build_id);

	if (id.n == 0)
		return mem_str(base);
	return mem_printf("%.*s (build ID %.*s)", STR_ARG(base), STR_ARG(id));
}

static void complain(struct symbolizer *s, const struct mapping *m, const char *why)
{
	AUTO(freep) char *name = mapping_name(s->p, m);

	notify_warn(s->notify, "Local symbolization failed for %s: %s", name, why);
}

/* elf_open() for a name that may hold anything; NULL and 'err' on failure. */
static struct elf_file *open_binary(struct str file, struct err *err)
{
	AUTO(freep) char *path = mem_str(file);
	struct elf_file *f = NULL;

	if (strlen(path) != file.n)
		err_set(err, -EINVAL, "open %s: invalid argument", path);
	else
		(void)elf_open(path, &f, err);
	return f;
}

enum { BINARY_USABLE, BINARY_SKIPPED, BINARY_MISSING };

/* Looks at the binary of mapping 'i', and says what there is to say about it. */
static int check_binary(struct symbolizer *s, uint32_t i)
{
	const struct mapping *m = &s->p->mappings[i];
	struct str file = profile_str(s->p, m->file), id = profile_str(s->p, m->build_id);
	AUTO(elf_closep) struct elf_file *f = NULL;
	struct err why;

	if (!s->force && (m->has_functions || m->has_filenames || m->has_line_numbers))
		return BINARY_SKIPPED;
	if (file.n == 0 && i > 0)
		return BINARY_MISSING;
	if (file.n == 0) {
		notify_warn(s->notify, "Main binary filename not available.");
		return BINARY_SKIPPED;
	}
	if (is_unsymbolizable(file) || (id.n == 0 && is_http_url(file)))
		return BINARY_SKIPPED;
	f = open_binary(file, &why);
	if (!f) {
		complain(s, m, why.msg);
		return BINARY_MISSING;
	}
	if (id.n && *f->build_id && !str_is(id, f->build_id)) {
		complain(s, m, "build ID mismatch");
		return BINARY_SKIPPED;
	}
	return BINARY_USABLE;
}

/* Leaves in 'wanted' the mappings that have both locations and a binary. */
static void check_binaries(struct symbolizer *s)
{
	const struct profile *p = s->p;
	bool missing = false;

	for (uint32_t i = 0; i < p->nlocations; i++) {
		if (p->locations[i].mapping != NONE)
			s->wanted[p->locations[i].mapping] = true;
	}
	for (uint32_t i = 0; i < p->nmappings; i++) {
		int what = s->wanted[i] ? check_binary(s, i) : BINARY_SKIPPED;

		s->wanted[i] = what == BINARY_USABLE;
		missing |= what == BINARY_MISSING;
	}
	if (missing)
		notify_warn(
			s->notify,
			"Some binary filenames not available. Symbolization may be incomplete.\n"
			"Try setting PPROF_BINARY_PATH to the search path for local binaries.");
}

/* ------------------------------------------------------------------ which addresses */

/* Whether the profile knows more about the location than a symbol table does. */
static bool is_known(const struct profile *p, const struct location *l)
{
	for (uint32_t i = 0; i < l->nlines; i++) {
		const struct line *line = &p->lines[l->line + i];
		const struct function *fn = &p->functions[line->function];

		if (fn->name && (fn->file || line->line))
			return true;
	}
	return false;
}

static int by_file_and_address(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->mapping != y->mapping)
		return x->mapping < y->mapping ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static void collect_items(struct symbolizer *s)
{
	const struct profile *p = s->p;

	s->items = mem_new((size_t)p->nlocations + 1, sizeof(*s->items));
	for (uint32_t i = 0; i < p->nlocations; i++) {
		const struct location *l = &p->locations[i];

		if (l->mapping == NONE || !s->wanted[l->mapping] || is_known(p, l))
			continue;
		s->items[s->nitems++] = (struct item){
			.address = l->address,
			.file = p->mappings[l->mapping].file,
			.mapping = l->mapping,
			.location = i,
		};
	}
	qsort(s->items, s->nitems, sizeof(*s->items), by_file_and_address);
}

/* ------------------------------------------------------------------ names */

static uint64_t bias_of(const struct elf_file *f, const struct mapping *m)
{
	return elf_bias(f, (struct elf_range){ m->start, m->limit, m->offset });
}

/* Names the addresses items[from .. to), which are all in 'f'. */
static void name_items(struct symbolizer *s, const struct elf_file *f, size_t from, size_t to)
{
	const struct elf_symbol *symbol = NULL;
	uint64_t bias = 0;
	uint32_t mapping = NONE, name = 0;

	for (size_t i = from; i < to; i++) {
		const struct item *item = &s->items[i];

		if (item->mapping != mapping) {
			mapping = item->mapping;
			bias = bias_of(f, &s->p->mappings[mapping]);
		}
		const struct elf_symbol *at = elf_find_symbol(f, item->address - bias);

		if (at && at != symbol) {
			symbol = at;
			name = profile_intern_copy(s->p, at->name);
		}
		s->names[item->location] = at ? name : 0;
	}
}

/* Names items[from .. to), which are all in one file. */
static void name_file(struct symbolizer *s, size_t from, size_t to)
{
	const struct mapping *m = &s->p->mappings[s->items[from].mapping];
	struct err why;
	AUTO(elf_closep) struct elf_file *f = open_binary(profile_str(s->p, m->file), &why);

	if (!f || elf_read_symbols(f, &why) < 0) {
		complain(s, m, why.msg);
		return;
	}
	name_items(s, f, from, to);
}

static void name_locations(struct symbolizer *s)
{
	size_t from = 0;

	for (size_t i = 1; i <= s->nitems; i++) {
		if (i < s->nitems && s->items[i].file == s->items[from].file)
			continue;
		name_file(s, from, i);
		from = i;
	}
}

/* ------------------------------------------------------------------ functions and lines */

/* One new function for each distinct name. */
struct functions {
	struct table index;
	uint32_t *names; /* strings */
	size_t n, cap;
};

static uint64_t hash_name(uint32_t name)
{
	return hash_mix(name, 0);
}

static uint64_t rehash_name(uint32_t value, const void *ctx)
{
	return hash_name(((const struct functions *)ctx)->names[value]);
}

static uint32_t function_for(struct functions *fs, uint32_t name)
{
	struct probe at;

	table_reserve(&fs->index, rehash_name, fs);
	at = table_probe(&fs->index, hash_name(name));
	while (table_next(&fs->index, &at)) {
		if (fs->names[at.value] == name)
			return at.value;
	}
	table_put(&fs->index, &at, (uint32_t)fs->n);
	vec_push(fs->names, fs->n, fs->cap, name);
	return (uint32_t)fs->n - 1;
}

/* Copies 'n' entries of 'size' bytes into an array with room for 'more'. */
static void *grow(struct profile *p, const void *from, size_t n, size_t more, size_t size)
{
	void *to = xarena(&p->arena, n + more, size);

	if (n)
		memcpy(to, from, n * size);
	return to;
}

static void append_functions(struct profile *p, const struct functions *fs)
{
	uint64_t id = p->nfunctions;

	for (uint32_t i = 0; i < p->nfunctions; i++) {
		if (p->functions[i].id > id)
			id = p->functions[i].id;
	}
	p->functions = grow(p, p->functions, p->nfunctions, fs->n, sizeof(*p->functions));
	for (size_t i = 0; i < fs->n; i++) {
		p->functions[p->nfunctions++] = (struct function){
			.id = id + 1 + i,
			.name = fs->names[i],
			.system_name = fs->names[i],
		};
	}
}

/* Gives every location that has a name one line of that function. */
static void append_lines(struct symbolizer *s, struct functions *fs, uint32_t first, size_t count)
{
	struct profile *p = s->p;

	p->lines = grow(p, p->lines, p->nlines, count, sizeof(*p->lines));
	for (uint32_t i = 0; i < p->nlocations; i++) {
		struct location *l = &p->locations[i];

		if (!s->names[i])
			continue;
		l->line = p->nlines++;
		l->nlines = 1;
		l->is_folded = false;
		p->lines[l->line].function = first + function_for(fs, s->names[i]);
		p->mappings[l->mapping].has_functions = true;
		p->mappings[l->mapping].has_inline_frames = true;
	}
}

static int apply_names(struct symbolizer *s, struct err *err)
{
	struct profile *p = s->p;
	struct functions fs = { 0 };
	uint32_t first = p->nfunctions;
	size_t count = 0;
	int rc = 0;

	table_init(&fs.index, 0);
	for (uint32_t i = 0; i < p->nlocations; i++) {
		if (s->names[i]) {
			function_for(&fs, s->names[i]);
			count++;
		}
	}
	if (count >= NONE - p->nlines || fs.n >= NONE - p->nfunctions) {
		rc = err_set(err, -EOVERFLOW, "too many lines to symbolize");
	} else if (count) {
		append_functions(p, &fs);
		append_lines(s, &fs, first, count);
	}
	table_release(&fs.index);
	free(fs.names);
	return rc;
}

static int symbolize_locally(struct profile *p, bool force, struct notify *n, struct err *err)
{
	struct symbolizer s = { .p = p, .notify = n, .force = force };
	int rc = 0;

	s.wanted = mem_zeroed((size_t)p->nmappings + 1, sizeof(*s.wanted));
	check_binaries(&s);
	collect_items(&s);
	if (s.nitems) {
		s.names = mem_zeroed(p->nlocations, sizeof(*s.names));
		name_locations(&s);
		rc = apply_names(&s, err);
	}
	free(s.wanted);
	free(s.items);
	free(s.names);
	return rc;
}

/* ------------------------------------------------------------------ the mode */

struct plan {
	bool none, local, force;
	enum demangle_mode demangle;
};

static bool word_is(struct str word, const char *z)
{
	return word.n == strlen(z) && strncasecmp(word.p, z, word.n) == 0;
}

/* How to demangle, with or without "demangle=" in front: the reference takes both. */
static bool read_demangle_word(struct plan *plan, struct str word)
{
	static const struct {
		const char *word;
		enum demangle_mode mode;
	} modes[] = {
		{ "full", DEMANGLE_FULL },
		{ "none", DEMANGLE_NONE },
		{ "templates", DEMANGLE_TEMPLATES },
	};

	if (word.n >= 9 && strncasecmp(word.p, "demangle=", 9) == 0)
		word = str_skip(word, 9);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (word_is(word, modes[i].word)) {
			plan->demangle = modes[i].mode;
			plan->force = true;
			return true;
		}
	}
	return word_is(word, "default");
}

/* False for a word that means nothing. */
static bool read_word(struct plan *plan, struct str word)
{
	if (word.n == 0)
		return true;
	if (word_is(word, "none") || word_is(word, "no")) {
		plan->none = true;
	} else if (word_is(word, "local") || word_is(word, "fastlocal")) {
		plan->local = true;
	} else if (word_is(word, "remote")) {
		plan->local = false;
	} else if (word_is(word, "force")) {
		plan->force = true;
	} else {
		return read_demangle_word(plan, word);
	}
	return true;
}

static struct plan read_mode(const char *mode, struct notify *n)
{
	struct plan plan = { .local = true };
	struct str word, rest = str_of(mode);

	while (!plan.none && str_split(&rest, ':', &word)) {
		if (read_word(&plan, word))
			continue;
		notify_warn(n, "ignoring unrecognized symbolization option: %s", mode);
		notify_warn(n, "expecting -symbolize=[local|fastlocal|remote|none][:force]"
			       "[:demangle=[none|full|templates|default]");
	}
	return plan;
}

int profile_symbolize(struct profile *p, const char *mode, struct notify *n, struct err *err)
{
	struct plan plan = read_mode(mode, n);
	int rc = 0;

	if (plan.none)
		return 0;
	if (plan.local)
		rc = symbolize_locally(p, plan.force, n, err);
	if (rc == 0)
		profile_demangle(p, plan.force, plan.demangle);
	return rc;
}
