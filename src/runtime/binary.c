/*
 * binary.c - the file of a program or library: its sections
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/binary.h"

#include "runtime/os.h"
#include "runtime/output.h"

#include <string.h>

enum { SECTIONS_MAX = 4096, PATH_BYTES = 512 };

static const char debug_folder[] = "/usr/lib/debug";

bool sonde__binary_read(const struct sonde__binary *b, void *to, size_t n, uint64_t offset)
{
	char *p = to;

	if (b->image) {
		if (offset > b->nimage || n > b->nimage - offset)
			return false;
		memcpy(to, b->image + offset, n);
		return true;
	}
	while (n > 0) {
		long got = sonde__sys_pread(b->fd.fd, p, n, offset);

		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
		offset += (uint64_t)got;
	}
	return true;
}

/* Whether the notes at 'p' have the build id; true too if they have none. */
static bool notes_agree(const uint8_t *p, size_t n, const struct sonde__build_id *id)
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
			return note.n_descsz == id->n &&
			       memcmp(p + sizeof(note) + name, id->bytes, id->n) == 0;
		p += sizeof(note) + name + body;
		n -= sizeof(note) + name + body;
	}
	return true;
}

static bool agrees(const struct sonde__binary *b, uint64_t offset, uint64_t n,
		   const struct sonde__build_id *id)
{
	uint8_t notes[1024];

	if (n > sizeof(notes))
		return true;
	return sonde__binary_read(b, notes, n, offset) && notes_agree(notes, n, id);
}

/* By its segments, or, as those of debug files say nothing, its sections. */
static bool is_same(const struct sonde__binary *b, const Elf64_Ehdr *eh,
		    const struct sonde__build_id *id)
{
	for (unsigned i = 0; i < eh->e_phnum && id->n && eh->e_type != ET_REL; i++) {
		Elf64_Phdr ph;

		if (!sonde__binary_read(b, &ph, sizeof(ph), eh->e_phoff + i * sizeof(ph)))
			return false;
		if (ph.p_type == PT_NOTE && ph.p_filesz && !agrees(b, ph.p_offset, ph.p_filesz, id))
			return false;
	}
	for (size_t i = 0; i < b->n && id->n; i++)
		if (b->sections[i].sh_type == SHT_NOTE &&
		    !agrees(b, b->sections[i].sh_offset, b->sections[i].sh_size, id))
			return false;
	return true;
}

static bool read_head(struct sonde__binary *b, const struct sonde__build_id *id)
{
	Elf64_Ehdr eh;

	if (!sonde__binary_read(b, &eh, sizeof(eh), 0) ||
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_shentsize != sizeof(Elf64_Shdr) || eh.e_shnum == 0 || eh.e_shnum > SECTIONS_MAX)
		return false;
	b->mapped = eh.e_shnum * sizeof(*b->sections);
	b->sections = sonde__map(b->mapped);
	if (!b->sections || !sonde__binary_read(b, b->sections, b->mapped, eh.e_shoff))
		return false;
	b->n = eh.e_shnum;
	return is_same(b, &eh, id);
}

bool sonde__binary_open(struct sonde__binary *b, const char *path, const struct sonde__build_id *id)
{
	struct stat st;

	*b = (struct sonde__binary){ 0 };
	if (sonde__fd_take(&b->fd, sonde__sys_open(path, O_RDONLY | O_NONBLOCK, 0)) &&
	    sonde__sys_fstat(b->fd.fd, &st) == 0 && S_ISREG(st.st_mode) && read_head(b, id))
		return true;
	sonde__binary_close(b);
	return false;
}

bool sonde__binary_image(struct sonde__binary *b, const void *image, size_t n)
{
	*b = (struct sonde__binary){ .image = image, .nimage = n };
	if (read_head(b, &(struct sonde__build_id){ .n = 0 }))
		return true;
	sonde__binary_close(b);
	return false;
}

bool sonde__binary_is_open(const struct sonde__binary *b)
{
	return b->n > 0;
}

void sonde__binary_close(struct sonde__binary *b)
{
	if (b->fd.fd)
		sonde__fd_close(&b->fd);
	sonde__unmap(b->sections, b->mapped);
	*b = (struct sonde__binary){ 0 };
}

static bool has_name(const struct sonde__binary *b, const Elf64_Shdr *names, const Elf64_Shdr *sh,
		     const char *name)
{
	char text[32];
	size_t n = strlen(name) + 1;

	return n <= sizeof(text) && sh->sh_name < names->sh_size &&
	       sonde__binary_read(b, text, n, names->sh_offset + sh->sh_name) &&
	       memcmp(text, name, n) == 0;
}

const Elf64_Shdr *sonde__binary_section(const struct sonde__binary *b, const char *name)
{
	Elf64_Ehdr eh;

	if (b->n == 0 || !sonde__binary_read(b, &eh, sizeof(eh), 0) || eh.e_shstrndx >= b->n)
		return NULL;
	for (size_t i = 0; i < b->n; i++)
		if (b->sections[i].sh_type != SHT_NOBITS &&
		    has_name(b, &b->sections[eh.e_shstrndx], &b->sections[i], name))
			return &b->sections[i];
	return NULL;
}

static uint8_t *load_plain(const struct sonde__binary *b, uint64_t offset, size_t n, size_t *mapped)
{
	uint8_t *p;

	*mapped = n + 1;
	p = sonde__map(*mapped);
	if (p && !sonde__binary_read(b, p, n, offset)) {
		sonde__unmap(p, *mapped);
		return NULL;
	}
	return p;
}

static uint8_t *load_packed(const struct sonde__binary *b, const Elf64_Shdr *sh, size_t max,
			    size_t *n, size_t *mapped)
{
	size_t packed_mapped;
	uint8_t *packed, *p = NULL;
	Elf64_Chdr head;

	if (sh->sh_size < sizeof(head) ||
	    !sonde__binary_read(b, &head, sizeof(head), sh->sh_offset) ||
	    head.ch_type != ELFCOMPRESS_ZLIB || head.ch_size > max)
		return NULL;
	packed = load_plain(b, sh->sh_offset + sizeof(head), sh->sh_size - sizeof(head),
			    &packed_mapped);
	*n = head.ch_size;
	*mapped = head.ch_size + 1;
	if (packed)
		p = sonde__map(*mapped);
	if (p && !sonde__inflate(packed, sh->sh_size - sizeof(head), p, *n)) {
		sonde__unmap(p, *mapped);
		p = NULL;
	}
	sonde__unmap(packed, packed ? packed_mapped : 0);
	return p;
}

uint8_t *sonde__binary_load(const struct sonde__binary *b, const char *name, size_t max, size_t *n,
			    size_t *mapped)
{
	const Elf64_Shdr *sh = sonde__binary_section(b, name);

	if (!sh || sh->sh_size == 0 || sh->sh_size > max)
		return NULL;
	if (sh->sh_flags & SHF_COMPRESSED)
		return load_packed(b, sh, max, n, mapped);
	*n = sh->sh_size;
	return load_plain(b, sh->sh_offset, sh->sh_size, mapped);
}

static bool open_by_id(struct sonde__binary *debug, const struct sonde__build_id *id)
{
	char path[PATH_BYTES];
	size_t at;

	at = sonde__format(path, sizeof(path), "%s/.build-id/%02x/", debug_folder,
			   (unsigned)id->bytes[0]);
	for (size_t i = 1; i < id->n; i++)
		at += sonde__format(path + at, sizeof(path) - at, "%02x", (unsigned)id->bytes[i]);
	sonde__format(path + at, sizeof(path) - at, ".debug");
	return sonde__binary_open(debug, path, id);
}

static bool open_by_name(struct sonde__binary *debug, const char *path, const char *name,
			 const struct sonde__build_id *id)
{
	const char *slash = strrchr(path, '/');
	int n = slash ? (int)(slash - path) : 0;
	char try[PATH_BYTES];

	for (int i = 0; i < 3; i++) {
		size_t length =
			sonde__format(try, sizeof(try), "%s%.*s/%s%s", i == 2 ? debug_folder : "",
				      n, path, i == 1 ? ".debug/" : "", name);

		if (length < sizeof(try) && strcmp(try, path) != 0 &&
		    sonde__binary_open(debug, try, id))
			return true;
	}
	return false;
}

bool sonde__binary_open_debug(struct sonde__binary *debug, const struct sonde__binary *b,
			      const char *path, const struct sonde__build_id *id)
{
	size_t n, mapped;
	uint8_t *link;
	bool found;

	/* Without a build id there is no telling whether they belong together. */
	if (id->n < 2)
		return false;
	if (open_by_id(debug, id))
		return true;
	link = sonde__binary_load(b, ".gnu_debuglink", PATH_BYTES, &n, &mapped);
	if (!link)
		return false;
	found = open_by_name(debug, path, (const char *)link, id);
	sonde__unmap(link, mapped);
	return found;
}
