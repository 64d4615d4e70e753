/*
 * elf-bias.c - from addresses of a process to addresses of the file
 *
 * The dynamic loader moves all segments of a file by one and the same distance.  So it is enough
 * to know for one address where it is in the file: the mapping says so for its start.  What it
 * does not say is which segment that is, where two of them share a page of the file (lld and
 * gold lay files out that way), or where the mapping stands for all segments at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/elf-file.h"

#include <elf.h>

/*
 * The page sizes in use: the kernel maps whole pages, of whatever size it was built with.  A file
 * can be loaded with pages as large as its segments are aligned, at most.
 */
static const uint64_t page_sizes[] = { 4096, 16384, 65536 };

/* How long the pages are that hold 'n' bytes from 'at' on. */
static uint64_t pages(uint64_t at, uint64_t n, uint64_t page)
{
	uint64_t start = at & -page;

	return ((at + n + page - 1) & -page) - start;
}

/*
 * The bytes of 's' in the file.  Code has as many in memory, and the file that only keeps its
 * debugging information remembers that number.
 */
static uint64_t length(const struct elf_segment *s)
{
	return s->executable && s->file_size ? s->memory_size : s->file_size;
}

/* Whether 'r' is what the kernel maps for 's' on a machine with such pages. */
static bool is_exactly(const struct elf_segment *s, struct elf_range r, uint64_t page)
{
	return (s->offset & -page) == r.offset &&
	       pages(s->offset, length(s), page) == r.limit - r.start;
}

static const struct elf_segment *exact_code(const struct elf_file *f, struct elf_range r)
{
	for (size_t p = 0; p < sizeof(page_sizes) / sizeof(page_sizes[0]); p++) {
		for (size_t i = 0; i < f->nsegments; i++) {
			const struct elf_segment *s = &f->segments[i];

			if (s->executable && s->file_size && page_sizes[p] <= s->align &&
			    is_exactly(s, r, page_sizes[p]))
				return s;
		}
	}
	return NULL;
}

/* How many bytes of the pages of 's' there are from file offset 'offset' on; 0 if none. */
static uint64_t reach(const struct elf_segment *s, uint64_t offset)
{
	uint64_t start = s->offset & -page_sizes[0];
	uint64_t whole = pages(s->offset, length(s), page_sizes[0]);

	return s->file_size && offset - start < whole ? whole - (offset - start) : 0;
}

/* The segment that 'r' starts in: code if all of 'r' fits, else the first one. */
static const struct elf_segment *starting_segment(const struct elf_file *f, struct elf_range r)
{
	const struct elf_segment *first = NULL;

	for (size_t i = 0; i < f->nsegments; i++) {
		const struct elf_segment *s = &f->segments[i];
		uint64_t room = reach(s, r.offset);

		if (room && s->executable && (r.limit <= r.start || r.limit - r.start <= room))
			return s;
		if (room && !first)
			first = s;
	}
	return first;
}

/*
 * A file that holds nothing but debugging information has segments without bytes, at offsets
 * that mean nothing.  The only thing left to go by is how long the code is.
 */
static const struct elf_segment *code_of_length(const struct elf_file *f, struct elf_range r)
{
	for (size_t i = 0; i < f->nsegments; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (s->executable && s->file_size == 0 &&
		    pages(s->address, s->memory_size, page_sizes[0]) == r.limit - r.start)
			return s;
	}
	return NULL;
}

/* Whether 'address' is where the file itself wants to be. */
static bool is_linked_at(const struct elf_file *f, uint64_t address)
{
	for (size_t i = 0; i < f->nsegments; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (address - (s->address & -page_sizes[0]) <
		    pages(s->address, s->memory_size, page_sizes[0]))
			return true;
	}
	return false;
}

uint64_t elf_bias(const struct elf_file *f, struct elf_range r)
{
	const struct elf_segment *s;

	if (r.start == 0 && r.offset == 0 && (r.limit == 0 || r.limit == UINT64_MAX))
		return 0;
	if (f->type == ET_EXEC && is_linked_at(f, r.start))
		return 0;
	s = code_of_length(f, r);
	if (s)
		return r.start - (s->address & -page_sizes[0]);
	s = exact_code(f, r);
	if (!s)
		s = starting_segment(f, r);
	if (s)
		return r.start - (r.offset - s->offset + s->address);
	return f->type == ET_EXEC ? 0 : r.start - r.offset;
}
