/*
 * crypto.c - checksums and base64, by OpenSSL's libcrypto
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/crypto.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/lazy.h"
#include "base/out.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

enum { SUM_BYTES = 32, STEP = 3 << 20 };

static unsigned char *(*digest)(const void *p, size_t n, unsigned char *to);
static int (*encode)(unsigned char *to, const unsigned char *from, int n);
static int (*decode)(unsigned char *to, const unsigned char *from, int n);

static int bind_crypto(struct lazy_lib *lib, struct err *err)
{
	(void)err;
	*(void **)&digest = lazy_sym(lib, "SHA256");
	*(void **)&encode = lazy_sym(lib, "EVP_EncodeBlock");
	*(void **)&decode = lazy_sym(lib, "EVP_DecodeBlock");
	return 0;
}

static struct lazy_lib crypto = { "libcrypto.so.3", "libssl3", .bind = bind_crypto };

int sha256_hex(struct str bytes, char hex[SHA256_HEX + 1], struct err *err)
{
	unsigned char sum[SUM_BYTES];
	int rc = lazy_open(&crypto, err);

	if (rc < 0)
		return rc;
	if (!digest(bytes.p, bytes.n, sum))
		return err_set(err, -EIO, "libcrypto cannot compute a SHA-256 checksum");
	for (size_t i = 0; i < SUM_BYTES; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", sum[i]);
	return 0;
}

int base64_encode(struct out *o, struct str bytes, struct err *err)
{
	int rc = lazy_open(&crypto, err);

	if (rc < 0)
		return rc;
	out_reserve(o, (bytes.n + 2) / 3 * 4 + 1);
	/* Whole groups of three in each step, so that only the last one has padding. */
	while (bytes.n && !o->error) {
		size_t n = bytes.n < STEP ? bytes.n : STEP;
		size_t room = (n + 2) / 3 * 4 + 1;

		out_fill(o, '\0', room);
		if (o->error)
			break;
		o->n -= room;
		o->n += (size_t)encode((unsigned char *)o->p + o->n, (const unsigned char *)bytes.p,
				       (int)n);
		bytes = str_skip(bytes, n);
	}
	return o->error ? err_set(err, o->error, "out of memory") : 0;
}

static size_t padding(struct str text)
{
	size_t n = 0;

	while (n < 2 && n < text.n && text.p[text.n - 1 - n] == '=')
		n++;
	return n;
}

int base64_decode(struct str text, struct arena *a, struct str *bytes, struct err *err)
{
	int rc = lazy_open(&crypto, err), n;
	char *to;

	*bytes = STR("");
	if (rc < 0)
		return rc;
	if (text.n == 0)
		return 0;
	if (text.n % 4 != 0 || text.n > INT_MAX)
		return err_set(err, -EINVAL, "this is not base64");
	to = arena_alloc(a, text.n / 4 * 3 + 1, 1);
	if (!to)
		return err_set(err, -ENOMEM, "out of memory");
	n = decode((unsigned char *)to, (const unsigned char *)text.p, (int)text.n);
	if (n < 0 || (size_t)n < padding(text))
		return err_set(err, -EINVAL, "this is not base64");
	*bytes = (struct str){ to, (size_t)n - padding(text) };
	return 0;
}
