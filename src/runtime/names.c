/*
 * names.c - the names of functions, from the symbol tables of the files that are running
 *
 * Only the agent calls this.  Files are read, not mapped: one that is cut short while we look at it
 * would otherwise kill the host.  Of a table only what is a function is kept, sorted by address,
 * 24 bytes each; a name is read from the file when it is asked for, and kept.  A file that is not
 * the one that was loaded (its build id differs) gives no names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/agent.h"
#include "runtime/buf.h"
#include "runtime/fd.h"
#include "runtime/os.h"
#include "runtime/output.h"
#include "runtime/unwind.h"

#include <elf.h>
#include <string.h>

enum {
	MODULES_MAX = 4096,
	SECTIONS_MAX = 4096,
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

/* The symbols of one file.  Numbered as they were met: numbers stay. */
struct table {
	char path[256];
	uint8_t build_id[32];
	size_t nbuild_id;
	struct sonde__fd fd; /* for names not read yet; open while a profile is written */
	uint64_t strings[2], nstrings[2];
	struct symbol *symbols;
	size_t n, mapped;
};

static struct sonde__buf tables = { .max = MODULES_MAX * sizeof(struct table) };

/* Names that were read, in blocks that stay where they are. */
static char *blocks[BLOCKS];
static size_t nblocks, last_used;

/* Reads exactly 'n' bytes. */
static bool read_at(int fd, void *to, size_t n, uint64_t offset)
{
	char *p = to;

	while (n > 0) {
		long got = sonde__sys_pread(fd, p, n, offset);

		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
		offset += (uint64_t)got;
	}
	return true;
}

/* Whether the notes at 'p' have the build id of the module; true too if they have none. */
static bool notes_agree(const uint8_t *p, size_t n, const struct table *t)
{
	while (n >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, body;

		memcpy(&note, p, sizeof(note));
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		body = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > n - sizeof(note) || body > n - sizeof(note) - name)
			return true;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(p + sizeof(note), "GNU", 4) == 0)
			return note.n_descsz == t->nbuild_id &&
			       memcmp(p + sizeof(note) + name, t->build_id, t->nbuild_id) == 0;
		p += sizeof(note) + name + body;
		n -= sizeof(note) + name + body;
	}
	return true;
}

static bool same_file(int fd, const Elf64_Ehdr *eh, const struct table *t)
{
	uint8_t notes[1024];

	for (unsigned i = 0; i < eh->e_phnum && t->nbuild_id; i++) {
		Elf64_Phdr ph;

		if (!read_at(fd, &ph, sizeof(ph), eh->e_phoff + i * sizeof(ph)))
			return false;
		if (ph.p_type != PT_NOTE || ph.p_filesz > sizeof(notes))
			continue;
		if (!read_at(fd, notes, ph.p_filesz, ph.p_offset) ||
		    !notes_agree(notes, ph.p_filesz, t))
			return false;
	}
	return true;
}

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

/* Adds the functions of one section; 'room' symbols were mapped. */
static void read_symbols(struct table *t, const Elf64_Shdr *sh, uint32_t strings, size_t room)
{
	Elf64_Sym some[AT_ONCE];
	size_t count = sh->sh_size / sizeof(Elf64_Sym);

	for (size_t i = 0; i < count; i += AT_ONCE) {
		size_t n = count - i < AT_ONCE ? count - i : AT_ONCE;

		if (!read_at(t->fd.fd, some, n * sizeof(some[0]),
			     sh->sh_offset + i * sizeof(some[0])))
			return;
		for (size_t k = 0; k < n && t->n < room; k++)
			if (is_function(&some[k]))
				add_symbol(t, &some[k], strings);
	}
}

/* By address; of several at one address the one to be shown comes last. */
static bool before(const struct symbol *a, const struct symbol *b)
{
	if (a->start != b->start)
		return a->start < b->start;
	if (a->size != b->size)
		return a->size < b->size;
	/* Names that are exported are better known. */
	return a->strings != b->strings ? a->strings < b->strings : a->name_at > b->name_at;
}

static void sift(struct symbol *s, size_t root, size_t n)
{
	for (;;) {
		size_t child = root * 2 + 1;
		struct symbol swap;

		if (child >= n)
			return;
		if (child + 1 < n && before(&s[child], &s[child + 1]))
			child++;
		if (!before(&s[root], &s[child]))
			return;
		swap = s[root];
		s[root] = s[child];
		s[child] = swap;
		root = child;
	}
}

/* Heap sort: no memory, no recursion, no bad case. */
static void sort_symbols(struct symbol *s, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(s, i, n);
	for (size_t end = n; end > 1; end--) {
		struct symbol swap = s[0];

		s[0] = s[end - 1];
		s[end - 1] = swap;
		sift(s, 0, end - 1);
	}
}

static size_t symbol_count(const Elf64_Shdr *sh)
{
	return sh->sh_entsize == sizeof(Elf64_Sym) ? sh->sh_size / sizeof(Elf64_Sym) : 0;
}

static bool is_table(const Elf64_Shdr *sh)
{
	return sh->sh_type == SHT_SYMTAB || sh->sh_type == SHT_DYNSYM;
}

static void read_sections(struct table *t, const Elf64_Shdr *sections, unsigned n)
{
	size_t room = 0;

	for (unsigned i = 0; i < n; i++)
		room += is_table(&sections[i]) ? symbol_count(&sections[i]) : 0;
	if (room == 0 || room > SYMBOLS_MAX)
		return;
	t->mapped = room * sizeof(*t->symbols);
	t->symbols = sonde__map(t->mapped);
	for (unsigned i = 0; i < n && t->symbols; i++) {
		const Elf64_Shdr *sh = &sections[i];
		uint32_t which = sh->sh_type == SHT_DYNSYM;

		if (!is_table(sh) || symbol_count(sh) == 0 || sh->sh_link >= n)
			continue;
		t->strings[which] = sections[sh->sh_link].sh_offset;
		t->nstrings[which] = sections[sh->sh_link].sh_size;
		read_symbols(t, sh, which, room);
	}
	sort_symbols(t->symbols, t->n);
}

static void read_table(struct table *t)
{
	Elf64_Ehdr eh;
	Elf64_Shdr *sections;
	size_t size;

	if (!read_at(t->fd.fd, &eh, sizeof(eh), 0) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_shentsize != sizeof(Elf64_Shdr) ||
	    eh.e_shnum == 0 || eh.e_shnum > SECTIONS_MAX || !same_file(t->fd.fd, &eh, t))
		return;
	size = eh.e_shnum * sizeof(*sections);
	sections = sonde__map(size);
	if (sections && read_at(t->fd.fd, sections, size, eh.e_shoff))
		read_sections(t, sections, eh.e_shnum);
	sonde__unmap(sections, size);
}

static bool open_file(struct table *t, bool main)
{
	/* Whatever has become of the path: this is what runs. */
	long fd = sonde__sys_open(main ? "/proc/self/exe" : t->path, O_RDONLY | O_NONBLOCK, 0);
	struct stat st;

	if (!sonde__fd_take(&t->fd, fd))
		return false;
	if (sonde__sys_fstat(t->fd.fd, &st) == 0 && S_ISREG(st.st_mode))
		return true;
	sonde__fd_close(&t->fd);
	return false;
}

static bool same_module(const struct table *t, const struct sonde__module *m)
{
	return strcmp(t->path, m->path) == 0 && t->nbuild_id == m->nbuild_id &&
	       memcmp(t->build_id, m->build_id ? m->build_id : (const uint8_t *)"", t->nbuild_id) ==
		       0;
}

static struct table *new_table(const struct sonde__module *m, bool main)
{
	struct table *t;

	if (m->nbuild_id > sizeof(t->build_id) || strlen(m->path) >= sizeof(t->path))
		return NULL;
	if (tables.max - tables.n < sizeof(*t))
		return NULL;
	t = sonde__buf_more(&tables, sizeof(*t));
	if (!t)
		return NULL;
	memcpy(t->path, m->path, strlen(m->path) + 1);
	if (m->nbuild_id)
		memcpy(t->build_id, m->build_id, m->nbuild_id);
	t->nbuild_id = m->nbuild_id;
	if (open_file(t, main))
		read_table(t);
	sonde__fd_close(&t->fd);
	return t;
}

static struct table *table_of(const struct sonde__modules *all, const struct sonde__module *m)
{
	struct table *t = (struct table *)(void *)tables.p;
	size_t n = tables.n / sizeof(*t);
	static size_t last;

	if (!m->path || m->path[0] != '/')
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

/* Reads the name from the file; the file may be another one by now, so look what it is. */
static void read_name(struct table *t, struct symbol *s, bool main)
{
	char name[NAME_MAX_BYTES];
	uint64_t left = t->nstrings[s->strings];
	size_t n;
	Elf64_Ehdr eh;

	if (s->name_at >= left)
		return;
	if (t->fd.fd == 0 && open_file(t, main) &&
	    (!read_at(t->fd.fd, &eh, sizeof(eh), 0) || !same_file(t->fd.fd, &eh, t)))
		sonde__fd_close(&t->fd);
	if (t->fd.fd == 0)
		return;
	left -= s->name_at;
	n = left < sizeof(name) ? (size_t)left : sizeof(name);
	if (!read_at(t->fd.fd, name, n, t->strings[s->strings] + s->name_at))
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
		read_name(t, s, m == &all->at[all->main]);
	if (!s->known)
		return NULL;
	if (start)
		*start = s->start + m->bias;
	return blocks[(s->known - 1) / BLOCK] + (s->known - 1) % BLOCK;
}

void sonde__names_close(void)
{
	struct table *t = (struct table *)(void *)tables.p;

	for (size_t i = 0; i < tables.n / sizeof(*t); i++)
		if (t[i].fd.fd)
			sonde__fd_close(&t[i].fd);
}

size_t sonde__names_bytes(void)
{
	struct table *t = (struct table *)(void *)tables.p;
	size_t n = nblocks * BLOCK + tables.cap;

	for (size_t i = 0; i < tables.n / sizeof(*t); i++)
		n += t[i].mapped;
	return n;
}
