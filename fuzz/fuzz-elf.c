/*
 * fuzz-elf.c - binaries from strangers: headers, build id, functions, addresses
 *
 * Every input is read twice, from memory and from a descriptor: libelf has a way of its own for
 * each.  Both must find the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/elf-file.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Every byte of a name is read, and pieces must be in order and found again. */
static void use_symbols(const struct elf_file *f)
{
	uint64_t end = 0;

	for (size_t i = 0; i < f->nsymbols; i++) {
		const struct elf_symbol *s = &f->symbols[i];

		require(s->start >= end && s->end > s->start);
		require(s->name.n > 0 && s->name.p[s->name.n] == '\0');
		require(strlen(s->name.p) == s->name.n);
		require(elf_find_symbol(f, s->start) == s);
		require(elf_find_symbol(f, s->end - 1) == s);
		end = s->end;
	}
}

static void use_segments(const struct elf_file *f)
{
	for (size_t i = 0; i < f->nsegments; i++) {
		struct elf_range r = { f->segments[i].address, 0, f->segments[i].offset };

		(void)elf_bias(f, r);
		r.limit = r.start + f->segments[i].memory_size;
		(void)elf_bias(f, r);
	}
}

/* Writes the input to a file in memory that has a name; 'path' has room for it. */
static int to_file(const uint8_t *data, size_t size, char *path, size_t room)
{
	int fd = memfd_create("fuzz-elf", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, room, "/proc/self/fd/%d", fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(elf_closep) struct elf_file *memory = NULL, *file = NULL;
	char path[64];
	int fd = to_file(data, size, path, sizeof(path));
	int rc = elf_open_memory(data, size, "fuzz", &memory, NULL);

	require(elf_open(path, &file, NULL) == rc);
	close(fd);
	if (rc < 0)
		return 0;
	use_segments(memory);
	require(strcmp(memory->build_id, file->build_id) == 0);
	require(elf_read_symbols(memory, NULL) == elf_read_symbols(file, NULL));
	require(memory->nsymbols == file->nsymbols);
	use_symbols(memory);
	use_symbols(file);
	return 0;
}
