/*
 * debug-sections.c - the bytes of a file's sections, inflated where they are compressed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/debug-sections.h"

#include "base/par.h"
#include "elf/elf-file.h"
#include "elf/libelf-calls.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <zstd.h>

/* Debug information shrinks to a quarter; what claims to be much more is not inflated. */
enum { GROWTH_MAX = 32, ROOM_LEAST = 64 << 20 };

/* A mapping that is smaller than this is not worth a thread; pages of any machine fit the other. */
enum { FORGET_ALONE = 64 << 20, FORGET_ALIGN = 2 << 20 };

enum { COMPRESSED_ZLIB = 1, COMPRESSED_ZSTD = 2 };

/* A section that is to be inflated. */
struct packed {
	struct bytes in;
	uint32_t type;
	uint8_t *out;
	size_t n;
	bool good;
	struct bytes *to;
};

bool image_open(struct image *im, struct elf_file *f)
{
	GElf_Ehdr h;

	*im = (struct image){ .f = f, .n = f->size };
	if (!f->calls->gelf_getehdr(f->elf, &h) || h.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	im->room = (uint64_t)f->size * GROWTH_MAX + ROOM_LEAST;
	im->p = elf_bytes(f);
	return im->p != NULL;
}

/* Giving back what was looked at takes long: each thread gives back some of it. */
static void forget_some(int i, void *ctx)
{
	const struct image *im = ctx;
	size_t share = (im->n / (size_t)par_width() / FORGET_ALIGN + 1) * FORGET_ALIGN;
	size_t from = (size_t)i * share;

	if (from < im->n)
		(void)madvise((void *)(im->p + from), im->n - from < share ? im->n - from : share,
			      MADV_DONTNEED);
}

/* Only one thread at a time can unmap anything; pages can be forgotten by several. */
void image_release(struct image *im)
{
	for (size_t i = 0; i < im->ninflated; i++)
		free(im->inflated[i]);
	if (im->f && im->f->window && im->n >= FORGET_ALONE)
		par_run(par_width(), forget_some, im);
	*im = (struct image){ 0 };
}

/* ------------------------------------------------------------------ compressed sections */

/* Reads the header in front of a compressed section. */
static bool open_packed(const struct image *im, struct bytes raw, bool old, struct packed *k)
{
	struct cursor c = cursor_over(raw);
	bool is64 = im->p[EI_CLASS] == ELFCLASS64;
	uint64_t n;

	if (old) { /* .zdebug_info and so on, before there was a flag for it */
		if (raw.n < 12 || memcmp(raw.p, "ZLIB", 4) != 0)
			return false;
		cursor_skip(&c, 4);
		n = __builtin_bswap64(read_u64(&c));
		k->type = COMPRESSED_ZLIB;
	} else {
		k->type = read_u32(&c);
		if (is64)
			read_u32(&c);
		n = read_sized(&c, is64 ? 8 : 4);
		cursor_skip(&c, is64 ? 8 : 4);
	}
	if (c.bad || n == 0 || n > im->room)
		return false;
	k->in = (struct bytes){ c.p, cursor_left(&c) };
	k->n = (size_t)n;
	return true;
}

static void inflate_one(struct packed *k)
{
	struct libdeflate_decompressor *d;
	size_t got = 0;

	if (k->type == COMPRESSED_ZSTD) {
		got = ZSTD_decompress(k->out, k->n, k->in.p, k->in.n);
		k->good = !ZSTD_isError(got) && got == k->n;
		return;
	}
	d = k->type == COMPRESSED_ZLIB ? libdeflate_alloc_decompressor() : NULL;
	if (!d)
		return;
	k->good = libdeflate_zlib_decompress(d, k->in.p, k->in.n, k->out, k->n, &got) ==
			  LIBDEFLATE_SUCCESS &&
		  got == k->n;
	libdeflate_free_decompressor(d);
}

static void inflate(int i, void *ctx)
{
	struct packed *all = ctx;

	inflate_one(&all[i]);
}

/* ------------------------------------------------------------------ finding */

static bool is_named(const char *name, const char *wanted, bool *old)
{
	*old = strncmp(name, ".zdebug_", 8) == 0;
	if (*old)
		return strncmp(wanted, ".debug_", 7) == 0 && strcmp(name + 2, wanted + 1) == 0;
	return strcmp(name, wanted) == 0;
}

/* The section as it is in the file; false if it is not there, as in a file without debug info. */
static bool raw_section(const struct image *im, const GElf_Shdr *sh, struct bytes *raw)
{
	if (sh->sh_type == SHT_NOBITS || sh->sh_offset > im->n ||
	    sh->sh_size > im->n - sh->sh_offset || sh->sh_size == 0)
		return false;
	*raw = (struct bytes){ im->p + sh->sh_offset, sh->sh_size };
	return true;
}

/* Fills in one section, or puts it on the list of those to inflate. */
static void take_section(struct image *im, const GElf_Shdr *sh, bool old,
			 const struct section_want *want, struct packed *list, int *n)
{
	struct packed k = { .to = want->to };
	struct bytes raw;

	if (want->to->n || !raw_section(im, sh, &raw))
		return;
	if (!old && !(sh->sh_flags & SHF_COMPRESSED)) {
		*want->to = raw;
		return;
	}
	if (im->ninflated + (size_t)*n >= IMAGE_INFLATED || !open_packed(im, raw, old, &k))
		return;
	k.out = malloc(k.n);
	if (!k.out)
		return;
	im->room -= k.n;
	list[(*n)++] = k;
}

static void inflate_all(struct image *im, struct packed *list, int n)
{
	if (n)
		par_run(n, inflate, list);
	for (int i = 0; i < n; i++) {
		if (list[i].good)
			*list[i].to = (struct bytes){ list[i].out, list[i].n };
		im->inflated[im->ninflated++] = list[i].out;
	}
}

void image_find(struct image *im, const struct section_want *wants, size_t n)
{
	const struct libelf_calls *call = im->f->calls;
	struct packed list[IMAGE_INFLATED];
	int npacked = 0;
	size_t names;
	GElf_Shdr sh;
	bool old;

	if (call->elf_getshdrstrndx(im->f->elf, &names) < 0)
		return;
	for (Elf_Scn *scn = call->elf_nextscn(im->f->elf, NULL); scn;
	     scn = call->elf_nextscn(im->f->elf, scn)) {
		const char *name;

		if (!call->gelf_getshdr(scn, &sh))
			continue;
		name = call->elf_strptr(im->f->elf, names, sh.sh_name);
		for (size_t i = 0; name && i < n; i++)
			if (is_named(name, wants[i].name, &old))
				take_section(im, &sh, old, &wants[i], list, &npacked);
	}
	inflate_all(im, list, npacked);
}
