/*
 * resolve-tool.c - the frames of addresses, for tests and measurements
 *
 *	resolve-tool [-d FOLDERS] FILE < ADDRESSES
 *
 * Addresses are hexadecimal, one to a line, in any order.  Each is answered by a line with the
 * address, in ascending order, and one line for each frame, the innermost first:
 *
 *	\t<function>\t<file>\t<line>\t<column>\t<start line>
 *
 * FOLDERS are where to look for debug information, with colons between them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "elf/elf-file.h"
#include "elf/elf-lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct list {
	uint64_t *v;
	size_t n, cap;
};

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void read_addresses(struct list *l)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t v = strtoull(line, NULL, 16);

		vec_push(l->v, l->n, l->cap, v);
	}
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_value);
}

static void print_frame(struct out *o, const struct elf_frame *f)
{
	out_char(o, '\t');
	out_str(o, f->function);
	out_char(o, '\t');
	out_str(o, f->file);
	out_char(o, '\t');
	out_i64(o, f->line);
	out_char(o, '\t');
	out_i64(o, f->column);
	out_char(o, '\t');
	out_i64(o, f->start_line);
	out_char(o, '\n');
}

static int print(const struct list *l, const struct elf_frames *f)
{
	struct out o;
	int rc;

	out_init_fd(&o, STDOUT_FILENO);
	for (size_t i = 0; i < l->n; i++) {
		out_printf(&o, "%#" PRIx64 "\n", l->v[i]);
		for (size_t k = f->first[i]; k < f->first[i + 1]; k++)
			print_frame(&o, &f->frames[k]);
	}
	rc = out_finish(&o);
	out_release(&o);
	return rc;
}

static int resolve(const char *path, const struct elf_search *search)
{
	AUTO(elf_closep) struct elf_file *f = NULL;
	struct elf_frames frames = { 0 };
	struct list l = { 0 };
	struct err err;
	int rc = elf_open(path, &f, &err);

	if (rc == 0) {
		read_addresses(&l);
		rc = elf_resolve(f, search, l.v, l.n, &frames, &err);
	}
	if (rc < 0) {
		fprintf(stderr, "resolve-tool: %s\n", err.msg);
		return 1;
	}
	rc = print(&l, &frames);
	elf_frames_release(&frames);
	free(l.v);
	return rc < 0;
}

int main(int argc, char **argv)
{
	struct elf_search search = { 0 };
	int c;

	for (c = getopt(argc, argv, "d:"); c != -1; c = getopt(argc, argv, "d:")) {
		if (c != 'd')
			return 2;
		search.debug_folders = optarg;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: resolve-tool [-d FOLDERS] FILE < ADDRESSES\n");
		return 2;
	}
	return resolve(argv[optind], &search);
}
