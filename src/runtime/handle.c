/*
 * handle.c - which request gets which answer
 *
 * Statuses, headers, texts and the order of checks are those of Go's net/http/pprof (1.19).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/http.h"
#include "runtime/job.h"
#include "runtime/memstats.h"
#include "runtime/os.h"
#include "runtime/output.h"
#include "runtime/profiles.h"

#include <string.h>
#include <strings.h>

#define NOSNIFF "X-Content-Type-Options: nosniff\r\n"
#define TEXT    "Content-Type: text/plain; charset=utf-8\r\n"

enum { PATH_MAX_BYTES = 2048 };

void sonde__respond(struct sonde__response *rs, int status, const char *headers,
		    struct sonde__buf *body)
{
	if (body->full) {
		sonde__buf_release(body);
		sonde__respond_error(rs, 500, "out of memory");
		return;
	}
	rs->status = status;
	sonde__format(rs->headers, sizeof(rs->headers), "%s", headers);
	rs->body = (uint8_t *)body->p;
	rs->nbody = body->n;
	rs->mapped = body->cap;
}

void sonde__respond_error(struct sonde__response *rs, int status, const char *text)
{
	struct sonde__buf body = { 0 };

	sonde__buf_text(&body, text);
	sonde__buf_text(&body, "\n");
	rs->status = status;
	sonde__format(rs->headers, sizeof(rs->headers), TEXT NOSNIFF "X-Go-Pprof: 1\r\n");
	rs->body = (uint8_t *)body.p;
	rs->nbody = body.n;
	rs->mapped = body.cap;
}

void sonde__response_release(struct sonde__response *rs)
{
	sonde__unmap(rs->body, rs->mapped);
	*rs = (struct sonde__response){ 0 };
}

static bool has_form(const struct sonde__request *rq)
{
	static const char form[] = "application/x-www-form-urlencoded";
	bool body = strcmp(rq->method, "POST") == 0 || strcmp(rq->method, "PUT") == 0 ||
		    strcmp(rq->method, "PATCH") == 0;

	return body && rq->body && rq->content_type &&
	       strncasecmp(rq->content_type, form, sizeof(form) - 1) == 0;
}

bool sonde__param(const struct sonde__request *rq, const char *key, char *to, size_t cap)
{
	if (has_form(rq) && sonde__query_get(rq->body, key, to, cap))
		return true;
	return sonde__query_get(rq->query, key, to, cap);
}

/* A path as it stands in a URL. */
static void add_escaped(struct sonde__buf *b, const char *path)
{
	static const char plain[] = "-_.~$&+,/:;=@";

	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (letter || (c >= '0' && c <= '9') || strchr(plain, c))
			sonde__buf_add(b, path, 1);
		else
			sonde__buf_format(b, "%%%c%c", "0123456789ABCDEF"[c >> 4],
					  "0123456789ABCDEF"[c & 15]);
	}
}

static void redirect(struct sonde__job *job, const char *path)
{
	struct sonde__buf url = { 0 }, body = { 0 };
	char headers[sizeof(job->rs.headers)];
	bool get = strcmp(job->rq.method, "GET") == 0, head = strcmp(job->rq.method, "HEAD") == 0;

	add_escaped(&url, path);
	if (job->rq.query && *job->rq.query)
		sonde__buf_format(&url, "?%s", job->rq.query);
	sonde__buf_add(&url, "", 1);
	if (url.full || url.n > 256) {
		sonde__buf_release(&url);
		sonde__respond_error(&job->rs, 404, "Unknown profile");
		return;
	}
	sonde__format(headers, sizeof(headers), "%sLocation: %s\r\n",
		      get || head ? "Content-Type: text/html; charset=utf-8\r\n" : "", url.p);
	if (get) {
		sonde__buf_text(&body, "<a href=\"");
		sonde__buf_html(&body, url.p);
		sonde__buf_text(&body, "\">Moved Permanently</a>.\n\n");
	}
	sonde__respond(&job->rs, 301, headers, &body);
	sonde__buf_release(&url);
}

static void not_found(struct sonde__job *job)
{
	struct sonde__buf body = { 0 };

	sonde__buf_text(&body, "404 page not found\n");
	sonde__respond(&job->rs, 404, TEXT NOSNIFF, &body);
}

static void index_page(struct sonde__job *job)
{
	struct sonde__buf body = { 0 };

	if (!sonde__agent_config()->index) {
		not_found(job);
		return;
	}
	sonde__index_page(&body);
	sonde__respond(&job->rs, 200, "Content-Type: text/html; charset=utf-8\r\n" NOSNIFF, &body);
}

static void metrics(struct sonde__job *job)
{
	struct sonde__buf body = { 0 };

	sonde__metrics_page(&body);
	sonde__respond(&job->rs, 200, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n",
		       &body);
}

static void memstats(struct sonde__job *job)
{
	struct sonde__memstats s;
	struct sonde__buf body = { 0 };

	sonde__memstats(&s);
	sonde__memstats_json(&body, &s);
	sonde__respond(&job->rs, 200, "Content-Type: application/json; charset=utf-8\r\n" NOSNIFF,
		       &body);
}

static void cmdline(struct sonde__job *job)
{
	struct sonde__buf body = { 0 };
	size_t n;
	const char *text = sonde__cmdline(&n);

	sonde__buf_add(&body, text, n);
	sonde__respond(&job->rs, 200, TEXT NOSNIFF, &body);
}

static void symbol(struct sonde__job *job)
{
	bool post = strcmp(job->rq.method, "POST") == 0;
	const char *p = post ? job->rq.body : job->rq.query;
	struct sonde__buf body = { 0 };

	sonde__buf_text(&body, "num_symbols: 1\n");
	for (; p && *p; p += *p == '+') {
		size_t n = strcspn(p, "+");
		uint64_t pc = sonde__parse_address(p, n);
		const char *name = pc ? sonde__name(pc, NULL) : NULL;

		if (name) {
			sonde__buf_format(&body, "0x%llx ", (unsigned long long)pc);
			sonde__buf_text(&body, name);
			sonde__buf_text(&body, "\n");
		}
		p += n;
	}
	sonde__names_close();
	sonde__respond(&job->rs, 200, TEXT NOSNIFF, &body);
}

static const struct {
	const char *path;
	void (*answer)(struct sonde__job *job);
} routes[] = {
	{ "/metrics", metrics },
	{ "/debug/pprof/", index_page },
	{ "/debug/pprof/cmdline", cmdline },
	{ "/debug/pprof/memstats", memstats },
	{ "/debug/pprof/profile", sonde__profile_cpu },
	{ "/debug/pprof/symbol", symbol },
	{ "/debug/pprof/trace", sonde__profile_trace },
};

static void route(struct sonde__job *job, const char *path)
{
	static const char prefix[] = "/debug/pprof/";

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (strcmp(path, routes[i].path) == 0) {
			routes[i].answer(job);
			return;
		}
	}
	if (strncmp(path, prefix, sizeof(prefix) - 1) == 0)
		sonde__profile_named(job, path + sizeof(prefix) - 1);
	else
		not_found(job);
}

void sonde__job_start(struct sonde__job *job)
{
	char clean[PATH_MAX_BYTES + 2];

	job->began = sonde__now();
	job->wall = sonde__wall();
	if (strlen(job->rq.path) > PATH_MAX_BYTES) {
		not_found(job);
		return;
	}
	sonde__clean_path(job->rq.path, clean);
	if (strcmp(clean, "/debug/pprof") == 0 && sonde__agent_config()->index)
		redirect(job, "/debug/pprof/");
	else if (strcmp(clean, job->rq.path) != 0)
		redirect(job, clean);
	else
		route(job, clean);
}

void sonde__job_finish(struct sonde__job *job)
{
	job->until = 0;
	job->then(job);
}

void sonde__job_cancel(struct sonde__job *job)
{
	if (job->until && job->drop)
		job->drop(job);
	job->until = 0;
	sonde__response_release(&job->rs);
}

/* What came over the wire, made fit for a line of a log. */
static void printable(const char *text, char *to, size_t cap)
{
	size_t n = 0;

	for (; text && *text && n + 1 < cap; text++)
		to[n++] = (unsigned char)*text > ' ' && *text < 0x7f ? *text : '?';
	to[n] = '\0';
}

void sonde__job_log(const struct sonde__job *job)
{
	char method[16], path[160], query[160];
	uint64_t ms = (sonde__now() - job->began) / 1000000;

	printable(job->rq.method, method, sizeof(method));
	printable(job->rq.path, path, sizeof(path));
	printable(job->rq.query, query, sizeof(query));
	sonde__metrics_count(&job->rs);
	sonde__log("%s %s%s%s from %s: %d, %zu bytes, %llu ms", method, path, *query ? "?" : "",
		   query, job->rq.peer, job->rs.status, job->rs.nbody, (unsigned long long)ms);
}
