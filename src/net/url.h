/*
 * url.h - URLs, read and written the way Go's net/url does it
 *
 * The reference tool decides with net/url whether a source is a URL at all, and prints the
 * URL it made of it; so the rules here are Go's, not RFC 3986's and not a browser's.  What a
 * URL is made of lives in the arena it was parsed into, or points into the parsed text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef NET_URL_H
#define NET_URL_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;

struct url {
	struct str scheme; /* lower case */
	struct str opaque; /* of "scheme:opaque", still escaped */
	struct str user, password;
	struct str host;         /* "host" or "host:port" */
	struct str path;         /* unescaped */
	struct str raw_path;     /* as it was written, where escaping 'path' gives something else */
	struct str query;        /* still escaped, without '?' */
	struct str fragment;     /* unescaped, without '#' */
	struct str raw_fragment; /* like raw_path */
	bool has_user, has_password;
	bool omit_host;   /* "scheme:/path": an empty host is not written as "//" */
	bool force_query; /* the text ended in a lone '?' */
};

/*
 * url_parse() takes 'text' apart.  Almost everything is a URL to Go: "heap.out" is a relative
 * one.  Returns 0; -EINVAL with Go's sentence ("parse "a b:1": first path segment in URL cannot
 * contain colon"); or -ENOMEM when 'a' is used up.
 */
int url_parse(struct str text, struct arena *a, struct url *out, struct err *err);

/* Puts it together again, with a NUL byte behind it; 'p' is NULL when 'a' is used up. */
struct str url_print(const struct url *u, struct arena *a);

/* url_print() for messages: "user:***@" in place of a password. */
struct str url_print_safe(const struct url *u, struct arena *a);

/* The two parts of 'host': without brackets, and without the colon ("" where there is none). */
struct str url_hostname(const struct url *u);
struct str url_port(const struct url *u);

/* 's' in double quotes, as Go's %q writes it; 'p' is NULL when 'a' is used up. */
struct str url_quote(struct str s, struct arena *a);

/* The settings of a query: "a=1&b=2". */
struct url_value {
	struct str key, value;
	size_t order; /* private */
};

struct url_values {
	struct url_value *v; /* in the order of the query */
	size_t n, cap;
};

/* Reads a query.  What is malformed is left out, as in Go.  Returns 0 or -ENOMEM. */
int url_values_parse(struct str query, struct arena *a, struct url_values *out);
/* The first value of 'key', or "". */
struct str url_values_get(const struct url_values *v, struct str key);
/* Makes 'value' the only value of 'key'.  Returns 0 or -ENOMEM. */
int url_values_set(struct url_values *v, struct arena *a, struct str key, struct str value);
/* A query again: sorted by key, values of one key in their order.  Sorts 'v' too. */
struct str url_values_encode(struct url_values *v, struct arena *a);

/* What url_adjust() made of a source. */
struct url_adjusted {
	struct str url;     /* with a NUL byte behind it */
	int64_t timeout_ms; /* how long the answer may take */
	int64_t seconds;    /* how long the profile is to be taken; 0: the URL does not say */
};

/*
 * url_adjust() turns what a person writes into the URL of a profile: "host:port" gets a scheme,
 * a host without a path means the CPU profile, 'seconds' (if positive) becomes a parameter.
 * The timeout is 'timeout' seconds if positive, else one and a half times the length of the
 * profile, else a minute.
 *
 * Returns 0; -EINVAL if 'source' is not a URL (then it may be a file's name); -ENOMEM.
 */
int url_adjust(struct str source, int64_t seconds, int64_t timeout, struct arena *a,
	       struct url_adjusted *out);

#endif /* NET_URL_H */
