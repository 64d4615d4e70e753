/*
 * elf-file.c - open a binary: headers, segments and build id
 *
 * libelf reads from the descriptor, not from a mapping: a file that shrinks while we look at it
 * is then an error and not a signal.  Only debug information is too much to be copied.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/elf-file.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/window.h"
#include "base/xalloc.h"
#include "elf/libelf-calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Notes beyond this many bytes are not looked at: a build id is one of the first. */
enum { NOTES_MAX = 1 << 20 };

static int unrecognized(const struct elf_file *f, struct err *err)
{
	return err_set(err, -ENOEXEC, "open %s: unrecognized object file", f->path);
}

static int cannot_open(const char *path, int code, struct err *err)
{
	char why[128];

	return err_set(err, -code, "open %s: %s", path, errno_text(code, why, sizeof(why)));
}

/* ------------------------------------------------------------------ headers */

/* Whether 'count' entries of 'size' bytes at 'offset' lie in the file. */
static bool is_inside(const struct elf_file *f, uint64_t offset, uint64_t count, uint64_t size)
{
	return offset <= f->size && count * size <= f->size - offset;
}

/*
 * Whether the header is one that the reference's reader takes too.  libelf is more patient: of a
 * file that was cut short it shows what is left.
 */
static bool is_whole(const struct elf_file *f, const GElf_Ehdr *h)
{
	if (h->e_ident[EI_VERSION] != EV_CURRENT || h->e_version != EV_CURRENT)
		return false;
	if (h->e_phnum && !is_inside(f, h->e_phoff, h->e_phnum, h->e_phentsize))
		return false;
	if (h->e_shnum == 0)
		return true;
	return h->e_shoff && h->e_shstrndx < h->e_shnum &&
	       is_inside(f, h->e_shoff, h->e_shnum, h->e_shentsize);
}

static int read_segments(struct elf_file *f, const GElf_Ehdr *h, struct err *err)
{
	GElf_Phdr ph;

	f->segments = mem_zeroed(h->e_phnum ? h->e_phnum : 1, sizeof(*f->segments));
	for (int i = 0; i < h->e_phnum; i++) {
		if (!f->calls->gelf_getphdr(f->elf, i, &ph))
			return unrecognized(f, err);
		if (ph.p_type != PT_LOAD)
			continue;
		f->segments[f->nsegments++] = (struct elf_segment){
			.offset = ph.p_offset,
			.file_size = ph.p_filesz,
			.address = ph.p_vaddr,
			.memory_size = ph.p_memsz,
			.align = ph.p_align,
			.executable = ph.p_flags & PF_X,
		};
	}
	return 0;
}

/* ------------------------------------------------------------------ build id */

static char *hex(const unsigned char *p, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	char *text = mem_new(2 * n + 1, 1);

	for (size_t i = 0; i < n; i++) {
		text[2 * i] = digits[p[i] >> 4];
		text[2 * i + 1] = digits[p[i] & 15];
	}
	text[2 * n] = '\0';
	return text;
}

/* The build id among the notes in 'data' (NULL: none), or NULL. */
static char *find_build_id(const struct elf_file *f, Elf_Data *data)
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	if (!data || !data->d_buf)
		return NULL;
	for (;;) {
		const char *bytes = data->d_buf;

		at = f->calls->gelf_getnote(data, at, &note, &name, &desc);
		if (at == 0)
			return NULL;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz > 0 &&
		    note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    memcmp(bytes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0)
			return hex((const unsigned char *)bytes + desc, note.n_descsz);
	}
}

static char *build_id_in_segments(const struct elf_file *f, const GElf_Ehdr *h)
{
	uint64_t left = NOTES_MAX;
	char *id = NULL;
	GElf_Phdr ph;

	for (int i = 0; !id && i < h->e_phnum; i++) {
		if (!f->calls->gelf_getphdr(f->elf, i, &ph) || ph.p_type != PT_NOTE ||
		    ph.p_filesz > left || !is_inside(f, ph.p_offset, 1, ph.p_filesz))
			continue;
		left -= ph.p_filesz;
		id = find_build_id(f, f->calls->elf_getdata_rawchunk(
					      f->elf, (int64_t)ph.p_offset, ph.p_filesz,
					      ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR));
	}
	return id;
}

static char *build_id_in_sections(const struct elf_file *f)
{
	Elf_Scn *scn = NULL;
	uint64_t left = NOTES_MAX;
	char *id = NULL;
	GElf_Shdr sh;

	while (!id) {
		scn = f->calls->elf_nextscn(f->elf, scn);
		if (!scn)
			return NULL;
		if (!f->calls->gelf_getshdr(scn, &sh) || sh.sh_type != SHT_NOTE ||
		    sh.sh_size > left)
			continue;
		left -= sh.sh_size;
		id = find_build_id(f, f->calls->elf_getdata(scn, NULL));
	}
	return id;
}

static void read_build_id(struct elf_file *f, const GElf_Ehdr *h)
{
	f->build_id = build_id_in_segments(f, h);
	if (!f->build_id)
		f->build_id = build_id_in_sections(f);
	if (!f->build_id)
		f->build_id = mem_str(STR(""));
}

/* ------------------------------------------------------------------ open and close */

static int read_headers(struct elf_file *f, struct err *err)
{
	GElf_Ehdr h;
	int rc;

	if (!f->elf || f->calls->elf_kind(f->elf) != ELF_K_ELF ||
	    !f->calls->gelf_getehdr(f->elf, &h) || !is_whole(f, &h))
		return unrecognized(f, err);
	f->type = h.e_type;
	f->machine = h.e_machine;
	rc = read_segments(f, &h, err);
	if (rc == 0)
		read_build_id(f, &h);
	return rc;
}

static struct elf_file *new_file(const char *path)
{
	struct elf_file *f = mem_zeroed(1, sizeof(*f));

	f->path = mem_str(str_of(path));
	f->fd = -1;
	return f;
}

/* Opens the descriptor, and looks at the first bytes before libelf is loaded for nothing. */
static int open_descriptor(struct elf_file *f, struct err *err)
{
	char magic[SELFMAG];
	struct stat st;

	f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return cannot_open(f->path, errno, err);
	if (!S_ISREG(st.st_mode) || pread(f->fd, magic, SELFMAG, 0) != SELFMAG ||
	    memcmp(magic, ELFMAG, SELFMAG) != 0)
		return unrecognized(f, err);
	f->size = (size_t)st.st_size;
	return 0;
}

int elf_open(const char *path, struct elf_file **out, struct err *err)
{
	AUTO(elf_closep) struct elf_file *f = new_file(path);
	int rc = open_descriptor(f, err);

	if (rc == 0)
		rc = libelf_load(&f->calls, err);
	if (rc)
		return rc;
	f->elf = f->calls->elf_begin(f->fd, ELF_C_READ, NULL);
	rc = read_headers(f, err);
	if (rc == 0)
		*out = TAKE(f);
	return rc;
}

int elf_open_memory(const void *bytes, size_t n, const char *path, struct elf_file **out,
		    struct err *err)
{
	AUTO(elf_closep) struct elf_file *f = new_file(path);
	int rc = libelf_load(&f->calls, err);

	if (rc)
		return rc;
	f->bytes = bytes;
	f->size = n;
	if (n >= SELFMAG && memcmp(bytes, ELFMAG, SELFMAG) == 0)
		f->elf = f->calls->elf_memory((char *)bytes, n);
	rc = read_headers(f, err);
	if (rc == 0)
		*out = TAKE(f);
	return rc;
}

const uint8_t *elf_bytes(struct elf_file *f)
{
	if (f->bytes)
		return f->bytes;
	f->window = window_open(f->fd, f->size, false);
	if (f->window)
		f->bytes = window_bytes(f->window);
	return f->bytes;
}

int elf_check(const struct elf_file *f, struct err *err)
{
	return window_check(f->window, f->path, err);
}

void elf_close(struct elf_file *f)
{
	if (!f)
		return;
	if (f->elf)
		f->calls->elf_end(f->elf);
	window_close(f->window);
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f->build_id);
	free(f->segments);
	free(f->symbols);
	free(f);
}
