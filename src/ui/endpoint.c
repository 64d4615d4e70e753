/*
 * endpoint.c - whether a program serves profiles, and what is to be known of it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/endpoint.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/xalloc.h"
#include "net/url.h"
#include "profile/decode.h"
#include "profile/profile.h"
#include "source/cluster.h"
#include "source/source.h"
#include "source/unpack.h"

#include <errno.h>

enum { WAIT_MS = 15000, PAGE_MAX = 4 << 20, TEXT_SHOWN = 200 };
static const size_t memory = (size_t)64 << 20, profile_max = (size_t)1 << 30;
static const char pprof[] = "/debug/pprof";

/* How to reach it. */
struct reach {
	const struct source_request *rq;
	const char *const *headers;
	bool cluster;
	struct cluster_name name;
	struct str base; /* "http://host:port/prefix", or the path before /debug/pprof in a pod */
	bool insecure;
};

static struct str harmless(struct arena *a, struct str s)
{
	size_t n = s.n < TEXT_SHOWN ? s.n : TEXT_SHOWN;
	char *to = xarena(a, n + 1, 1);

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		to[i] = c == '\0' ? ' ' : c < ' ' || c >= 0x7f ? '?' : (char)c;
	}
	return str_trim((struct str){ to, n });
}

/* --- where ------------------------------------------------------------------------------- */

/* The path without the profile that it may name. */
static struct str cut_path(struct str path)
{
	ptrdiff_t at = str_find(path, str_of(pprof));
	size_t query = 0;

	if (path.n == 0)
		return STR("");
	while (query < path.n && path.p[query] != '?')
		query++;
	path.n = at >= 0 ? (size_t)at : query;
	while (path.n && path.p[path.n - 1] == '/')
		path.n--;
	return path;
}

static int find_url(struct endpoint *e, const char *where, struct reach *to, struct err *err)
{
	struct url_adjusted at = { .seconds = 0 };
	struct url u = { .omit_host = false };
	int rc = url_adjust(str_of(where), 0, 0, &e->a, &at);

	if (rc == 0)
		rc = url_parse(at.url, &e->a, &u, err);
	if (rc < 0)
		return err_set(err, -EINVAL, "'%s' is no place to ask: host:port, or a URL", where);
	to->insecure = str_is(u.scheme, "https+insecure");
	if (to->insecure)
		u.scheme = STR("https");
	u.path = cut_path(u.path);
	u.raw_path = u.query = u.fragment = STR("");
	to->base = url_print(&u, &e->a);
	e->url = url_print_safe(&u, &e->a);
	e->url = xarena_printf(&e->a, "%.*s%s/", STR_ARG(e->url), pprof);
	if (to->insecure)
		e->address = xarena_printf(&e->a, "https+insecure%.*s%s/",
					   STR_ARG(str_skip(to->base, strlen("https"))), pprof);
	else
		e->address = xarena_printf(&e->a, "%.*s%s/", STR_ARG(to->base), pprof);
	return 0;
}

static int find(struct endpoint *e, const char *where, struct reach *to, struct err *err)
{
	int rc;

	if (!cluster_is(where))
		return find_url(e, where, to, err);
	to->cluster = true;
	rc = cluster_parse(str_of(where), &to->name, err);
	if (rc == 0 && to->name.prefix.n)
		rc = err_set(err, -EINVAL, "'%s' is no pod: kube://namespace/pod:port", where);
	if (rc < 0)
		return rc;
	to->base = cut_path(to->name.rest);
	e->url = xarena_printf(&e->a, "kube://%.*s/%s%.*s:%.*s%.*s%s/", STR_ARG(to->name.namespace),
			       to->name.service ? "svc/" : "", STR_ARG(to->name.pod),
			       STR_ARG(to->name.port), STR_ARG(to->base), pprof);
	e->address = e->url;
	return 0;
}

/* Gets one page, with a status of 200, or says why there is none; -EREMOTEIO: something else. */
static int get(const struct reach *to, const char *path, size_t max, struct http_response *rs,
	       struct err *err)
{
	AUTO(freep) char *full = mem_printf("%.*s%s", STR_ARG(to->base), path);
	struct http_request h = {
		.url = full,
		.headers = to->headers,
		.wait_ms = WAIT_MS,
		.stall_ms = WAIT_MS,
		.max_body = max,
		.tls = to->rq->tls,
		.proxy = &to->rq->proxy,
		.stop = to->rq->stop,
	};
	struct source_request rq = *to->rq;
	int rc;

	rq.max = max;
	h.tls.insecure |= to->insecure;
	if (to->cluster)
		return cluster_ask(&rq, &to->name, str_of(full), 0, rs, err);
	rc = http_fetch(&h, rs, err);
	if (rc == 0 && rs->status != 200) {
		rc = http_refusal(rs, err);
		if (rs->status == 401 || rs->status == 403)
			rc = -EACCES;
		http_response_release(rs);
	}
	return rc;
}

/* --- pages ------------------------------------------------------------------------------- */

static void add_off(struct endpoint *e, struct str line)
{
	if (e->noff < ENDPOINT_ROWS)
		e->off[e->noff++] = line;
}

/* "<tr><td>12</td><td><a href='heap?debug=1'>heap</a></td></tr>", with or without quotes. */
static bool read_row(struct str line, struct endpoint_row *row)
{
	ptrdiff_t at = str_find(line, STR("<td>"));
	struct str rest, number, name;

	if (at < 0)
		return false;
	rest = str_skip(line, (size_t)at + 4);
	if (!str_split(&rest, '<', &number) || go_parse_uint(number, 10, 64, &row->count, NULL) < 0)
		return false;
	at = str_find(rest, STR("?debug="));
	if (at < 0)
		return false;
	rest = str_skip(rest, (size_t)at);
	if (!str_split(&rest, '>', &number) || !str_split(&rest, '<', &name) || name.n == 0 ||
	    name.n > 64)
		return false;
	row->name = name;
	return true;
}

void endpoint_read_index(struct endpoint *e, struct str page)
{
	struct str line;

	while (e->nkinds < ENDPOINT_ROWS && str_split(&page, '\n', &line)) {
		struct endpoint_row row;

		if (!read_row(line, &row))
			continue;
		row.name = harmless(&e->a, row.name);
		e->kinds[e->nkinds++] = row;
	}
}

/* The value of a label: version="1.2"; "" if it is not there. */
static struct str label(struct str line, const char *name)
{
	ptrdiff_t at = str_find(line, str_of(name));
	struct str rest, value;

	if (at < 0)
		return STR("");
	rest = str_skip(line, (size_t)at + strlen(name));
	return str_split(&rest, '"', &value) && rest.n ? value : STR("");
}

static void read_off(struct endpoint *e, struct str line)
{
	struct str part = label(line, "part=\""), why = label(line, "reason=\"");

	if (str_ends(line, STR(" 0")) || !part.n)
		return;
	part = harmless(&e->a, part);
	why = harmless(&e->a, why);
	add_off(e, xarena_printf(&e->a, "%.*s: %.*s", STR_ARG(part), STR_ARG(why)));
}

void endpoint_read_metrics(struct endpoint *e, struct str text)
{
	struct str line;

	while (str_split(&text, '\n', &line)) {
		if (str_starts(line, STR("sonde_info{"))) {
			e->runtime = STR("libsonde");
			e->version = harmless(&e->a, label(line, "version=\""));
		} else if (str_starts(line, STR("go_info{")) && !str_is(e->runtime, "libsonde")) {
			e->runtime = STR("Go");
			e->version = harmless(&e->a, label(line, "version=\""));
		} else if (str_starts(line, STR("sonde_off{"))) {
			read_off(e, line);
		} else if (str_is(line, "sonde_mutex_fraction 0")) {
			add_off(e, STR("mutex: its rate is 0"));
		} else if (str_is(line, "sonde_block_rate 0")) {
			add_off(e, STR("block: its rate is 0"));
		} else if (str_is(line, "sonde_heap_rate_bytes 0")) {
			add_off(e, STR("heap: its rate is 0"));
		}
	}
}

/* --- profiles ---------------------------------------------------------------------------- */

/* Gets a profile and reads it; -EBADMSG: what came is none. */
static int get_profile(const struct reach *to, const char *path, struct profile **p,
		       struct err *err)
{
	struct http_response rs = { 0 };
	struct file_bytes b;
	int rc = get(to, path, profile_max, &rs, err);

	if (rc < 0)
		return rc;
	b = (struct file_bytes){ .p = rs.body, .n = rs.nbody };
	rs.body = NULL;
	http_response_release(&rs);
	rc = b.n ? unpack(&b, profile_max, NULL, NULL, err)
		 : err_set(err, -EBADMSG, "the answer is empty");
	if (rc == 0)
		rc = profile_decode((struct str){ b.p, b.n }, NULL, NULL, p, err);
	file_bytes_release(&b);
	if (rc == 0)
		return 0;
	(void)err_wrap(err, rc, "what came is no profile");
	return -EBADMSG;
}

/* By what is in it: files with the names of Go, or our library. */
static void guess_runtime(struct endpoint *e, const struct profile *p)
{
	for (uint32_t i = 0; i < p->nfunctions && !e->runtime.n; i++)
		if (str_ends(profile_str(p, p->functions[i].file), STR(".go")))
			e->runtime = STR("Go");
	for (uint32_t i = 0; i < p->nmappings && !e->runtime.n; i++)
		if (str_starts(str_base(profile_str(p, p->mappings[i].file)), STR("libsonde.so")))
			e->runtime = STR("libsonde");
}

static void read_text(struct endpoint *e, const struct reach *to, const char *path,
		      void (*fn)(struct endpoint *e, struct str text))
{
	struct http_response rs = { 0 };

	if (get(to, path, PAGE_MAX, &rs, NULL) < 0)
		return;
	fn(e, (struct str){ rs.body ? rs.body : "", rs.nbody });
	http_response_release(&rs);
}

static void read_program(struct endpoint *e, struct str text)
{
	e->program = harmless(&e->a, text);
}

/* A rate that is 0 leaves an empty profile, and nothing else tells. */
static void look_for_empty(struct endpoint *e)
{
	for (size_t i = 0; i < e->nkinds && !str_is(e->runtime, "libsonde"); i++) {
		const struct endpoint_row *r = &e->kinds[i];

		if (r->count == 0 && (str_is(r->name, "mutex") || str_is(r->name, "block")))
			add_off(e, xarena_printf(&e->a, "%.*s: empty, its rate may be 0",
						 STR_ARG(r->name)));
	}
}

static void describe(struct endpoint *e, const struct reach *to)
{
	struct profile *p = NULL;

	read_text(e, to, "/debug/pprof/", endpoint_read_index);
	read_text(e, to, "/debug/pprof/cmdline", read_program);
	read_text(e, to, "/metrics", endpoint_read_metrics);
	if (!e->runtime.n && get_profile(to, "/debug/pprof/goroutine", &p, NULL) == 0)
		guess_runtime(e, p);
	profile_free(p);
	look_for_empty(e);
}

static enum endpoint_state judge(int rc)
{
	switch (-rc) {
	case EACCES:
		return ENDPOINT_CLOSED;
	case EBADMSG:
	case EFBIG:
	case ELOOP:
	case EPIPE:
	case EPROTO:
	case EREMOTEIO:
		return ENDPOINT_NOT_PROFILED;
	default:
		return ENDPOINT_SILENT;
	}
}

/* The heap profile may be what is off: then the index is there. */
static bool has_index(struct endpoint *e, const struct reach *to, struct str why)
{
	read_text(e, to, "/debug/pprof/", endpoint_read_index);
	for (size_t i = 0; i < e->nkinds; i++)
		if (str_is(e->kinds[i].name, "goroutine")) {
			add_off(e, xarena_printf(&e->a, "heap: %.*s", STR_ARG(why)));
			e->nkinds = 0;
			return true;
		}
	return false;
}

int endpoint_check(const char *where, const struct source_request *rq, const char *const *headers,
		   struct endpoint *e, struct err *err)
{
	struct reach to = { .rq = rq, .headers = headers };
	struct profile *p = NULL;
	int rc;

	*e = (struct endpoint){ 0 };
	arena_init(&e->a, memory);
	rc = find(e, where, &to, err);
	if (rc < 0)
		return rc;
	rc = get_profile(&to, "/debug/pprof/heap", &p, err);
	if (rc < 0) {
		e->why = harmless(&e->a, str_of(err->msg));
		e->state = judge(rc);
		if (e->state != ENDPOINT_NOT_PROFILED || !has_index(e, &to, e->why))
			return 0;
		e->state = ENDPOINT_SERVES;
	} else {
		guess_runtime(e, p);
		e->samples = p->nsamples;
	}
	profile_free(p);
	describe(e, &to);
	return 0;
}

int endpoint_get(const char *where, const struct source_request *rq, const char *path, size_t max,
		 struct http_response *rs, struct err *err)
{
	struct reach to = { .rq = rq };
	struct endpoint e = { 0 };
	int rc;

	arena_init(&e.a, memory);
	rc = find(&e, where, &to, err);
	if (rc == 0)
		rc = get(&to, path, max, rs, err);
	endpoint_release(&e);
	return rc;
}

void endpoint_release(struct endpoint *e)
{
	arena_release(&e->a);
}
