/*
 * cache-read.c - frames that were found once, on disk: reading them back
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/xalloc.h"
#include "symbol/cache-format.h"
#include "symbol/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { FILE_MAX = 128 << 20 };

/* Whether the counts of 'h' make up 'size' bytes. */
static bool has_size(const struct cache_header *h, size_t size)
{
	uint64_t most = size / sizeof(uint32_t);

	if (h->naddresses > most || h->nframes > most || h->nstrings > most || h->ntext > size)
		return false;
	return sizeof(*h) + h->naddresses * 8 + (h->naddresses + 1) * 4 +
		       h->nframes * sizeof(struct cache_frame) + h->nstrings * 4 + h->ntext ==
	       size;
}

static bool are_addresses_sound(const struct cached_frames *c, uint64_t nframes)
{
	if (c->first[0] != 0 || c->first[c->n] != nframes)
		return false;
	for (size_t i = 0; i < c->n; i++) {
		if (c->first[i] > c->first[i + 1])
			return false;
		if (i && c->addresses[i - 1] >= c->addresses[i])
			return false;
	}
	return true;
}

static bool are_strings_sound(const struct cached_frames *c, const struct cache_header *h)
{
	uint32_t end = 0;

	for (size_t i = 0; i < h->nstrings; i++) {
		if (c->ends[i] < end)
			return false;
		end = c->ends[i];
	}
	if (end != h->ntext)
		return false;
	for (size_t i = 0; i < h->nframes; i++) {
		if (c->frames[i].function >= h->nstrings || c->frames[i].file >= h->nstrings)
			return false;
	}
	return true;
}

int cached_parse(struct str bytes, struct cached_frames *c)
{
	const struct cache_header *h = (const void *)bytes.p;

	if (bytes.n < sizeof(*h) || (uintptr_t)h % _Alignof(struct cache_header) != 0 ||
	    h->magic != CACHE_MAGIC || !has_size(h, bytes.n) ||
	    hash_bytes(bytes.p + CACHE_UNSUMMED, bytes.n - CACHE_UNSUMMED, CACHE_MAGIC) !=
		    h->checksum)
		return -EBADMSG;
	c->n = h->naddresses;
	c->addresses = (const void *)(h + 1);
	c->first = (const void *)(c->addresses + h->naddresses);
	c->frames = (const void *)(c->first + h->naddresses + 1);
	c->ends = (const void *)(c->frames + h->nframes);
	c->text = (const char *)(c->ends + h->nstrings);
	if (!are_addresses_sound(c, h->nframes) || !are_strings_sound(c, h))
		return -EBADMSG;
	return 0;
}

static struct str string_at(const struct cached_frames *c, uint32_t i)
{
	uint32_t start = i ? c->ends[i - 1] : 0;

	return (struct str){ c->text + start, c->ends[i] - start };
}

struct elf_frame cached_frame(const struct cached_frames *c, size_t i)
{
	const struct cache_frame *f = &c->frames[i];

	return (struct elf_frame){
		.function = string_at(c, f->function),
		.file = string_at(c, f->file),
		.line = f->line,
		.column = f->column,
		.start_line = f->start_line,
	};
}

int cache_load(const char *folder, const char *name, struct cached_frames *c)
{
	AUTO(freep) char *path = mem_printf("%s/%s", folder, name);
	int rc;

	*c = (struct cached_frames){ 0 };
	rc = file_read(path, FILE_MAX, &c->bytes, NULL);
	if (rc)
		return rc;
	rc = cached_parse((struct str){ c->bytes.p, c->bytes.n }, c);
	if (rc)
		cached_release(c);
	else
		(void)utimensat(AT_FDCWD, path, NULL, 0);
	return rc;
}

void cached_release(struct cached_frames *c)
{
	file_bytes_release(&c->bytes);
	*c = (struct cached_frames){ 0 };
}
