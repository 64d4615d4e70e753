/*
 * watch.c - "sonded watch": heap dumps of programs, when their heaps grow
 *
 * The rules are those of libsonde (runtime/autodump.h), from outside and so for every program that
 * serves pprof: a Go service as well.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "daemon/command.h"
#include "daemon/heap-numbers.h"
#include "daemon/log.h"
#include "daemon/metrics-server.h"
#include "daemon/target.h"
#include "source/cluster.h"
#include "store/dumps.h"
#include "store/place.h"
#include "store/record.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum {
	FLAG_TO,
	FLAG_PREFIX,
	FLAG_ABOVE,
	FLAG_GROWTH,
	FLAG_PERIOD,
	FLAG_KEEP,
	FLAG_CHUNK,
	FLAG_TIMEOUT,
	FLAG_TOKEN,
	FLAG_CA,
	FLAG_CERT,
	FLAG_KEY,
	FLAG_INSECURE,
	FLAG_LOOKS,
	FLAG_METRICS,
};

static const struct arg flags[] = {
	[FLAG_TO] = { "to", "place",
		      "Where to: dir:PATH, kube: or kube:NAMESPACE; SONDE_DUMP if not set",
		      ARG_FILE },
	[FLAG_PREFIX] = { "prefix", "name",
			  "What the objects are called, for targets without a name of their own\n"
			  "Their host and port if not set",
			  ARG_TEXT },
	[FLAG_ABOVE] = { "above", "bytes",
			 "The HeapInuse above which there is a first dump; 330000000 if not set",
			 ARG_NUMBER },
	[FLAG_GROWTH] = { "growth", "percent",
			  "How much above the last dump there is another; 10 if not set",
			  ARG_NUMBER },
	[FLAG_PERIOD] = { "period", "time", "From one look to the next; 60s if not set", ARG_TIME },
	[FLAG_KEEP] = { "keep", "n", "How many dumps of a prefix to keep; 5 if not set",
			ARG_NUMBER },
	[FLAG_CHUNK] = { "chunk", "bytes", "Size of the pieces; 512000 if not set, at most 1M",
			 ARG_NUMBER },
	[FLAG_TIMEOUT] = { "timeout", "time", "How long a target may take; 30s if not set",
			   ARG_TIME },
	[FLAG_TOKEN] = { "token-file", "file", "Send the token in it, read each time", ARG_FILE },
	[FLAG_CA] = { "ca", "file", "Trust these certificates in place of the system's", ARG_FILE },
	[FLAG_CERT] = { "cert", "file", "Certificate of this client", ARG_FILE },
	[FLAG_KEY] = { "key", "file", "Its key", ARG_FILE },
	[FLAG_INSECURE] = { "insecure", NULL, "Believe any server", ARG_TEXT },
	[FLAG_LOOKS] = { "looks", "n", "End after so many looks at all targets", ARG_NUMBER },
	[FLAG_METRICS] = { "metrics", "address",
			   "Serve metrics for Prometheus on host:port or :port", ARG_TEXT },
	{ NULL, NULL, NULL, ARG_TEXT },
};

enum { WORKERS = 16, STACK_BYTES = 1 << 20 };
static const int64_t second = 1000000000;
static const uint64_t default_above = 330000000, default_growth = 10;

/* One program, and what is known of it. */
struct watched {
	struct target t;
	char *prefix, *url, *host;
	char run[17];
	struct heap_numbers seen;
	uint64_t last;        /* HeapInuse of the last dump that was stored; 0: none in this life */
	bool recalled;        /* what an earlier watcher has stored is known */
	atomic_ullong inuse;  /* for metrics, as is the rest */
	atomic_bool up, away; /* 'away' was said */
};

struct watch {
	struct watched *all;
	size_t n;
	uint64_t above, growth;
	int64_t period_ns;
	struct dumps_writer writer;
	char owner[17];
	const char *to;
	pthread_mutex_t storing; /* one dump at a time: they may be large */
	atomic_size_t next;      /* of 'all', to be looked at in this round */
	atomic_ullong looks, failed, stored, unstored, missed;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * second + t.tv_nsec;
}

static bool is_above(const struct watch *w, const struct watched *p, uint64_t inuse)
{
	unsigned __int128 more = (unsigned __int128)p->last * w->growth / 100;

	return inuse > w->above && inuse > p->last && (p->last == 0 || inuse - p->last > more);
}

static int store_dump(struct watch *w, struct watched *p, struct str bytes, struct err *err)
{
	struct dump about = {
		.heap_inuse = p->seen.heap_inuse,
		.heap_alloc = p->seen.heap_alloc,
		.pod = str_of(p->host),
		.run = { p->run, 16 },
	};
	AUTO(store_closep) struct store *s = NULL;
	int rc;

	/* Opened anew each time: the folder, or the account, may be another by now. */
	pthread_mutex_lock(&w->storing);
	rc = store_open(w->to, daemon_place(), &s, err);
	if (rc == 0)
		rc = dumps_put(s, str_of(p->prefix), &w->writer, &about, bytes, err);
	pthread_mutex_unlock(&w->storing);
	return rc;
}

static bool is_about(const struct watch *w, uint64_t inuse, uint64_t last)
{
	uint64_t apart = inuse > last ? inuse - last : last - inuse;

	return apart <= (unsigned __int128)last * w->growth / 100;
}

/*
 * A watcher that was started anew, beside a program that was not, goes on from the dump that it
 * finds: one of the same program, at about this level.  Whether that is the same life cannot be
 * known, but at another level a dump too many is better than one too few.
 */
static void recall(struct watch *w, struct watched *p)
{
	enum { MEMORY = 16 << 20 };
	AUTO(store_closep) struct store *s = NULL;
	AUTO(arena_release) struct arena a;
	struct record r;

	arena_init(&a, MEMORY);
	if (store_open(w->to, daemon_place(), &s, NULL) < 0 ||
	    record_read(s, str_of(p->prefix), &a, &r, NULL) < 0)
		return;
	p->recalled = true;
	if (!r.newest.names.n || !str_is(r.newest.pod, p->host) ||
	    !is_about(w, p->seen.heap_inuse, r.newest.heap_inuse))
		return;
	p->last = r.newest.heap_inuse;
	if (r.newest.run.n == sizeof(p->run) - 1)
		memcpy(p->run, r.newest.run.p, r.newest.run.n);
	log_line(LOG_INFO, "%s: there is a dump at %" PRIu64 " already", p->prefix, p->last);
}

static void dump(struct watch *w, struct watched *p, struct http_line *line)
{
	uint64_t inuse = p->seen.heap_inuse;
	struct http_response rs;
	struct err err = { "" };
	int rc = target_fetch(&p->t, str_of(p->url), STR("heap"), line, &daemon_stop, &rs, &err);

	if (rc == 0) {
		rc = store_dump(w, p, (struct str){ rs.body, rs.nbody }, &err);
		http_response_release(&rs);
	}
	if (rc < 0) {
		atomic_fetch_add(&w->unstored, 1);
		log_line(LOG_WRONG, "%s: HeapInuse is %" PRIu64 ", but there is no dump: %s",
			 p->prefix, inuse, err.msg);
		return;
	}
	if (rc > 0)
		log_line(LOG_WRONG, "%s: %s", p->prefix, err.msg);
	p->last = inuse;
	p->recalled = true;
	atomic_fetch_add(&w->stored, 1);
	log_line(LOG_INFO, "%s: HeapInuse is %" PRIu64 ": stored a heap dump in %s as %s-heap",
		 p->prefix, inuse, w->to, p->prefix);
}

/* Said once, until it is there again. */
static void say_away(struct watch *w, struct watched *p, const char *why)
{
	atomic_fetch_add(&w->failed, 1);
	atomic_store(&p->up, false);
	if (!atomic_exchange(&p->away, true))
		log_line(LOG_WRONG, "%s: %s", p->prefix, why);
}

static void take_numbers(struct watched *p, const struct heap_numbers *n)
{
	if (heap_numbers_restarted(&p->seen, n)) {
		log_line(LOG_INFO, "%s: has been started anew", p->prefix);
		daemon_random_name(p->run);
		p->last = 0;
		p->recalled = true;
	}
	p->seen = *n;
	atomic_store(&p->inuse, n->heap_inuse);
	atomic_store(&p->up, true);
	if (atomic_exchange(&p->away, false))
		log_line(LOG_INFO, "%s: answers again", p->prefix);
}

static void look_at(struct watch *w, struct watched *p)
{
	struct http_line *line = http_line_open(NULL);
	struct heap_numbers n;
	struct http_response rs;
	struct err err = { "" };
	int rc = target_text(&p->t, str_of(p->url), STR("heap?debug=1"), line, &daemon_stop, &rs,
			     &err);

	if (rc == 0) {
		bool known = heap_numbers_parse((struct str){ rs.body, rs.nbody }, &n);

		http_response_release(&rs);
		if (!known)
			rc = err_set(&err, -EBADMSG, "%s/debug/pprof/heap?debug=1 has no HeapInuse",
				     p->url);
	}
	if (rc == 0) {
		take_numbers(p, &n);
		if (!p->recalled && is_above(w, p, n.heap_inuse))
			recall(w, p);
		if (is_above(w, p, n.heap_inuse))
			dump(w, p, line);
	} else if (rc != -EINTR) {
		say_away(w, p, err.msg);
	}
	http_line_close(line);
}

static void *work(void *ctx)
{
	struct watch *w = ctx;

	while (!daemon_stop) {
		size_t i = atomic_fetch_add(&w->next, 1);

		if (i >= w->n)
			break;
		look_at(w, &w->all[i]);
	}
	return NULL;
}

/* Looks at all of them, some at a time. */
static void look_round(struct watch *w)
{
	pthread_t threads[WORKERS];
	size_t n = w->n < WORKERS ? w->n : WORKERS, started = 0;
	pthread_attr_t attr;

	atomic_store(&w->next, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	while (started + 1 < n && pthread_create(&threads[started], &attr, work, w) == 0)
		started++;
	pthread_attr_destroy(&attr);
	work(w);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	atomic_fetch_add(&w->looks, 1);
}

/* Whether to go on.  A signal that comes just before the call does not wake it: so, in pieces. */
static bool sleep_until(int64_t until)
{
	while (!daemon_stop) {
		int64_t now = now_ns(), piece = now + second < until ? now + second : until;
		struct timespec t = { piece / second, piece % second };

		if (now >= until)
			return true;
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
	return false;
}

static void run_looks(struct watch *w, uint64_t most)
{
	int64_t due = now_ns();

	while (sleep_until(due)) {
		int64_t late;

		look_round(w);
		if (most && atomic_load(&w->looks) >= most)
			return;
		due += w->period_ns;
		late = now_ns() - due;
		if (late > 0) {
			int64_t lost = late / w->period_ns + 1;

			due += lost * w->period_ns;
			atomic_fetch_add(&w->missed, (unsigned long long)lost);
		}
	}
}

/* --- metrics ------------------------------------------------------------------------------ */

static void write_metric(struct out *o, const char *name, const char *help,
			 const atomic_ullong *value)
{
	out_printf(o, "# HELP sonded_watch_%s %s\n# TYPE sonded_watch_%s counter\n", name, help,
		   name);
	out_printf(o, "sonded_watch_%s %llu\n", name, atomic_load(value));
}

static void write_targets(struct out *o, const struct watch *w)
{
	out_text(o, "# HELP sonded_watch_up Whether the target answered the last time.\n"
		    "# TYPE sonded_watch_up gauge\n");
	for (size_t i = 0; i < w->n; i++)
		out_printf(o, "sonded_watch_up{prefix=\"%s\",host=\"%s\"} %d\n", w->all[i].prefix,
			   w->all[i].host, atomic_load(&w->all[i].up));
	out_text(o, "# HELP sonded_watch_heap_inuse_bytes HeapInuse when it was last seen.\n"
		    "# TYPE sonded_watch_heap_inuse_bytes gauge\n");
	for (size_t i = 0; i < w->n; i++)
		out_printf(o, "sonded_watch_heap_inuse_bytes{prefix=\"%s\",host=\"%s\"} %llu\n",
			   w->all[i].prefix, w->all[i].host, atomic_load(&w->all[i].inuse));
}

static void write_metrics(struct out *o, void *ctx)
{
	const struct watch *w = ctx;

	write_metric(o, "looks_total", "Looks at all targets.", &w->looks);
	write_metric(o, "looks_missed_total", "Looks left out because one took too long.",
		     &w->missed);
	write_metric(o, "failures_total", "Times a target did not answer.", &w->failed);
	write_metric(o, "dumps_stored_total", "Heap dumps that were stored.", &w->stored);
	write_metric(o, "dumps_failed_total", "Heap dumps that could not be had or stored.",
		     &w->unstored);
	write_targets(o, w);
}

/* --- what is to be watched ---------------------------------------------------------------- */

/* The host and port of a URL; the user and password in it are nobody's business. */
static struct str host_of(struct str url)
{
	ptrdiff_t at = str_find(url, STR("://"));
	struct str host = at < 0 ? url : str_skip(url, (size_t)at + 3);

	for (size_t i = 0; i < host.n; i++)
		if (strchr("/?#", host.p[i]))
			host.n = i;
	at = str_rfind_char(host, '@');
	return str_skip(host, (size_t)(at + 1));
}

/* A host as a prefix: localhost:6060 is localhost-6060. */
static char *prefix_of(struct str host)
{
	enum { MOST = 40 };
	char *to = mem_new(MOST + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < host.n && n < MOST; i++) {
		char c = host.p[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
			to[n++] = c;
		else if (n && to[n - 1] != '-')
			to[n++] = '-';
	}
	while (n && to[n - 1] == '-')
		n--;
	to[n] = '\0';
	return to;
}

/* Quotes and the like would have to be escaped in metrics, and mean nothing in a host. */
static bool is_plain(const char *host)
{
	for (; *host; host++)
		if (*host <= ' ' || strchr("\"\\{}", *host) || *host == 0x7f)
			return false;
	return true;
}

static int read_host(struct watched *p, struct err *err)
{
	struct cluster_name n;
	int rc;

	if (!cluster_is(p->url)) {
		p->host = mem_str(host_of(str_of(p->url)));
		return 0;
	}
	rc = cluster_parse(str_of(p->url), &n, err);
	if (rc == 0 && n.prefix.n)
		rc = err_set(err, -EINVAL, "'%s' is no pod: kube://namespace/pod:port", p->url);
	p->host = mem_str(rc == 0 ? n.pod : STR(""));
	return rc;
}

/* "[prefix=]url" */
static int read_target(struct watched *p, const struct args *args, const char *word,
		       struct err *err)
{
	struct str url = str_of(word);
	ptrdiff_t equals = str_find(url, STR("="));
	bool named = equals > 0 && dumps_prefix_ok((struct str){ url.p, (size_t)equals });
	int rc;

	if (named) {
		p->prefix = mem_str((struct str){ url.p, (size_t)equals });
		url = str_skip(url, (size_t)equals + 1);
	}
	p->url = str_find(url, STR("://")) >= 0 ? mem_str(url)
						: mem_printf("http://%.*s", STR_ARG(url));
	rc = read_host(p, err);
	if (rc < 0)
		return rc;
	if (!p->prefix)
		p->prefix = args->values[FLAG_PREFIX] ? mem_str(str_of(args->values[FLAG_PREFIX]))
						      : prefix_of(str_of(p->host));
	if (!url.n || !is_plain(p->host))
		return err_set(err, -EINVAL, "'%s' is no target: [prefix=]url", word);
	if (!dumps_prefix_ok(str_of(p->prefix)))
		return err_set(err, -EINVAL, "'%s' cannot be the prefix of a dump", p->prefix);
	return 0;
}

static void read_access(struct target *t, const struct args *args)
{
	t->timeout_ms =
		args->values[FLAG_TIMEOUT] ? args_ns(args->values[FLAG_TIMEOUT]) / 1000000 : 30000;
	t->token_file = str_of(args->values[FLAG_TOKEN]);
	t->ca = str_of(args->values[FLAG_CA]);
	t->cert = str_of(args->values[FLAG_CERT]);
	t->key = str_of(args->values[FLAG_KEY]);
	t->insecure = args->values[FLAG_INSECURE] != NULL;
}

static int read_args(struct watch *w, const struct args *args, struct err *err)
{
	const char *above = args->values[FLAG_ABOVE], *growth = args->values[FLAG_GROWTH];
	const char *period = args->values[FLAG_PERIOD];
	size_t most = 0;
	int rc = 0;

	w->above = above ? args_number(above) : default_above;
	w->growth = growth ? args_number(growth) : default_growth;
	w->period_ns = period ? args_ns(period) : 60 * second;
	w->writer.chunk_bytes = args_number(args->values[FLAG_CHUNK]);
	if (w->period_ns <= 0)
		return err_set(err, -EINVAL, "--period cannot be 0");
	rc = daemon_read_keep(args->values[FLAG_KEEP], &w->writer.keep, err);
	if (rc < 0)
		return rc;
	while (args->rest[most])
		most++;
	if (most == 0)
		return err_set(err, -EINVAL, "which program? [prefix=]url; see --help");
	w->all = mem_zeroed(most, sizeof(*w->all));
	for (; w->n < most && rc == 0; w->n++) {
		struct watched *p = &w->all[w->n];

		read_access(&p->t, args);
		daemon_random_name(p->run);
		rc = read_target(p, args, args->rest[w->n], err);
	}
	return rc;
}

static void release(struct watch *w)
{
	for (size_t i = 0; i < w->n; i++) {
		free(w->all[i].prefix);
		free(w->all[i].url);
		free(w->all[i].host);
	}
	free(w->all);
	pthread_mutex_destroy(&w->storing);
}

static int run_service(struct watch *w, const struct args *args, struct err *err)
{
	const char *addr = args->values[FLAG_METRICS];
	struct metrics_server *metrics = NULL;
	int rc = addr ? metrics_serve(addr, write_metrics, w, &metrics, err) : 0;

	if (rc < 0)
		return rc;
	log_line(LOG_INFO, "watching %zu program%s; dumps go to %s", w->n, w->n == 1 ? "" : "s",
		 w->to);
	service_tell("READY=1");
	run_looks(w, args_number(args->values[FLAG_LOOKS]));
	service_tell("STOPPING=1");
	metrics_stop(metrics);
	return 0;
}

/* What will be wrong with it later is better said at once. */
static int try_store(const char *to, struct err *err)
{
	AUTO(store_closep) struct store *s = NULL;

	return store_open(to, daemon_place(), &s, err);
}

static int run_watch(const struct args *args)
{
	const char *to = args->values[FLAG_TO] ? args->values[FLAG_TO] : getenv("SONDE_DUMP");
	struct watch w = { .storing = PTHREAD_MUTEX_INITIALIZER, .to = to };
	struct err err = { "" };
	int rc = read_args(&w, args, &err);

	if (rc == 0 && !(to && *to))
		rc = err_set(&err, -EINVAL, "where to? --to dir:PATH or kube:");
	if (rc < 0) {
		release(&w);
		return daemon_complain("watch", err.msg, STATUS_WRONG_USE);
	}
	daemon_random_name(w.owner);
	w.writer.owner = (struct str){ w.owner, 16 };
	rc = try_store(to, &err);
	if (rc == 0 && daemon_check_verbs(to, &err) < 0)
		log_line(LOG_WRONG, "%s", err.msg);
	if (rc == 0)
		rc = run_service(&w, args, &err);
	release(&w);
	return rc < 0 ? daemon_complain("watch", err.msg, STATUS_FAILED) : STATUS_OK;
}

const struct daemon_command command_watch = {
	.name = "watch",
	.what = "Store heap dumps of programs whose heaps grow",
	.usage = "usage: sonded watch --to place [options] [prefix=]url ...\n"
		 "\n"
		 "Asks programs that serve pprof, in Go or with libsonde, for the size of their "
		 "heap\n"
		 "every minute.  Above 330 MB the heap profile is stored, and again whenever the\n"
		 "heap is 10 % above what it was then.\n"
		 "\n"
		 "  sonded watch --to dir:/var/lib/dumps web=localhost:6060\n"
		 "  sonded watch --to kube: main=kube://landscaper/main-7d9f:8081\n"
		 "\n"
		 "A pod (kube://namespace/pod:port) is reached through the API server, which needs "
		 "the\n"
		 "verb get on pods/proxy, or services/proxy for kube://namespace/svc/name:port.\n",
	.flags = flags,
	.run = run_watch,
};
