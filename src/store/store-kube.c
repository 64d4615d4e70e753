/*
 * store-kube.c - dumps in the Secrets of a Kubernetes namespace
 *
 * Every chunk is a Secret with the bytes under "keyBytes".  Those with plain names carry the label
 * of the first document, so that it finds the newest dump and nothing else; all carry one of ours.
 * A Secret that does not is somebody else's, and is left alone.
 *
 * A request whose outcome is not known is tried again, and what is there then is looked at: a name
 * that exists is a success if it has the right bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/store-kube.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/par.h"
#include "base/xalloc.h"
#include "store/crypto.h"
#include "store/kube.h"
#include "store/store.h"

#include <errno.h>
#include <stdatomic.h>

/* Of whole objects only so many to a page: together they must not be larger than an answer may be.
 */
enum { LINES = 4, PAGE = 500, PAGE_WHOLE = 32, PAGES_MAX = 4000, LISTS_MAX = 4 };

static const char document_label[] = "landscaper.gardener.cloud/profiling-prefix";
static const char chunk_label[] = "sonde/dumps-of";
static const char record_label[] = "sonde/dumps";

struct kube_store {
	struct store store;
	struct kube kube;
	struct http_line *lines[LINES];
};

static struct kube_store *of(struct store *s)
{
	return (struct kube_store *)s;
}

static struct str secrets_path(const struct kube *k, struct arena *a, struct str name)
{
	return xarena_printf(a, "/api/v1/namespaces/%s/secrets%s%.*s", k->namespace,
			     name.n ? "/" : "", STR_ARG(name));
}

/* --- JSON to send ------------------------------------------------------------------------ */

/* Names, keys and labels of ours need no escapes; values are base64. */
static void begin_secret(struct out *o, struct str name, struct str version)
{
	out_printf(o, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"%.*s\"",
		   STR_ARG(name));
	if (version.n)
		out_printf(o, ",\"resourceVersion\":\"%.*s\"", STR_ARG(version));
	out_text(o, ",\"labels\":{");
}

static int chunk_json(struct out *o, struct str prefix, const struct store_chunk *c, bool plain,
		      struct err *err)
{
	int rc;

	begin_secret(o, c->name, STR(""));
	if (plain)
		out_printf(o, "\"%s\":\"%.*s\",", document_label, STR_ARG(prefix));
	out_printf(o, "\"%s\":\"%.*s\"}},\"type\":\"Opaque\",\"data\":{\"keyBytes\":\"",
		   chunk_label, STR_ARG(prefix));
	rc = base64_encode(o, c->bytes, err);
	out_text(o, "\"}}");
	return rc < 0 ? rc : o->error;
}

static int record_json(struct out *o, struct str name, struct str prefix,
		       const struct store_record *r, struct err *err)
{
	int rc = 0;

	begin_secret(o, name, r->version);
	out_printf(o, "\"%s\":\"%.*s\"}},\"type\":\"Opaque\",\"data\":{", record_label,
		   STR_ARG(prefix));
	for (size_t i = 0; i < r->npairs && rc == 0; i++) {
		out_printf(o, "%s\"%.*s\":\"", i ? "," : "", STR_ARG(r->pairs[i].key));
		rc = base64_encode(o, r->pairs[i].value, err);
		out_char(o, '"');
	}
	out_text(o, "}}");
	return rc < 0 ? rc : o->error;
}

/* The first line is for requests that are made one at a time. */
static int open_line(struct kube_store *s, struct err *err)
{
	if (!s->lines[0])
		s->lines[0] = http_line_open(err);
	return s->lines[0] ? 0 : -ENOMEM;
}

/* --- one secret -------------------------------------------------------------------------- */

/*
 * Whether to try again.  Something new may meet a conflict that is not about itself: many that are
 * created at once all count against the quota of the namespace.
 */
static bool is_passing(const char *method, const struct kube_answer *a)
{
	return kube_is_passing(a->status) || (a->status == 409 && strcmp(method, "POST") == 0 &&
					      strcmp(a->reason, "Conflict") == 0);
}

/* A request that is tried again while the server is busy, for what may be done twice. */
static int call_patiently(const struct kube *k, struct http_line *line, const char *method,
			  struct str path, struct str body, enum kube_want want,
			  struct kube_answer *out, struct err *err)
{
	int rc;

	for (int n = 1;; n++) {
		rc = kube_call(k, line, method, path, body, want, out, err);
		if (rc == -EINTR || rc == -EFBIG || (rc == 0 && !is_passing(method, out)))
			return rc;
		if (!kube_wait(k, n, rc == 0 ? out : NULL))
			return rc;
		if (rc == 0)
			kube_answer_release(out);
	}
}

static bool is_ours(const struct kube_answer *a, struct str prefix)
{
	json_t *labels = kube_member(kube_member(a->json, "metadata"), "labels");

	return str_eq(kube_text(labels, chunk_label), prefix) ||
	       str_eq(kube_text(labels, document_label), prefix);
}

/* There is a secret of that name: ours, so it is written over, or not. */
static int overwrite(const struct kube *k, struct http_line *line, struct str prefix,
		     struct str name, struct str path, struct str body, struct err *err)
{
	struct kube_answer a;
	int rc = call_patiently(k, line, "GET", path, STR(""), KUBE_METADATA, &a, err);

	if (rc < 0)
		return rc;
	if (a.status == 404)
		rc = -EAGAIN;
	else if (a.status != 200)
		rc = kube_explain(k, &a, "get", name, err);
	else if (!is_ours(&a, prefix))
		rc = err_set(err, -EEXIST,
			     "the secret %.*s exists and is none of ours: remove it, or choose "
			     "another prefix",
			     STR_ARG(name));
	kube_answer_release(&a);
	if (rc < 0)
		return rc;
	rc = call_patiently(k, line, "PUT", path, body, KUBE_METADATA, &a, err);
	if (rc < 0)
		return rc;
	if (a.status == 404)
		rc = -EAGAIN;
	else if (a.status != 200 && a.status != 201)
		rc = kube_explain(k, &a, "update", name, err);
	kube_answer_release(&a);
	return rc;
}

static int put_one(const struct kube *k, struct http_line *line, struct str prefix,
		   const struct store_chunk *c, bool plain, struct err *err)
{
	AUTO(arena_release) struct arena a;
	struct str all, one;
	struct kube_answer got = { 0 };
	struct out body;
	int rc;

	arena_init(&a, 1 << 20);
	out_init(&body, 0);
	all = secrets_path(k, &a, STR(""));
	one = secrets_path(k, &a, c->name);
	rc = chunk_json(&body, prefix, c, plain, err);
	for (int n = 0; rc == 0 && n < 3; n++) {
		rc = call_patiently(k, line, "POST", all, out_view(&body), KUBE_METADATA, &got,
				    err);
		if (rc < 0)
			break;
		if (got.status == 409)
			rc = overwrite(k, line, prefix, c->name, one, out_view(&body), err);
		else if (got.status != 201 && got.status != 200)
			rc = kube_explain(k, &got, "create", c->name, err);
		kube_answer_release(&got);
		if (rc != -EAGAIN)
			break;
		rc = 0;
	}
	out_release(&body);
	return rc;
}

static int get_one(const struct kube *k, struct http_line *line, struct str name, struct arena *a,
		   struct str *bytes, struct err *err)
{
	struct kube_answer got = { 0 };
	int rc = call_patiently(k, line, "GET", secrets_path(k, a, name), STR(""), KUBE_WHOLE, &got,
				err);

	if (rc < 0)
		return rc;
	if (got.status == 404)
		rc = err_set(err, -ENOENT, "there is no secret %.*s in the namespace %s",
			     STR_ARG(name), k->namespace);
	else if (got.status != 200)
		rc = kube_explain(k, &got, "get", name, err);
	else
		rc = base64_decode(kube_text(kube_member(got.json, "data"), "keyBytes"), a, bytes,
				   err);
	kube_answer_release(&got);
	return rc;
}

static int remove_one(const struct kube *k, struct http_line *line, struct str name,
		      struct err *err)
{
	AUTO(arena_release) struct arena a;
	struct kube_answer got = { 0 };
	int rc;

	arena_init(&a, 1 << 20);
	rc = call_patiently(k, line, "DELETE", secrets_path(k, &a, name), STR(""), KUBE_WHOLE, &got,
			    err);
	if (rc < 0)
		return rc;
	if (got.status != 404 && (got.status < 200 || got.status > 299))
		rc = kube_explain(k, &got, "delete", name, err);
	kube_answer_release(&got);
	return rc;
}

/* --- many at once ------------------------------------------------------------------------ */

/* What all lines work at: each takes the next number until there are none, or one has failed. */
struct batch {
	struct kube_store *s;
	int (*work)(struct batch *b, struct http_line *line, size_t i, struct err *err);
	struct str prefix;
	const struct store_chunk *chunks;
	const struct str *names;
	struct str *bytes;
	struct arena *arenas; /* one a line, of what is brought */
	bool plain;
	size_t n;
	atomic_size_t next;
	atomic_int rc;
	struct err errors[LINES];
	int codes[LINES];
};

static void run_line(int i, void *ctx)
{
	struct batch *b = ctx;

	for (;;) {
		size_t at = atomic_fetch_add(&b->next, 1);

		if (at >= b->n || atomic_load(&b->rc) < 0)
			return;
		if (!b->s->lines[i])
			b->s->lines[i] = http_line_open(&b->errors[i]);
		b->codes[i] =
			b->s->lines[i] ? b->work(b, b->s->lines[i], at, &b->errors[i]) : -ENOMEM;
		if (b->codes[i] < 0) {
			atomic_store(&b->rc, b->codes[i]);
			return;
		}
	}
}

static int run_batch(struct batch *b, struct err *err)
{
	int lines = b->n < LINES ? (int)b->n : LINES;

	par_run(lines, run_line, b);
	for (int i = 0; i < lines; i++)
		if (b->codes[i] < 0)
			return err_set(err, b->codes[i], "%s", b->errors[i].msg);
	return 0;
}

static int put_work(struct batch *b, struct http_line *line, size_t i, struct err *err)
{
	struct store_chunk c = b->chunks[i];

	if (b->names)
		c.name = b->names[i];
	return put_one(&b->s->kube, line, b->prefix, &c, b->plain, err);
}

static int remove_work(struct batch *b, struct http_line *line, size_t i, struct err *err)
{
	return remove_one(&b->s->kube, line, b->names[i], err);
}

static int get_work(struct batch *b, struct http_line *line, size_t i, struct err *err)
{
	return get_one(&b->s->kube, line, b->names[i], &b->arenas[i], &b->bytes[i], err);
}

static int kube_put(struct store *s, struct str prefix, const struct store_chunk *chunks, size_t n,
		    struct err *err)
{
	struct batch b = {
		.s = of(s), .work = put_work, .prefix = prefix, .chunks = chunks, .n = n
	};

	return run_batch(&b, err);
}

static int kube_copy(struct store *s, struct str prefix, const struct store_chunk *chunks,
		     const struct str *to, size_t n, struct err *err)
{
	struct batch b = { .s = of(s),
			   .work = put_work,
			   .prefix = prefix,
			   .chunks = chunks,
			   .names = to,
			   .plain = true,
			   .n = n };

	return run_batch(&b, err);
}

static int kube_remove(struct store *s, const struct str *names, size_t n, struct err *err)
{
	struct batch b = { .s = of(s), .work = remove_work, .names = names, .n = n };

	return run_batch(&b, err);
}

/* Arenas are not for several threads: each chunk comes in one of its own, and is copied. */
static int kube_get(struct store *s, const struct str *names, size_t n, struct arena *a,
		    struct str *bytes, struct err *err)
{
	struct batch b = { .s = of(s), .work = get_work, .names = names, .bytes = bytes, .n = n };
	int rc;

	b.arenas = mem_zeroed(n, sizeof(*b.arenas));
	for (size_t i = 0; i < n; i++)
		arena_init(&b.arenas[i], 64 << 20);
	rc = run_batch(&b, err);
	for (size_t i = 0; i < n; i++) {
		if (rc == 0)
			bytes[i] = xarena_str(a, bytes[i]);
		arena_release(&b.arenas[i]);
	}
	free(b.arenas);
	return rc;
}

/* --- lists ------------------------------------------------------------------------------- */

struct name_list {
	struct str *names;
	size_t n, cap;
};

static void add_name(struct name_list *l, struct arena *a, struct str name)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 64;

		l->names = l->names ? xarena_grow(a, l->names, l->cap, cap, sizeof(*l->names))
				    : xarena(a, cap, sizeof(*l->names));
		l->cap = cap;
	}
	l->names[l->n++] = xarena_str(a, name);
}

/* A list that is under way: names, or the values of a label, of all that a selector selects. */
struct listing {
	const struct kube *k;
	struct http_line *line;
	struct arena *a;
	struct str selector;
	const char *label; /* NULL: names */
	int limit;         /* of a page */
	struct str next;   /* where the next page begins */
	struct name_list found;
};

static void add_items(struct listing *q, const struct jansson_calls *j, const json_t *items)
{
	for (size_t i = 0; items && i < j->array_size(items); i++) {
		json_t *meta = kube_member(j->array_get(items, i), "metadata");
		json_t *labels = kube_member(meta, "labels");

		add_name(&q->found, q->a,
			 q->label ? kube_text(labels, q->label) : kube_text(meta, "name"));
	}
}

/* -ESTALE: the list has become too old meanwhile, and is to be begun again. */
static int list_page(struct listing *q, struct err *err)
{
	struct str path = xarena_printf(
		q->a, "/api/v1/namespaces/%s/secrets?limit=%d&labelSelector=%.*s%s%.*s",
		q->k->namespace, q->limit, STR_ARG(q->selector), q->next.n ? "&continue=" : "",
		STR_ARG(q->next));
	const struct jansson_calls *j;
	struct kube_answer got = { 0 };
	int rc = jansson_load(&j, err);

	if (rc == 0)
		rc = call_patiently(q->k, q->line, "GET", path, STR(""), KUBE_METADATA_LIST, &got,
				    err);
	if (rc < 0)
		return rc;
	if (got.status == 200) {
		json_t *meta = kube_member(got.json, "metadata");

		add_items(q, j, kube_member(got.json, "items"));
		q->next = xarena_str(q->a, kube_text(meta, "continue"));
	} else {
		rc = kube_explain(q->k, &got, "list", q->selector, err);
		rc = got.status == 410 ? -ESTALE : rc;
	}
	kube_answer_release(&got);
	return rc;
}

static int list_pages(struct listing *q, struct err *err)
{
	int rc;

	q->found.n = 0;
	q->next = STR("");
	for (int pages = 0; pages < PAGES_MAX; pages++) {
		rc = list_page(q, err);
		if (rc == -EFBIG && q->limit > PAGE_WHOLE) {
			q->limit = PAGE_WHOLE;
			continue;
		}
		if (rc < 0 || q->next.n == 0)
			return rc;
	}
	return err_set(err, -E2BIG, "the list of secrets in the namespace %s has no end",
		       q->k->namespace);
}

static int list_all(struct kube_store *s, struct arena *a, struct str selector, const char *label,
		    struct name_list *l, struct err *err)
{
	struct listing q = {
		.k = &s->kube, .a = a, .selector = selector, .label = label, .limit = PAGE
	};
	int rc = open_line(s, err);

	if (rc < 0)
		return rc;
	q.line = s->lines[0];
	rc = -ESTALE;
	for (int i = 0; i < LISTS_MAX && rc == -ESTALE; i++)
		rc = list_pages(&q, err);
	for (size_t i = 0; rc == 0 && i < q.found.n; i++)
		add_name(l, a, q.found.names[i]);
	return rc;
}

static int kube_list(struct store *s, struct str prefix, struct arena *a, struct str **names,
		     size_t *n, struct err *err)
{
	struct name_list l = { 0 };
	int rc = list_all(of(s), a, xarena_printf(a, "sonde%%2Fdumps-of%%3D%.*s", STR_ARG(prefix)),
			  NULL, &l, err);

	if (rc == 0)
		rc = list_all(of(s), a,
			      xarena_printf(a,
					    "landscaper.gardener.cloud%%2Fprofiling-prefix%%3D%.*s,"
					    "%%21sonde%%2Fdumps-of",
					    STR_ARG(prefix)),
			      NULL, &l, err);
	*names = l.names;
	*n = l.n;
	return rc;
}

static int kube_prefixes(struct store *s, struct arena *a, struct str **prefixes, size_t *n,
			 struct err *err)
{
	struct name_list l = { 0 };
	int rc = list_all(of(s), a, STR("sonde%2Fdumps"), record_label, &l, err);

	*prefixes = l.names;
	*n = l.n;
	return rc;
}

/* --- the record -------------------------------------------------------------------------- */

static int parse_record(const struct kube_answer *got, struct arena *a, struct store_record *out,
			struct err *err)
{
	json_t *data = kube_member(got->json, "data");
	const struct jansson_calls *j;
	int rc = jansson_load(&j, err);
	size_t n = 0;

	*out = (struct store_record){ 0 };
	if (rc < 0)
		return rc;
	out->version =
		xarena_str(a, kube_text(kube_member(got->json, "metadata"), "resourceVersion"));
	if (!data || !json_is_object(data))
		return 0;
	for (void *i = j->object_iter(data); i; i = j->object_iter_next(data, i))
		n++;
	out->pairs = xarena(a, n + 1, sizeof(*out->pairs));
	for (void *i = j->object_iter(data); i && rc == 0; i = j->object_iter_next(data, i)) {
		const char *key = j->object_iter_key(i);
		struct store_pair *p = &out->pairs[out->npairs++];

		p->key = xarena_str(a, str_of(key));
		rc = base64_decode(kube_text(data, key), a, &p->value, err);
	}
	return rc;
}

static int kube_read(struct store *s, struct str prefix, struct arena *a, struct store_record *out,
		     struct err *err)
{
	struct kube_store *ks = of(s);
	struct str name = store_record_name(a, prefix);
	struct kube_answer got = { 0 };
	int rc;

	*out = (struct store_record){ .version = STR("") };
	rc = open_line(ks, err);
	if (rc < 0)
		return rc;
	rc = call_patiently(&ks->kube, ks->lines[0], "GET", secrets_path(&ks->kube, a, name),
			    STR(""), KUBE_WHOLE, &got, err);
	if (rc < 0)
		return rc;
	if (got.status == 200)
		rc = parse_record(&got, a, out, err);
	else if (got.status != 404)
		rc = kube_explain(&ks->kube, &got, "get", name, err);
	kube_answer_release(&got);
	return rc;
}

static bool same_pairs(const struct store_record *a, const struct store_record *b)
{
	size_t found = 0;

	for (size_t i = 0; i < a->npairs; i++)
		for (size_t k = 0; k < b->npairs; k++)
			found += str_eq(a->pairs[i].key, b->pairs[k].key) &&
				 str_eq(a->pairs[i].value, b->pairs[k].value);
	return found == a->npairs && a->npairs == b->npairs;
}

/*
 * The server did not say whether it has done it.  If the record is what we wanted, it has; if it is
 * at the old version, it has not (yet), and -EAGAIN asks for another try.
 */
static int look_again(struct store *s, struct str prefix, struct store_record *r, struct arena *a,
		      struct err *err)
{
	struct store_record is;
	int rc = kube_read(s, prefix, a, &is, err);

	if (rc < 0)
		return rc;
	if (is.version.n && same_pairs(r, &is)) {
		r->version = is.version;
		return 0;
	}
	return str_eq(is.version, r->version) ? -EAGAIN : -ESTALE;
}

static int write_once(struct store *s, struct str prefix, struct store_record *r, struct arena *a,
		      struct err *err)
{
	struct kube_store *ks = of(s);
	struct str name = store_record_name(a, prefix);
	bool new = r->version.n == 0;
	struct str path = secrets_path(&ks->kube, a, new ? STR("") : name);
	struct kube_answer got = { 0 };
	struct out body;
	int rc;

	out_init(&body, 0);
	rc = record_json(&body, name, prefix, r, err);
	if (rc == 0)
		rc = kube_call(&ks->kube, ks->lines[0], new ? "POST" : "PUT", path, out_view(&body),
			       KUBE_METADATA, &got, err);
	out_release(&body);
	if (rc < 0)
		return rc == -EINTR ? rc : look_again(s, prefix, r, a, err);
	if (got.status == 200 || got.status == 201)
		r->version = xarena_str(
			a, kube_text(kube_member(got.json, "metadata"), "resourceVersion"));
	else if (is_passing(new ? "POST" : "PUT", &got))
		rc = look_again(s, prefix, r, a, err);
	else if (got.status == 409 || got.status == 404)
		rc = err_set(err, -ESTALE, "the secret %.*s was changed by another program",
			     STR_ARG(name));
	else
		rc = kube_explain(&ks->kube, &got, new ? "create" : "update", name, err);
	kube_answer_release(&got);
	return rc;
}

static int kube_write(struct store *s, struct str prefix, struct store_record *r, struct arena *a,
		      struct err *err)
{
	struct kube_store *ks = of(s);
	int rc;

	rc = open_line(ks, err);
	if (rc < 0)
		return rc;
	rc = write_once(s, prefix, r, a, err);
	for (int n = 1; rc == -EAGAIN && kube_wait(&ks->kube, n, NULL); n++)
		rc = write_once(s, prefix, r, a, err);
	return rc;
}

static int kube_drop(struct store *s, struct str prefix, struct str version, struct err *err)
{
	struct kube_store *ks = of(s);
	AUTO(arena_release) struct arena a;
	struct kube_answer got = { 0 };
	struct str name, body;
	int rc;

	arena_init(&a, 1 << 20);
	name = store_record_name(&a, prefix);
	body = xarena_printf(&a,
			     "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\","
			     "\"preconditions\":{\"resourceVersion\":\"%.*s\"}}",
			     STR_ARG(version));
	rc = open_line(ks, err);
	if (rc == 0)
		rc = call_patiently(&ks->kube, ks->lines[0], "DELETE",
				    secrets_path(&ks->kube, &a, name), body, KUBE_WHOLE, &got, err);
	if (rc < 0)
		return rc;
	if (got.status != 404 && (got.status < 200 || got.status > 299))
		rc = kube_explain(&ks->kube, &got, "delete", name, err);
	kube_answer_release(&got);
	return rc;
}

static void kube_close(struct store *s)
{
	struct kube_store *ks = of(s);

	for (size_t i = 0; i < LINES; i++)
		http_line_close(ks->lines[i]);
	kube_release(&ks->kube);
	free((void *)ks->store.where);
	free(ks);
}

static const struct store_calls kube_calls = {
	.put = kube_put,
	.copy = kube_copy,
	.get = kube_get,
	.remove = kube_remove,
	.list = kube_list,
	.prefixes = kube_prefixes,
	.read = kube_read,
	.write = kube_write,
	.drop = kube_drop,
	.close = kube_close,
};

struct store *store_open_kube(struct kube *k)
{
	struct kube_store *s = mem_zeroed(1, sizeof(*s));

	s->store.calls = &kube_calls;
	s->kube = *k;
	s->store.where = mem_printf("kube:%s", k->namespace);
	*k = (struct kube){ 0 };
	return &s->store;
}
