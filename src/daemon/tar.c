/*
 * tar.c - write a tar file, one member after the other
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "daemon/tar.h"

#include "base/out.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 512, NAME_BYTES = 100 };

/* All of it text, numbers octal. */
struct header {
	char name[NAME_BYTES], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type,
		link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};

_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

static void pad(struct out *o, size_t n)
{
	out_fill(o, '\0', (BLOCK - n % BLOCK) % BLOCK);
}

static void octal(char *to, size_t size, uint64_t value)
{
	to[size - 1] = '\0';
	for (size_t i = size - 1; i-- > 0; value >>= 3)
		to[i] = (char)('0' + (value & 7));
}

static void write_header(struct out *o, struct str name, char type, int64_t when, size_t size)
{
	struct header h = { .type = type, .magic = "ustar", .version = { '0', '0' } };
	const unsigned char *p = (const unsigned char *)&h;
	unsigned sum = 0;

	memcpy(h.name, name.p, name.n < NAME_BYTES ? name.n : NAME_BYTES);
	octal(h.mode, sizeof(h.mode), 0644);
	octal(h.uid, sizeof(h.uid), 0);
	octal(h.gid, sizeof(h.gid), 0);
	octal(h.size, sizeof(h.size), size);
	octal(h.mtime, sizeof(h.mtime), when > 0 ? (uint64_t)when : 0);
	memset(h.sum, ' ', sizeof(h.sum));
	for (size_t i = 0; i < sizeof(h); i++)
		sum += p[i];
	octal(h.sum, sizeof(h.sum) - 1, sum);
	out_bytes(o, &h, sizeof(h));
}

/* "30 path=...": the number counts itself, too. */
static char *path_record(struct str name)
{
	size_t n = name.n + sizeof(" path=\n") - 1, total = n + 1;
	char digits[24];

	for (int i = 0; i < 3; i++)
		total = n + (size_t)snprintf(digits, sizeof(digits), "%zu", total);
	return mem_printf("%zu path=%.*s\n", total, STR_ARG(name));
}

void tar_add(struct out *o, struct str name, int64_t when, struct str bytes)
{
	if (name.n > NAME_BYTES) {
		char *record = path_record(name);

		write_header(o, STR("././@PaxHeader"), 'x', when, strlen(record));
		out_text(o, record);
		pad(o, strlen(record));
		free(record);
	}
	write_header(o, name, '0', when, bytes.n);
	out_str(o, bytes);
	pad(o, bytes.n);
}

void tar_end(struct out *o)
{
	out_fill(o, '\0', (size_t)2 * BLOCK);
}
