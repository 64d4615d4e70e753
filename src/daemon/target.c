/*
 * target.c - a program whose profiles are fetched over HTTP
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "daemon/target.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/xalloc.h"
#include "daemon/command.h"
#include "profile/decode.h"
#include "profile/profile.h"
#include "source/cluster.h"
#include "source/source.h"
#include "source/unpack.h"
#include "store/place.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { COMM_MAX = 64 };
static const size_t body_max = (size_t)1 << 30, content_max = (size_t)4 << 30;
static const size_t text_max = 64 << 20;

static bool waits(const struct target *t, struct str kind, uint64_t *rate)
{
	*rate = str_is(kind, "mutex") ? t->mutex : str_is(kind, "block") ? t->block : 0;
	return *rate > 0 || str_is(kind, "profile") || str_is(kind, "trace");
}

char *target_url(const struct target *t, struct str base, struct str kind)
{
	static const struct str path = { "/debug/pprof", 12 };
	AUTO(freep) char *rates = NULL;
	uint64_t rate;

	while (base.n && base.p[base.n - 1] == '/')
		base.n--;
	if (!waits(t, kind, &rate))
		return mem_printf("%.*s%s/%.*s", STR_ARG(base), str_ends(base, path) ? "" : path.p,
				  STR_ARG(kind));
	rates = rate ? mem_printf("&rate=%" PRIu64, rate) : mem_str(STR(""));
	return mem_printf("%.*s%s/%.*s?seconds=%" PRId64 "%s", STR_ARG(base),
			  str_ends(base, path) ? "" : path.p, STR_ARG(kind), t->seconds, rates);
}

/* Reads it as the tool would, and forgets it again. */
static int check_profile(const struct http_response *rs, struct err *err)
{
	struct file_bytes b = { 0 };
	struct profile *p = NULL;
	int rc;

	b.p = mem_new(rs->nbody, 1);
	memcpy(b.p, rs->body, rs->nbody);
	b.n = rs->nbody;
	rc = unpack(&b, content_max, NULL, NULL, err);
	if (rc == 0)
		rc = profile_decode((struct str){ b.p, b.n }, NULL, NULL, &p, err);
	profile_free(p);
	file_bytes_release(&b);
	return rc < 0 ? err_wrap(err, rc, "what came is no profile") : 0;
}

static int check_answer(const struct http_response *rs, struct str kind, struct err *err)
{
	if (rs->status != 200)
		return http_refusal(rs, err);
	if (rs->nbody == 0)
		return err_set(err, -EBADMSG, "the answer is empty");
	if (str_is(kind, "trace"))
		return 0;
	return check_profile(rs, err);
}

/* How to ask: for what, how, and how long. */
struct question {
	const struct target *t;
	struct str base, kind;
	struct http_line *line;
	const atomic_bool *stop;
	size_t max;
	int (*check)(const struct http_response *rs, struct str kind, struct err *err);
};

static int64_t wait_ms(const struct question *q)
{
	uint64_t rate;

	return q->t->timeout_ms + (waits(q->t, q->kind, &rate) ? q->t->seconds * 1000 : 0);
}

static int ask_directly(const struct question *q, const char *url, struct http_response *rs,
			struct err *err)
{
	const struct target *t = q->t;
	AUTO(freep) char *cert = mem_str(t->cert), *key = mem_str(t->key), *ca = mem_str(t->ca);
	AUTO(freep) char *token = mem_str(t->token_file), *auth = NULL;
	const char *headers[2] = { NULL };
	struct http_request rq = {
		.url = url,
		.headers = headers,
		.wait_ms = wait_ms(q),
		.stall_ms = t->timeout_ms,
		.max_body = q->max,
		.tls = { cert, key, ca, t->insecure },
		.line = q->line,
		.proxy = daemon_place()->proxy,
		.stop = q->stop,
	};
	int rc = *token ? http_token(token, &auth, err) : 0;

	headers[0] = auth;
	return rc < 0 ? rc : http_fetch(&rq, rs, err);
}

/* A pod is asked through the API server, with this process's rights there. */
static int ask_pod(const struct question *q, const char *url, struct http_response *rs,
		   struct err *err)
{
	const struct store_place *place = daemon_place();
	struct source_request rq = {
		.max = q->max, .proxy = *place->proxy, .stop = q->stop, .env = place->env
	};
	struct cluster_name n;
	int rc = cluster_parse(str_of(url), &n, err);

	return rc < 0 ? rc : cluster_ask(&rq, &n, n.rest, wait_ms(q), rs, err);
}

static int ask(const struct question *q, struct http_response *rs, struct err *err)
{
	AUTO(freep) char *url = target_url(q->t, q->base, q->kind);
	int rc;

	*rs = (struct http_response){ 0 };
	rc = cluster_is(url) ? ask_pod(q, url, rs, err) : ask_directly(q, url, rs, err);
	if (rc < 0)
		return rc;
	rc = q->check(rs, q->kind, err);
	if (rc < 0) {
		http_response_release(rs);
		return err_wrap(err, rc, url);
	}
	return 0;
}

int target_fetch(const struct target *t, struct str base, struct str kind, struct http_line *line,
		 const atomic_bool *stop, struct http_response *rs, struct err *err)
{
	struct question q = { t, base, kind, line, stop, body_max, check_answer };

	return ask(&q, rs, err);
}

static int check_status(const struct http_response *rs, struct str kind, struct err *err)
{
	(void)kind;
	return rs->status == 200 ? 0 : http_refusal(rs, err);
}

int target_text(const struct target *t, struct str base, struct str kind, struct http_line *line,
		const atomic_bool *stop, struct http_response *rs, struct err *err)
{
	struct question q = { t, base, kind, line, stop, text_max, check_status };

	return ask(&q, rs, err);
}

/* The name of a process: of its file, or the shorter one that the kernel has. */
static bool is_process(const char *pid, struct str name)
{
	char path[64], exe[4096];
	struct file_bytes b;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%s/exe", pid);
	n = readlink(path, exe, sizeof(exe));
	if (n > 0 && str_eq(str_base((struct str){ exe, (size_t)n }), name))
		return true;
	(void)snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	if (file_read(path, COMM_MAX, &b, NULL) < 0)
		return false;
	n = str_eq(str_trim((struct str){ b.p, b.n }), name);
	file_bytes_release(&b);
	return n != 0;
}

bool process_runs(struct str name)
{
	DIR *proc = opendir("/proc");
	bool found = false;

	for (struct dirent *e = proc ? readdir(proc) : NULL; e && !found; e = readdir(proc))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			found = is_process(e->d_name, name);
	if (proc)
		closedir(proc);
	return found;
}
