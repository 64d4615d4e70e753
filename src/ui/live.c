/*
 * live.c - a program as it runs, in the browser
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/live.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/notify.h"
#include "base/xalloc.h"
#include "net/url.h"
#include "profile/decode.h"
#include "profile/encode.h"
#include "profile/profile.h"
#include "render/json.h"
#include "source/source.h"
#include "source/unpack.h"
#include "ui/collection.h"
#include "ui/endpoint.h"
#include "ui/environment.h"
#include "ui/load.h"
#include "ui/options.h"
#include "ui/sides.h"
#include "ui/web-visit.h"
#include "web/page-live.h"
#include "web/web-server.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* As many profiles stay; as many are taken at a time; a program is asked for its list so often. */
enum { TAKEN_MOST = 32, TAKING_MOST = 4, LIST_MS = 5000, SECONDS_MOST = 3600 };
enum { PAGE_MAX = 64 << 20, SHOWN_MAX = 16 << 20 };

/* A profile that was taken, or is being. */
struct taken {
	struct live *live;
	struct page_taken about;
	struct err err;
	char *address;
	int64_t begun_ms;
	atomic_bool stop; /* somebody does not want it any more */
	struct out bytes; /* the profile, as a file */
};

struct live {
	const struct source_options *so;
	struct collection *profiles;
	pthread_mutex_t lock;
	struct taken *taken[TAKEN_MOST]; /* the oldest first */
	size_t n;
	unsigned last;
	/* What the program said of itself, and when. */
	pthread_mutex_t asking;
	struct endpoint at;
	bool asked;
	int64_t asked_ms;
};

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ------------------------------------------------------------------ is it a program */

static bool is_list(struct str path)
{
	while (str_ends(path, STR("/")))
		path.n--;
	return path.n == 0 || str_is(path, "/debug/pprof");
}

static bool is_place(const char *source)
{
	struct str s = str_of(source);
	struct arena a;
	struct url u;
	bool is;

	if (!str_starts(s, STR("http://")) && !str_starts(s, STR("https://")) &&
	    !str_starts(s, STR("https+insecure://")))
		return false;
	arena_init(&a, PAGE_MAX);
	is = url_parse(s, &a, &u, NULL) == 0 && u.query.n == 0 && is_list(u.path);
	arena_release(&a);
	return is;
}

bool live_is(const struct source_options *so)
{
	return so->nsources == 1 && !*so->base && so->seconds <= 0 && !so->as_pprof &&
	       is_place(so->sources[0]) && access(so->sources[0], F_OK) != 0;
}

/* ------------------------------------------------------------------ asking the program */

static struct source_request request(const struct live *l)
{
	return (struct source_request){
		.tls = { .cert = l->so->tls_cert, .key = l->so->tls_key, .ca = l->so->tls_ca },
		.proxy = environment_proxy(),
		.env = environment_value,
	};
}

/* Brings the list up to date; 'asking' is held. */
static void ask(struct live *l)
{
	struct source_request rq = request(l);
	struct err err = { "" };

	if (l->asked && now_ms() - l->asked_ms < LIST_MS)
		return;
	if (l->asked)
		endpoint_release(&l->at);
	if (endpoint_check(l->so->sources[0], &rq, NULL, &l->at, &err) < 0)
		l->at.why = xarena_str(&l->at.a, str_of(err.msg));
	l->asked = true;
	l->asked_ms = now_ms();
}

static int get(const struct live *l, const char *path, struct http_response *rs, struct err *err)
{
	struct source_request rq = request(l);

	return endpoint_get(l->so->sources[0], &rq, path, PAGE_MAX, rs, err);
}

/* "# HeapAlloc = 1234" of the text that Go has behind its heap profile. */
static void copy_memstats(struct str text, struct out *o)
{
	struct json j = { .o = o };
	struct str line;

	json_open(&j, NULL, '{');
	while (str_split(&text, '\n', &line)) {
		ptrdiff_t equals = str_find(line, STR(" = "));
		AUTO(freep) char *name = NULL;
		uint64_t value;

		if (!str_starts(line, STR("# ")) || equals < 2 ||
		    go_parse_uint(str_skip(line, (size_t)equals + 3), 10, 63, &value, NULL) != 0)
			continue;
		name = mem_str((struct str){ line.p + 2, (size_t)equals - 2 });
		json_int(&j, name, (int64_t)value);
	}
	json_close(&j, '}');
}

/* Ours has it as JSON; others as text. */
static void send_memstats(struct live *l, struct web_reply *reply)
{
	struct http_response rs = { 0 };
	struct err err;
	bool is_json = get(l, "/debug/pprof/memstats", &rs, &err) == 0;
	int rc = is_json ? 0 : get(l, "/debug/pprof/heap?debug=1", &rs, &err);

	if (rc < 0) {
		web_say(reply, VISIT_BAD_GATEWAY, err.msg);
		return;
	}
	reply->type = "application/json";
	if (is_json)
		out_bytes(&reply->body, rs.body, rs.nbody);
	else
		copy_memstats((struct str){ rs.body ? rs.body : "", rs.nbody }, &reply->body);
	http_response_release(&rs);
}

static void send_threads(struct live *l, struct web_reply *reply)
{
	struct http_response rs = { 0 };
	struct err err;

	if (get(l, "/debug/pprof/goroutine?debug=2", &rs, &err) < 0) {
		web_say(reply, VISIT_BAD_GATEWAY, err.msg);
		return;
	}
	reply->type = "text/plain; charset=utf-8";
	out_bytes(&reply->body, rs.body ? rs.body : "",
		  rs.nbody < SHOWN_MAX ? rs.nbody : SHOWN_MAX);
	http_response_release(&rs);
}

/* ------------------------------------------------------------------ taking profiles */

static void free_taken(struct taken *t)
{
	out_release(&t->bytes);
	free((char *)t->about.kind);
	free(t->address);
	free(t);
}

/* The oldest that is not being taken goes. */
static bool make_room(struct live *l)
{
	size_t taking = 0, i;

	for (i = 0; i < l->n; i++)
		taking += l->taken[i]->about.state == PAGE_TAKING;
	if (taking >= TAKING_MOST)
		return false;
	for (i = 0; l->n == TAKEN_MOST && i < l->n; i++) {
		if (l->taken[i]->about.state == PAGE_TAKING)
			continue;
		free_taken(l->taken[i]);
		memmove(&l->taken[i], &l->taken[i + 1], (l->n - i - 1) * sizeof(struct taken *));
		l->n--;
	}
	return true;
}

static void ignore(struct notify *n, enum notify_kind kind, const char *text)
{
	(void)n;
	(void)kind;
	(void)text;
}

static void *take(void *arg)
{
	struct taken *t = arg;
	struct live *l = t->live;
	struct notify silent = { .say = ignore };
	struct source_options so = *l->so;
	const char *source = t->address;
	struct profile *p = NULL;
	struct err err = { "" };
	struct out bytes;
	int rc;

	so.sources = &source;
	so.nsources = 1;
	so.seconds = t->about.seconds > 0 ? t->about.seconds : -1;
	so.stop = &t->stop;
	out_init(&bytes, 0);
	rc = load(&so, &silent, &p, &err);
	if (rc == 0)
		profile_write(p, &bytes);
	pthread_mutex_lock(&l->lock);
	t->bytes = bytes;
	t->about.samples = rc == 0 ? p->nsamples : 0;
	t->about.state = t->stop ? PAGE_CANCELLED : rc ? PAGE_FAILED : PAGE_TAKEN;
	t->err = err;
	t->about.why = rc && !t->stop ? t->err.msg : "";
	pthread_mutex_unlock(&l->lock);
	profile_free(p);
	return NULL;
}

/* What stands in the list, but is none. */
static bool is_profile(struct str name)
{
	static const char *const others[] = { "cmdline", "memstats", "symbol", "trace" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (str_is(name, others[i]))
			return false;
	}
	return true;
}

/* Only what the program has said it has; anybody could ask for anything else through us. */
static bool is_offered(struct live *l, const char *kind)
{
	bool found = strcmp(kind, "profile") == 0;

	ask(l);
	for (size_t i = 0; i < l->at.nkinds && !found; i++)
		found = str_is(l->at.kinds[i].name, kind) && is_profile(str_of(kind));
	return found;
}

static int begin(struct live *l, const char *kind, uint64_t seconds, struct err *err)
{
	struct taken *t;
	pthread_t thread;

	if (!make_room(l))
		return err_set(err, -EBUSY, "%d profiles are being taken already", TAKING_MOST);
	t = mem_zeroed(1, sizeof(*t));
	*t = (struct taken){ .live = l, .begun_ms = now_ms() };
	t->about = (struct page_taken){ .id = ++l->last,
					.kind = mem_str(str_of(kind)),
					.seconds = (int)seconds,
					.started = now_ns(),
					.why = "" };
	t->address = mem_printf("%.*s%s", STR_ARG(l->at.address), kind);
	out_init(&t->bytes, 0);
	if (pthread_create(&thread, NULL, take, t) != 0) {
		free_taken(t);
		return err_set(err, -EAGAIN, "there is no thread to take it");
	}
	pthread_detach(thread);
	l->taken[l->n++] = t;
	return 0;
}

/* The page that the form was on shows itself again. */
static void go_back(struct web_reply *reply, const char *to)
{
	reply->status = VISIT_SEE_OTHER;
	reply->location = mem_str(str_of(to));
}

static void start_taking(struct live *l, const struct web_request *rq, struct web_reply *reply)
{
	const char *kind = web_arg(rq, "profile"), *text = web_arg(rq, "seconds");
	uint64_t seconds = 0;
	struct err err = { "" };
	int rc = 0;

	if (*text &&
	    (go_parse_uint(str_of(text), 10, 64, &seconds, NULL) != 0 || seconds > SECONDS_MOST))
		rc = err_set(&err, -EINVAL, "seconds are a number up to %d", SECONDS_MOST);
	pthread_mutex_lock(&l->asking);
	if (rc == 0 && !is_offered(l, kind))
		rc = err_set(&err, -ENOENT, "there is no such profile");
	pthread_mutex_lock(&l->lock);
	if (rc == 0)
		rc = begin(l, kind, seconds, &err);
	pthread_mutex_unlock(&l->lock);
	pthread_mutex_unlock(&l->asking);
	if (rc)
		web_say(reply, VISIT_BAD_REQUEST, err.msg);
	else
		go_back(reply, "./");
}

static struct taken *find_taken(struct live *l, struct str id)
{
	uint64_t number = 0;

	if (go_parse_uint(id, 10, 32, &number, NULL) != 0)
		return NULL;
	for (size_t i = 0; i < l->n; i++) {
		if (l->taken[i]->about.id == number)
			return l->taken[i];
	}
	return NULL;
}

static void cancel(struct live *l, const struct web_request *rq, struct web_reply *reply)
{
	struct taken *t;

	pthread_mutex_lock(&l->lock);
	t = find_taken(l, str_of(web_arg(rq, "id")));
	if (t)
		atomic_store(&t->stop, true);
	pthread_mutex_unlock(&l->lock);
	go_back(reply, "./");
}

/* ------------------------------------------------------------------ looking at them */

static int open_one(struct live *l, struct str id, struct profile **p, struct err *err)
{
	struct file_bytes b = { 0 };
	struct taken *t;
	int rc;

	pthread_mutex_lock(&l->lock);
	t = find_taken(l, id);
	if (t && t->about.state == PAGE_TAKEN) {
		b = (struct file_bytes){ .p = mem_new(t->bytes.n + 1, 1), .n = t->bytes.n };
		memcpy(b.p, t->bytes.p, t->bytes.n);
	}
	pthread_mutex_unlock(&l->lock);
	if (!b.p)
		return err_set(err, -ENOENT, "There is no profile #%.*s any more.", STR_ARG(id));
	rc = unpack(&b, SOURCE_MAX_BYTES, NULL, NULL, err);
	if (rc == 0)
		rc = profile_parse((struct str){ b.p, b.n }, NULL, NULL, p, err);
	file_bytes_release(&b);
	return rc;
}

/* "7" is one of them, "3~7" a comparison. */
static int open_taken(void *ctx, struct str name, struct collection_item *to, struct err *err)
{
	struct profile *pair[2] = { NULL };
	struct str old, rest = name;
	int rc;

	if (str_find(name, STR("~")) < 0)
		return open_one(ctx, name, &to->profile, err);
	(void)str_split(&rest, '~', &old);
	rc = open_one(ctx, old, &pair[0], err);
	if (rc == 0)
		rc = open_one(ctx, rest, &pair[1], err);
	if (rc) {
		profile_free(pair[0]);
		return rc;
	}
	rc = sides_combine(pair, 2, 1, &to->sides, &to->both, err);
	to->profile = to->both;
	return rc;
}

static void open_pair(const struct web_request *rq, struct web_reply *reply)
{
	uint64_t a, b;

	if (go_parse_uint(str_of(web_arg(rq, "a")), 10, 32, &a, NULL) != 0 ||
	    go_parse_uint(str_of(web_arg(rq, "b")), 10, 32, &b, NULL) != 0) {
		web_say(reply, VISIT_BAD_REQUEST, "which two?");
		return;
	}
	reply->status = VISIT_SEE_OTHER;
	reply->location =
		mem_printf("./of/%llu~%llu/compare", (unsigned long long)a, (unsigned long long)b);
}

/* ------------------------------------------------------------------ the page */

/* 'lock' is held while the list is used. */
static size_t list_taken(struct live *l, struct page_taken *to)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct taken *t = l->taken[l->n - 1 - i];

		to[i] = t->about;
		to[i].elapsed_ms = now_ms() - t->begun_ms;
	}
	return l->n;
}

static void send_taken(struct live *l, struct web_reply *reply)
{
	struct page_taken taken[TAKEN_MOST];
	struct page_live page = { .taken = taken };

	reply->type = "application/json";
	pthread_mutex_lock(&l->lock);
	page.ntaken = list_taken(l, taken);
	page_taken_json(&page, &reply->body);
	pthread_mutex_unlock(&l->lock);
}

static struct str why_off(const struct endpoint *e, struct str kind)
{
	for (size_t i = 0; i < e->noff; i++) {
		struct str rest = e->off[i], name;

		if (str_split(&rest, ':', &name) && str_eq(name, kind))
			return str_trim(rest);
	}
	return STR("");
}

/* The CPU profile may be in no list of what there is. */
static size_t list_kinds(const struct endpoint *e, struct page_kind *to)
{
	size_t n = 0;

	if (e->nkinds)
		to[n++] = (struct page_kind){ .name = STR("profile"),
					      .off = why_off(e, STR("profile")) };
	for (size_t i = 0; i < e->nkinds; i++) {
		if (!str_is(e->kinds[i].name, "profile") && is_profile(e->kinds[i].name))
			to[n++] = (struct page_kind){ e->kinds[i].name, e->kinds[i].count,
						      why_off(e, e->kinds[i].name) };
	}
	return n;
}

static void show_page(struct live *l, struct web_reply *reply)
{
	struct page_taken taken[TAKEN_MOST];
	struct page_kind kinds[ENDPOINT_ROWS + 1];
	struct page_live page = { .taken = taken, .kinds = kinds };

	pthread_mutex_lock(&l->asking);
	ask(l);
	page.url = l->at.url;
	page.program = l->at.program;
	page.runtime = xarena_printf(&l->at.a, "%.*s%s%.*s", STR_ARG(l->at.runtime),
				     l->at.version.n ? " " : "", STR_ARG(l->at.version));
	page.problem = l->at.why;
	page.nkinds = list_kinds(&l->at, kinds);
	pthread_mutex_lock(&l->lock);
	page.ntaken = list_taken(l, taken);
	page_live(&page, &reply->body);
	pthread_mutex_unlock(&l->lock);
	pthread_mutex_unlock(&l->asking);
}

static void change(struct live *l, const struct web_request *rq, struct web_reply *reply)
{
	if (strcmp(rq->path, "/take") == 0)
		start_taking(l, rq, reply);
	else if (strcmp(rq->path, "/cancel") == 0)
		cancel(l, rq, reply);
	else
		web_say(reply, VISIT_METHOD_NOT_ALLOWED, "only GET and HEAD");
}

void live_answer(const struct web_request *rq, struct web_reply *reply, void *ctx)
{
	struct live *l = ctx;

	if (collection_answer(l->profiles, rq, reply))
		return;
	if (rq->changes)
		change(l, rq, reply);
	else if (strcmp(rq->path, "/") == 0)
		show_page(l, reply);
	else if (strcmp(rq->path, "/taken.json") == 0)
		send_taken(l, reply);
	else if (strcmp(rq->path, "/memstats.json") == 0)
		send_memstats(l, reply);
	else if (strcmp(rq->path, "/threads.txt") == 0)
		send_threads(l, reply);
	else if (strcmp(rq->path, "/pair") == 0)
		open_pair(rq, reply);
	else
		web_say(reply, VISIT_NOT_FOUND, "404 page not found");
}

struct live *live_new(const struct config *cfg, const struct source_options *so,
		      const char *settings)
{
	struct live *l = mem_zeroed(1, sizeof(*l));

	l->so = so;
	l->profiles = collection_new(cfg, settings, "Live", open_taken, l);
	l->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	l->asking = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	return l;
}
