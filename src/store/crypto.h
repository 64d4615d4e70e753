/*
 * crypto.h - checksums and base64, by OpenSSL's libcrypto, which uses what the processor has for it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_CRYPTO_H
#define STORE_CRYPTO_H

#include "base/str.h"

struct arena;
struct err;
struct out;

enum { SHA256_HEX = 64 };

/* 'hex' receives 64 digits and a NUL. */
int sha256_hex(struct str bytes, char hex[SHA256_HEX + 1], struct err *err);

/* Appends 'bytes' in base64 to 'o'. */
int base64_encode(struct out *o, struct str bytes, struct err *err);
/* The bytes that 'text' stands for, in 'a'; -EINVAL if it is not base64. */
int base64_decode(struct str text, struct arena *a, struct str *bytes, struct err *err);

#endif /* STORE_CRYPTO_H */
