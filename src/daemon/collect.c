/*
 * collect.c - "sonded collect": profiles of many programs, round after round
 *
 * Rounds begin at start + k intervals, however long they take; one that is still running when the
 * next is due means that the next is left out, and said.  In a round every target has a thread, and
 * asks for one profile after the other, since they disturb each other.
 *
 * The names of rounds are in the order of the rounds, whatever happens to the clock: where it is
 * set forward they follow it, where it is set back they go on by the time that has passed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "daemon/collect-config.h"
#include "daemon/command.h"
#include "daemon/log.h"
#include "daemon/metrics-server.h"
#include "daemon/round-tree.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

enum { STACK_BYTES = 1 << 20 };
static const int64_t second = 1000000000;

static volatile sig_atomic_t reload;

static void on_hangup(int sig)
{
	(void)sig;
	reload = 1;
}

struct counters {
	atomic_ullong rounds, missed, stored, failed, bytes;
};

struct collector {
	struct collect_config config;
	struct tree tree;
	struct counters count;
	char stamp[STAMP_BYTES];
	atomic_size_t visited; /* targets of this round that are done */
	atomic_llong last;     /* when the last round began */
};

struct visit {
	struct collector *c;
	const struct target *t;
	pthread_t thread;
	bool started;
};

static int64_t clock_ns(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return t.tv_sec * second + t.tv_nsec;
}

static size_t any_of(size_t n)
{
	uint64_t r = 0;

	if (n < 2 || getrandom(&r, sizeof(r), 0) != (ssize_t)sizeof(r))
		return 0;
	return (size_t)(r % n);
}

/* One profile; false if there is no use in asking this target for another. */
static bool take(struct collector *c, const struct target *t, struct str url, struct str kind,
		 struct http_line *line)
{
	struct http_response rs;
	struct err err = { "" };
	int rc = target_fetch(t, url, kind, line, &daemon_stop, &rs, &err);

	if (rc == 0) {
		struct str bytes = { rs.body, rs.nbody };

		rc = tree_write(&c->tree, c->stamp, t->name, kind, bytes, &err);
		atomic_fetch_add(&c->count.bytes, rc == 0 ? bytes.n : 0);
		http_response_release(&rs);
	}
	if (rc == -EINTR)
		return false;
	atomic_fetch_add(rc == 0 ? &c->count.stored : &c->count.failed, 1);
	if (rc < 0)
		log_line(LOG_WRONG, "%.*s %.*s: %s", STR_ARG(t->name), STR_ARG(kind), err.msg);
	/* It answered, and what it said was of use or not; or nobody is there. */
	return rc == 0 || rc == -EREMOTEIO || rc == -EBADMSG || rc == -EILSEQ;
}

static void show_progress(struct collector *c)
{
	log_progress("Round %s: %zu of %zu targets, %llu profiles stored, %llu failed so far",
		     c->stamp, atomic_load(&c->visited), c->config.ntargets,
		     atomic_load(&c->count.stored), atomic_load(&c->count.failed));
}

static void *visit(void *ctx)
{
	struct visit *v = ctx;
	const struct target *t = v->t;
	struct str url = t->urls[any_of(t->nurls)];
	struct http_line *line = http_line_open(NULL);

	log_line(LOG_INFO, "Collecting %.*s pprof at %s", STR_ARG(t->name), v->c->stamp);
	for (size_t i = 0; i < t->nkinds && !daemon_stop; i++) {
		bool more = take(v->c, t, url, t->kinds[i], line);

		show_progress(v->c);
		if (more)
			continue;
		atomic_fetch_add(&v->c->count.failed, t->nkinds - i - 1);
		break;
	}
	http_line_close(line);
	atomic_fetch_add(&v->c->visited, 1);
	show_progress(v->c);
	return NULL;
}

static void start_visit(struct visit *v)
{
	pthread_attr_t attr;

	if (v->t->process.n && !process_runs(v->t->process)) {
		log_line(LOG_INFO, "%.*s is not running on this machine", STR_ARG(v->t->name));
		atomic_fetch_add(&v->c->visited, 1);
		return;
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	v->started = pthread_create(&v->thread, &attr, visit, v) == 0;
	pthread_attr_destroy(&attr);
	if (!v->started)
		visit(v);
}

static void run_round(struct collector *c, int64_t when)
{
	size_t n = c->config.ntargets;
	struct visit *visits = mem_zeroed(n, sizeof(*visits));
	struct tree_limits limits = { c->config.keep.rounds, c->config.keep.bytes,
				      c->config.keep.age_s };
	struct err err;

	atomic_store(&c->last, when);
	atomic_store(&c->visited, 0);
	tree_stamp(&c->tree, when, c->stamp);
	for (size_t i = 0; i < n; i++) {
		visits[i].c = c;
		visits[i].t = &c->config.targets[i];
		start_visit(&visits[i]);
	}
	for (size_t i = 0; i < n; i++)
		if (visits[i].started)
			pthread_join(visits[i].thread, NULL);
	free(visits);
	log_progress_end();
	atomic_fetch_add(&c->count.rounds, 1);
	if (tree_trim(&c->tree, &limits, when, &err) < 0)
		log_line(LOG_WRONG, "%s", err.msg);
	log_line(LOG_INFO, "Round %s: %llu profiles stored, %llu failed so far", c->stamp,
		 atomic_load(&c->count.stored), atomic_load(&c->count.failed));
}

/* Whether to go on, once the clock says 'until'; a reload does not wake it up. */
static bool sleep_until(int64_t until)
{
	while (!daemon_stop) {
		struct timespec t = { until / second, until % second };

		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == 0)
			return true;
	}
	return false;
}

static void read_again(struct collector *c, const struct args *args)
{
	struct collect_config config;
	struct err err;

	reload = 0;
	if (collect_config_read(&config, args, &err) < 0) {
		log_line(LOG_WRONG, "%s; going on as before", err.msg);
		collect_config_release(&config);
		return;
	}
	if (strcmp(config.root, c->config.root) != 0)
		log_line(LOG_WRONG, "another root needs a restart; going on in %s", c->config.root);
	/* The tree keeps the name it was opened with. */
	config.root = c->tree.root;
	collect_config_release(&c->config);
	c->config = config;
	log_line(LOG_INFO, "read the configuration again: %zu targets", config.ntargets);
}

/* How rounds are called. */
struct timeline {
	int64_t wall;   /* the first, in seconds */
	int64_t offset; /* what the clock had beyond the one that nobody sets, in nanoseconds */
	bool behind;    /* it was said that it is behind */
};

static int64_t clock_offset(void)
{
	return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
}

/* After what is in the tree already, unless that is from another day: then nothing helps. */
static void begin_timeline(struct timeline *t, const struct tree *tree)
{
	enum { DAY = 86400 };
	int64_t newest = tree_newest(tree);

	t->offset = clock_offset();
	t->wall = clock_ns(CLOCK_REALTIME) / second + 1;
	if (newest < t->wall)
		return;
	log_line(LOG_WRONG, "the newest round is %" PRId64 " s ahead of the clock",
		 newest - t->wall + 1);
	if (newest - t->wall < DAY)
		t->wall = newest + 1;
}

/* When the round that is 'ns' after the start is to be called. */
static int64_t wall_of(struct timeline *t, int64_t ns)
{
	int64_t step = clock_offset() - t->offset;

	if (step > second) {
		log_line(LOG_WRONG, "the clock was set forward by %" PRId64 " s", step / second);
		t->wall += step / second;
		t->offset += step / second * second;
	} else if (step < -second && !t->behind) {
		log_line(LOG_WRONG,
			 "the clock was set back by %" PRId64 " s: the names of rounds are not",
			 -step / second);
		t->behind = true;
	}
	return t->wall + ns / second;
}

static void run_rounds(struct collector *c, const struct args *args, uint64_t most)
{
	int64_t start, due = 0, into;
	struct timeline names = { 0 };

	begin_timeline(&names, &c->tree);
	/* As a second begins, and a little later, so that no clock is behind the name of the round.
	 */
	into = clock_ns(CLOCK_REALTIME) % second;
	start = clock_ns(CLOCK_MONOTONIC) + second - into + second / 100;

	while (sleep_until(start + due)) {
		int64_t late;

		if (reload)
			read_again(c, args);
		run_round(c, wall_of(&names, due));
		if (most && atomic_load(&c->count.rounds) >= most)
			return;
		due += c->config.interval_ns;
		late = clock_ns(CLOCK_MONOTONIC) - start - due;
		if (late > 0) {
			int64_t lost = late / c->config.interval_ns + 1;

			due += lost * c->config.interval_ns;
			atomic_fetch_add(&c->count.missed, (unsigned long long)lost);
			log_line(LOG_WRONG,
				 "a round took longer than the interval: %" PRId64 " left out",
				 lost);
		}
		tree_stamp(&c->tree, names.wall + due / second, c->stamp);
		log_progress("The next round is %s", c->stamp);
	}
}

static void write_metric(struct out *o, const char *name, const char *help, const char *type,
			 unsigned long long value)
{
	out_printf(o, "# HELP sonded_%s %s\n# TYPE sonded_%s %s\nsonded_%s %llu\n", name, help,
		   name, type, name, value);
}

static void write_metrics(struct out *o, void *ctx)
{
	struct collector *c = ctx;

	write_metric(o, "rounds_total", "Rounds that ended.", "counter",
		     atomic_load(&c->count.rounds));
	write_metric(o, "rounds_missed_total", "Rounds left out because one took too long.",
		     "counter", atomic_load(&c->count.missed));
	write_metric(o, "profiles_stored_total", "Profiles that were stored.", "counter",
		     atomic_load(&c->count.stored));
	write_metric(o, "profiles_failed_total", "Profiles that could not be had or stored.",
		     "counter", atomic_load(&c->count.failed));
	write_metric(o, "stored_bytes_total", "Bytes that were stored.", "counter",
		     atomic_load(&c->count.bytes));
	write_metric(o, "last_round_timestamp_seconds", "When the last round began.", "gauge",
		     (unsigned long long)atomic_load(&c->last));
}

/* What is on while the collector works. */
static int run_service(struct collector *c, const struct args *args, struct err *err)
{
	struct metrics_server *metrics = NULL;
	int rc = 0;

	if (c->config.metrics)
		rc = metrics_serve(c->config.metrics, write_metrics, c, &metrics, err);
	if (rc < 0)
		return rc;
	sigaction(SIGHUP, &(struct sigaction){ .sa_handler = on_hangup }, NULL);
	log_line(LOG_INFO, "Start to collect profiling files in %s", c->tree.root);
	service_tell("READY=1");
	run_rounds(c, args, args_number(args->values[COLLECT_ROUNDS]));
	log_progress_end();
	service_tell("STOPPING=1");
	metrics_stop(metrics);
	return 0;
}

static int run_collect(const struct args *args)
{
	struct collector c = { 0 };
	struct err err = { "" };
	int rc;

	if (args->rest[0])
		return daemon_complain("collect", "what is that? see --help", STATUS_WRONG_USE);
	if (collect_config_read(&c.config, args, &err) < 0) {
		collect_config_release(&c.config);
		return daemon_complain("collect", err.msg, STATUS_WRONG_USE);
	}
	c.tree = (struct tree){ .root = mem_str(str_of(c.config.root)),
				.plain_names = c.config.plain_names,
				.local_time = c.config.local_time };
	rc = tree_open(&c.tree, &err);
	if (rc == 0) {
		rc = run_service(&c, args, &err);
		tree_close(&c.tree);
	}
	free((void *)c.tree.root);
	collect_config_release(&c.config);
	if (rc < 0)
		return daemon_complain("collect", err.msg, STATUS_FAILED);
	/* Who asks for a few rounds wants what they bring; a service that is told to end has not
	 * failed. */
	return args->values[COLLECT_ROUNDS] && !c.count.stored && c.count.failed ? STATUS_FAILED
										 : STATUS_OK;
}

const struct daemon_command command_collect = {
	.name = "collect",
	.what = "Fetch profiles of programs on a schedule",
	.usage = "usage: sonded collect [--config file] [--target name=url] [options]\n"
		 "\n"
		 "Asks programs for their profiles every 30 minutes and keeps them as\n"
		 "ROOT/DATE/NAME-KIND-DATE.pprof.  Only whole, valid profiles appear there; what\n"
		 "went wrong is said and counted.  SIGHUP reads the configuration again.\n"
		 "\n"
		 "  sonded collect --root ./pprof --interval 5m --target web=localhost:6060\n",
	.flags = collect_flags,
	.run = run_collect,
};
