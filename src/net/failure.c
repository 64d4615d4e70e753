/*
 * failure.c - why a transfer failed, in Go's words
 *
 * What Go's net and net/http say is what people search the web for, and what scripts around
 * the reference tool look for.  Where libcurl knows less than Go, its own words stand in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/transfer.h"

#include "base/arena.h"
#include "base/err.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>

/* OpenSSL's X509_V_ERR_ values, which libcurl hands through. */
enum {
	CERT_NOT_YET_VALID = 9,
	CERT_HAS_EXPIRED = 10,
	CERT_SELF_SIGNED = 18,
	CERT_SELF_SIGNED_IN_CHAIN = 19,
	CERT_NO_LOCAL_ISSUER = 20,
	CERT_CANNOT_VERIFY_LEAF = 21,
};

int transfer_fail(const struct transfer *t, struct err *err, int code, const char *fmt, ...)
{
	struct str url = url_print_safe(&t->url, t->mem);
	struct str shown = url.p ? url_quote(url, t->mem) : STR("");
	char why[1024], op[16];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	snprintf(op, sizeof(op), "%s", t->rq->method);
	for (char *p = op; *p; p++)
		*p = (char)(p == op ? toupper((unsigned char)*p) : tolower((unsigned char)*p));
	return err_set(err, code, "%s %.*s: %s", op, STR_ARG(shown), why);
}

static long info_long(const struct transfer *t, CURLINFO what)
{
	long v = 0;

	t->curl->easy_getinfo(t->easy, what, &v);
	return v;
}

static const char *info_text(const struct transfer *t, CURLINFO what)
{
	const char *v = NULL;

	t->curl->easy_getinfo(t->easy, what, &v);
	return v ? v : "";
}

/* "127.0.0.1:80", "[::1]:80"; ":80" where the URL names no host, as Go has it. */
static const char *dialled_address(const struct transfer *t, char *buf, size_t size)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)&t->dial;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)&t->dial;
	char ip[INET6_ADDRSTRLEN] = "";
	bool named = t->proxy.n || url_hostname(&t->url).n;

	if (t->dial.ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, ip, sizeof(ip));
		snprintf(buf, size, "%s%s%s:%d", named ? "[" : "", named ? ip : "",
			 named ? "]" : "", ntohs(v6->sin6_port));
	} else {
		inet_ntop(AF_INET, &v4->sin_addr, ip, sizeof(ip));
		snprintf(buf, size, "%s:%d", named ? ip : "", ntohs(v4->sin_port));
	}
	return buf;
}

static const char *proxy_prefix(const struct transfer *t)
{
	return t->proxy.n ? "proxyconnect tcp: " : "";
}

static int explain_connect(struct transfer *t, struct err *err)
{
	char addr[80], why[128];
	int e = (int)info_long(t, CURLINFO_OS_ERRNO);

	if (!t->dialled)
		return transfer_fail(t, err, -EHOSTUNREACH, "dial tcp: %s", t->why);
	return transfer_fail(t, err, e ? -e : -ECONNREFUSED, "%sdial tcp %s: connect: %s",
			     proxy_prefix(t), dialled_address(t, addr, sizeof(addr)),
			     errno_text(e ? e : ECONNREFUSED, why, sizeof(why)));
}

static int explain_timeout(struct transfer *t, struct err *err)
{
	struct str host = url_hostname(&t->url);
	char addr[80];

	if (!t->dialled)
		return transfer_fail(t, err, -ETIMEDOUT, "dial tcp: lookup %.*s: i/o timeout",
				     STR_ARG(host));
	/* Of the times libcurl can be asked for, none tells the handshake from the connection. */
	if (str_find(str_of(t->why), STR("SSL")) >= 0)
		return transfer_fail(t, err, -ETIMEDOUT, "net/http: TLS handshake timeout");
	return transfer_fail(t, err, -ETIMEDOUT, "%sdial tcp %s: i/o timeout", proxy_prefix(t),
			     dialled_address(t, addr, sizeof(addr)));
}

static int explain_lookup(struct transfer *t, bool of_proxy, struct err *err)
{
	struct str host = url_hostname(&t->url);
	struct url proxy;

	if (of_proxy && url_parse(t->proxy, t->mem, &proxy, NULL) == 0)
		host = url_hostname(&proxy);
	return transfer_fail(t, err, -EHOSTUNREACH, "%sdial tcp: lookup %.*s: no such host",
			     of_proxy ? proxy_prefix(t) : "", STR_ARG(host));
}

/* "...tlsv13 alert certificate required, errno 0": what the other side had to say. */
static struct str tls_alert(const struct transfer *t)
{
	struct str why = str_of(t->why), rest;
	ptrdiff_t at = str_find(why, STR(" alert "));

	if (at < 0)
		return STR("");
	rest = str_skip(why, (size_t)at + 7);
	at = str_find(rest, STR(","));
	return at < 0 ? rest : (struct str){ rest.p, (size_t)at };
}

static int explain_tls(struct transfer *t, struct err *err)
{
	struct str alert = tls_alert(t), why = str_of(t->why);

	if (alert.n)
		return transfer_fail(t, err, -EPROTO, "remote error: tls: %.*s", STR_ARG(alert));
	if (str_find(why, STR("wrong version number")) >= 0)
		return transfer_fail(t, err, -EPROTO,
				     "http: server gave HTTP response to HTTPS client");
	return transfer_fail(t, err, -EPROTO, "tls: %s", t->why);
}

static int explain_certificate(struct transfer *t, struct err *err)
{
	switch (info_long(t, CURLINFO_SSL_VERIFYRESULT)) {
	case CERT_SELF_SIGNED:
	case CERT_SELF_SIGNED_IN_CHAIN:
	case CERT_NO_LOCAL_ISSUER:
	case CERT_CANNOT_VERIFY_LEAF:
		return transfer_fail(t, err, -EKEYREJECTED,
				     "x509: certificate signed by unknown authority");
	case CERT_NOT_YET_VALID:
	case CERT_HAS_EXPIRED:
		return transfer_fail(t, err, -EKEYEXPIRED,
				     "x509: certificate has expired or is not yet valid");
	default:
		return transfer_fail(t, err, -EKEYREJECTED, "x509: %s", t->why);
	}
}

static int explain_broken(struct transfer *t, struct err *err)
{
	char why[128];
	int e = (int)info_long(t, CURLINFO_OS_ERRNO);
	long refused = info_long(t, CURLINFO_HTTP_CONNECTCODE);

	if (refused && refused != 200)
		return transfer_fail(t, err, -EPROTO, "proxy refused to connect: status %ld",
				     refused);
	if (tls_alert(t).n)
		return explain_tls(t, err);
	if (e == 0)
		return transfer_fail(t, err, -EPIPE, "%s",
				     t->header_done ? "unexpected EOF" : "EOF");
	return transfer_fail(t, err, -e, "read tcp %s:%ld->%s:%ld: read: %s",
			     info_text(t, CURLINFO_LOCAL_IP), info_long(t, CURLINFO_LOCAL_PORT),
			     info_text(t, CURLINFO_PRIMARY_IP), info_long(t, CURLINFO_PRIMARY_PORT),
			     errno_text(e, why, sizeof(why)));
}

static int explain_end(struct transfer *t, struct err *err)
{
	switch (t->end) {
	case END_STOPPED:
		return transfer_fail(t, err, -EINTR, "interrupted");
	case END_NO_HEADER:
		return transfer_fail(t, err, -ETIMEDOUT,
				     "net/http: timeout awaiting response headers");
	case END_STALLED:
		return transfer_fail(t, err, -ETIMEDOUT,
				     "the response stopped after %zu bytes: timeout", t->rs.nbody);
	case END_TOO_LARGE:
		return transfer_fail(t, err, -EFBIG, "the response is larger than %zu bytes",
				     t->rq->max_body);
	case END_HEADER_SIZE:
		return transfer_fail(t, err, -EFBIG,
				     "net/http: server response headers exceeded "
				     "the limit; aborted");
	default:
		return transfer_fail(t, err, -ENOMEM, "out of memory");
	}
}

int transfer_explain(struct transfer *t, CURLcode code, struct err *err)
{
	if (t->end != END_NOT_YET)
		return explain_end(t, err);
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return explain_lookup(t, code == CURLE_COULDNT_RESOLVE_PROXY, err);
	case CURLE_COULDNT_CONNECT:
		return explain_connect(t, err);
	case CURLE_OPERATION_TIMEDOUT:
		return explain_timeout(t, err);
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
		return explain_broken(t, err);
	case CURLE_PARTIAL_FILE:
		return err_set(err, -EPIPE, "unexpected EOF");
	case CURLE_PEER_FAILED_VERIFICATION:
		return explain_certificate(t, err);
	case CURLE_SSL_CONNECT_ERROR:
		return explain_tls(t, err);
	case CURLE_SSL_CERTPROBLEM:
		return transfer_fail(t, err, -EINVAL, "could not load certificate/key pair: %s",
				     t->why);
	case CURLE_SSL_CACERT_BADFILE:
		return transfer_fail(t, err, -EINVAL, "could not load CA: %s", t->why);
	case CURLE_UNSUPPORTED_PROTOCOL: /* no "HTTP/" in its first line */
	case CURLE_WEIRD_SERVER_REPLY:
		return transfer_fail(t, err, -EPROTO,
				     "net/http: HTTP/1.x transport connection "
				     "broken: malformed HTTP response");
	default:
		return transfer_fail(t, err, -EIO, "%s",
				     *t->why ? t->why : t->curl->easy_strerror(code));
	}
}
