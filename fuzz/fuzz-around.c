/*
 * fuzz-around.c - names in a cluster, pages of programs, files of the system
 *
 * The first byte chooses which of them the rest is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "source/cluster.h"
#include "ui/endpoint.h"
#include "ui/mem-read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool within(struct str part, struct str whole)
{
	return part.n == 0 || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

static void read_name(struct str text)
{
	struct cluster_name n;
	struct err err;

	if (!str_starts(text, STR("kube://")) || cluster_parse(text, &n, &err) < 0)
		return;
	if (!within(n.namespace, text) || !within(n.pod, text) || !within(n.rest, text) ||
	    !n.prefix.n == !n.pod.n)
		abort();
}

static void read_pages(struct str text, bool index)
{
	struct endpoint e = { .nkinds = 0 };

	arena_init(&e.a, 64 << 20);
	if (index)
		endpoint_read_index(&e, text);
	else
		endpoint_read_metrics(&e, text);
	for (size_t i = 0; i < e.noff; i++)
		for (size_t k = 0; k < e.off[i].n; k++)
			if ((unsigned char)e.off[i].p[k] < ' ')
				abort();
	endpoint_release(&e);
}

static void read_system(struct str text)
{
	struct mem_process p = { 0 };
	struct arena a;

	arena_init(&a, 64 << 20);
	(void)mem_parse_rollup(text, &p);
	for (int unified = 0; unified < 2; unified++) {
		struct str path = mem_find_path(text, unified);

		if (!within(path, text))
			abort();
		(void)mem_find_mount(text, unified, path, &a);
	}
	arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data + 1, size - 1 };

	if (size == 0)
		return 0;
	if (data[0] == 'n')
		read_name(text);
	else if (data[0] == 's')
		read_system(text);
	else
		read_pages(text, data[0] == 'i');
	return 0;
}
