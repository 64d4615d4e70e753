/*
 * fuzz-runtime-http.c - bytes that come over a socket, taken for a request
 *
 * What the head refers to lies inside the bytes that were read; a body in chunks is the same
 * however it is cut into pieces; a clean path stays as it is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/http.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_query(const char *query)
{
	static const char *const keys[] = { "seconds", "debug", "gc", "hz", "" };
	char value[16];
	uint64_t ns;
	int64_t n;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		bool found = sonde__query_get(query, keys[i], value, sizeof(value));

		assert(strlen(value) < sizeof(value) && (found || value[0] == '\0'));
		if (sonde__parse_int(value, &n))
			assert(n == strtoll(value, NULL, 10));
		sonde__parse_seconds(value, &ns);
	}
	sonde__parse_address(query, strcspn(query, "+"));
}

static void check_path(const char *path)
{
	size_t n = strlen(path);
	char *clean = malloc(n + 2), *again = malloc(n + 3);

	if (clean && again) {
		sonde__clean_path(path, clean);
		assert(clean[0] == '/' && strlen(clean) <= n + 1);
		sonde__clean_path(clean, again);
		assert(strcmp(clean, again) == 0);
		assert(!strstr(clean, "//") && !strstr(clean, "/../"));
	}
	free(clean);
	free(again);
}

/* Fed in pieces of 'piece' bytes. */
static size_t feed(struct sonde__chunks *c, struct sonde__buf *body, const char *p, size_t n,
		   size_t piece)
{
	size_t at = 0;

	while (at < n && !c->done && !c->bad)
		at += sonde__chunks_feed(c, p + at, n - at < piece ? n - at : piece, body);
	return at;
}

static void check_chunks(const char *p, size_t n)
{
	struct sonde__chunks whole = { 0 }, parts = { 0 };
	struct sonde__buf a = { .max = 1 << 20 }, b = { .max = 1 << 20 };
	size_t first = feed(&whole, &a, p, n, n + 1), second = feed(&parts, &b, p, n, 1);

	assert(first == second && whole.done == parts.done && whole.bad == parts.bad);
	assert(a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0));
	assert(a.n <= n);
	sonde__buf_release(&a);
	sonde__buf_release(&b);
}

static bool inside(const char *text, const char *p, size_t n)
{
	return *text == '\0' || strcmp(text, "/") == 0 || (text >= p && text < p + n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + !size);
	struct sonde__http h;
	long head;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	head = sonde__http_head(copy, size, &h);
	assert(head >= -1 && head <= (long)size && (head != -1) == !h.error);
	if (head > 0) {
		size_t n = (size_t)head;

		assert(inside(h.method, copy, n) && inside(h.path, copy, n) &&
		       inside(h.query, copy, n) && inside(h.authorization, copy, n) &&
		       inside(h.content_type, copy, n));
		assert(h.method[0] && (h.path[0] == '/' || strcmp(h.path, "*") == 0));
		check_query(h.query);
		check_path(h.path);
		check_chunks((const char *)data + head, size - n);
	} else {
		check_chunks((const char *)data, size);
	}
	free(copy);
	return 0;
}
