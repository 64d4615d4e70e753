/*
 * names.c - the names of functions, from the symbol tables of the files that are running
 *
 * Only the agent calls this.  Of a table only what is a function is kept, sorted by address, 24
 * bytes each; a name is read from the file when it is asked for, and kept.  A file without a full
 * table may have one in a debug file; the vdso has its own in memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/binary.h"
#include "runtime/buf.h"
#include "runtime/os.h"
#include "runtime/output.h"
#include "runtime/sort.h"
#include "runtime/unwind.h"

#include <string.h>

enum {
	MODULES_MAX = 4096,
	SYMBOLS_MAX = 4 << 20,
	NAME_MAX_BYTES = 4096,
	BLOCKS = 512,
	AT_ONCE = 128, /* symbols per read */
	BLOCK = 64 << 10,
};

struct symbol {
	uint64_t start; /* address in the file */
	uint32_t size;
	uint32_t name_at; /* in the string table of the file */
	uint32_t known;   /* its name: block and place in it, plus 1 */
	uint32_t strings; /* which string table */
};

/* Names that are exported are better known: of two for one place, the last is shown. */
enum { OF_FILE, OF_DEBUG_FILE, EXPORTED, STRINGS };

/* The symbols of one file.  Numbered as they were met: numbers stay. */
struct table {
	char path[256];
	struct sonde__build_id id;
	struct sonde__binary file,
		debug;    /* for names not read yet; open while a profile is written */
	bool main, tried; /* the program itself; whether 'debug' was looked for */
	uint64_t strings[STRINGS], nstrings[STRINGS];
	struct symbol *symbols;
	size_t n, room, mapped;
};

static struct sonde__buf tables = { .max = MODULES_MAX * sizeof(struct table) };

/* Names that were read, in blocks that stay where they are. */
static char *blocks[BLOCKS];
static size_t nblocks, last_used;

static bool is_function(const Elf64_Sym *s)
{
	int type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF &&
	       s->st_value != 0 && s->st_name != 0;
}

static void add_symbol(struct table *t, const Elf64_Sym *s, uint32_t strings)
{
	t->symbols[t->n++] = (struct symbol){
		.start = s->st_value,
		.size = s->st_size > UINT32_MAX ? UINT32_MAX : (uint32_t)s->st_size,
		.name_at = s->st_name,
		.strings = strings,
	};
}

/* Adds the functions of one section, as far as there is room. */
static void read_symbols(struct table *t, const struct sonde__binary *b, const Elf64_Shdr *sh,
			 uint32_t strings)
{
	Elf64_Sym some[AT_ONCE];
	size_t count = sh->sh_size / sizeof(Elf64_Sym);

	for (size_t i = 0; i < count; i += AT_ONCE) {
		size_t n = count - i < AT_ONCE ? count - i : AT_ONCE;

		if (!sonde__binary_read(b, some, n * sizeof(some[0]),
					sh->sh_offset + i * sizeof(some[0])))
			return;
		for (size_t k = 0; k < n && t->n < t->room; k++)
			if (is_function(&some[k]))
				add_symbol(t, &some[k], strings);
	}
}

/* By address; of several at one address the one to be shown comes last. */
static bool is_before(const void *x, const void *y)
{
	const struct symbol *a = x, *b = y;

	if (a->start != b->start)
		return a->start < b->start;
	if (a->size != b->size)
		return a->size < b->size;
	return a->strings != b->strings ? a->strings < b->strings : a->name_at > b->name_at;
}

static size_t symbol_count(const Elf64_Shdr *sh)
{
	return sh->sh_entsize == sizeof(Elf64_Sym) ? sh->sh_size / sizeof(Elf64_Sym) : 0;
}

static size_t count_symbols(const struct sonde__binary *b, uint32_t type)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += b->sections[i].sh_type == type ? symbol_count(&b->sections[i]) : 0;
	return n;
}

static void read_sections(struct table *t, const struct sonde__binary *b, uint32_t type,
			  uint32_t which)
{
	for (size_t i = 0; i < b->n; i++) {
		const Elf64_Shdr *sh = &b->sections[i];

		if (sh->sh_type != type || symbol_count(sh) == 0 || sh->sh_link >= b->n)
			continue;
		t->strings[which] = b->sections[sh->sh_link].sh_offset;
		t->nstrings[which] = b->sections[sh->sh_link].sh_size;
		read_symbols(t, b, sh, which);
	}
}

/* Opens what is not open yet; the program itself is what runs, whatever has become of its path. */
static struct sonde__binary *file_of(struct table *t)
{
	if (!sonde__binary_is_open(&t->file) && t->path[0])
		sonde__binary_open(&t->file, t->main ? "/proc/self/exe" : t->path, &t->id);
	return &t->file;
}

static struct sonde__binary *debug_of(struct table *t)
{
	if (!t->tried && !sonde__binary_is_open(&t->debug) && t->path[0])
		sonde__binary_open_debug(&t->debug, file_of(t), t->path, &t->id);
	t->tried = true;
	return &t->debug;
}

static void read_table(struct table *t)
{
	const struct sonde__binary *b = file_of(t), *debug = b;

	if (!sonde__binary_is_open(b))
		return;
	if (!count_symbols(b, SHT_SYMTAB))
		debug = debug_of(t);
	t->room = count_symbols(b, SHT_DYNSYM) + count_symbols(debug, SHT_SYMTAB);
	if (t->room == 0 || t->room > SYMBOLS_MAX)
		return;
	t->mapped = t->room * sizeof(*t->symbols);
	t->symbols = sonde__map(t->mapped);
	if (!t->symbols)
		return;
	read_sections(t, debug, SHT_SYMTAB, debug == b ? OF_FILE : OF_DEBUG_FILE);
	read_sections(t, b, SHT_DYNSYM, EXPORTED);
	sonde__sort(t->symbols, t->n, sizeof(*t->symbols), is_before);
}

static bool same_module(const struct table *t, const struct sonde__module *m)
{
	return strcmp(t->path, m->path) == 0 && t->id.n == m->nbuild_id &&
	       memcmp(t->id.bytes, m->build_id ? m->build_id : (const uint8_t *)"", t->id.n) == 0;
}

static void close_table(struct table *t)
{
	if (t->path[0]) /* the vdso stays where it is */
		sonde__binary_close(&t->file);
	sonde__binary_close(&t->debug);
	t->tried = false;
}

static struct table *new_table(const struct sonde__module *m, bool main)
{
	struct table *t;

	if (m->nbuild_id > sizeof(t->id.bytes) || strlen(m->path) >= sizeof(t->path))
		return NULL;
	if (tables.max - tables.n < sizeof(*t))
		return NULL;
	t = sonde__buf_more(&tables, sizeof(*t));
	if (!t)
		return NULL;
	memcpy(t->path, m->path, strlen(m->path) + 1);
	if (m->nbuild_id)
		memcpy(t->id.bytes, m->build_id, m->nbuild_id);
	t->id.n = m->nbuild_id;
	t->main = main;
	if (!t->path[0] && m->offset == 0)
		sonde__binary_image(&t->file, (const void *)(uintptr_t)m->start, m->end - m->start);
	read_table(t);
	close_table(t);
	return t;
}

static struct table *table_of(const struct sonde__modules *all, const struct sonde__module *m)
{
	struct table *t = (struct table *)(void *)tables.p;
	size_t n = tables.n / sizeof(*t);
	static size_t last;

	if (!m->path || (m->path[0] && m->path[0] != '/'))
		return NULL;
	if (last < n && same_module(&t[last], m))
		return &t[last];
	for (size_t i = 0; i < n; i++) {
		if (same_module(&t[i], m)) {
			last = i;
			return &t[i];
		}
	}
	return new_table(m, m == &all->at[all->main]);
}

/* The symbol that covers 'address' of the file. */
static struct symbol *find_symbol(struct table *t, uint64_t address)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->symbols[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	/* A few steps back: a short function may lie inside a longer one. */
	for (size_t i = 0; i < 8 && i < low; i++) {
		struct symbol *s = &t->symbols[low - 1 - i];

		if (address - s->start < s->size)
			return s;
		if (s->size == 0 && i == 0)
			return s;
	}
	return NULL;
}

/* Keeps a name; 0 if there is no room. */
static uint32_t keep_name(const char *name, size_t n)
{
	if (nblocks == 0 || BLOCK - last_used < n) {
		char *block = nblocks < BLOCKS ? sonde__map(BLOCK) : NULL;

		if (!block)
			return 0;
		blocks[nblocks++] = block;
		last_used = 0;
	}
	memcpy(blocks[nblocks - 1] + last_used, name, n);
	last_used += n;
	return (uint32_t)((nblocks - 1) * BLOCK + last_used - n) + 1;
}

/* Reads the name from the file. */
static void read_name(struct table *t, struct symbol *s)
{
	const struct sonde__binary *b = s->strings == OF_DEBUG_FILE ? debug_of(t) : file_of(t);
	char name[NAME_MAX_BYTES];
	uint64_t left = t->nstrings[s->strings];
	size_t n;

	if (s->name_at >= left || !sonde__binary_is_open(b))
		return;
	left -= s->name_at;
	n = left < sizeof(name) ? (size_t)left : sizeof(name);
	if (!sonde__binary_read(b, name, n, t->strings[s->strings] + s->name_at))
		return;
	left = strnlen(name, n);
	if (left > 0 && left < n)
		s->known = keep_name(name, (size_t)left + 1);
}

const char *sonde__name(uint64_t pc, uint64_t *start)
{
	const struct sonde__modules *all = sonde__modules();
	const struct sonde__module *m = sonde__module_at(pc);
	struct table *t = m ? table_of(all, m) : NULL;
	struct symbol *s = t && t->n ? find_symbol(t, pc - m->bias) : NULL;

	if (!s)
		return NULL;
	if (!s->known)
		read_name(t, s);
	if (!s->known)
		return NULL;
	if (start)
		*start = s->start + m->bias;
	return blocks[(s->known - 1) / BLOCK] + (s->known - 1) % BLOCK;
}

const struct sonde__binary *sonde__names_binary(const struct sonde__module *m, const char *section)
{
	struct table *t = table_of(sonde__modules(), m);

	if (t && sonde__binary_section(file_of(t), section))
		return &t->file;
	return t && sonde__binary_section(debug_of(t), section) ? &t->debug : NULL;
}

uint8_t *sonde__names_section(const struct sonde__module *m, const char *name, size_t max,
			      size_t *n, size_t *mapped)
{
	const struct sonde__binary *b = sonde__names_binary(m, name);

	return b ? sonde__binary_load(b, name, max, n, mapped) : NULL;
}

void sonde__names_close(void)
{
	struct table *t = (struct table *)(void *)tables.p;

	for (size_t i = 0; i < tables.n / sizeof(*t); i++)
		close_table(&t[i]);
}

size_t sonde__names_bytes(void)
{
	struct table *t = (struct table *)(void *)tables.p;
	size_t n = nblocks * BLOCK + tables.cap;

	for (size_t i = 0; i < tables.n / sizeof(*t); i++)
		n += t[i].mapped;
	return n;
}
