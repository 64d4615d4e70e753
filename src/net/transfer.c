/*
 * transfer.c - one request and its answer over libcurl, without redirects
 *
 * libcurl's multi interface with a loop of our own, for one transfer: so that a signal is
 * noticed within a tenth of a second, and because libcurl has no limit for "time until the
 * header has come", which is the one the reference tool has.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/transfer.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/notify.h"
#include "base/out.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

enum {
	TICK_MS = 100,
	ERROR_PAGE_WAIT_MS = 5000, /* the body of an error is worth this much patience */
	ERROR_PAGE_MAX = 64 << 10,
	HEADER_MAX = 256 << 10,
	FIRST_BODY_MAX = 16 << 20, /* how much we allocate on the server's word */
	WINDOW_BYTES = 1024,
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static size_t body_limit(const struct transfer *t)
{
	return transfer_succeeded(t) ? t->rq->max_body : ERROR_PAGE_MAX;
}

/* "HTTP/1.1 404 Not Found": a new header begins, perhaps after that of a "100 Continue". */
static void begin_header(struct transfer *t, struct str line)
{
	ptrdiff_t blank = str_find(line, STR(" "));
	struct str text = str_skip(line, (size_t)(blank + 1));
	size_t n = 0;

	while (text.n && text.p[0] == ' ')
		text = str_skip(text, 1);
	for (; n < text.n && n < sizeof(t->rs.status_text) - 1; n++) {
		char c = text.p[n];

		/* It ends up on a terminal, which may obey what a stranger writes. */
		t->rs.status_text[n] = (unsigned char)c >= ' ' && c != 0x7f ? c
				       : c == '\t'                          ? c
									    : '?';
	}
	t->rs.status_text[n] = 0;
	t->rs.status = 0;
	for (size_t i = 0; i < n && i < 3 && text.p[i] >= '0' && text.p[i] <= '9'; i++)
		t->rs.status = t->rs.status * 10 + (text.p[i] - '0');
	t->header_len = 0;
}

static bool keep_line(struct transfer *t, struct str line)
{
	char *more;

	if (t->header_len + line.n + 2 > HEADER_MAX) {
		t->end = END_HEADER_SIZE;
		return false;
	}
	more = realloc(t->rs.header, t->header_len + line.n + 2);
	if (!more) {
		t->end = END_NO_MEMORY;
		return false;
	}
	t->rs.header = more;
	memcpy(more + t->header_len, line.p, line.n);
	t->header_len += line.n;
	memcpy(more + t->header_len, "\n", 2);
	t->header_len++;
	return true;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	struct str line = { p, size * n };

	while (line.n && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
		line.n--;
	if (t->header_done)
		return size * n; /* a trailer, behind the body */
	if (str_starts(line, STR("HTTP/")))
		begin_header(t, line);
	else if (line.n && !keep_line(t, line))
		return 0;
	if (line.n == 0 && t->rs.status >= 200) {
		t->header_done = true;
		t->since_ms = now_ms();
	}
	return size * n;
}

static size_t first_size(struct transfer *t, size_t need)
{
	curl_off_t says = -1;

	t->curl->easy_getinfo(t->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &says);
	if (says > FIRST_BODY_MAX)
		says = FIRST_BODY_MAX;
	return says > (curl_off_t)need ? (size_t)says : need + 4096;
}

static bool grow_body(struct transfer *t, size_t need)
{
	size_t cap = t->body_cap ? t->body_cap : first_size(t, need);
	char *more;

	if (need <= t->body_cap)
		return true;
	while (cap < need)
		cap *= 2;
	more = realloc(t->rs.body, cap);
	if (!more) {
		t->end = END_NO_MEMORY;
		return false;
	}
	t->rs.body = more;
	t->body_cap = cap;
	return true;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	size_t len = size * n, room = body_limit(t) - t->rs.nbody;

	if (len > room) {
		t->end = transfer_succeeded(t) ? END_TOO_LARGE : END_ENOUGH;
		return 0;
	}
	if (!grow_body(t, t->rs.nbody + len))
		return 0;
	memcpy(t->rs.body + t->rs.nbody, p, len);
	t->rs.nbody += len;
	return len;
}

/* Remembers the first address tried, for "dial tcp ADDRESS: connect: connection refused". */
static curl_socket_t on_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *addr)
{
	struct transfer *t = ctx;

	if (purpose == CURLSOCKTYPE_IPCXN && !t->dialled && addr->addrlen <= sizeof(t->dial)) {
		t->dialled = true;
		memcpy(&t->dial, (const void *)&addr->addr, addr->addrlen);
	}
	return socket(addr->family, addr->socktype | SOCK_CLOEXEC, addr->protocol);
}

static int64_t stall_ms(const struct transfer *t)
{
	int64_t ms = t->rq->stall_ms;

	return transfer_succeeded(t) || ms < ERROR_PAGE_WAIT_MS ? ms : ERROR_PAGE_WAIT_MS;
}

/* Until the request has been sent, libcurl's own limit on connecting is in force. */
static void note_sending(struct transfer *t, int64_t now)
{
	curl_off_t ready = 0, sent = 0;

	t->curl->easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &ready);
	t->curl->easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	if (ready == 0 || sent != t->sent)
		t->since_ms = t->sent_ms = now;
	t->sent = sent;
}

static void check_limits(struct transfer *t, int64_t now)
{
	if (t->rq->stop && *t->rq->stop) {
		t->end = END_STOPPED;
	} else if (!t->header_done) {
		note_sending(t, now);
		if (now - t->since_ms > t->rq->wait_ms)
			t->end = END_NO_HEADER;
	} else if (t->rs.nbody - t->window >= WINDOW_BYTES) {
		t->window = t->rs.nbody;
		t->since_ms = now;
	} else if (now - t->since_ms > stall_ms(t)) {
		t->end = END_STALLED;
	}
}

static void show_progress(struct transfer *t, int64_t now)
{
	curl_off_t total = 0;

	if (now - t->shown_ms < TICK_MS)
		return;
	t->shown_ms = now;
	if (!t->header_done) {
		notify_progress(t->rq->notify, t->rq->expect_s > 0 ? "profiling" : "waiting",
				(uint64_t)(now - t->sent_ms) / 1000,
				t->rq->expect_s > 0 ? (uint64_t)t->rq->expect_s : 0, "s");
		return;
	}
	t->curl->easy_getinfo(t->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &total);
	notify_progress(t->rq->notify, "fetching", t->rs.nbody, total > 0 ? (uint64_t)total : 0,
			"bytes");
}

/* Lets libcurl work until it is done or 't->end' is set. */
static CURLcode drive(struct transfer *t, CURLM *multi)
{
	CURLcode code = CURLE_OUT_OF_MEMORY;
	int running = 1, left;
	CURLMsg *msg;

	t->since_ms = t->sent_ms = t->shown_ms = now_ms();
	if (t->curl->multi_add_handle(multi, t->easy) != CURLM_OK)
		return code;
	while (t->curl->multi_perform(multi, &running) == CURLM_OK && running) {
		int64_t now = now_ms();

		check_limits(t, now);
		if (t->end != END_NOT_YET)
			break;
		show_progress(t, now);
		t->curl->multi_poll(multi, NULL, 0, TICK_MS, NULL);
	}
	msg = t->curl->multi_info_read(multi, &left);
	if (msg && msg->msg == CURLMSG_DONE)
		code = msg->data.result;
	notify_progress(t->rq->notify, NULL, 0, 0, NULL);
	return code;
}

static bool proves_identity(const char *header)
{
	return strncasecmp(header, "Authorization:", 14) == 0 ||
	       strncasecmp(header, "Cookie:", 7) == 0;
}

static void add_header(struct transfer *t, const char *text)
{
	struct curl_slist *more = t->curl->slist_append(t->headers, text);

	if (more)
		t->headers = more;
	else
		t->end = END_NO_MEMORY;
}

static void set_headers(struct transfer *t)
{
	for (const char *const *h = t->rq->headers; h && *h; h++)
		if (!t->keep_secrets || !proves_identity(*h))
			add_header(t, *h);
	add_header(t, "Expect:");
	t->curl->easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
}

static void set_method(struct transfer *t)
{
	CURLcode (*set)(CURL * h, CURLoption option, ...) = t->curl->easy_setopt;

	if (t->body.n || strcmp(t->method, "POST") == 0) {
		set(t->easy, CURLOPT_POSTFIELDS, t->body.n ? t->body.p : "");
		set(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->body.n);
	}
	if (strcmp(t->method, "HEAD") == 0)
		set(t->easy, CURLOPT_NOBODY, 1L);
	else
		set(t->easy, CURLOPT_CUSTOMREQUEST, t->method);
}

static void set_tls(struct transfer *t)
{
	CURLcode (*set)(CURL * h, CURLoption option, ...) = t->curl->easy_setopt;
	const struct http_tls *tls = &t->rq->tls;

	if (tls->insecure) {
		set(t->easy, CURLOPT_SSL_VERIFYPEER, 0L);
		set(t->easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (tls->ca && *tls->ca) {
		set(t->easy, CURLOPT_CAINFO, tls->ca);
		set(t->easy, CURLOPT_CAPATH, NULL);
	}
	if (tls->cert && *tls->cert)
		set(t->easy, CURLOPT_SSLCERT, tls->cert);
	if (tls->key && *tls->key)
		set(t->easy, CURLOPT_SSLKEY, tls->key);
}

/* Go connects ":6060" to this machine; libcurl wants a name. */
static struct str local_host(struct str port, struct arena *a)
{
	struct str host = { NULL, 0 };
	struct out o;

	out_init(&o, 0);
	out_text(&o, port.n ? "localhost:" : "localhost");
	out_str(&o, port);
	if (!o.error)
		host = arena_str(a, out_view(&o));
	out_release(&o);
	return host;
}

static int set_url(struct transfer *t, struct err *err)
{
	struct url u = t->url;
	struct str text = STR("");

	if (url_hostname(&u).n == 0)
		u.host = local_host(url_port(&u), t->mem);
	u.fragment = STR("");
	if (u.host.p)
		text = url_print(&u, t->mem);
	if (!text.n)
		return err_set(err, -ENOMEM, "URL is too long");
	t->curl->easy_setopt(t->easy, CURLOPT_URL, text.p);
	return 0;
}

static void set_options(struct transfer *t)
{
	CURLcode (*set)(CURL * h, CURLoption option, ...) = t->curl->easy_setopt;

	set(t->easy, CURLOPT_NOSIGNAL, 1L);
	set(t->easy, CURLOPT_QUICK_EXIT, 1L); /* do not wait for a name server to the end */
	set(t->easy, CURLOPT_ERRORBUFFER, t->why);
	set(t->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	set(t->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	set(t->easy, CURLOPT_PATH_AS_IS, 1L);
	set(t->easy, CURLOPT_USERAGENT, "sonde");
	set(t->easy, CURLOPT_ACCEPT_ENCODING, "gzip");
	set(t->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	set(t->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)t->rq->wait_ms);
	set(t->easy, CURLOPT_TCP_KEEPALIVE, 1L);
	/* "" keeps libcurl from looking at the environment itself. */
	set(t->easy, CURLOPT_PROXY, t->proxy.n ? t->proxy.p : "");
	set(t->easy, CURLOPT_NOPROXY, "");
	set(t->easy, CURLOPT_HEADERFUNCTION, on_header);
	set(t->easy, CURLOPT_HEADERDATA, t);
	set(t->easy, CURLOPT_WRITEFUNCTION, on_body);
	set(t->easy, CURLOPT_WRITEDATA, t);
	set(t->easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
	set(t->easy, CURLOPT_OPENSOCKETDATA, t);
	set_method(t);
	set_headers(t);
	set_tls(t);
}

/*
 * A TLS library writes to sockets without asking not to be signalled.  Blocking SIGPIPE in
 * this thread is the one way that does not change what other threads see.
 */
static CURLcode drive_without_sigpipe(struct transfer *t, CURLM *multi)
{
	static const struct timespec at_once = { 0, 0 };
	sigset_t pipe, old, pending;
	CURLcode code;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &old);
	code = drive(t, multi);
	sigpending(&pending);
	if (sigismember(&pending, SIGPIPE) && !sigismember(&old, SIGPIPE))
		sigtimedwait(&pipe, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return code;
}

/* libcurl resolves "Location: ../x" for us. */
static void note_location(struct transfer *t)
{
	const char *url = NULL;

	t->curl->easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &url);
	if (url)
		t->location = arena_str(t->mem, str_of(url));
}

struct http_line {
	const struct curl_calls *curl;
	CURLM *multi; /* libcurl keeps connections there */
};

struct http_line *http_line_open(struct err *err)
{
	struct http_line *line = calloc(1, sizeof(*line));

	if (line && curl_load(&line->curl, err) == 0)
		line->multi = line->curl->multi_init();
	if (line && line->multi)
		return line;
	free(line);
	return NULL;
}

void http_line_close(struct http_line *line)
{
	if (line)
		line->curl->multi_cleanup(line->multi);
	free(line);
}

int transfer_run(struct transfer *t, struct err *err)
{
	CURLM *multi = t->rq->line ? t->rq->line->multi : t->curl->multi_init();
	CURLcode code = CURLE_OUT_OF_MEMORY;
	bool error_page;
	int rc = -ENOMEM;

	t->easy = t->curl->easy_init();
	if (multi && t->easy) {
		set_options(t);
		rc = set_url(t, err);
	}
	if (rc == 0 && t->end == END_NOT_YET)
		code = drive_without_sigpipe(t, multi);
	error_page = t->header_done && !transfer_succeeded(t) && t->end != END_STOPPED;
	if (!error_page && (code != CURLE_OK || t->end != END_NOT_YET))
		rc = transfer_explain(t, code, err);
	if (multi && t->easy)
		t->curl->multi_remove_handle(multi, t->easy);
	if (t->easy) {
		note_location(t);
		t->curl->easy_cleanup(t->easy);
	}
	if (multi && !t->rq->line)
		t->curl->multi_cleanup(multi);
	t->curl->slist_free_all(t->headers);
	t->headers = NULL;
	t->easy = NULL;
	return rc;
}
