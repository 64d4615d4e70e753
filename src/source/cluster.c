/*
 * cluster.c - profiles that are in a Kubernetes cluster, by name
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "source/cluster.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/notify.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "net/url.h"
#include "source/source.h"
#include "store/dumps.h"
#include "store/kube.h"
#include "store/place.h"

#include <errno.h>

static const char scheme[] = "kube://";

enum { WAIT_MS = 15000, PATIENCE_MS = 5000, GO_SECONDS = 30 };

bool cluster_is(const char *source)
{
	return strncmp(source, scheme, sizeof(scheme) - 1) == 0;
}

/* --- names ------------------------------------------------------------------------------- */

static bool only(struct str s, const char *letters)
{
	for (size_t i = 0; i < s.n; i++)
		if (!s.p[i] || !strchr(letters, s.p[i]))
			return false;
	return s.n > 0;
}

static bool is_object(struct str s)
{
	return s.n <= 253 && only(s, "abcdefghijklmnopqrstuvwxyz0123456789-.") && s.p[0] != '.' &&
	       s.p[0] != '-';
}

static int parse_dump(struct str name, struct cluster_name *out, struct err *err)
{
	struct str rest = name, number;

	str_split(&rest, '@', &out->prefix);
	if (!dumps_prefix_ok(out->prefix))
		return err_set(err, -EINVAL, "'%.*s' cannot be the prefix of a dump",
			       STR_ARG(out->prefix));
	if (out->prefix.n == name.n)
		return 0;
	number = rest;
	if (go_parse_uint(number, 10, 64, &out->generation, NULL) < 0 || out->generation == 0)
		return err_set(err, -EINVAL, "'%.*s' names no generation of dumps", STR_ARG(name));
	return 0;
}

/* The path must stay below the pod's: what curl makes of ".." would be another request. */
static bool path_ok(struct str path)
{
	struct str rest = path, segment;

	for (size_t i = 0; i < path.n; i++)
		if ((unsigned char)path.p[i] <= ' ' || path.p[i] == 0x7f || path.p[i] == '#')
			return false;
	str_split(&rest, '?', &path);
	while (str_split(&path, '/', &segment))
		if (str_is(segment, "..") || str_is(segment, ".") ||
		    str_find(segment, STR("%2e")) >= 0 || str_find(segment, STR("%2E")) >= 0)
			return false;
	return true;
}

static int parse_pod(struct str rest, struct cluster_name *out, struct err *err)
{
	size_t n = 0;
	struct str name;

	while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?')
		n++;
	name = (struct str){ rest.p, n };
	out->rest = str_skip(rest, n);
	out->port = name;
	str_split(&out->port, ':', &out->pod);
	if (!is_object(out->pod))
		return err_set(err, -EINVAL, "'%.*s' cannot be the name of a %s", STR_ARG(out->pod),
			       out->service ? "service" : "pod");
	if (!only(out->port, "0123456789") || out->port.n > 5)
		return err_set(err, -EINVAL, "'%.*s' is no port", STR_ARG(out->port));
	if (!path_ok(out->rest))
		return err_set(err, -EINVAL, "'%.*s' cannot be asked for", STR_ARG(out->rest));
	return 0;
}

int cluster_parse(struct str source, struct cluster_name *out, struct err *err)
{
	struct str rest = str_skip(source, sizeof(scheme) - 1), kind = rest, first;
	ptrdiff_t slash = str_find(rest, STR("/"));

	*out = (struct cluster_name){ 0 };
	if (slash < 0 || (size_t)slash + 1 == rest.n)
		return err_set(err, -EINVAL,
			       "'%.*s' names nothing: kube://namespace/prefix, or "
			       "kube://namespace/pod:port/path",
			       STR_ARG(source));
	out->namespace = (struct str){ rest.p, (size_t)slash };
	rest = kind = str_skip(rest, (size_t)slash + 1);
	if (str_split(&kind, '/', &first) && (str_is(first, "svc") || str_is(first, "pod"))) {
		out->service = str_is(first, "svc");
		return parse_pod(kind, out, err);
	}
	if (str_find(first, STR(":")) >= 0)
		return parse_pod(rest, out, err);
	return parse_dump(rest, out, err);
}

/* --- dumps ------------------------------------------------------------------------------- */

static struct store_place place_of(const struct source_request *rq)
{
	return (struct store_place){ .env = rq->env, .proxy = &rq->proxy, .stop = rq->stop };
}

static int read_dump(const struct source_request *rq, const struct cluster_name *n,
		     struct source_bytes *out, struct err *err)
{
	AUTO(freep) char *where = mem_printf("kube:%.*s", STR_ARG(n->namespace));
	AUTO(store_closep) struct store *store = NULL;
	struct store_place place = place_of(rq);
	struct arena chunks;
	struct out bytes;
	int rc;

	notify_info(rq->notify, "Fetching dump %s", rq->source);
	rc = store_open(where, &place, &store, err);
	if (rc < 0)
		return rc;
	store->notify = rq->notify;
	arena_init(&chunks, rq->max);
	out_init(&bytes, rq->max);
	rc = dumps_get(store, n->prefix, n->generation, &chunks, &bytes, NULL, err);
	arena_release(&chunks);
	if (rc == 0) {
		out->bytes = (struct file_bytes){ .p = bytes.p, .n = bytes.n };
		bytes.p = NULL;
	}
	out_release(&bytes);
	return rc;
}

/* --- pods -------------------------------------------------------------------------------- */

/* Asks for 'path', by the limits that 'h' has.  Only what comes with 200 is an answer. */
static int ask(const struct source_request *rq, const struct cluster_name *n, struct str path,
	       struct http_request *h, struct http_response *rs, struct err *err)
{
	AUTO(freep) char *namespace = mem_str(n->namespace);
	AUTO(freep) char *target = NULL, *what = NULL;
	struct store_place place = place_of(rq);
	struct kube k;
	int rc = kube_find(&place, namespace, &k, err);

	if (rc < 0)
		return rc;
	target = mem_printf("/api/v1/namespaces/%s/%s/%.*s:%.*s/proxy%.*s", k.namespace,
			    n->service ? "services" : "pods", STR_ARG(n->pod), STR_ARG(n->port),
			    STR_ARG(path));
	what = mem_printf("%.*s:%.*s", STR_ARG(n->pod), STR_ARG(n->port));
	h->max_body = rq->max;
	h->notify = rq->notify;
	rc = kube_send(&k, str_of(target), h, rs, err);
	if (rc == 0 && rs->status != 200) {
		rc = kube_refusal(&k, rs, what, err);
		http_response_release(rs);
	}
	kube_release(&k);
	return rc;
}

int cluster_ask(const struct source_request *rq, const struct cluster_name *n, struct str path,
		int64_t wait_ms, struct http_response *rs, struct err *err)
{
	struct http_request h = { .wait_ms = wait_ms ? wait_ms : WAIT_MS, .stall_ms = WAIT_MS };

	return ask(rq, n, path, &h, rs, err);
}

/* What the same program would be asked for if it were reached directly. */
static int adjust(const struct source_request *rq, const struct cluster_name *n, struct arena *a,
		  struct url_adjusted *at, struct str *path, struct err *err)
{
	struct str direct = xarena_printf(a, "http://%.*s:%.*s%.*s", STR_ARG(n->pod),
					  STR_ARG(n->port), STR_ARG(n->rest));
	size_t before = sizeof("http://:") - 1 + n->pod.n + n->port.n;
	int rc = url_adjust(direct, rq->seconds, rq->timeout, a, at);

	if (rc < 0 || at->url.n < before)
		return err_set(err, -EINVAL, "'%.*s' cannot be asked for", STR_ARG(n->rest));
	*path = str_skip(at->url, before);
	return 0;
}

static int read_pod(const struct source_request *rq, const struct cluster_name *n, struct arena *a,
		    struct source_bytes *out, struct err *err)
{
	struct http_response rs = { 0 };
	struct url_adjusted at;
	struct http_request h;
	struct str path = { "", 0 };
	int rc = adjust(rq, n, a, &at, &path, err);

	if (rc < 0)
		return rc;
	if (at.seconds == 0 && str_is(path, "/debug/pprof/profile"))
		at.seconds = GO_SECONDS;
	notify_info(rq->notify, "Fetching profile from %s %.*s:%.*s%.*s",
		    n->service ? "service" : "pod", STR_ARG(n->pod), STR_ARG(n->port),
		    STR_ARG(path));
	h = (struct http_request){ .wait_ms = at.timeout_ms + PATIENCE_MS,
				   .stall_ms = at.timeout_ms + PATIENCE_MS,
				   .expect_s = at.seconds };
	rc = ask(rq, n, path, &h, &rs, err);
	if (rc < 0)
		return rc;
	out->bytes = (struct file_bytes){ .p = rs.body, .n = rs.nbody };
	out->remote = true;
	rs.body = NULL;
	http_response_release(&rs);
	return 0;
}

int cluster_read(const struct source_request *rq, struct arena *a, struct source_bytes *out,
		 struct err *err)
{
	struct cluster_name n;
	int rc = cluster_parse(str_of(rq->source), &n, err);

	if (rc < 0)
		return rc;
	return n.prefix.n ? read_dump(rq, &n, out, err) : read_pod(rq, &n, a, out, err);
}
