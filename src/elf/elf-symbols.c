/*
 * elf-symbols.c - the functions of a binary, in the order of their addresses
 *
 * Symbols overlap: one function has several names, and assembly code has functions in functions.
 * That is settled once, when they are read, by cutting the code into pieces that belong to one
 * name each.  Finding a name is then one binary search, and a file made to be nasty cannot turn
 * it into more than that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/elf-file.h"

#include "base/err.h"
#include "base/sort-keys.h"
#include "base/xalloc.h"
#include "elf/libelf-calls.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

enum { NEAR = 8 }; /* symbols to look at before searching */

/* Code: addresses from 'start' to before 'end' that a section covers. */
struct section {
	uint64_t start, end;
};

/* A symbol as the table has it. */
struct candidate {
	struct str name;
	uint64_t start, end; /* 'end' is that of the section if it has no size */
	bool has_size, is_local;
};

struct reader {
	struct elf_file *f;
	Elf_Scn *symtab, *dynsym; /* the first of each, or NULL */
	struct section *sections;
	size_t nsections, cap_sections;
	struct candidate *found;
	size_t nfound, cap_found;
	struct elf_symbol *pieces;
	size_t npieces, cap_pieces;
};

static int damaged(const struct elf_file *f, struct err *err)
{
	return err_set(err, -EBADMSG, "%s: damaged symbol table", f->path);
}

/* ------------------------------------------------------------------ sections */

static int by_start(const void *a, const void *b)
{
	const struct section *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void add_section(struct reader *r, Elf_Scn *scn)
{
	GElf_Shdr sh;

	if (!r->f->calls->gelf_getshdr(scn, &sh))
		return;
	if (sh.sh_type == SHT_SYMTAB && !r->symtab)
		r->symtab = scn;
	if (sh.sh_type == SHT_DYNSYM && !r->dynsym)
		r->dynsym = scn;
	if ((sh.sh_flags & SHF_EXECINSTR) && sh.sh_addr + sh.sh_size > sh.sh_addr) {
		struct section s = { sh.sh_addr, sh.sh_addr + sh.sh_size };

		vec_push(r->sections, r->nsections, r->cap_sections, s);
	}
}

/* Finds the sections that hold code, sorts them, and finds the symbol tables. */
static void read_sections(struct reader *r)
{
	const struct libelf_calls *call = r->f->calls;
	Elf_Scn *scn = call->elf_nextscn(r->f->elf, NULL);

	for (; scn; scn = call->elf_nextscn(r->f->elf, scn))
		add_section(r, scn);
	if (r->nsections)
		qsort(r->sections, r->nsections, sizeof(*r->sections), by_start);
}

/* The code section that 'address' is in, or NULL. */
static const struct section *section_at(const struct reader *r, uint64_t address)
{
	size_t low = 0, high = r->nsections;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->sections[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < r->sections[low - 1].end ? &r->sections[low - 1] : NULL;
}

/* ------------------------------------------------------------------ the table */

/*
 * Names of symbols.  Real tables share the ends of names at most; where many symbols point into
 * one long text, 'left' keeps us from reading it over and over.
 */
struct names {
	const char *p;
	size_t n;
	uint64_t left; /* how many bytes may still be read */
};

/* What a section holds: where the file is mapped, or what libelf makes of it. */
static bool read_section(const struct elf_file *f, Elf_Scn *scn, const GElf_Shdr *sh,
			 struct str *out)
{
	Elf_Data *data;

	if (f->bytes && sh->sh_type != SHT_NOBITS && !(sh->sh_flags & SHF_COMPRESSED) &&
	    sh->sh_offset <= f->size && sh->sh_size <= f->size - sh->sh_offset) {
		*out = (struct str){ (const char *)f->bytes + sh->sh_offset, sh->sh_size };
		return true;
	}
	data = f->calls->elf_getdata(scn, NULL);
	if (!data || !data->d_buf)
		return false;
	*out = (struct str){ data->d_buf, data->d_size };
	return true;
}

/* The string table 'index': text that ends in a NUL byte.  False if it is not. */
static bool open_names(const struct elf_file *f, size_t index, struct names *names)
{
	Elf_Scn *scn = f->calls->elf_getscn(f->elf, index);
	struct str text;
	GElf_Shdr sh;

	if (!scn || !f->calls->gelf_getshdr(scn, &sh) || sh.sh_type != SHT_STRTAB ||
	    !read_section(f, scn, &sh, &text) || text.n == 0)
		return false;
	*names = (struct names){ text.p, text.n, 4 * (uint64_t)text.n };
	return names->p[names->n - 1] == '\0';
}

static bool take_name(struct names *names, size_t at, struct str *name)
{
	if (at >= names->n)
		return false;
	*name = str_of(names->p + at);
	if (name->n > names->left)
		return false;
	names->left -= name->n;
	return true;
}

static bool is_function(const GElf_Sym *sym)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && sym->st_shndx != SHN_UNDEF;
}

/* Where the function's code is.  On 32-bit ARM the lowest bit of the value is a mode. */
static uint64_t code_address(const struct elf_file *f, const GElf_Sym *sym)
{
	return f->machine == EM_ARM ? sym->st_value & ~(uint64_t)1 : sym->st_value;
}

static void add_candidate(struct reader *r, const GElf_Sym *sym, struct str name)
{
	uint64_t start = code_address(r->f, sym), end = start + sym->st_size;
	const struct section *in = section_at(r, start);
	struct candidate c = {
		.name = name,
		.start = start,
		.has_size = sym->st_size != 0,
		.is_local = GELF_ST_BIND(sym->st_info) == STB_LOCAL,
	};

	if (!in || name.n == 0)
		return;
	c.end = c.has_size && end > start && end < in->end ? end : in->end;
	vec_push(r->found, r->nfound, r->cap_found, c);
}

/* A symbol table, as it lies in the file or as libelf has it. */
struct symtab {
	struct str raw; /* of this machine's kind, or empty */
	Elf_Data *data; /* else */
	size_t n;
};

/* Whether symbols in the file are structures of this machine. */
static bool is_native(const struct elf_file *f)
{
	GElf_Ehdr h;

	return f->calls->gelf_getehdr(f->elf, &h) && h.e_ident[EI_CLASS] == ELFCLASS64 &&
	       h.e_ident[EI_DATA] == ELFDATA2LSB && __BYTE_ORDER == __LITTLE_ENDIAN;
}

static bool open_symtab(const struct elf_file *f, Elf_Scn *scn, const GElf_Shdr *sh,
			struct symtab *t)
{
	*t = (struct symtab){ 0 };
	/* What is left over makes libelf refuse all of it. */
	if (f->bytes && is_native(f) && sh->sh_size % sizeof(Elf64_Sym) == 0 &&
	    read_section(f, scn, sh, &t->raw)) {
		t->n = t->raw.n / sizeof(Elf64_Sym);
		return true;
	}
	t->data = f->calls->elf_getdata(scn, NULL);
	if (!t->data || t->data->d_size > INT32_MAX)
		return false;
	t->n = t->data->d_size / f->calls->gelf_fsize(f->elf, ELF_T_SYM, 1, EV_CURRENT);
	return true;
}

static bool read_symbol(const struct elf_file *f, const struct symtab *t, size_t i, GElf_Sym *sym)
{
	if (t->data)
		return f->calls->gelf_getsym(t->data, (int)i, sym);
	memcpy(sym, t->raw.p + i * sizeof(*sym), sizeof(*sym));
	return true;
}

static int read_table(struct reader *r, Elf_Scn *scn, struct err *err)
{
	struct symtab t;
	struct names names;
	struct str name;
	GElf_Shdr sh;
	GElf_Sym sym;

	if (!r->f->calls->gelf_getshdr(scn, &sh) || !open_names(r->f, sh.sh_link, &names) ||
	    !open_symtab(r->f, scn, &sh, &t))
		return damaged(r->f, err);
	for (size_t i = 0; i < t.n; i++) {
		if (!read_symbol(r->f, &t, i, &sym))
			return damaged(r->f, err);
		if (!is_function(&sym))
			continue;
		if (!take_name(&names, sym.st_name, &name))
			return damaged(r->f, err);
		add_candidate(r, &sym, name);
	}
	return 0;
}

/* ------------------------------------------------------------------ one name for each piece */

/* By address; of one address the best name first. */
static int by_address(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->has_size != y->has_size)
		return x->has_size ? -1 : 1;
	if (x->is_local != y->is_local)
		return x->is_local ? 1 : -1;
	if (x->name.n != y->name.n)
		return x->name.n < y->name.n ? -1 : 1;
	return memcmp(x->name.p, y->name.p, x->name.n);
}

static uint64_t start_of(const void *candidate)
{
	return ((const struct candidate *)candidate)->start;
}

static void sort_candidates(struct reader *r)
{
	sort_by_key(r->found, r->nfound, sizeof(*r->found), start_of, by_address);
}

/* Keeps the best name of each address, and ends what has no size where the next one starts. */
static void choose(struct reader *r)
{
	size_t n = 0;

	sort_candidates(r);
	for (size_t i = 0; i < r->nfound; i++) {
		struct candidate *last = n ? &r->found[n - 1] : NULL;
		struct candidate c = r->found[i];

		if (last && last->start == c.start)
			continue;
		if (last && !last->has_size && last->end > c.start)
			last->end = c.start;
		r->found[n++] = c;
	}
	r->nfound = n;
}

/* Where the sweep is: code before 'at' has been cut up; 'open' are functions that go on. */
struct sweep {
	uint64_t at;
	size_t *open; /* indices, the innermost one last */
	size_t nopen;
};

static const struct candidate *innermost(const struct reader *r, const struct sweep *s)
{
	return &r->found[s->open[s->nopen - 1]];
}

/* Gives the code from where the sweep is to 'end' to the innermost open function. */
static void cut_piece(struct reader *r, struct sweep *s, uint64_t end)
{
	struct elf_symbol piece = { s->at, end, innermost(r, s)->name };

	if (end <= s->at)
		return;
	vec_push(r->pieces, r->npieces, r->cap_pieces, piece);
	s->at = end;
}

/* Closes the functions that end at or before 'address'. */
static void close_functions(struct reader *r, struct sweep *s, uint64_t address)
{
	while (s->nopen && innermost(r, s)->end <= address) {
		cut_piece(r, s, innermost(r, s)->end);
		s->nopen--;
	}
}

/* A function without a size inside one that has a size is a label in it, and left out. */
static void cut_up(struct reader *r)
{
	struct sweep s = { .open = mem_new(r->nfound + 1, sizeof(*s.open)) };

	for (size_t i = 0; i < r->nfound; i++) {
		const struct candidate *c = &r->found[i];

		close_functions(r, &s, c->start);
		if (s.nopen && !c->has_size)
			continue;
		if (s.nopen)
			cut_piece(r, &s, c->start);
		s.open[s.nopen++] = i;
		s.at = c->start;
	}
	close_functions(r, &s, UINT64_MAX);
	free(s.open);
}

/* ------------------------------------------------------------------ together */

static int read_functions(struct reader *r, struct err *err)
{
	int rc = 0;

	/* The parts of an object file have no addresses yet. */
	if (r->f->type == ET_REL)
		return 0;
	read_sections(r);
	if (r->symtab)
		rc = read_table(r, r->symtab, err);
	if (rc == 0 && r->nfound == 0 && r->dynsym)
		rc = read_table(r, r->dynsym, err);
	return rc;
}

static void release(struct reader *r)
{
	free(r->sections);
	free(r->found);
}

int elf_read_symbols(struct elf_file *f, struct err *err)
{
	struct reader r = { .f = f };
	int rc;

	if (f->has_symbols)
		return 0;
	rc = read_functions(&r, err);
	if (rc == 0) {
		choose(&r);
		cut_up(&r);
		f->symbols = r.pieces;
		f->nsymbols = r.npieces;
		f->has_symbols = true;
	}
	release(&r);
	return rc;
}

int elf_functions(struct elf_file *f, struct elf_symbol **out, size_t *n, struct err *err)
{
	struct reader r = { .f = f };
	struct elf_symbol *list;
	uint64_t next = UINT64_MAX;
	int rc = read_functions(&r, err);

	if (rc) {
		release(&r);
		return rc;
	}
	list = mem_new(r.nfound ? r.nfound : 1, sizeof(*list));
	sort_candidates(&r);
	for (size_t i = r.nfound; i-- > 0;) {
		const struct candidate *c = &r.found[i];

		if (i + 1 < r.nfound && r.found[i + 1].start != c->start)
			next = r.found[i + 1].start;
		list[i] = (struct elf_symbol){ c->start, c->end, c->name };
		if (!c->has_size && next < c->end)
			list[i].end = next;
	}
	*out = list;
	*n = r.nfound;
	release(&r);
	return 0;
}

/* The first symbol that ends behind the address. */
static size_t first_behind(const struct elf_file *f, uint64_t address)
{
	size_t low = 0, high = f->nsymbols;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->symbols[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct elf_symbol *elf_next_symbol(const struct elf_file *f, uint64_t address, size_t *at)
{
	size_t i = *at;

	for (size_t n = 0; n < NEAR && i < f->nsymbols && f->symbols[i].end <= address; n++)
		i++;
	if (i >= f->nsymbols || f->symbols[i].end <= address ||
	    (i > 0 && f->symbols[i - 1].end > address))
		i = first_behind(f, address);
	*at = i;
	return i < f->nsymbols && f->symbols[i].start <= address ? &f->symbols[i] : NULL;
}

const struct elf_symbol *elf_find_symbol(const struct elf_file *f, uint64_t address)
{
	size_t at = f->nsymbols;

	return elf_next_symbol(f, address, &at);
}
