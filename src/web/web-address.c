/*
 * web-address.c - where to listen, and what the parameters of a request are
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/gotext.h"
#include "base/xalloc.h"
#include "web/web-server.h"

#include <errno.h>
#include <stdlib.h>

enum { LARGEST_PORT = 65535 };

static int refuse(const char *text, const char *why, struct err *err)
{
	return err_set(err, -EINVAL, "could not split http address: address %s: %s", text, why);
}

/* As Go's net.SplitHostPort. */
static int split(const char *text, struct str *host, struct str *port, struct err *err)
{
	struct str all = str_of(text);
	ptrdiff_t colon = str_rfind_char(all, ':');

	if (colon < 0)
		return refuse(text, "missing port in address", err);
	*host = (struct str){ all.p, (size_t)colon };
	*port = str_skip(all, (size_t)colon + 1);
	if (str_ends(*port, STR("]")))
		return refuse(text, "missing port in address", err);
	if (str_starts(*host, STR("[")) && str_ends(*host, STR("]"))) {
		*host = (struct str){ host->p + 1, host->n - 2 };
		return 0;
	}
	if (str_rfind_char(*host, ':') >= 0)
		return refuse(text, "too many colons in address", err);
	return 0;
}

int web_address_parse(struct web_address *a, const char *text, struct err *err)
{
	struct str host = { 0 }, port = { 0 };
	struct err why;
	int64_t number = 0;
	int rc = split(text, &host, &port, err);

	if (rc)
		return rc;
	if (port.n && go_atoi(port, &number, &why) != 0)
		return err_set(err, -EINVAL, "invalid port number: %s", why.msg);
	if (number < 0 || number > LARGEST_PORT)
		return err_set(err, -EINVAL, "listen tcp: address %.*s: invalid port",
			       STR_ARG(port));
	a->host = mem_str(host.n ? host : STR("localhost"));
	a->port = (uint16_t)number;
	return 0;
}

void web_address_release(struct web_address *a)
{
	free(a->host);
	a->host = NULL;
}

const char *web_arg(const struct web_request *rq, const char *name)
{
	for (size_t i = 0; i < rq->nargs; i++) {
		if (strcmp(rq->args[i].name, name) == 0)
			return rq->args[i].value;
	}
	return "";
}

/* Percent signs for all but what needs none anywhere. */
static void put_encoded(struct out *o, struct str s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789-._~";

	for (size_t i = 0; i < s.n; i++) {
		if (memchr(plain, s.p[i], sizeof(plain) - 1))
			out_char(o, s.p[i]);
		else
			out_printf(o, "%%%02X", (unsigned char)s.p[i]);
	}
}

static void put_arg(struct out *o, bool *first, const char *name, struct str value)
{
	out_char(o, *first ? '?' : '&');
	*first = false;
	put_encoded(o, str_of(name));
	out_char(o, '=');
	put_encoded(o, value);
}

void web_query(const struct web_request *rq, const char *except, const char *name, struct str value,
	       struct out *o)
{
	bool first = true;

	for (size_t i = 0; i < rq->nargs; i++) {
		if (*rq->args[i].value && (!except || strcmp(rq->args[i].name, except) != 0))
			put_arg(o, &first, rq->args[i].name, str_of(rq->args[i].value));
	}
	if (name)
		put_arg(o, &first, name, value);
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)((at - digits) % 16) : -1;
}

void web_decode(char *text)
{
	char *to = text;

	while (*text) {
		int high = text[0] == '%' ? hex_digit(text[1]) : -1;
		int low = high >= 0 ? hex_digit(text[2]) : -1;

		if (low >= 0) {
			*to++ = (char)(high << 4 | low);
			text += 3;
		} else {
			*to++ = *text == '+' ? ' ' : *text;
			text++;
		}
	}
	*to = '\0';
}
