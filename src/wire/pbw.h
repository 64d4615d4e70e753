/*
 * pbw.h - write protobuf wire format into a buffer the caller provides
 *
 * The writer never allocates: it counts what does not fit, so a caller may measure first and
 * write afterwards, or hand in a larger buffer.  Lengths of nested messages are not known in
 * advance; pbw_begin() leaves one byte for them, which is enough for most, and pbw_end() moves
 * the message when it is not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WIRE_PBW_H
#define WIRE_PBW_H

#include <stddef.h>
#include <stdint.h>

struct pbw {
	uint8_t *p;
	size_t n;   /* bytes written, or that would have been */
	size_t cap; /* what there is room for */
};

/* The most bytes one number, with its field number, takes. */
enum { PBW_NUMBER_MAX = 20 };

void pbw_varint(struct pbw *w, uint64_t v);
/* A number; pbw_opt() leaves out zeros. */
void pbw_u64(struct pbw *w, uint32_t field, uint64_t v);
void pbw_opt(struct pbw *w, uint32_t field, uint64_t v);
void pbw_bytes(struct pbw *w, uint32_t field, const void *p, size_t n);

/* A nested message: what is written between the two is its content. */
size_t pbw_begin(struct pbw *w, uint32_t field);
void pbw_end(struct pbw *w, size_t mark);

#endif /* WIRE_PBW_H */
