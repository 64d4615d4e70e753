/*
 * elf-code.c - the bytes of a binary: its code, and sections by name
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "elf/elf-file.h"

#include "elf/libelf-calls.h"

struct str elf_code(const struct elf_file *f, uint64_t address, uint64_t n)
{
	for (size_t i = 0; i < f->nsegments; i++) {
		const struct elf_segment *s = &f->segments[i];
		uint64_t at = address - s->address, room;
		Elf_Data *data;

		if (!s->executable || at >= s->file_size || s->offset > f->size ||
		    at >= f->size - s->offset)
			continue;
		room = f->size - s->offset - at;
		if (room > s->file_size - at)
			room = s->file_size - at;
		if (n > room)
			n = room;
		data = f->calls->elf_getdata_rawchunk(f->elf, (int64_t)(s->offset + at), n,
						      ELF_T_BYTE);
		return data && data->d_buf ? (struct str){ data->d_buf, data->d_size }
					   : (struct str){ 0 };
	}
	return (struct str){ 0 };
}

/* The text at 'at' of the section names, "" if it is not there. */
static struct str section_name(Elf_Data *names, size_t at)
{
	const char *end, *p;

	if (!names || !names->d_buf || at >= names->d_size)
		return (struct str){ 0 };
	p = (const char *)names->d_buf + at;
	end = memchr(p, '\0', names->d_size - at);
	return end ? (struct str){ p, (size_t)(end - p) } : (struct str){ 0 };
}

bool elf_section(const struct elf_file *f, const char *name, struct elf_part *out)
{
	const struct libelf_calls *call = f->calls;
	Elf_Data *names, *data;
	Elf_Scn *scn = NULL;
	GElf_Ehdr h;
	GElf_Shdr sh;

	if (!call->gelf_getehdr(f->elf, &h))
		return false;
	scn = call->elf_getscn(f->elf, h.e_shstrndx);
	names = scn ? call->elf_getdata(scn, NULL) : NULL;
	scn = call->elf_nextscn(f->elf, NULL);
	for (; scn; scn = call->elf_nextscn(f->elf, scn)) {
		if (!call->gelf_getshdr(scn, &sh) || !str_is(section_name(names, sh.sh_name), name))
			continue;
		*out = (struct elf_part){ .address = sh.sh_addr };
		data = sh.sh_type == SHT_NOBITS ? NULL : call->elf_getdata(scn, NULL);
		if (data && data->d_buf)
			out->bytes = (struct str){ data->d_buf, data->d_size };
		return true;
	}
	return false;
}
