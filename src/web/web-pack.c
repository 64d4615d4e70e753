/*
 * web-pack.c - answers that are text, compressed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/str.h"
#include "base/xalloc.h"
#include "web/web-server.h"

#include <libdeflate.h>
#include <stdlib.h>

/* Below one packet nothing is gained; on the way to the same machine more than level 1 is lost. */
enum { WORTH_IT = 1400, LEVEL = 1 };

static bool is_text(const char *type)
{
	static const char *const kinds[] = { "text/", "image/svg+xml", "application/json",
					     "application/octet-stream" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(type, kinds[i], strlen(kinds[i])) == 0)
			return true;
	}
	return false;
}

void web_pack(struct web_reply *reply)
{
	struct out *body = &reply->body;
	struct libdeflate_compressor *c;
	struct out small;
	size_t n = 0;

	if (reply->packed || body->n < WORTH_IT || !is_text(reply->type))
		return;
	c = libdeflate_alloc_compressor(LEVEL);
	if (!c)
		return;
	out_init(&small, 0);
	out_reserve(&small, body->n);
	if (small.cap >= body->n) /* what does not get smaller does not fit */
		n = libdeflate_gzip_compress(c, body->p, body->n, small.p, body->n);
	libdeflate_free_compressor(c);
	if (n == 0) {
		out_release(&small);
		return;
	}
	small.n = n;
	out_release(body);
	*body = small;
	reply->packed = true;
}
