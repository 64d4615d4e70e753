/*
 * source.c - from the name of a profile to its bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "source/source.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/notify.h"
#include "base/out.h"
#include "net/url.h"
#include "source/cluster.h"
#include "source/perfdata.h"
#include "source/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
	PATIENCE_MS = 5000, /* the reference waits this much longer than the timeout */
	GO_SECONDS = 30,    /* how long Go's servers profile when not told */
	PROGRESS_FROM = 64 << 20,
	PROGRESS_STEP = 16 << 20,
	URL_MEMORY = 16 << 20,
};

static const int64_t NANO = 1000000000;

static void announce(const struct source_request *rq, const char *url)
{
	struct out o;

	notify_info(rq->notify, "Fetching profile over HTTP from %s", url);
	if (rq->seconds <= 0)
		return;
	out_init(&o, 0);
	go_duration(&o, rq->seconds > INT64_MAX / NANO ? INT64_MAX : rq->seconds * NANO);
	out_char(&o, 0);
	if (!o.error)
		notify_info(rq->notify, "Please wait... (%s)", o.p);
	out_release(&o);
}

static int check_readable(const char *path, struct err *err)
{
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char why[128];

	if (fd >= 0)
		return 0;
	return err_set(err, -errno, "open %s: %s", path, errno_text(errno, why, sizeof(why)));
}

int source_check_tls(const struct http_tls *tls, struct err *err)
{
	bool cert = tls->cert && *tls->cert, key = tls->key && *tls->key;
	int rc = 0;

	if (key && !cert)
		return err_set(err, -EINVAL,
			       "-tls_key is specified, so -tls_cert must also be specified");
	if (cert && !key)
		return err_set(err, -EINVAL,
			       "-tls_cert is specified, so -tls_key must also be specified");
	if (cert)
		rc = check_readable(tls->cert, err);
	if (cert && rc == 0)
		rc = check_readable(tls->key, err);
	if (rc)
		return err_wrap(err, rc,
				"could not load certificate/key pair specified by -tls_cert and "
				"-tls_key");
	if (tls->ca && *tls->ca)
		rc = check_readable(tls->ca, err);
	return rc ? err_wrap(err, rc, "could not load CA specified by -tls_ca") : 0;
}

static int64_t expected_seconds(const struct url_adjusted *at, const struct url *u)
{
	if (at->seconds == 0 && str_is(u->path, "/debug/pprof/profile"))
		return GO_SECONDS;
	return at->seconds;
}

static int check_tls_of(const struct http_request *h, const struct url *u, struct arena *a,
			struct err *err)
{
	struct str url, shown;
	struct out o;
	int rc = source_check_tls(&h->tls, err);

	if (rc == 0)
		return 0;
	url = url_print_safe(u, a);
	shown = url.p ? url_quote(url, a) : STR("");
	out_init(&o, 0);
	out_printf(&o, "Get %.*s", STR_ARG(shown));
	out_char(&o, 0);
	if (!o.error)
		err_wrap(err, rc, o.p);
	out_release(&o);
	return rc;
}

/* The request for the URL that url_adjust() made. */
static int prepare(const struct source_request *rq, const struct url_adjusted *at, struct arena *a,
		   struct http_request *h, struct err *err)
{
	int64_t stall = at->timeout_ms > at->seconds * 1000 ? at->timeout_ms : at->seconds * 1000;
	struct url u;
	struct str text;
	int rc = url_parse(at->url, a, &u, err);

	if (rc)
		return rc;
	*h = (struct http_request){ .wait_ms = at->timeout_ms + PATIENCE_MS,
				    .stall_ms = stall + PATIENCE_MS,
				    .max_body = rq->max,
				    .tls = rq->tls,
				    .proxy = &rq->proxy,
				    .notify = rq->notify,
				    .expect_s = expected_seconds(at, &u),
				    .stop = rq->stop };
	if (str_is(u.scheme, "https+insecure")) {
		u.scheme = STR("https");
		h->tls.insecure = true;
	}
	text = url_print(&u, a);
	if (!text.p)
		return err_set(err, -ENOMEM, "URL is too long");
	h->url = text.p;
	return str_is(u.scheme, "https") ? check_tls_of(h, &u, a, err) : 0;
}

static int fetch(const struct source_request *rq, const struct url_adjusted *at, struct arena *a,
		 struct source_bytes *out, struct err *err)
{
	struct http_response r = { 0 };
	struct http_request h;
	int rc;

	announce(rq, at->url.p);
	rc = prepare(rq, at, a, &h, err);
	if (rc == 0)
		rc = http_fetch(&h, &r, err);
	if (rc)
		return rc;
	if (r.status != 200) {
		rc = http_refusal(&r, err);
	} else {
		out->url = strdup(at->url.p);
		out->remote = true;
		out->bytes = (struct file_bytes){ .p = r.body, .n = r.nbody };
		r.body = NULL;
		rc = out->url ? 0 : err_set(err, -ENOMEM, "out of memory");
	}
	http_response_release(&r);
	return rc;
}

/* Brings a large file into memory piece by piece, so that there is progress to show. */
static int read_ahead(const struct source_request *rq, int fd, size_t size, struct err *err)
{
	for (size_t at = 0; at < size; at += PROGRESS_STEP) {
		if (rq->stop && *rq->stop)
			return err_set(err, -EINTR, "interrupted");
		notify_progress(rq->notify, "reading", at, size, "bytes");
		(void)readahead(fd, (off_t)at, PROGRESS_STEP);
	}
	notify_progress(rq->notify, NULL, 0, 0, NULL);
	return 0;
}

static int read_file(const struct source_request *rq, struct source_bytes *out, struct err *err)
{
	AUTO(closep) int fd = open(rq->source, O_RDONLY | O_CLOEXEC);
	char why[128];
	struct stat st;
	bool regular;
	int rc = 0;

	if (fd < 0)
		return err_set(err, -errno, "open %s: %s", rq->source,
			       errno_text(errno, why, sizeof(why)));
	regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	if (regular && perfdata_is(fd))
		return perfdata_read(rq, &out->bytes, err);
	if (regular && st.st_size >= PROGRESS_FROM && (size_t)st.st_size <= rq->max)
		rc = read_ahead(rq, fd, (size_t)st.st_size, err);
	return rc ? rc : file_map_fd(fd, rq->source, rq->max, &out->bytes, err);
}

static bool exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

static int read_any(const struct source_request *rq, struct arena *a, struct source_bytes *out,
		    struct err *err)
{
	struct url_adjusted at;
	int rc;

	if (strcmp(rq->source, "-") == 0)
		return file_map_fd(STDIN_FILENO, "-", rq->max, &out->bytes, err);
	if (exists(rq->source))
		return read_file(rq, out, err);
	if (cluster_is(rq->source))
		return cluster_read(rq, a, out, err);
	rc = url_adjust(str_of(rq->source), rq->seconds, rq->timeout, a, &at);
	if (rc == 0)
		return fetch(rq, &at, a, out, err);
	if (rc == -ENOMEM)
		return err_set(err, rc, "URL is too long");
	return read_file(rq, out, err); /* for its message */
}

int source_read(const struct source_request *rq, struct source_bytes *out, struct err *err)
{
	struct source_request full = *rq;
	struct source_bytes b = { 0 };
	struct arena a;
	int rc;

	if (full.max == 0)
		full.max = SOURCE_MAX_BYTES;
	arena_init(&a, URL_MEMORY);
	rc = read_any(&full, &a, &b, err);
	arena_release(&a);
	if (rc == 0)
		rc = unpack(&b.bytes, full.max, full.watcher, full.notify, err);
	if (rc) /* perhaps this is why */
		(void)file_bytes_check(&b.bytes, rq->source, err);
	else /* of a profile that is not packed, bytes are looked at more than once */
		rc = file_bytes_own(&b.bytes, rq->source, err);
	if (rc)
		source_bytes_release(&b);
	else
		*out = b;
	return rc;
}

void source_bytes_release(struct source_bytes *b)
{
	file_bytes_release(&b->bytes);
	free(b->url);
	b->url = NULL;
}
