/*
 * pieces.h - short texts, made one after the other, then put in order
 *
 * For the labels of a sample, which print sorted: one buffer that is used again for every sample.
 *
 *	pieces_clear(&p);
 *	out_...(&p.text, ...);  pieces_end(&p);		one piece
 *	out_...(&p.text, ...);  pieces_end(&p);		another
 *	pieces_sort(&p, 0);
 *	for (size_t i = 0; i < p.n; i++)
 *		... p.at[i] ...
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_PIECES_H
#define BASE_PIECES_H

#include "base/out.h"
#include "base/str.h"

struct pieces {
	struct out text;
	struct str *at; /* valid after pieces_sort() */
	size_t n, cap;
	size_t *ends; /* private */
	size_t nends, cap_ends;
};

void pieces_init(struct pieces *p);
void pieces_release(struct pieces *p);
void pieces_clear(struct pieces *p);

/* What was written since the last piece, or since pieces_clear(), is a piece. */
void pieces_end(struct pieces *p);

/* Lists all pieces: the first 'strings' of them sorted, then the others, sorted as well. */
void pieces_sort(struct pieces *p, size_t strings);

#endif /* BASE_PIECES_H */
