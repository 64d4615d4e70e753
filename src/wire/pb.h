/*
 * pb.h - walk protobuf wire format, without allocating
 *
 * A cursor walks one message; a nested message gets a cursor of its own.  All cursors of one
 * input share a status, and the first failure sticks: from then on pb_next() and pb_varint()
 * return false.  Loops simply end, and the caller looks at the status once, when it is done.
 *
 * Numbers are read as the reference reads them: a varint of up to ten bytes, of which the bits
 * beyond 64 are dropped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WIRE_PB_H
#define WIRE_PB_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct pb_status {
	const uint8_t *start; /* of the whole input, to tell offsets */
	const uint8_t *limit; /* and its end, up to which it is safe to look */
	const char *why;      /* NULL while all is well */
	size_t offset;        /* of the byte that was refused */
};

struct pb {
	const uint8_t *p, *end;
	struct pb_status *st;
};

enum pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

/*
 * 'body' spans the field's bytes: the payload of a length-delimited field, or the encoding of a
 * lone number.  Read with pb_varint(), a lone number thus looks like a packed list of one.
 */
struct pb_field {
	uint64_t num;
	enum pb_type type;
	struct pb body;
};

/* pb_open() starts a walk over 'len' bytes and resets 'st'. */
struct pb pb_open(const void *buf, size_t len, struct pb_status *st);

/* The slow halves of pb_next() and pb_varint(). */
bool pb_next_slow(struct pb *r, struct pb_field *f);
bool pb_varint_long(struct pb *r, uint64_t *v);

/* How many of the eight bytes at 'p' belong to a varint; 9 if it is longer. */
static inline size_t pb_varint_size(const uint8_t *p)
{
	uint64_t x, stops;

	memcpy(&x, p, 8);
	stops = ~le64toh(x) & 0x8080808080808080u;
	return stops ? (size_t)__builtin_ctzll(stops) / 8 + 1 : 9;
}

/* pb_next() reads one field.  False at the end of the message or on failure. */
static inline bool pb_next(struct pb *r, struct pb_field *f)
{
	const uint8_t *p = r->p;
	size_t left = (size_t)(r->end - p), head = 2, len;

	if (left == 0)
		return false;
	/*
	 * Nearly all fields have a small number, and hold a number or less than 16 KiB; the two
	 * types of which this can be said are those without bits 0 and 2.
	 */
	if (r->st->limit - p < 10 || (p[0] & 0x85) != 0 || r->st->why)
		return pb_next_slow(r, f);
	len = p[1];
	if ((p[0] & 7) == PB_VARINT) {
		head = 1;
		len = pb_varint_size(p + 1);
		if (len > 8)
			return pb_next_slow(r, f);
	} else if (len >= 0x80) {
		len = (len & 0x7f) | (size_t)p[2] << 7;
		head = p[2] < 0x80 ? 3 : left + 1;
	}
	if (head > left || len > left - head)
		return pb_next_slow(r, f);
	f->num = p[0] >> 3;
	f->type = (enum pb_type)(p[0] & 7);
	f->body = (struct pb){ .p = p + head, .end = p + head + len, .st = r->st };
	r->p = f->body.end;
	return true;
}

/* pb_varint() reads one varint.  False at the end or on failure. */
static inline bool pb_varint(struct pb *r, uint64_t *v)
{
	if (r->p < r->end && *r->p < 0x80) {
		*v = *r->p++;
		return true;
	}
	return pb_varint_long(r, v);
}

/* pb_fail() records the first failure, at the cursor; later ones are ignored. */
void pb_fail(const struct pb *r, const char *why);

/* The value of a field that must be a number, or a message or string; else a failure. */
uint64_t pb_u64_slow(const struct pb_field *f);

static inline uint64_t pb_u64(const struct pb_field *f)
{
	const uint8_t *p = f->body.p;
	size_t n = (size_t)(f->body.end - p);
	uint64_t x;

	if (f->type != PB_VARINT || n - 1 > 7 || f->body.st->limit - p < 8)
		return pb_u64_slow(f);
	memcpy(&x, p, 8);
	x = le64toh(x) & UINT64_MAX >> (64 - 8 * n) & 0x7f7f7f7f7f7f7f7fu;
	/* Seven bits of each byte move together: pairs, fours, all eight. */
	x = (x & 0x007f007f007f007fu) | (x & 0x7f007f007f007f00u) >> 1;
	x = (x & 0x00003fff00003fffu) | (x & 0x3fff00003fff0000u) >> 2;
	return (x & 0x000000000fffffffu) | (x & 0x0fffffff00000000u) >> 4;
}

static inline struct pb pb_msg(const struct pb_field *f)
{
	if (f->type != PB_BYTES)
		pb_fail(&f->body, "expected a message");
	return f->body;
}

#endif /* WIRE_PB_H */
