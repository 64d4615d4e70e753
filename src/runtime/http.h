/*
 * http.h - requests as they come over a socket
 *
 * Everything here is about bytes that somebody unknown has sent: nothing allocates, everything is
 * bounded by what the caller gives, and texts of failures are those of Go's server.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_HTTP_H
#define RUNTIME_HTTP_H

#include "runtime/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__http {
	const char *method, *path, *query; /* path decoded */
	const char *content_type, *authorization;
	int minor; /* of HTTP/1.x */
	bool close, keep_alive;
	bool chunked, expect;
	uint64_t length;   /* of the body, unless chunked */
	const char *error; /* "400 Bad Request: why" */
};

/*
 * Reads the head of a request from the 'n' bytes at 'p', which it changes and refers to.  Returns
 * how many bytes it has, 0 if it is not complete yet, -1 with 'error' if it makes no sense.
 */
long sonde__http_head(char *p, size_t n, struct sonde__http *h);

/* A body that comes in chunks.  Starts as all zeros. */
struct sonde__chunks {
	int state;
	uint64_t left;
	size_t extra;
	bool done, bad;
};

/* Adds to 'body' what is in the bytes at 'p'; returns how many of them it took. */
size_t sonde__chunks_feed(struct sonde__chunks *c, const char *p, size_t n,
			  struct sonde__buf *body);

/* The first value of 'key' in a query, decoded and cut to fit; false if there is none. */
bool sonde__query_get(const char *query, const char *key, char *to, size_t cap);

/* As Go's strconv.ParseInt(text, 10, 64): false if it is no number; too large ones are cut. */
bool sonde__parse_int(const char *text, int64_t *value);
/* An unsigned number as in C or Go: 0x..., 0o..., 0b..., 0..., or decimal; 0 if it is none. */
uint64_t sonde__parse_address(const char *text, size_t n);
/* Seconds with a fraction, as ns; false if it is no number. */
bool sonde__parse_seconds(const char *text, uint64_t *ns);

/* Undoes %XX, and '+' if asked, in place; false if an escape is broken. */
bool sonde__unescape(char *text, bool plus);
/* What Go's ServeMux would call this path; 'to' has room for strlen(path) + 2. */
void sonde__clean_path(const char *path, char *to);

/* The name of a status, as "Not Found". */
const char *sonde__http_status(int status);
/* "Mon, 02 Jan 2006 15:04:05 GMT" */
void sonde__http_date(uint64_t wall_ns, char to[32]);
/* "2006-01-02T15:04:05Z" */
void sonde__stamp(uint64_t wall_ns, char to[32]);

#endif /* RUNTIME_HTTP_H */
