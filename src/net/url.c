/*
 * url.c - URLs, read and written the way Go's net/url does it
 *
 * Each part of a URL lets other characters stand for themselves, so escaping and unescaping
 * are one pair of functions with a mode.  A path is kept twice, unescaped and as written:
 * "/a%2fb" must be sent as it was written although it means "/a/b".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/url.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/out.h"

#include <errno.h>
#include <stdlib.h>

enum part { PART_PATH, PART_HOST, PART_ZONE, PART_USER, PART_QUERY, PART_FRAGMENT };

static const struct str no_memory = { NULL, 0 };

static bool among(const char *set, char c)
{
	return c && strchr(set, c);
}

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool must_escape_reserved(char c, enum part part)
{
	switch (part) {
	case PART_PATH:
		return c == '?';
	case PART_USER:
		return among("@/?:", c);
	case PART_FRAGMENT:
		return false;
	default:
		return true;
	}
}

static bool must_escape(char c, enum part part)
{
	if (is_alnum(c) || among("-_.~", c))
		return false;
	if ((part == PART_HOST || part == PART_ZONE) && among("!$&'()*+,;=:[]<>\"", c))
		return false;
	if (among("$&+,/:;=?@", c))
		return must_escape_reserved(c, part);
	return !(part == PART_FRAGMENT && among("!()*", c));
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The byte that "%41" at the start of 's' stands for, or -1. */
static int escaped_byte(struct str s)
{
	if (s.n < 3 || hex_digit(s.p[1]) < 0 || hex_digit(s.p[2]) < 0)
		return -1;
	return hex_digit(s.p[1]) << 4 | hex_digit(s.p[2]);
}

/*
 * In a host only what is not ASCII may be escaped, and the percent sign that begins a zone;
 * in a zone, what may stand there unescaped (and the blank, for Windows).
 */
static bool escape_is_allowed(int byte, enum part part)
{
	if (byte < 0)
		return false;
	if (part == PART_HOST)
		return byte >= 0x80 || byte == '%';
	if (part == PART_ZONE)
		return byte == '%' || byte == ' ' || !must_escape((char)byte, PART_HOST);
	return true;
}

static int bad(struct err *err, struct arena *a, const char *what, struct str where,
	       const char *rest)
{
	struct str q = url_quote(where, a);

	return err_set(err, -EINVAL, "%s %.*s%s", what, STR_ARG(q), rest);
}

static int check_escapes(struct str s, enum part part, struct arena *a, struct err *err)
{
	bool host = part == PART_HOST || part == PART_ZONE;
	struct str here;

	for (; s.n; s = str_skip(s, s.p[0] == '%' ? 3 : 1)) {
		if (s.p[0] == '%' && !escape_is_allowed(escaped_byte(s), part)) {
			here = (struct str){ s.p, s.n < 3 ? s.n : 3 };
			return bad(err, a, "invalid URL escape", here, "");
		}
		if (s.p[0] != '%' && host && (unsigned char)s.p[0] < 0x80 &&
		    must_escape(s.p[0], part)) {
			here = (struct str){ s.p, 1 };
			return bad(err, a, "invalid character", here, " in host name");
		}
	}
	return 0;
}

static int unescape(struct str s, enum part part, struct arena *a, struct str *out, struct err *err)
{
	int rc = check_escapes(s, part, a, err);
	char *to, *start;

	if (rc)
		return rc;
	to = start = arena_alloc(a, s.n + 1, 1);
	if (!to)
		return err_set(err, -ENOMEM, "URL is too long");
	while (s.n) {
		if (s.p[0] == '%')
			*to++ = (char)escaped_byte(s);
		else
			*to++ = s.p[0] == '+' && part == PART_QUERY ? ' ' : s.p[0];
		s = str_skip(s, s.p[0] == '%' ? 3 : 1);
	}
	*out = (struct str){ start, (size_t)(to - start) };
	return 0;
}

static void escape_to(struct out *o, struct str s, enum part part)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == ' ' && part == PART_QUERY) {
			out_char(o, '+');
		} else if (must_escape((char)c, part)) {
			out_char(o, '%');
			out_char(o, hex[c >> 4]);
			out_char(o, hex[c & 15]);
		} else {
			out_char(o, (char)c);
		}
	}
}

/* Moves what was written to 'o' into the arena. */
static struct str settle(struct out *o, struct arena *a)
{
	struct str s = o->error ? no_memory : arena_str(a, out_view(o));

	out_release(o);
	return s;
}

static bool is_default_escape(struct str raw, struct str plain, enum part part)
{
	struct out o;
	bool same;

	out_init(&o, 0);
	escape_to(&o, plain, part);
	same = str_eq(out_view(&o), raw);
	out_release(&o);
	return same;
}

static int set_escaped(struct str raw, enum part part, struct arena *a, struct str *plain,
		       struct str *keep_raw, struct err *err)
{
	int rc = unescape(raw, part, a, plain, err);

	if (rc == 0)
		*keep_raw = is_default_escape(raw, *plain, part) ? STR("") : raw;
	return rc;
}

/* Cuts 's' at the first 'c'; '*rest' is what follows, or "". */
static struct str cut(struct str s, char c, struct str *rest)
{
	const char *at = s.n ? memchr(s.p, c, s.n) : NULL;

	*rest = at ? str_skip(s, (size_t)(at - s.p) + 1) : STR("");
	return at ? (struct str){ s.p, (size_t)(at - s.p) } : s;
}

static bool has_char(struct str s, char c)
{
	return s.n && memchr(s.p, c, s.n);
}

static bool is_port(struct str s)
{
	if (s.n == 0)
		return true;
	for (size_t i = 1; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.p[0] == ':';
}

/* "[fe80::1%25eth0]:80": the zone has rules of its own. */
static int parse_zoned(struct str text, size_t zone, size_t end, struct arena *a, struct str *host,
		       struct err *err)
{
	struct str part[3];
	struct out o;
	int rc = unescape((struct str){ text.p, zone }, PART_HOST, a, &part[0], err);

	if (rc == 0)
		rc = unescape((struct str){ text.p + zone, end - zone }, PART_ZONE, a, &part[1],
			      err);
	if (rc == 0)
		rc = unescape(str_skip(text, end), PART_HOST, a, &part[2], err);
	if (rc)
		return rc;
	out_init(&o, 0);
	for (int i = 0; i < 3; i++)
		out_str(&o, part[i]);
	*host = settle(&o, a);
	return host->p ? 0 : -ENOMEM;
}

static int parse_host(struct str text, struct arena *a, struct str *host, struct err *err)
{
	ptrdiff_t end = str_rfind_char(text, ']'), colon = str_rfind_char(text, ':'), zone;
	bool literal = text.n && text.p[0] == '[';

	if (literal && end < 0)
		return err_set(err, -EINVAL, "missing ']' in host");
	if (literal)
		colon = end + 1;
	if (colon >= 0 && !is_port(str_skip(text, (size_t)colon)))
		return bad(err, a, "invalid port", str_skip(text, (size_t)colon), " after host");
	zone = literal ? str_find((struct str){ text.p, (size_t)end }, STR("%25")) : -1;
	if (zone >= 0)
		return parse_zoned(text, (size_t)zone, (size_t)end, a, host, err);
	return unescape(text, PART_HOST, a, host, err);
}

static int parse_user(struct str text, struct arena *a, struct url *u, struct err *err)
{
	struct str name, word;
	int rc;

	for (size_t i = 0; i < text.n; i++)
		if (!is_alnum(text.p[i]) && !among("-._:~!$&'()*+,;=%@", text.p[i]))
			return err_set(err, -EINVAL, "net/url: invalid userinfo");
	name = cut(text, ':', &word);
	u->has_user = true;
	u->has_password = has_char(text, ':');
	rc = unescape(name, PART_USER, a, &u->user, err);
	return rc ? rc : unescape(word, PART_USER, a, &u->password, err);
}

static int parse_authority(struct str text, struct arena *a, struct url *u, struct err *err)
{
	ptrdiff_t at = str_rfind_char(text, '@');
	int rc = parse_host(str_skip(text, (size_t)(at + 1)), a, &u->host, err);

	if (rc || at < 0)
		return rc;
	return parse_user((struct str){ text.p, (size_t)at }, a, u, err);
}

/* Cuts "scheme:" off '*rest', if that is how it begins. */
static int cut_scheme(struct str *rest, struct arena *a, struct str *scheme, struct err *err)
{
	size_t n = 0;
	char *lower;

	while (n < rest->n && (is_alnum(rest->p[n]) || among("+-.", rest->p[n])))
		n++;
	if (n == rest->n || rest->p[n] != ':')
		return 0;
	if (n == 0)
		return err_set(err, -EINVAL, "missing protocol scheme");
	if (!is_alnum(rest->p[0]) || (rest->p[0] >= '0' && rest->p[0] <= '9'))
		return 0;
	lower = arena_alloc(a, n + 1, 1);
	if (!lower)
		return err_set(err, -ENOMEM, "URL is too long");
	for (size_t i = 0; i < n; i++)
		lower[i] = (char)(rest->p[i] | (rest->p[i] >= 'A' && rest->p[i] <= 'Z' ? 32 : 0));
	*scheme = (struct str){ lower, n };
	*rest = str_skip(*rest, n + 1);
	return 0;
}

static void cut_query(struct str *rest, struct url *u)
{
	bool found = has_char(*rest, '?');

	*rest = cut(*rest, '?', &u->query);
	u->force_query = found && u->query.n == 0;
}

/* What follows "scheme:" and precedes '?'. */
static int parse_hierarchy(struct str rest, struct arena *a, struct url *u, struct err *err)
{
	bool rooted = str_starts(rest, STR("/"));
	struct str authority, tail;
	int rc = 0;

	if (!rooted && u->scheme.n) {
		u->opaque = rest;
		return 0;
	}
	if (!rooted && has_char(cut(rest, '/', &tail), ':'))
		return err_set(err, -EINVAL, "first path segment in URL cannot contain colon");
	if (str_starts(rest, STR("//")) && (u->scheme.n || !str_starts(rest, STR("///")))) {
		authority = cut(str_skip(rest, 2), '/', &tail);
		rest = str_skip(rest, 2 + authority.n);
		rc = parse_authority(authority, a, u, err);
	} else {
		u->omit_host = u->scheme.n && rooted;
	}
	return rc ? rc : set_escaped(rest, PART_PATH, a, &u->path, &u->raw_path, err);
}

static bool has_control(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return true;
	return false;
}

static int parse(struct str text, struct arena *a, struct url *u, struct err *err)
{
	int rc;

	if (has_control(text))
		return err_set(err, -EINVAL, "net/url: invalid control character in URL");
	if (str_is(text, "*")) {
		u->path = text;
		return 0;
	}
	rc = cut_scheme(&text, a, &u->scheme, err);
	if (rc)
		return rc;
	cut_query(&text, u);
	return parse_hierarchy(text, a, u, err);
}

int url_parse(struct str text, struct arena *a, struct url *out, struct err *err)
{
	static const struct str none = { "", 0 };
	struct url u = { none, none, none, none, none, none, none, none, none, none, 0, 0, 0, 0 };
	struct str fragment, quoted, shown = cut(text, '#', &fragment);
	struct err why = { "" };
	int rc = parse(shown, a, &u, &why);

	if (rc == 0 && fragment.n) {
		shown = text;
		rc = set_escaped(fragment, PART_FRAGMENT, a, &u.fragment, &u.raw_fragment, &why);
	}
	if (rc) {
		quoted = url_quote(shown, a);
		err_set(err, rc, "parse %.*s: %s", STR_ARG(quoted), why.msg);
		return rc;
	}
	*out = u;
	return 0;
}

/* Whether 'raw' has only what may stand in 'part', or is escaped. */
static bool is_valid_escape(struct str raw, enum part part)
{
	for (size_t i = 0; i < raw.n; i++)
		if (!among("!$&'()*+,;=:@[]%", raw.p[i]) && must_escape(raw.p[i], part))
			return false;
	return true;
}

/* 'raw' if it is a way of writing 'plain', else our own way. */
static void print_escaped(struct out *o, struct str plain, struct str raw, enum part part,
			  struct arena *a)
{
	struct str again = STR("");

	if (raw.n && is_valid_escape(raw, part) && unescape(raw, part, a, &again, NULL) == 0 &&
	    str_eq(again, plain))
		out_str(o, raw);
	else if (part == PART_PATH && str_is(plain, "*"))
		out_str(o, plain);
	else
		escape_to(o, plain, part);
}

static void print_authority(struct out *o, const struct url *u, bool hide_password)
{
	if (!u->scheme.n && !u->host.n && !u->has_user)
		return;
	if (u->omit_host && !u->host.n && !u->has_user)
		return;
	if (u->host.n || u->path.n || u->has_user)
		out_text(o, "//");
	if (u->has_user) {
		escape_to(o, u->user, PART_USER);
		if (u->has_password)
			out_char(o, ':');
		if (u->has_password && hide_password)
			out_text(o, "***");
		else
			escape_to(o, u->password, PART_USER);
		out_char(o, '@');
	}
	escape_to(o, u->host, PART_HOST);
}

static void print_path(struct out *o, const struct url *u, struct arena *a)
{
	struct out path;
	struct str tail;

	out_init(&path, 0);
	print_escaped(&path, u->path, u->raw_path, PART_PATH, a);
	if (u->host.n && path.n && path.p[0] != '/')
		out_char(o, '/');
	/* Without "./" the first segment of "a:b" would be read as a scheme. */
	if (o->n == 0 && has_char(cut(out_view(&path), '/', &tail), ':'))
		out_text(o, "./");
	out_str(o, out_view(&path));
	out_release(&path);
}

static struct str print(const struct url *u, bool hide_password, struct arena *a)
{
	struct out o;

	out_init(&o, 0);
	if (u->scheme.n) {
		out_str(&o, u->scheme);
		out_char(&o, ':');
	}
	if (u->opaque.n) {
		out_str(&o, u->opaque);
	} else {
		print_authority(&o, u, hide_password);
		print_path(&o, u, a);
	}
	if (u->force_query || u->query.n) {
		out_char(&o, '?');
		out_str(&o, u->query);
	}
	if (u->fragment.n) {
		out_char(&o, '#');
		print_escaped(&o, u->fragment, u->raw_fragment, PART_FRAGMENT, a);
	}
	return settle(&o, a);
}

struct str url_print(const struct url *u, struct arena *a)
{
	return print(u, false, a);
}

struct str url_print_safe(const struct url *u, struct arena *a)
{
	return print(u, true, a);
}

static void split_host(const struct url *u, struct str *host, struct str *port)
{
	ptrdiff_t colon = str_rfind_char(u->host, ':');

	*host = u->host;
	*port = STR("");
	if (colon >= 0 && is_port(str_skip(u->host, (size_t)colon))) {
		*port = str_skip(u->host, (size_t)colon + 1);
		host->n = (size_t)colon;
	}
	if (host->n >= 2 && host->p[0] == '[' && host->p[host->n - 1] == ']')
		*host = (struct str){ host->p + 1, host->n - 2 };
}

struct str url_hostname(const struct url *u)
{
	struct str host, port;

	split_host(u, &host, &port);
	return host;
}

struct str url_port(const struct url *u)
{
	struct str host, port;

	split_host(u, &host, &port);
	return port;
}

struct str url_quote(struct str s, struct arena *a)
{
	struct out o;

	out_init(&o, 0);
	go_quote(&o, s);
	return settle(&o, a);
}

static int add_value(struct url_values *v, struct arena *a, struct url_value item)
{
	struct url_value *more;
	size_t cap = v->cap ? v->cap * 2 : 8;

	if (v->n == v->cap) {
		more = arena_alloc(a, cap, sizeof(*more));
		if (!more)
			return -ENOMEM;
		if (v->n)
			memcpy(more, v->v, v->n * sizeof(*more));
		v->v = more;
		v->cap = cap;
	}
	item.order = v->n;
	v->v[v->n++] = item;
	return 0;
}

int url_values_parse(struct str query, struct arena *a, struct url_values *out)
{
	struct url_values v = { 0 };
	struct url_value item = { 0 };
	struct str part, raw;
	int rc = 0;

	while (query.n && rc == 0) {
		part = cut(query, '&', &query);
		if (part.n == 0 || has_char(part, ';'))
			continue;
		part = cut(part, '=', &raw);
		rc = unescape(part, PART_QUERY, a, &item.key, NULL);
		if (rc == 0)
			rc = unescape(raw, PART_QUERY, a, &item.value, NULL);
		if (rc == 0)
			rc = add_value(&v, a, item);
		if (rc == -EINVAL)
			rc = 0;
	}
	if (rc == 0)
		*out = v;
	return rc;
}

struct str url_values_get(const struct url_values *v, struct str key)
{
	for (size_t i = 0; i < v->n; i++)
		if (str_eq(v->v[i].key, key))
			return v->v[i].value;
	return STR("");
}

int url_values_set(struct url_values *v, struct arena *a, struct str key, struct str value)
{
	size_t n = 0;

	for (size_t i = 0; i < v->n; i++)
		if (!str_eq(v->v[i].key, key))
			v->v[n++] = v->v[i];
	v->n = n;
	return add_value(v, a, (struct url_value){ .key = key, .value = value });
}

static int by_key(const void *x, const void *y)
{
	const struct url_value *a = x, *b = y;
	int order = str_cmp(a->key, b->key);

	return order ? order : (a->order > b->order) - (a->order < b->order);
}

struct str url_values_encode(struct url_values *v, struct arena *a)
{
	struct out o;

	if (v->n)
		qsort(v->v, v->n, sizeof(*v->v), by_key);
	out_init(&o, 0);
	for (size_t i = 0; i < v->n; i++) {
		if (i)
			out_char(&o, '&');
		escape_to(&o, v->v[i].key, PART_QUERY);
		out_char(&o, '=');
		escape_to(&o, v->v[i].value, PART_QUERY);
	}
	return settle(&o, a);
}

/* With a host, or -EINVAL. */
static int parse_source(struct str source, struct arena *a, struct url *u)
{
	struct out o;
	struct str with_scheme;
	int rc = url_parse(source, a, u, NULL);

	/* "host:6060/path" looks like a scheme "host". */
	if (rc == -EINVAL ||
	    (rc == 0 && u->host.n == 0 && u->scheme.n && !str_is(u->scheme, "file"))) {
		out_init(&o, 0);
		out_text(&o, "http://");
		out_str(&o, source);
		with_scheme = settle(&o, a);
		rc = with_scheme.p ? url_parse(with_scheme, a, u, NULL) : -ENOMEM;
	}
	return rc == 0 && u->host.n == 0 ? -EINVAL : rc;
}

/* Makes the query of 'u' ask for '*seconds', or learns from it how many there are. */
static int adjust_query(struct url *u, int64_t *seconds, struct arena *a)
{
	struct url_values v;
	struct out o;
	struct str text;
	int rc = url_values_parse(u->query, a, &v);

	if (rc == 0 && *seconds > 0) {
		out_init(&o, 0);
		out_i64(&o, *seconds);
		text = settle(&o, a);
		rc = text.p ? url_values_set(&v, a, STR("seconds"), text) : -ENOMEM;
	} else if (rc == 0 &&
		   go_parse_int(url_values_get(&v, STR("seconds")), 10, 32, seconds, NULL) != 0) {
		*seconds = 0;
	}
	if (rc)
		return rc;
	u->query = url_values_encode(&v, a);
	return u->query.p ? 0 : -ENOMEM;
}

static int64_t timeout_of(int64_t seconds, int64_t timeout)
{
	const int64_t most = INT64_MAX / 4000;

	if (timeout > 0)
		return (timeout < most ? timeout : most) * 1000;
	if (seconds > 0)
		return (seconds < most ? seconds : most) * 1500;
	return 60000;
}

int url_adjust(struct str source, int64_t seconds, int64_t timeout, struct arena *a,
	       struct url_adjusted *out)
{
	struct url_adjusted r;
	struct url u;
	int rc = parse_source(source, a, &u);

	if (rc)
		return rc;
	if (u.path.n == 0 || str_is(u.path, "/"))
		u.path = STR("/debug/pprof/profile");
	rc = adjust_query(&u, &seconds, a);
	if (rc)
		return rc;
	r.url = url_print(&u, a);
	r.timeout_ms = timeout_of(seconds, timeout);
	r.seconds = seconds > 0 ? seconds : 0;
	if (!r.url.p)
		return -ENOMEM;
	*out = r;
	return 0;
}
