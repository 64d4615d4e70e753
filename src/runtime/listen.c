/*
 * listen.c - the places where the server listens
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/listen.h"

#include "runtime/http.h"
#include "runtime/os.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

enum { BACKLOG = 128, HOSTS_MAX = 1 << 20 };

static bool is_loopback(const struct sockaddr_storage *at)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)at;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)at;

	if (at->ss_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	if (at->ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
	return true;
}

static void add_place(struct sonde__listen *l, const void *at, size_t size)
{
	struct sonde__place *p = &l->places[l->nplaces];

	if (l->nplaces == SONDE__LISTENERS)
		return;
	memcpy(&p->at, at, size);
	p->size = (socklen_t)size;
	if (!is_loopback(&p->at))
		l->exposed = true;
	l->nplaces++;
}

static bool add_literal(struct sonde__listen *l, const char *host, uint16_t port)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	if (inet_pton(AF_INET, host, &four.sin_addr) == 1)
		add_place(l, &four, sizeof(four));
	else if (inet_pton(AF_INET6, host, &six.sin6_addr) == 1)
		add_place(l, &six, sizeof(six));
	else
		return false;
	return true;
}

/* One line of /etc/hosts: an address, and its names. */
static void use_hosts_line(struct sonde__listen *l, char *line, const char *host, uint16_t port)
{
	char *rest;

	line[strcspn(line, "#")] = '\0';
	line += strspn(line, " \t");
	rest = line + strcspn(line, " \t");
	while (*rest) {
		size_t n;

		*rest++ = '\0';
		rest += strspn(rest, " \t");
		n = strcspn(rest, " \t\r");
		if (n == strlen(host) && strncasecmp(rest, host, n) == 0) {
			add_literal(l, line, port);
			return;
		}
		rest += n;
	}
}

static void look_up(struct sonde__listen *l, const char *host, uint16_t port)
{
	size_t size, mapped;
	char *text = sonde__slurp("/etc/hosts", HOSTS_MAX, &size, &mapped);

	if (!text)
		return;
	text[size] = '\0';
	for (char *line = text; *line;) {
		size_t n = strcspn(line, "\n");
		bool last = line[n] == '\0';

		line[n] = '\0';
		use_hosts_line(l, line, host, port);
		line += n + !last;
	}
	sonde__unmap(text, mapped);
}

static void add_localhost(struct sonde__listen *l, uint16_t port)
{
	add_literal(l, "127.0.0.1", port);
	/* A port that the system chooses would be another one. */
	if (port)
		add_literal(l, "::1", port);
}

static const char *parse_unix(struct sonde__listen *l, const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t n = strlen(path);

	if (n == 0 || n >= sizeof(un.sun_path))
		return "the path is empty or too long";
	memcpy(un.sun_path, path, n + 1);
	if (path[0] == '@')
		un.sun_path[0] = '\0';
	add_place(l, &un, offsetof(struct sockaddr_un, sun_path) + n + (path[0] != '@'));
	return NULL;
}

static const char *parse_port(const char *text, uint16_t *port)
{
	int64_t v;

	if (!sonde__parse_int(text, &v) || v < 0 || v > 65535 || *text == '+' || *text == '-')
		return "the port is not a number up to 65535";
	*port = (uint16_t)v;
	return NULL;
}

/* Splits "host:port" and "[host]:port". */
static const char *split(const char *addr, char *host, size_t cap, const char **port)
{
	const char *colon = strrchr(addr, ':');
	size_t n;

	if (!colon || strchr(colon, ']'))
		return "missing port in address";
	n = (size_t)(colon - addr);
	if (addr[0] == '[') {
		if (n < 2 || addr[n - 1] != ']')
			return "missing ']' in address";
		addr++;
		n -= 2;
	} else if (memchr(addr, ':', n)) {
		return "too many colons in address";
	}
	if (n >= cap)
		return "the name is too long";
	memcpy(host, addr, n);
	host[n] = '\0';
	*port = colon + 1;
	return NULL;
}

const char *sonde__listen_parse(struct sonde__listen *l, const char *addr)
{
	char host[256];
	const char *port_text, *why;
	uint16_t port = 0;

	*l = (struct sonde__listen){ 0 };
	if (strncmp(addr, "unix:", 5) == 0)
		return parse_unix(l, addr + 5);
	why = split(addr, host, sizeof(host), &port_text);
	if (!why)
		why = parse_port(port_text, &port);
	if (why)
		return why;
	if (host[0] == '\0' || strcmp(host, "*") == 0) {
		add_literal(l, "::", port);
	} else if (!add_literal(l, host, port)) {
		if (strcasecmp(host, "localhost") == 0)
			add_localhost(l, port);
		else
			look_up(l, host, port);
	}
	return l->nplaces ? NULL : "the name is not in /etc/hosts";
}

/* Whether the file of a unix socket is one that nobody listens on any more. */
static bool is_stale(const struct sonde__place *p)
{
	long fd = sonde__sys_socket(AF_UNIX, SOCK_STREAM), rc;

	if (fd < 0)
		return false;
	rc = sonde__syscall(SYS_connect, fd, (long)&p->at, p->size, 0, 0, 0);
	sonde__sys_close((int)fd);
	return rc == -ECONNREFUSED;
}

static int bind_place(int fd, const struct sonde__place *p)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)&p->at;
	long rc = sonde__syscall(SYS_bind, fd, (long)&p->at, p->size, 0, 0, 0);
	struct stat st;

	if (rc != -EADDRINUSE || p->at.ss_family != AF_UNIX || un->sun_path[0] == '\0')
		return (int)rc;
	if (sonde__syscall(SYS_newfstatat, AT_FDCWD, (long)un->sun_path, (long)&st,
			   AT_SYMLINK_NOFOLLOW, 0, 0) < 0 ||
	    !S_ISSOCK(st.st_mode) || !is_stale(p) || sonde__sys_unlink(un->sun_path) < 0)
		return -EADDRINUSE;
	return (int)sonde__syscall(SYS_bind, fd, (long)&p->at, p->size, 0, 0, 0);
}

static bool is_all(const struct sonde__place *p)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&p->at;

	return p->at.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
}

static void set_option(int fd, int level, int option, int value)
{
	sonde__syscall(SYS_setsockopt, fd, level, option, (long)&value, sizeof(value), 0);
}

/* 0 or a negative errno. */
static int open_place(const struct sonde__place *p, struct sonde__fd *to)
{
	int family = p->at.ss_family, rc;
	long fd = sonde__sys_socket(family, SOCK_STREAM);

	if (fd < 0)
		return (int)fd;
	if (family == AF_UNIX) /* the mode its file will have */
		sonde__syscall(SYS_fchmod, fd, 0600, 0, 0, 0, 0);
	else
		set_option((int)fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (family == AF_INET6)
		set_option((int)fd, IPPROTO_IPV6, IPV6_V6ONLY, !is_all(p));
	rc = bind_place((int)fd, p);
	if (rc == 0)
		rc = (int)sonde__syscall(SYS_listen, fd, BACKLOG, 0, 0, 0, 0);
	if (rc < 0) {
		sonde__sys_close((int)fd);
		return rc;
	}
	return sonde__fd_take(to, fd) ? 0 : -EMFILE;
}

/* All addresses, on a machine that has no IPv6. */
static int open_all_ipv4(struct sonde__listen *l, struct sonde__fd *to)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&l->places[0].at;
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = six->sin6_port };
	struct sonde__place p = { .size = sizeof(four) };

	memcpy(&p.at, &four, sizeof(four));
	return open_place(&p, to);
}

int sonde__listen_open(struct sonde__listen *l)
{
	int worst = -EADDRNOTAVAIL;

	for (size_t i = 0; i < l->nplaces; i++) {
		int rc = open_place(&l->places[i], &l->fds[l->nfds]);

		if (rc == -EAFNOSUPPORT && is_all(&l->places[i]))
			rc = open_all_ipv4(l, &l->fds[l->nfds]);
		if (rc == 0)
			l->nfds++;
		/* A machine without ::1 is not worth a word. */
		else if (i == 0 || rc == -EADDRINUSE)
			worst = rc;
	}
	if (l->nfds == 0 || (worst == -EADDRINUSE && l->nfds < l->nplaces)) {
		sonde__listen_close(l, l->nfds > 0);
		return worst;
	}
	l->bound = l->places[0].at.ss_family == AF_UNIX;
	return 0;
}

void sonde__listen_close(struct sonde__listen *l, bool remove)
{
	const struct sockaddr_un *un = (const struct sockaddr_un *)&l->places[0].at;

	for (size_t i = 0; i < l->nfds; i++)
		sonde__fd_close(&l->fds[i]);
	l->nfds = 0;
	if (remove && l->bound && un->sun_path[0])
		sonde__sys_unlink(un->sun_path);
	l->bound = false;
}

void sonde__place_text(const struct sockaddr_storage *at, char *to, size_t cap)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)at;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)at;
	const struct sockaddr_un *un = (const struct sockaddr_un *)at;
	char host[INET6_ADDRSTRLEN] = "?";

	if (at->ss_family == AF_INET) {
		inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
		sonde__format(to, cap, "%s:%d", host, ntohs(four->sin_port));
	} else if (at->ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
		inet_ntop(AF_INET, &six->sin6_addr.s6_addr[12], host, sizeof(host));
		sonde__format(to, cap, "%s:%d", host, ntohs(six->sin6_port));
	} else if (at->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
		sonde__format(to, cap, "[%s]:%d", host, ntohs(six->sin6_port));
	} else if (un->sun_path[0]) {
		sonde__format(to, cap, "unix:%s", un->sun_path);
	} else {
		sonde__format(to, cap, "unix:@%s", un->sun_path + 1);
	}
}
