/*
 * proxy.c - which proxy a request goes through
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/proxy.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/out.h"
#include "net/url.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <strings.h>

/* An address of either family: IPv4 is written as ::ffff:a.b.c.d. */
struct ip {
	uint8_t byte[16];
};

static bool parse_ip(struct str s, struct ip *ip)
{
	char text[INET6_ADDRSTRLEN];

	if (s.n >= sizeof(text) || (s.n && memchr(s.p, 0, s.n)))
		return false;
	memcpy(text, s.p, s.n);
	text[s.n] = 0;
	if (inet_pton(AF_INET6, text, ip->byte) == 1)
		return true;
	memcpy(ip->byte, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
	return inet_pton(AF_INET, text, ip->byte + 12) == 1;
}

static bool is_v4(const struct ip *ip)
{
	static const uint8_t mapped[12] = "\0\0\0\0\0\0\0\0\0\0\xff\xff";

	return memcmp(ip->byte, mapped, sizeof(mapped)) == 0;
}

static bool is_loopback(const struct ip *ip)
{
	static const uint8_t v6[16] = { [15] = 1 };

	return is_v4(ip) ? ip->byte[12] == 127 : memcmp(ip->byte, v6, sizeof(v6)) == 0;
}

/* Whether 'range' ("10.0.0.0/8") is a range; if so, '*inside' tells whether 'ip' is in it. */
static bool match_range(struct str range, const struct ip *ip, bool *inside)
{
	ptrdiff_t slash = str_rfind_char(range, '/');
	struct str digits = str_skip(range, (size_t)(slash + 1));
	struct ip base;
	unsigned bits = 0;
	bool v4;

	if (slash < 0 || digits.n == 0 || digits.n > 3)
		return false;
	for (size_t i = 0; i < digits.n; i++) {
		if (digits.p[i] < '0' || digits.p[i] > '9')
			return false;
		bits = bits * 10 + (unsigned)(digits.p[i] - '0');
	}
	range.n = (size_t)slash;
	v4 = range.n && !memchr(range.p, ':', range.n);
	if (!parse_ip(range, &base) || bits > (v4 ? 32 : 128))
		return false;
	bits += v4 ? 96 : 0;
	*inside = v4 == is_v4(ip) && memcmp(base.byte, ip->byte, bits / 8) == 0 &&
		  (bits % 8 == 0 ||
		   ((base.byte[bits / 8] ^ ip->byte[bits / 8]) >> (8 - bits % 8)) == 0);
	return true;
}

/* Cuts ":port" off "host:port" or "[address]:port"; leaves anything else alone. */
static struct str cut_port(struct str *host)
{
	ptrdiff_t colon = str_rfind_char(*host, ':');
	struct str port = str_skip(*host, (size_t)(colon + 1)), name = { host->p, (size_t)colon };

	if (colon < 0)
		return STR("");
	if (name.n && name.p[0] == '[') {
		if (name.p[name.n - 1] != ']')
			return STR("");
		name = (struct str){ name.p + 1, name.n - 2 };
	} else if (name.n && memchr(name.p, ':', name.n)) {
		return STR("");
	}
	*host = name;
	return port;
}

static bool same_text(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

/* "y.com" is itself and all below it; ".y.com" and "*.y.com" are only what is below. */
static bool match_domain(struct str rule, struct str host)
{
	bool below_only;

	if (str_starts(rule, STR("*.")))
		rule = str_skip(rule, 1);
	below_only = rule.p[0] == '.';
	if (!below_only && same_text(rule, host))
		return true;
	if (below_only)
		rule = str_skip(rule, 1);
	return host.n > rule.n && host.p[host.n - rule.n - 1] == '.' &&
	       same_text(str_skip(host, host.n - rule.n), rule);
}

struct target {
	struct str host, port;
	struct ip ip;
	bool is_ip;
};

static bool match_rule(struct str rule, const struct target *t)
{
	struct str port;
	struct ip ip;
	bool inside = false;

	if (match_range(rule, &t->ip, &inside))
		return t->is_ip && inside;
	port = cut_port(&rule);
	if (rule.n == 0 || (port.n && !str_eq(port, t->port)))
		return false;
	if (parse_ip(rule, &ip))
		return t->is_ip && memcmp(ip.byte, t->ip.byte, sizeof(ip.byte)) == 0;
	return match_domain(rule, t->host);
}

static bool needs_proxy(const char *none, const struct target *t)
{
	struct str rest = str_of(none), rule;
	bool needed = true;

	if (str_is(t->host, "localhost") || (t->is_ip && is_loopback(&t->ip)))
		return false;
	while (needed && str_split(&rest, ',', &rule)) {
		rule = str_trim(rule);
		needed = rule.n == 0 || !(str_is(rule, "*") || match_rule(rule, t));
	}
	return needed;
}

static const char *default_port(struct str scheme)
{
	if (str_is(scheme, "https"))
		return "443";
	return str_starts(scheme, STR("socks5")) ? "1080" : "80";
}

static bool is_proxy_scheme(struct str s)
{
	return str_is(s, "http") || str_is(s, "https") || str_is(s, "socks5") ||
	       str_is(s, "socks5h");
}

static struct str joined(struct arena *a, struct str x, const char *y, struct str z)
{
	struct str s;
	struct out o;

	out_init(&o, 0);
	out_str(&o, x);
	out_text(&o, y);
	out_str(&o, z);
	s = o.error ? (struct str){ NULL, 0 } : arena_str(a, out_view(&o));
	out_release(&o);
	return s;
}

/* "host:3128" is "http://host:3128".  What is no URL is no proxy. */
static int print_proxy(struct str text, struct arena *a, struct str *proxy)
{
	struct url u;
	int rc = url_parse(text, a, &u, NULL);

	if (rc == -EINVAL || (rc == 0 && !is_proxy_scheme(u.scheme))) {
		text = joined(a, STR("http"), "://", text);
		rc = text.p ? url_parse(text, a, &u, NULL) : -ENOMEM;
	}
	*proxy = STR("");
	if (rc || u.host.n == 0)
		return rc == -ENOMEM ? rc : 0;
	if (url_port(&u).n == 0) {
		if (u.host.p[u.host.n - 1] == ':')
			u.host.n--;
		u.host = joined(a, u.host, ":", str_of(default_port(u.scheme)));
	}
	if (str_is(u.scheme, "socks5"))
		u.scheme = STR("socks5h"); /* the proxy looks names up, as with Go */
	*proxy = u.host.p ? url_print(&u, a) : (struct str){ NULL, 0 };
	return proxy->p ? 0 : -ENOMEM;
}

static const char *either(const char *(*value)(const char *name), const char *name,
			  const char *other)
{
	const char *v = value(name);

	return v && *v ? v : value(other);
}

struct proxy_rules proxy_rules_from(const char *(*value)(const char *name))
{
	const char *method = value ? value("REQUEST_METHOD") : NULL;

	if (!value)
		return (struct proxy_rules){ 0 };
	return (struct proxy_rules){ .http = either(value, "HTTP_PROXY", "http_proxy"),
				     .https = either(value, "HTTPS_PROXY", "https_proxy"),
				     .none = either(value, "NO_PROXY", "no_proxy"),
				     .cgi = method && *method };
}

int proxy_for(const struct proxy_rules *rules, const struct url *u, struct arena *a,
	      struct str *proxy, struct err *err)
{
	struct target t = { .host = url_hostname(u), .port = url_port(u) };
	bool https = str_is(u->scheme, "https");
	struct str text = rules ? str_of(https ? rules->https : rules->http) : STR("");
	int rc;

	*proxy = STR("");
	if (text.n == 0 || (!https && !str_is(u->scheme, "http")))
		return 0;
	rc = print_proxy(text, a, proxy);
	if (rc || proxy->n == 0)
		return rc;
	if (!https && rules->cgi)
		return err_set(err, -EPERM,
			       "refusing to use HTTP_PROXY value in CGI environment; "
			       "see golang.org/s/cgihttpproxy");
	if (t.port.n == 0)
		t.port = str_of(default_port(u->scheme));
	t.is_ip = parse_ip(t.host, &t.ip);
	if (!needs_proxy(rules->none, &t))
		*proxy = STR("");
	return 0;
}
