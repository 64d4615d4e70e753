/*
 * api.c - what sonde.h promises, and what happens when the library is loaded
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/agent.h"
#include "runtime/buf.h"
#include "runtime/bypass.h"
#include "runtime/contention.h"
#include "runtime/heap.h"
#include "runtime/labels.h"
#include "runtime/listen.h"
#include "runtime/memlog.h"
#include "runtime/next-lock.h"
#include "runtime/os.h"
#include "runtime/ship.h"
#include "runtime/shortcut.h"

#include <errno.h>
#include <link.h>
#include <sonde.h>
#include <string.h>
#include <unistd.h>

enum { HEADERS = 8 };

const char *sonde_version(void)
{
	return SONDE_VERSION;
}

static bool copy(char *to, size_t cap, const char *from)
{
	size_t n = from ? strlen(from) : 0;

	if (n >= cap)
		return false;
	if (n)
		memcpy(to, from, n + 1);
	return true;
}

/* What the program was compiled with may be shorter, or longer, than what we know. */
static int read_options(const struct sonde_options *given, struct sonde__config *c)
{
	struct sonde_options o = { 0 };
	struct sonde__listen l;

	if (given->size < sizeof(given->size))
		return -EINVAL;
	memcpy(&o, given, given->size < sizeof(o) ? given->size : sizeof(o));
	if (o.preset && !sonde__config_preset(c, o.preset))
		return -EINVAL;
	if (o.addr && *o.addr && !copy(c->addr, sizeof(c->addr), o.addr))
		return -EINVAL;
	if (!copy(c->token, sizeof(c->token), o.token) || !copy(c->log, sizeof(c->log), o.log) ||
	    o.cpu_hz > SONDE__CPU_HZ_MAX)
		return -EINVAL;
	if (o.memlog_ns && o.memlog_ns < SONDE__MEMLOG_NS_MIN)
		return -EINVAL;
	if (c->addr[0] && sonde__listen_parse(&l, c->addr))
		return -EINVAL;
	if (o.heap_rate)
		c->heap_rate = o.heap_rate == SONDE_OFF ? 0 : o.heap_rate;
	if (o.cpu_hz)
		c->cpu_hz = o.cpu_hz;
	if (o.mutex_fraction)
		c->mutex_fraction = o.mutex_fraction == SONDE_OFF ? 0 : o.mutex_fraction;
	if (o.block_rate)
		c->block_rate = o.block_rate == SONDE_OFF ? 0 : o.block_rate;
	if (o.no_index)
		c->index = false;
	if (!copy(c->dump, sizeof(c->dump), o.dump) ||
	    !copy(c->dump_prefix, sizeof(c->dump_prefix), o.dump_prefix))
		return -EINVAL;
	if (!o.dump)
		sonde__config_imply_dump(c, environ);
	if (o.dump_above)
		c->dump_above = o.dump_above;
	if (o.dump_growth)
		c->dump_growth = o.dump_growth;
	c->off_after_s = o.off_after_s;
	c->label_age = o.label_age != 0;
	if (o.memlog_ns)
		c->memlog_ns = o.memlog_ns;
	c->log_call = o.log_call;
	c->log_context = o.log_context;
	c->on = true;
	return 0;
}

static int start(const struct sonde__config *c)
{
	if (c->dump[0] && !sonde__agent_is_on())
		sonde__ship_prepare(environ);
	return sonde__agent_start(c);
}

int sonde_start(const struct sonde_options *options)
{
	struct sonde__config c;
	int before = errno, rc = 0;

	sonde__config_init(&c);
	if (options)
		rc = read_options(options, &c);
	else
		sonde__config_from_env(&c, environ);
	if (rc == 0)
		rc = start(&c);
	errno = before;
	return rc;
}

void sonde_stop(void)
{
	int before = errno;

	sonde__agent_stop();
	errno = before;
}

int sonde_is_on(void)
{
	return sonde__agent_is_on();
}

uint64_t sonde_set_heap_rate(uint64_t bytes)
{
	return sonde__agent_set_heap_rate(bytes);
}

uint64_t sonde_set_mutex_fraction(uint64_t n)
{
	return sonde__contention_set_rate(SONDE__MUTEX, n);
}

uint64_t sonde_set_block_rate(uint64_t ns)
{
	return sonde__contention_set_rate(SONDE__BLOCK, ns);
}

unsigned sonde_set_cpu_hz(unsigned hz)
{
	return sonde__agent_set_cpu_hz(hz);
}

int sonde_label_set(const char *key, const char *value)
{
	int before = errno, rc = sonde__labels_set(key, value);

	errno = before;
	return rc;
}

void sonde_label_clear(const char *key)
{
	if (key)
		sonde_label_set(key, NULL);
	else
		sonde__labels_use(0);
}

unsigned sonde_label_save(void)
{
	return sonde__labels_now();
}

void sonde_label_restore(unsigned saved)
{
	sonde__labels_use(saved);
}

uint64_t sonde_set_memlog(uint64_t ns)
{
	uint64_t least = SONDE__MEMLOG_NS_MIN;
	uint64_t before = sonde__memlog_set(ns && ns < least ? least : ns);

	sonde__agent_wake();
	return before;
}

/* Splits lines into names and values, in place. */
static void split_headers(char *lines, struct sonde_header *to)
{
	size_t n = 0;

	while (*lines && n + 1 < HEADERS) {
		char *end = strstr(lines, "\r\n"), *colon = strstr(lines, ": ");

		if (!end || !colon)
			break;
		*end = '\0';
		*colon = '\0';
		to[n++] = (struct sonde_header){ lines, colon + 2 };
		lines = end + 2;
	}
	to[n] = (struct sonde_header){ NULL, NULL };
}

struct caller {
	int (*gone)(void *context);
	void *context;
};

static bool is_gone(void *ctx)
{
	const struct caller *c = ctx;

	return c->gone(c->context) != 0;
}

static int handle(const struct sonde_request *r, sonde_answer *answer, void *context)
{
	struct caller caller = { r->gone, context };
	struct sonde__buf body = { 0 };
	struct sonde__response rs = { 0 };
	struct sonde_header headers[HEADERS];
	struct sonde__request rq = {
		.method = r->method,
		.path = r->path,
		.query = r->query ? r->query : "",
		.content_type = r->content_type,
		.gone = r->gone ? is_gone : NULL,
		.ctx = &caller,
		.peer = "the program's own server",
	};
	int rc;

	sonde__buf_add(&body, r->body, r->body ? r->nbody : 0);
	sonde__buf_add(&body, "", 1); /* forms are read as text */
	if (body.full)
		return -ENOMEM;
	rq.body = body.p;
	rq.nbody = body.n - 1;
	rc = sonde__handle(&rq, &rs);
	if (rc == 0 && rs.status) {
		split_headers(rs.headers, headers);
		answer(context, rs.status, headers, rs.body, rs.nbody);
	}
	sonde__response_release(&rs);
	sonde__buf_release(&body);
	return rc;
}

int sonde_handle(const struct sonde_request *request, sonde_answer *answer, void *context)
{
	struct sonde_request r = { 0 };
	int before = errno, rc;

	if (!request || request->size < sizeof(request->size) || !answer)
		return -EINVAL;
	memcpy(&r, request, request->size < sizeof(r) ? request->size : sizeof(r));
	if (!r.method || !r.path)
		return -EINVAL;
	rc = handle(&r, answer, context);
	errno = before;
	return rc;
}

/*
 * Only a linker that makes a dynamic program knows this name.  Without a loader there is no
 * allocator behind our hooks, so it is better that -static fails, with the name of this function.
 */
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

__attribute__((noinline)) static void libsonde_needs_a_program_without_static(void)
{
	__asm__ volatile("" : : "r"(_DYNAMIC));
}

/* Finds what hooks need, and looks at the environment; unless that asks for more, that is all. */
__attribute__((constructor)) static void begin(void)
{
	struct sonde__config c;
	bool on = sonde__config_from_env(&c, environ);

	libsonde_needs_a_program_without_static();
	sonde__next_lock_find();
	sonde__shortcuts_make();
	if (!on || c.heap_rate == 0)
		sonde__bypass_malloc(environ);
	if (on) {
		start(&c);
	} else if (c.complaint[0]) {
		sonde__log_open(&c);
		sonde__log("%s", c.complaint);
	}
}

__attribute__((destructor)) static void end(void)
{
	sonde__agent_stop();
}
