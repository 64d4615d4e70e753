/*
 * web-server.h - answers for a browser
 *
 * A thread per connection, so that a slow client holds up nobody but itself, and a limit of
 * connections, so that many of them do not either.  Every answer forbids the browser to load
 * anything from elsewhere.  Where the server listens on a name of this machine's own, only this
 * machine is answered, and only under such a name: a page of a stranger cannot ask through a name
 * that it has pointed here.  What changes something is not answered to pages of other sites at all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WEB_WEB_SERVER_H
#define WEB_WEB_SERVER_H

#include "base/out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct web_server;

/* Where to listen. */
struct web_address {
	char *host; /* never empty; without brackets */
	uint16_t port;
};

/*
 * web_address_parse() reads "host:port"; an empty host is "localhost", an empty port any that is
 * free.  Release it with web_address_release().  -EINVAL and the reference's message otherwise.
 */
int web_address_parse(struct web_address *a, const char *text, struct err *err);
void web_address_release(struct web_address *a);

struct web_arg {
	const char *name, *value; /* decoded */
};

/* More parameters than these are an error; the reference knows fewer than thirty. */
enum { WEB_ARGS = 64 };

struct web_request {
	const char *path; /* behind "/ui", begins with a slash */
	bool changes;     /* POST or DELETE, and not on behalf of another site */
	bool unpacks;     /* the answer may be compressed */
	/* Of the URL; behind these, of the form that was sent. */
	struct web_arg args[WEB_ARGS];
	size_t nargs;
};

struct web_reply {
	unsigned status;
	const char *type;      /* media type */
	bool packed;           /* the body is compressed, by web_pack() */
	const char *policy;    /* Content-Security-Policy, if not that of a page */
	const char *file_name; /* to save it as, or NULL to show it */
	const char *tag;       /* changes when the body does; NULL: not to be kept */
	bool forever;          /* with a tag: need not be asked for again */
	const char *allow;     /* methods, with status 405 */
	char *location;        /* of a redirection; freed with the body */
	struct out body;
};

/* The policy of a drawing with a script of its own: it belongs to no site and reaches none. */
extern const char web_drawing_policy[];

/* A line of text instead of what was to be the answer. */
void web_say(struct web_reply *reply, unsigned status, const char *line);

/* Compresses the body, if it is of a kind and size that pays. */
void web_pack(struct web_reply *reply);

/* Decodes a value of a form in place: plus signs are blanks.  It ends at the first zero byte. */
void web_decode(char *text);

/* The value of a parameter, the first if there are several, or "". */
const char *web_arg(const struct web_request *rq, const char *name);

/*
 * "?a=b&c=d" of all parameters that have a value, but 'except' (may be NULL), then 'name' and
 * 'value' if not NULL.
 */
void web_query(const struct web_request *rq, const char *except, const char *name, struct str value,
	       struct out *o);

/*
 * web_serve() listens, and has 'answer' called for each request under /ui/, from any number of
 * threads at once, until the program ends.  'reply' comes as status 200 with an empty body.
 */
int web_serve(const struct web_address *at,
	      void (*answer)(const struct web_request *rq, struct web_reply *reply, void *ctx),
	      void *ctx, struct web_server **out, struct err *err);

/* The port it listens on. */
uint16_t web_port(const struct web_server *s);

#endif /* WEB_WEB_SERVER_H */
