/*
 * parts.h - a long text, made in parts on all processors
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_PARTS_H
#define BASE_PARTS_H

#include "base/out.h"

/*
 * A sink for text that goes on to another one as 'put' makes it of whole lines: escaped, say.  The
 * text is never there as a whole.
 */
struct lines {
	struct out text; /* where to write */
	struct out rest; /* private: a line that is still to end */
	struct out *to;
	void (*put)(struct out *to, struct str lines);
};

/* 'put' gets whole lines, or the last one, which need not end; any thread may call it. */
void lines_begin(struct lines *l, struct out *to, void (*put)(struct out *to, struct str lines),
		 size_t most);
/* -EFBIG if there was more than 'most' bytes of text. */
int lines_end(struct lines *l);

/*
 * parts_print() has print(ctx, i, ...) write part i, for all i below 'n', and puts what they wrote
 * to 'o' in order.  Threads make several parts at a time, each in memory: so they are whole lines,
 * not too many, and none needs what another one did.  After a failure of 'o' no more are made.
 */
void parts_print(struct out *o, size_t n, void (*print)(void *ctx, size_t i, struct out *o),
		 void *ctx);

#endif /* BASE_PARTS_H */
