/*
 * pieces.c - short texts, made one after the other, then put in order
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/pieces.h"

#include "base/xalloc.h"

#include <stdlib.h>

void pieces_init(struct pieces *p)
{
	*p = (struct pieces){ 0 };
	out_init(&p->text, 0);
}

void pieces_release(struct pieces *p)
{
	out_release(&p->text);
	free(p->at);
	free(p->ends);
}

void pieces_clear(struct pieces *p)
{
	p->text.n = 0;
	p->n = p->nends = 0;
}

void pieces_end(struct pieces *p)
{
	vec_push(p->ends, p->nends, p->cap_ends, p->text.n);
}

static int by_text(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

void pieces_sort(struct pieces *p, size_t strings)
{
	size_t begin = 0;

	p->n = 0;
	for (size_t i = 0; i < p->nends; i++) {
		vec_push(p->at, p->n, p->cap,
			 ((struct str){ p->text.p + begin, p->ends[i] - begin }));
		begin = p->ends[i];
	}
	if (strings > 1)
		qsort(p->at, strings, sizeof(*p->at), by_text);
	if (p->n - strings > 1)
		qsort(p->at + strings, p->n - strings, sizeof(*p->at), by_text);
}
