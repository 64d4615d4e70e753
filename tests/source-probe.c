/*
 * source-probe.c - source_read() and http_fetch() as a program, for tests/sources.py
 *
 *	source-probe [-seconds N] [-timeout N] [-max N] [-tls_cert F] [-tls_key F] [-tls_ca F]
 *	             [-progress] SOURCE...
 *	source-probe [-wait MS] [-stall MS] [-header H]... [-method M] [-body TEXT] -http URL
 *
 * What the reference would print goes to standard error, and so do the failures, as
 * "SOURCE: why".  For each success one line "BYTES CRC URL" goes to standard output, or for
 * -http "STATUS BYTES CRC URL".  An interrupt sets the stop flag.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/notify.h"
#include "source/source.h"

#include <libdeflate.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool stop;
static bool show_progress;

static void on_interrupt(int sig)
{
	(void)sig;
	stop = true;
}

static void say(struct notify *n, enum notify_kind kind, const char *text)
{
	(void)n;
	(void)kind;
	fprintf(stderr, "%s\n", text);
}

static void progress(struct notify *n, const char *what, uint64_t done, uint64_t total,
		     const char *unit)
{
	(void)n;
	if (show_progress && what)
		fprintf(stderr, "progress %s %llu/%llu %s\n", what, (unsigned long long)done,
			(unsigned long long)total, unit);
	else if (show_progress)
		fprintf(stderr, "progress ends\n");
}

static struct notify console = { say, progress };

static const char *variable(const char *capitals, const char *small)
{
	const char *v = getenv(capitals);

	return v && *v ? v : getenv(small);
}

static struct proxy_rules rules(void)
{
	return (struct proxy_rules){ .http = variable("HTTP_PROXY", "http_proxy"),
				     .https = variable("HTTPS_PROXY", "https_proxy"),
				     .none = variable("NO_PROXY", "no_proxy"),
				     .cgi = variable("REQUEST_METHOD", "REQUEST_METHOD") };
}

static int read_one(struct source_request *rq, const char *source)
{
	struct source_bytes b = { 0 };
	struct err err = { "" };

	rq->source = source;
	if (source_read(rq, &b, &err) != 0) {
		fprintf(stderr, "%s: %s%s", source, err.msg,
			*err.msg && err.msg[strlen(err.msg) - 1] == '\n' ? "" : "\n");
		return 1;
	}
	printf("%zu %08x %s\n", b.bytes.n, libdeflate_crc32(0, b.bytes.p, b.bytes.n),
	       b.url ? b.url : "-");
	source_bytes_release(&b);
	return 0;
}

static int fetch_one(struct http_request *rq, const char *url)
{
	struct http_response r = { 0 };
	struct err err = { "" };

	rq->url = url;
	if (http_fetch(rq, &r, &err) != 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	printf("%d %zu %08x %s\n", r.status, r.nbody, libdeflate_crc32(0, r.body, r.nbody), r.url);
	http_response_release(&r);
	return 0;
}

struct options {
	struct source_request source;
	struct http_request http;
	const char *headers[8];
	int nheaders;
	const char *url;
};

/* Takes the option at argv[0]; returns how many words it was, 0 for none. */
static int option(struct options *o, char **argv)
{
	const char *name = argv[0], *value = argv[1];

	if (strcmp(name, "-progress") == 0) {
		show_progress = true;
		return 1;
	}
	if (name[0] != '-' || name[1] == 0 || !value)
		return 0;
	if (strcmp(name, "-seconds") == 0)
		o->source.seconds = strtoll(value, NULL, 10);
	else if (strcmp(name, "-timeout") == 0)
		o->source.timeout = strtoll(value, NULL, 10);
	else if (strcmp(name, "-max") == 0)
		o->http.max_body = o->source.max = strtoull(value, NULL, 10);
	else if (strcmp(name, "-tls_cert") == 0)
		o->source.tls.cert = value;
	else if (strcmp(name, "-tls_key") == 0)
		o->source.tls.key = value;
	else if (strcmp(name, "-tls_ca") == 0)
		o->source.tls.ca = value;
	else if (strcmp(name, "-wait") == 0)
		o->http.wait_ms = strtoll(value, NULL, 10);
	else if (strcmp(name, "-stall") == 0)
		o->http.stall_ms = strtoll(value, NULL, 10);
	else if (strcmp(name, "-header") == 0 && o->nheaders < 7)
		o->headers[o->nheaders++] = value;
	else if (strcmp(name, "-method") == 0)
		o->http.method = value;
	else if (strcmp(name, "-body") == 0)
		o->http.body = str_of(value);
	else if (strcmp(name, "-http") == 0)
		o->url = value;
	else
		return 0;
	return 2;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_interrupt };
	struct options o = { .source = { .proxy = rules(),
					 .notify = &console,
					 .stop = &stop,
					 .tmpdir = getenv("TMPDIR"),
					 .environment = environ } };
	int i = 1, n, failed = 0;

	sigaction(SIGINT, &act, NULL);
	while (i < argc) {
		n = option(&o, argv + i);
		if (n == 0)
			break;
		i += n;
	}
	o.http.headers = o.headers;
	o.http.tls = o.source.tls;
	o.http.proxy = &o.source.proxy;
	o.http.notify = &console;
	o.http.stop = &stop;
	if (o.url)
		return fetch_one(&o.http, o.url);
	for (; i < argc; i++)
		failed += read_one(&o.source, argv[i]);
	return failed > 0;
}
