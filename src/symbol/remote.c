/*
 * remote.c - ask the server a profile came from for the names of its functions
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/remote.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "net/url.h"
#include "symbol/binary.h"
#include "symbol/lines.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

enum { URL_MEMORY = 16 << 20 };

/* ------------------------------------------------------------------ where profiles came from */

void remote_sources_add(struct remote_sources *s, struct profile *p, const char *url)
{
	for (uint32_t i = 0; i < p->nmappings; i++) {
		struct mapping *m = &p->mappings[i];

		if (m->build_id == 0 && m->file == 0)
			m->file = profile_intern_copy(p, str_of(url));
		struct remote_source one = {
			.key = mem_str(profile_str(p, m->build_id ? m->build_id : m->file)),
			.url = mem_str(str_of(url)),
			.start = m->start,
		};
		vec_push(s->at, s->n, s->cap, one);
	}
}

void remote_sources_move(struct remote_sources *s, struct remote_sources *from)
{
	for (size_t i = 0; i < from->n; i++)
		vec_push(s->at, s->n, s->cap, from->at[i]);
	free(from->at);
	*from = (struct remote_sources){ 0 };
}

void remote_sources_release(struct remote_sources *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->at[i].key);
		free(s->at[i].url);
	}
	free(s->at);
	*s = (struct remote_sources){ 0 };
}

/* ------------------------------------------------------------------ whom to ask */

static bool is_gperftools_path(struct str path)
{
	static const char *const ends[] = {
		"/pprof/heap",       "/pprof/growth",     "/pprof/profile",
		"/pprof/pmuprofile", "/pprof/contention",
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (str_ends(path, str_of(ends[i])))
			return true;
	}
	return false;
}

/* Where the server of the profile at 'source' tells names; false if that is no server's. */
static bool symbol_url(const char *source, struct arena *a, struct url *u)
{
	if (url_parse(str_of(source), a, u, NULL) < 0 || u->host.n == 0)
		return false;
	if (str_find(u->path, STR("/debug/pprof/")) >= 0 || is_gperftools_path(u->path))
		u->path = go_path_clean(a, xarena_printf(a, "%.*s/../symbol", STR_ARG(u->path)));
	else
		u->path = STR("/symbolz");
	u->raw_path = STR("");
	u->query = STR("");
	return true;
}

/* The questions to one server about one mapping, and where the answers go. */
struct inquiry {
	struct profile *p;
	const struct remote_options *options;
	struct line_adder *adder;
	struct arena *arena;
	struct url url;
	uint32_t mapping;
	int64_t offset; /* from addresses of the profile to those of the server */
};

/* The first source that knows about mapping 'i'; by name before by build id. */
static bool find_source(struct inquiry *q, uint32_t i)
{
	const struct mapping *m = &q->p->mappings[i];
	const struct remote_sources *all = q->options->sources;
	uint32_t keys[] = { m->file, m->build_id };

	q->mapping = i;
	for (size_t k = 0; k < 2; k++) {
		struct str key = profile_str(q->p, keys[k]);

		for (size_t j = 0; key.n && j < all->n; j++) {
			if (!str_is(key, all->at[j].key) ||
			    !symbol_url(all->at[j].url, q->arena, &q->url))
				continue;
			q->offset = (int64_t)(all->at[j].start - m->start);
			return true;
		}
	}
	return false;
}

/* ------------------------------------------------------------------ the question */

/* 'addr' moved by 'offset'; false if it would leave the address space. */
static bool adjust(uint64_t addr, int64_t offset, uint64_t *out)
{
	*out = addr + (uint64_t)offset;
	return offset < 0 ? *out < addr : *out >= addr;
}

/* The addresses without lines; nothing if there are none. */
static int write_question(const struct inquiry *q, struct out *o, struct err *err)
{
	const struct profile *p = q->p;
	uint64_t address;

	for (uint32_t i = 0; i < p->nlocations; i++) {
		const struct location *l = &p->locations[i];

		if (l->mapping != q->mapping || l->address == 0 || l->nlines)
			continue;
		if (!adjust(l->address, q->offset, &address))
			return err_set(err, -ERANGE,
				       "cannot adjust address %lu by %ld, it would overflow "
				       "(mapping %.*s)",
				       l->address, q->offset,
				       STR_ARG(profile_str(p, p->mappings[q->mapping].file)));
		out_printf(o, "%s0x%lx", o->n ? "+" : "", address);
	}
	return o->error ? err_set(err, o->error, "out of memory") : 0;
}

static int post(const struct inquiry *q, struct str body, struct http_response *r, struct err *err)
{
	static const char *const headers[] = { "Content-Type: application/octet-stream", NULL };
	struct str shown = url_print(&q->url, q->arena);
	struct http_request rq = { .method = "POST",
				   .headers = headers,
				   .body = body,
				   .tls = q->options->tls,
				   .proxy = q->options->proxy,
				   .notify = q->options->notify };
	struct url u = q->url;
	AUTO(freep) char *what = NULL;
	int rc;

	if (str_is(u.scheme, "https+insecure")) {
		u.scheme = STR("https");
		rq.tls.insecure = true;
	}
	rq.url = url_print(&u, q->arena).p;
	if (!shown.p || !rq.url)
		return err_set(err, -ENOMEM, "URL is too long");
	what = mem_printf("http post %s", shown.p);
	rc = http_fetch(&rq, r, err);
	if (rc == 0 && r->status != 200) {
		rc = http_refusal(r, err);
		http_response_release(r);
	}
	return rc ? err_wrap(err, rc, what) : 0;
}

/* ------------------------------------------------------------------ the answer */

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r' && c != '\v');
}

/* Takes "0x1234 name" out of a line, wherever it begins; the line still ends in a newline. */
static bool read_line(struct str line, struct str *address, struct str *name)
{
	for (size_t i = 0; i + 2 < line.n; i++) {
		size_t end = i + 2;

		if (line.p[i] != '0' || line.p[i + 1] != 'x')
			continue;
		while (end < line.n && isxdigit((unsigned char)line.p[end]))
			end++;
		if (end == i + 2 || end == line.n || !is_blank(line.p[end]))
			continue;
		*address = (struct str){ line.p + i, end - i };
		while (end < line.n && is_blank(line.p[end]))
			end++;
		*name = str_skip(line, end);
		if (name->n)
			name->n--; /* the newline */
		return true;
	}
	return false;
}

/* An address that the server named. */
struct answer {
	uint64_t address;
	uint32_t function;
	uint32_t order;
};

static int by_address(const void *a, const void *b)
{
	const struct answer *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

struct answers {
	struct answer *at;
	size_t n, cap;
};

static unsigned digit_of(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c | 0x20) - 'a' + 10;
}

/* "0x" and digits; false if that is more than 64 bits. */
static bool read_hex(struct str s, uint64_t *v)
{
	*v = 0;
	for (size_t i = 2; i < s.n; i++) {
		if (*v >> 60)
			return false;
		*v = *v << 4 | digit_of(s.p[i]);
	}
	return true;
}

static int read_answer(const struct inquiry *q, struct str address, struct str name,
		       struct answers *all, struct err *err)
{
	int64_t back = (int64_t)(0 - (uint64_t)q->offset);
	struct answer one = { .order = (uint32_t)all->n };
	uint32_t number;
	uint64_t theirs;

	if (!read_hex(address, &theirs))
		return err_set(err, -ERANGE,
			       "unexpected parse failure %.*s: strconv.ParseUint: parsing "
			       "\"%.*s\": value out of range",
			       STR_ARG(address), STR_ARG(address));
	if (!adjust(theirs, back, &one.address))
		return err_set(err, -ERANGE,
			       "cannot adjust symbolz address %lu by %ld, it would overflow",
			       theirs, back);
	number = profile_intern_copy(q->p, name);
	one.function = line_adder_function(
		q->adder, (struct function){ .name = number, .system_name = number });
	vec_push(all->at, all->n, all->cap, one);
	return 0;
}

/* Of lines without a newline at the end there is at most one: it was cut, and does not count. */
static int read_answers(const struct inquiry *q, struct str body, struct answers *all,
			struct err *err)
{
	int rc = 0;

	while (rc == 0 && body.n) {
		const char *end = memchr(body.p, '\n', body.n);
		struct str line = { body.p, end ? (size_t)(end - body.p) + 1 : 0 }, address, name;

		if (!end)
			break;
		if (read_line(line, &address, &name))
			rc = read_answer(q, address, name, all, err);
		body = str_skip(body, line.n);
	}
	return rc;
}

/* The last answer for an address counts, as 'all' is sorted; NULL if there is none. */
static const struct answer *find_answer(const struct answers *all, uint64_t address)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (all->at[mid].address <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low && all->at[low - 1].address == address ? &all->at[low - 1] : NULL;
}

static void apply_answers(const struct inquiry *q, struct answers *all)
{
	if (all->n)
		qsort(all->at, all->n, sizeof(*all->at), by_address);
	for (uint32_t i = 0; i < q->p->nlocations; i++) {
		struct location *l = &q->p->locations[i];
		const struct answer *a =
			l->mapping == q->mapping ? find_answer(all, l->address) : NULL;

		if (!a)
			continue;
		*line_adder_lines(q->adder, l, 1) = (struct line){ .function = a->function };
	}
}

static int ask(const struct inquiry *q, struct err *err)
{
	struct http_response r = { 0 };
	struct answers all = { 0 };
	struct out question;
	int rc;

	out_init(&question, 0);
	rc = write_question(q, &question, err);
	if (rc == 0 && question.n) {
		line_adder_forget(q->adder);
		rc = post(q, out_view(&question), &r, err);
		if (rc == 0)
			rc = read_answers(q, (struct str){ r.body, r.nbody }, &all, err);
		if (rc == 0)
			apply_answers(q, &all);
		http_response_release(&r);
	}
	free(all.at);
	out_release(&question);
	return rc;
}

int symbolize_remotely(struct profile *p, const struct remote_options *o, bool force,
		       struct err *err)
{
	struct line_adder adder;
	struct arena arena;
	struct inquiry q = { .p = p, .options = o, .adder = &adder, .arena = &arena };
	int rc = 0, last;

	if (!o->sources || o->sources->n == 0)
		return 0;
	line_adder_init(&adder, p, 0);
	for (uint32_t i = 0; rc == 0 && i < p->nmappings; i++) {
		struct mapping *m = &p->mappings[i];

		if ((m->has_functions && !force) || binary_is_virtual(profile_str(p, m->file)))
			continue;
		arena_init(&arena, URL_MEMORY);
		if (find_source(&q, i)) {
			rc = ask(&q, err);
			m->has_functions = true;
		}
		arena_release(&arena);
	}
	last = line_adder_finish(&adder, rc ? NULL : err);
	return rc ? rc : last;
}
