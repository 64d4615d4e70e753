/*
 * connection.c - one client of the server, from accept() to close()
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/connection.h"

#include "runtime/listen.h"
#include "runtime/os.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/uio.h>

static const uint64_t ms = 1000000;

/* How long a client may take, in ms. */
enum {
	HEAD_MS = 10000,  /* from its first byte to the end of the head */
	IDLE_MS = 60000,  /* to begin another request */
	BODY_MS = 30000,  /* to send a body */
	STALL_MS = 30000, /* to take another byte of the answer */
	WRITE_MS = 600000,
	LINGER_MS = 500,
};

enum { BUFFERED = 2048 }; /* longer answers go out in chunks, as from Go */

static void enter(struct sonde__connection *c, enum sonde__connection_state state)
{
	c->state = state;
	c->since = sonde__now();
	c->progress = c->since;
}

void sonde__connection_open(struct sonde__connection *c, struct sonde__fd fd,
			    const struct sockaddr_storage *peer)
{
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	sonde__place_text(peer, c->peer, sizeof(c->peer));
	c->body.max = SONDE__BODY_MAX + 1;
	enter(c, SONDE__READ_HEAD);
}

/* Everything about the request that was answered; input behind it stays. */
static void forget_request(struct sonde__connection *c)
{
	sonde__response_release(&c->job.rs);
	sonde__buf_release(&c->body);
	memset(&c->job, 0, sizeof(c->job));
	c->chunks = (struct sonde__chunks){ 0 };
	c->nout = c->nbody = c->ntail = c->sent = 0;
}

void sonde__connection_close(struct sonde__connection *c)
{
	if (c->state == SONDE__WAIT)
		sonde__job_cancel(&c->job);
	forget_request(c);
	sonde__fd_close(&c->fd);
	c->state = SONDE__FREE;
}

/* Nothing came, or nothing could go: for now, or for good. */
static void close_unless_later(struct sonde__connection *c, long result)
{
	if (result != -EAGAIN && result != -EINTR)
		sonde__connection_close(c);
}

short sonde__connection_events(const struct sonde__connection *c)
{
	switch (c->state) {
	case SONDE__WAIT:
		return POLLRDHUP;
	case SONDE__WRITE:
		return POLLOUT;
	default:
		return POLLIN;
	}
}

uint64_t sonde__connection_deadline(const struct sonde__connection *c)
{
	uint64_t stall = c->progress + STALL_MS * ms, all = c->since + WRITE_MS * ms;

	switch (c->state) {
	case SONDE__READ_HEAD:
		return c->since + (c->nin ? HEAD_MS : IDLE_MS) * ms;
	case SONDE__READ_BODY:
		return c->since + BODY_MS * ms;
	case SONDE__WAIT:
		return c->job.until;
	case SONDE__WRITE:
		return stall < all ? stall : all;
	default:
		return c->since + LINGER_MS * ms;
	}
}

/* Says what is wrong with a request that is not one, and closes. */
static void refuse(struct sonde__connection *c, const char *error)
{
	const char *text = strncmp(error, "501", 3) == 0 ? "Unsupported transfer encoding" : error;

	c->nout = sonde__format(c->out, sizeof(c->out),
				"HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
				"Connection: close\r\n\r\n%s",
				error, text);
	c->nbody = c->ntail = c->sent = 0;
	c->close = true;
	enter(c, SONDE__WRITE);
}

/* Compares all of it whatever it finds, so that time tells nothing. */
static bool may_come_in(const struct sonde__connection *c)
{
	const char *token = sonde__agent_config()->token;
	const char *given = c->http.authorization;
	size_t n = strlen(token), ngiven;
	unsigned differ;

	if (n == 0)
		return true;
	if (strncasecmp(given, "Bearer ", 7) != 0)
		return false;
	given += 7;
	given += strspn(given, " ");
	ngiven = strlen(given);
	differ = n != ngiven;
	for (size_t i = 0; i < n; i++)
		differ |= (unsigned char)token[i] ^ (unsigned char)(i < ngiven ? given[i] : 0);
	return differ == 0;
}

static void turn_away(struct sonde__connection *c)
{
	struct sonde__response *rs = &c->job.rs;

	c->job.began = sonde__now();
	sonde__respond_error(rs, 401, "Unauthorized");
	sonde__format(rs->headers, sizeof(rs->headers),
		      "Content-Type: text/plain; charset=utf-8\r\nWWW-Authenticate: Bearer\r\n"
		      "X-Content-Type-Options: nosniff\r\nX-Go-Pprof: 1\r\n");
}

/* The lines at the end of the head, in Go's order: how long the body is, and what comes after. */
static size_t format_ending(struct sonde__connection *c, char *to, size_t cap)
{
	const struct sonde__http *h = &c->http;
	size_t n = c->job.rs.nbody, at = 0;
	bool head = strcmp(h->method, "HEAD") == 0;
	bool sized = n <= BUFFERED && (n > 0 || !head);
	bool lasting = h->minor == 0 && h->keep_alive && (sized || head);

	c->close |= h->close || (h->minor == 0 && !lasting) || (!sized && !head && h->minor == 0);
	if (sized)
		at += sonde__format(to + at, cap - at, "Content-Length: %zu\r\n", n);
	if (lasting && !c->close)
		at += sonde__format(to + at, cap - at, "Connection: keep-alive\r\n");
	else if (c->close && h->minor > 0)
		at += sonde__format(to + at, cap - at, "Connection: close\r\n");
	c->nbody = head ? 0 : n;
	c->tail = "";
	if (!sized && !head && h->minor > 0) {
		at += sonde__format(to + at, cap - at, "Transfer-Encoding: chunked\r\n\r\n%llx\r\n",
				    (unsigned long long)n);
		c->tail = "\r\n0\r\n\r\n";
	} else {
		at += sonde__format(to + at, cap - at, "\r\n");
	}
	c->ntail = strlen(c->tail);
	return at;
}

static void begin_answer(struct sonde__connection *c)
{
	const struct sonde__response *rs = &c->job.rs;
	char date[32];

	sonde__job_log(&c->job);
	sonde__http_date(sonde__wall(), date);
	c->nout = sonde__format(c->out, sizeof(c->out), "HTTP/1.%d %d %s\r\n%sDate: %s\r\n",
				c->http.minor > 0, rs->status, sonde__http_status(rs->status),
				rs->headers, date);
	c->nout += format_ending(c, c->out + c->nout, sizeof(c->out) - c->nout);
	c->sent = 0;
	enter(c, SONDE__WRITE);
}

static void begin_job(struct sonde__connection *c)
{
	/* Forms are read as text. */
	sonde__buf_add(&c->body, "", 1);
	c->job.rq = (struct sonde__request){
		.method = c->http.method,
		.path = c->http.path,
		.query = c->http.query,
		.content_type = c->http.content_type,
		.body = c->body.full ? "" : c->body.p,
		.nbody = c->body.n - 1,
		.peer = c->peer,
	};
	if (may_come_in(c))
		sonde__job_start(&c->job);
	else
		turn_away(c);
	if (c->job.until)
		enter(c, SONDE__WAIT);
	else
		begin_answer(c);
}

static void take_body(struct sonde__connection *c, const char *p, size_t n, size_t *taken)
{
	if (c->http.chunked) {
		*taken = sonde__chunks_feed(&c->chunks, p, n, &c->body);
		return;
	}
	if (n > c->http.length - c->body.n)
		n = (size_t)(c->http.length - c->body.n);
	sonde__buf_add(&c->body, p, n);
	*taken = n;
}

static bool body_is_complete(const struct sonde__connection *c)
{
	return c->http.chunked ? c->chunks.done : c->body.n == c->http.length;
}

/* The head refers to the buffer, so input behind it is kept at its end until the answer is out. */
static void read_body(struct sonde__connection *c)
{
	char some[4096];
	long n = sonde__sys_recv(c->fd.fd, some, sizeof(some), MSG_PEEK);
	size_t taken;

	if (n <= 0) {
		close_unless_later(c, n);
		return;
	}
	take_body(c, some, (size_t)n, &taken);
	n = sonde__sys_recv(c->fd.fd, some, taken, 0);
	c->progress = sonde__now();
	if (c->chunks.bad || n < 0)
		refuse(c, "400 Bad Request");
	else if (c->body.full || c->body.n > SONDE__BODY_MAX)
		refuse(c, "413 Request Entity Too Large");
	else if (body_is_complete(c))
		begin_job(c);
}

static void begin_body(struct sonde__connection *c)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

	if (c->http.length > SONDE__BODY_MAX) {
		refuse(c, "413 Request Entity Too Large");
		return;
	}
	if (!c->http.chunked && c->http.length == 0) {
		begin_job(c);
		return;
	}
	if (c->http.expect && sonde__sys_send(c->fd.fd, go_on, sizeof(go_on) - 1) < 0) {
		sonde__connection_close(c);
		return;
	}
	enter(c, SONDE__READ_BODY);
}

/* Where the head ends in what is waiting: only so much is taken from the socket. */
static size_t head_part(const struct sonde__connection *c, size_t before)
{
	for (size_t i = before > 2 ? before - 2 : 0; i + 1 < c->nin; i++) {
		if (c->in[i] != '\n')
			continue;
		if (c->in[i + 1] == '\n')
			return i + 2;
		if (i + 2 < c->nin && c->in[i + 1] == '\r' && c->in[i + 2] == '\n')
			return i + 3;
	}
	return 0;
}

static void read_head(struct sonde__connection *c)
{
	size_t before = c->nin, end;
	long n = sonde__sys_recv(c->fd.fd, c->in + c->nin, sizeof(c->in) - c->nin, MSG_PEEK);

	if (n <= 0) {
		close_unless_later(c, n);
		return;
	}
	if (before == 0)
		enter(c, SONDE__READ_HEAD); /* the first byte: its time begins */
	c->nin += (size_t)n;
	end = head_part(c, before);
	if (end)
		c->nin = end;
	n = sonde__sys_recv(c->fd.fd, c->in + before, c->nin - before, 0);
	if (n != (long)(c->nin - before)) {
		sonde__connection_close(c);
		return;
	}
	if (end == 0) {
		if (c->nin == sizeof(c->in))
			refuse(c, "431 Request Header Fields Too Large");
		return;
	}
	if (sonde__http_head(c->in, c->nin, &c->http) > 0)
		begin_body(c);
	else
		refuse(c, c->http.error ? c->http.error : "400 Bad Request");
}

static void finish_answer(struct sonde__connection *c)
{
	forget_request(c);
	c->nin = 0;
	if (!c->close) {
		enter(c, SONDE__READ_HEAD);
		return;
	}
	/* A close with unread input would make the system throw the answer away. */
	sonde__syscall(SYS_shutdown, c->fd.fd, SHUT_WR, 0, 0, 0, 0);
	enter(c, SONDE__LINGER);
}

/* The parts of the answer that were not sent yet. */
static size_t parts_left(const struct sonde__connection *c, struct iovec *v)
{
	const struct iovec parts[] = {
		{ (void *)(uintptr_t)c->out, c->nout },
		{ c->job.rs.body, c->nbody },
		{ (void *)(uintptr_t)c->tail, c->ntail },
	};
	size_t skip = c->sent, n = 0;

	for (size_t i = 0; i < 3; i++) {
		if (skip >= parts[i].iov_len) {
			skip -= parts[i].iov_len;
			continue;
		}
		v[n].iov_base = (char *)parts[i].iov_base + skip;
		v[n++].iov_len = parts[i].iov_len - skip;
		skip = 0;
	}
	return n;
}

static void write_answer(struct sonde__connection *c)
{
	struct iovec v[3];
	struct msghdr m = { .msg_iov = v };
	long n = 0;

	m.msg_iovlen = parts_left(c, v);
	if (m.msg_iovlen)
		n = sonde__syscall(SYS_sendmsg, c->fd.fd, (long)&m, MSG_NOSIGNAL | MSG_DONTWAIT, 0,
				   0, 0);
	if (n < 0) {
		close_unless_later(c, n);
		return;
	}
	c->sent += (size_t)n;
	c->progress = sonde__now();
	if (c->sent == c->nout + c->nbody + c->ntail)
		finish_answer(c);
}

static void linger(struct sonde__connection *c)
{
	char some[4096];
	long n = sonde__sys_recv(c->fd.fd, some, sizeof(some), 0);

	if (n <= 0)
		close_unless_later(c, n);
}

void sonde__connection_hurry(struct sonde__connection *c)
{
	sonde__job_finish(&c->job);
	c->close = true;
	begin_answer(c);
}

static void wait_more(struct sonde__connection *c, short revents, uint64_t now)
{
	if (revents & (POLLRDHUP | POLLHUP | POLLERR)) {
		sonde__log("%s has gone away before its profile was complete", c->peer);
		sonde__connection_close(c);
	} else if (now >= c->job.until) {
		sonde__job_finish(&c->job);
		begin_answer(c);
	}
}

static bool is_late(const struct sonde__connection *c, uint64_t now)
{
	return c->state != SONDE__WAIT && now >= sonde__connection_deadline(c);
}

void sonde__connection_work(struct sonde__connection *c, short revents, uint64_t now)
{
	/* The program may have closed it while we waited. */
	if (is_late(c, now) || !sonde__fd_is_ours(&c->fd)) {
		sonde__connection_close(c);
		return;
	}
	if (c->state == SONDE__WAIT)
		wait_more(c, revents, now);
	else if (revents == 0)
		return;
	else if (c->state == SONDE__READ_HEAD)
		read_head(c);
	else if (c->state == SONDE__READ_BODY)
		read_body(c);
	else if (c->state == SONDE__LINGER)
		linger(c);
	/* Most answers fit into the buffer of the socket: no need to come back. */
	if (c->state == SONDE__WRITE)
		write_answer(c);
}
