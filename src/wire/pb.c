/*
 * pb.c - walk protobuf wire format, without allocating
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/pb.h"

struct pb pb_open(const void *buf, size_t len, struct pb_status *st)
{
	const uint8_t *p = len ? buf : (const uint8_t *)"";

	*st = (struct pb_status){ .start = p, .limit = p + len };
	return (struct pb){ .p = p, .end = p + len, .st = st };
}

void pb_fail(const struct pb *r, const char *why)
{
	if (r->st->why)
		return;
	r->st->why = why;
	r->st->offset = (size_t)(r->p - r->st->start);
}

bool pb_varint_long(struct pb *r, uint64_t *v)
{
	const uint8_t *p = r->p;
	uint64_t sum = 0;

	if (p == r->end)
		return false;
	for (unsigned shift = 0; shift < 70 && p < r->end; shift += 7) {
		if (shift < 64)
			sum |= (uint64_t)(*p & 0x7f) << shift;
		if (*p++ < 0x80) {
			r->p = p;
			*v = sum;
			return true;
		}
	}
	pb_fail(r, "number is cut short, or longer than ten bytes");
	r->p = r->end;
	return false;
}

/* How many bytes at 'r' belong to a field of this type; skips a length prefix. */
static uint64_t body_len(struct pb *r, enum pb_type type)
{
	struct pb ahead = *r;
	uint64_t n = 0;

	switch (type) {
	case PB_VARINT:
		if (!pb_varint(&ahead, &n))
			pb_fail(r, "number is cut short");
		return (uint64_t)(ahead.p - r->p);
	case PB_BYTES:
		if (!pb_varint(r, &n))
			pb_fail(r, "field has no length");
		return n;
	case PB_FIXED64:
		return 8;
	case PB_FIXED32:
		return 4;
	}
	pb_fail(r, "unknown wire type");
	return 0;
}

bool pb_next_slow(struct pb *r, struct pb_field *f)
{
	struct pb at = *r;
	uint64_t key, len;

	if (r->st->why || !pb_varint(r, &key))
		return false;
	f->num = key >> 3;
	f->type = (enum pb_type)(key & 7);
	len = body_len(r, f->type);
	if (len > (uint64_t)(r->end - r->p))
		pb_fail(&at, "field reaches past the end of its message");
	if (r->st->why)
		return false;
	f->body = (struct pb){ .p = r->p, .end = r->p + len, .st = r->st };
	r->p += len;
	return true;
}

uint64_t pb_u64_slow(const struct pb_field *f)
{
	struct pb body = f->body;
	uint64_t v = 0;

	if (f->type != PB_VARINT)
		pb_fail(&body, "expected a number");
	else
		pb_varint(&body, &v);
	return v;
}
