/*
 * http.c - requests as they come over a socket
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/http.h"

#include <string.h>
#include <strings.h>

static bool is_token(char c)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
		return true;
	return c && memchr(others, c, sizeof(others) - 1) != NULL;
}

static bool is_token_text(const char *s)
{
	size_t i = 0;

	while (is_token(s[i]))
		i++;
	return i > 0 && s[i] == '\0';
}

/* Where the head ends: behind the first empty line.  0: not yet. */
static size_t find_end(const char *p, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++) {
		if (p[i] != '\n')
			continue;
		if (p[i + 1] == '\n')
			return i + 2;
		if (i + 2 < n && p[i + 1] == '\r' && p[i + 2] == '\n')
			return i + 3;
	}
	return 0;
}

/* Cuts the next line out of '*at', without its end. */
static char *take_line(char **at, char *end)
{
	char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));

	if (!stop)
		stop = end - 1;
	*at = stop + 1;
	if (stop > line && stop[-1] == '\r')
		stop--;
	*stop = '\0';
	return line;
}

static bool fail(struct sonde__http *h, const char *why)
{
	if (!h->error)
		h->error = why;
	return false;
}

static bool read_version(struct sonde__http *h, const char *v)
{
	bool shaped = strlen(v) == 8 && strncmp(v, "HTTP/", 5) == 0 && v[6] == '.';

	if (!shaped || v[5] < '0' || v[5] > '9' || v[7] < '0' || v[7] > '9')
		return fail(h, "400 Bad Request");
	if (v[5] != '1')
		return fail(h, "505 HTTP Version Not Supported: unsupported protocol version");
	h->minor = v[7] - '0';
	return true;
}

/* "/path?query", or the same behind "http://host". */
static bool read_target(struct sonde__http *h, char *target)
{
	char *query;

	if (strncasecmp(target, "http://", 7) == 0 || strncasecmp(target, "https://", 8) == 0) {
		target = strchr(target, ':') + 3;
		target += strcspn(target, "/?");
	} else if (target[0] != '/' && strcmp(target, "*") != 0) {
		return fail(h, "400 Bad Request");
	}
	for (const char *p = target; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return fail(h, "400 Bad Request");
	query = strchr(target, '?');
	if (query)
		*query++ = '\0';
	h->query = query ? query : "";
	h->path = target[0] ? target : "/";
	if (target[0] && !sonde__unescape(target, false))
		return fail(h, "400 Bad Request");
	return true;
}

static bool read_request_line(struct sonde__http *h, char *line)
{
	char *target = strchr(line, ' ');
	char *version = target ? strchr(target + 1, ' ') : NULL;

	if (!version)
		return fail(h, "400 Bad Request");
	*target++ = '\0';
	*version++ = '\0';
	h->method = line;
	if (!is_token_text(line))
		return fail(h, "400 Bad Request");
	return read_version(h, version) && read_target(h, target);
}

/* Whether 'word' is in a list separated by commas. */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	while (*list) {
		size_t len;

		list += strspn(list, " \t,");
		len = strcspn(list, " \t,");
		if (len == n && strncasecmp(list, word, n) == 0)
			return true;
		list += len;
	}
	return false;
}

static bool read_length(struct sonde__http *h, const char *value, bool *seen)
{
	uint64_t n = 0;

	if (value[0] == '\0')
		return fail(h, "400 Bad Request");
	for (; *value; value++) {
		if (*value < '0' || *value > '9' || n > UINT64_MAX / 100)
			return fail(h, "400 Bad Request");
		n = n * 10 + (uint64_t)(*value - '0');
	}
	if (*seen && n != h->length)
		return fail(h, "400 Bad Request");
	*seen = true;
	h->length = n;
	return true;
}

struct seen {
	bool host, length;
};

static bool use_header(struct sonde__http *h, const char *name, char *value, struct seen *seen)
{
	if (strcasecmp(name, "Host") == 0) {
		if (seen->host)
			return fail(h, "400 Bad Request");
		seen->host = true;
		if (strpbrk(value, " \t/\\\"<>"))
			return fail(h, "400 Bad Request: malformed Host header");
	} else if (strcasecmp(name, "Content-Length") == 0) {
		return read_length(h, value, &seen->length);
	} else if (strcasecmp(name, "Transfer-Encoding") == 0 && h->minor > 0) {
		if (h->chunked || strcasecmp(value, "chunked") != 0)
			return fail(h, "501 Not Implemented");
		h->chunked = true;
	} else if (strcasecmp(name, "Connection") == 0) {
		h->close |= has_word(value, "close");
		h->keep_alive |= has_word(value, "keep-alive");
	} else if (strcasecmp(name, "Expect") == 0) {
		h->expect = has_word(value, "100-continue");
	} else if (strcasecmp(name, "Content-Type") == 0) {
		h->content_type = value;
	} else if (strcasecmp(name, "Authorization") == 0 && h->authorization[0] == '\0') {
		h->authorization = value;
	}
	return true;
}

static bool read_header(struct sonde__http *h, char *line, struct seen *seen)
{
	char *value = strchr(line, ':');
	size_t n;

	if (!value || value == line)
		return fail(h, "400 Bad Request");
	*value++ = '\0';
	if (!is_token_text(line))
		return fail(h, "400 Bad Request: invalid header name");
	value += strspn(value, " \t");
	n = strlen(value);
	while (n > 0 && (value[n - 1] == ' ' || value[n - 1] == '\t'))
		value[--n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)value[i] < ' ' && value[i] != '\t') || value[i] == 0x7f)
			return fail(h, "400 Bad Request: invalid header value");
	return use_header(h, line, value, seen);
}

/* A line that starts with a blank goes on with the one before: joined, as Go does. */
static void join_lines(char *p, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++) {
		if (p[i] != '\n' || (p[i + 1] != ' ' && p[i + 1] != '\t'))
			continue;
		p[i] = ' ';
		if (i > 0 && p[i - 1] == '\r')
			p[i - 1] = ' ';
	}
}

static bool read_headers(struct sonde__http *h, char *at, char *end)
{
	struct seen seen = { 0 };

	if (*at == ' ' || *at == '\t')
		return fail(h, "400 Bad Request");
	join_lines(at, (size_t)(end - at));
	while (at < end) {
		char *line = take_line(&at, end);

		if (*line && !read_header(h, line, &seen))
			return false;
	}
	if (h->minor > 0 && !seen.host)
		return fail(h, "400 Bad Request: missing required Host header");
	if (h->chunked)
		h->length = 0;
	return true;
}

long sonde__http_head(char *p, size_t n, struct sonde__http *h)
{
	size_t size = find_end(p, n);
	char *at = p, *line;

	*h = (struct sonde__http){
		.method = "", .path = "", .query = "", .content_type = "", .authorization = ""
	};
	if (size == 0)
		return 0;
	if (memchr(p, '\0', size)) {
		fail(h, "400 Bad Request");
		return -1;
	}
	line = take_line(&at, p + size);
	if (!read_request_line(h, line) || !read_headers(h, at, p + size))
		return -1;
	return (long)size;
}

/* What comes next in a body of chunks. */
enum { CHUNK_SIZE, CHUNK_EXTENSION, CHUNK_DATA, CHUNK_END, TRAILER, TRAILER_LINE };
enum { EXTRA_MAX = 4096 };

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void take_size(struct sonde__chunks *c, char byte)
{
	int v = digit(byte);

	if (v >= 0 && c->extra < 8) {
		c->left = c->left * 16 + (uint64_t)v;
		c->extra++;
	} else if (c->extra == 0 || v >= 0) {
		c->bad = true;
	} else {
		c->state = byte == '\n' ? CHUNK_DATA : CHUNK_EXTENSION;
	}
}

static void take_byte(struct sonde__chunks *c, char byte)
{
	switch (c->state) {
	case CHUNK_SIZE:
		take_size(c, byte);
		break;
	case CHUNK_EXTENSION:
		if (byte == '\n')
			c->state = CHUNK_DATA;
		break;
	case CHUNK_END:
		if (byte == '\n')
			c->state = CHUNK_SIZE;
		else if (byte != '\r')
			c->bad = true;
		break;
	case TRAILER:
		c->done = byte == '\n';
		if (byte != '\r' && byte != '\n')
			c->state = TRAILER_LINE;
		break;
	default:
		if (byte == '\n')
			c->state = TRAILER;
		break;
	}
	if (c->state != CHUNK_SIZE && c->state != CHUNK_DATA && ++c->extra > EXTRA_MAX)
		c->bad = true;
	if (c->state == CHUNK_DATA && c->left == 0)
		c->state = TRAILER;
}

size_t sonde__chunks_feed(struct sonde__chunks *c, const char *p, size_t n, struct sonde__buf *body)
{
	size_t i = 0;

	while (i < n && !c->done && !c->bad) {
		size_t part = n - i;

		if (c->state != CHUNK_DATA) {
			take_byte(c, p[i++]);
			continue;
		}
		if (part > c->left)
			part = (size_t)c->left;
		sonde__buf_add(body, p + i, part);
		i += part;
		c->left -= part;
		if (c->left == 0) {
			c->state = CHUNK_END;
			c->extra = 0;
		}
	}
	return i;
}
