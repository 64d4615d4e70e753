/*
 * eh-section.c - .eh_frame from a file, for programs that do not say where it is in memory
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/eh-section.h"

#include "runtime/os.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>

static bool read_at(int fd, void *to, size_t n, uint64_t at)
{
	char *p = to;

	while (n > 0) {
		long got = sonde__syscall(SYS_pread64, fd, (long)p, (long)n, (long)at, 0, 0);

		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
		at += (uint64_t)got;
	}
	return true;
}

static bool read_header(int fd, ElfW(Ehdr) * e)
{
	return read_at(fd, e, sizeof(*e), 0) && memcmp(e->e_ident, ELFMAG, SELFMAG) == 0 &&
	       e->e_ident[EI_CLASS] == ELFCLASS64 && e->e_shentsize == sizeof(ElfW(Shdr)) &&
	       e->e_shstrndx < e->e_shnum;
}

static bool read_section(int fd, const ElfW(Ehdr) * e, size_t i, ElfW(Shdr) * s)
{
	return read_at(fd, s, sizeof(*s), e->e_shoff + i * sizeof(*s));
}

static bool find_section(int fd, ElfW(Shdr) * s)
{
	static const char wanted[] = ".eh_frame";
	char name[sizeof(wanted)];
	ElfW(Shdr) names;
	ElfW(Ehdr) e;

	if (!read_header(fd, &e) || !read_section(fd, &e, e.e_shstrndx, &names))
		return false;
	for (size_t i = 0; i < e.e_shnum; i++) {
		if (!read_section(fd, &e, i, s))
			return false;
		if (s->sh_type != SHT_NOBITS && (s->sh_flags & SHF_ALLOC) != 0 &&
		    s->sh_name < names.sh_size &&
		    read_at(fd, name, sizeof(name), names.sh_offset + s->sh_name) &&
		    memcmp(name, wanted, sizeof(wanted)) == 0)
			return true;
	}
	return false;
}

static bool read_bytes(int fd, size_t max, struct sonde__section *to)
{
	ElfW(Shdr) s;

	if (!find_section(fd, &s) || s.sh_size == 0 || s.sh_size > max)
		return false;
	to->bytes = sonde__map(s.sh_size);
	if (to->bytes == NULL)
		return false;
	to->n = s.sh_size;
	to->address = s.sh_addr;
	if (read_at(fd, to->bytes, to->n, s.sh_offset))
		return true;
	sonde__unmap(to->bytes, to->n);
	return false;
}

bool sonde__eh_section_read(const char *path, size_t max, struct sonde__section *s)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
	int fd = (int)sonde__syscall(SYS_openat, AT_FDCWD, (long)path, flags, 0, 0, 0);
	bool good;

	if (fd < 0)
		return false;
	good = read_bytes(fd, max, s);
	sonde__syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	return good;
}
