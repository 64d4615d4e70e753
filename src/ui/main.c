/*
 * main.c - sonde: bring a profile in, bring answers out
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/child.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/lazy.h"
#include "base/out.h"
#include "base/scratch.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "ui/cmdline.h"
#include "ui/commands.h"
#include "ui/dump.h"
#include "ui/environment.h"
#include "ui/load.h"
#include "ui/own-command.h"
#include "ui/serve.h"
#include "ui/shell.h"
#include "ui/show.h"
#include "ui/terminal.h"
#include "ui/usage.h"
#include "ui/viewer.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Whatever goes wrong: the reference knows no other status. */
enum { FAILED = 2 };

static struct terminal terminal;

/* Dies of the signal, so that a shell's loop over profiles ends too. */
static void on_signal(int sig)
{
	terminal_reset(&terminal); /* NOLINT(bugprone-signal-handler): only calls write() */
	scratch_remove();          /* NOLINT(bugprone-signal-handler): only calls unlink() */
	child_kill_all();          /* NOLINT(bugprone-signal-handler): only calls kill() */
	signal(sig, SIG_DFL);
	raise(sig);
}

/* A file has become larger than the shell's limit: write() says so, too. */
static void on_limit(int sig)
{
	(void)sig;
}

static void catch_signals(void)
{
	static const int deadly[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
		struct sigaction old;

		sigaction(deadly[i], NULL, &old);
		if (old.sa_handler != SIG_IGN) /* nohup */
			signal(deadly[i], on_signal);
	}
	signal(SIGXFSZ, on_limit); /* not ignored, which programs that we start would inherit */
}

static void use_time_zone(void)
{
	char buf[4096];
	const char *tz = go_time_zone(getenv("TZ"), buf, sizeof(buf));

	if (tz)
		setenv("TZ", tz, 1);
	else
		unsetenv("TZ");
}

static int print(struct out *o)
{
	struct err err;
	int rc;

	o->fd = STDOUT_FILENO;
	rc = own_write(o, &err);
	if (rc < 0)
		notify_warn(&terminal.notify, "%s", err.msg);
	return rc < 0 ? FAILED : 0;
}

static int print_usage(void)
{
	struct out o;

	out_init(&o, 0);
	usage_write(&o);
	return print(&o);
}

static int print_version(void)
{
	struct lazy_lib curl = { .soname = "libcurl.so.4" };
	struct lazy_lib edit = { .soname = "libedit.so.2" };
	struct out o;

	out_init(&o, 0);
	out_printf(&o, "sonde %s (output of go1.19 pprof; gzip zstd %shttp %sline-editing)\n",
		   SONDE_VERSION, lazy_open(&curl, NULL) ? "no-" : "",
		   lazy_open(&edit, NULL) ? "no-" : "");
	return print(&o);
}

static bool is_pprof(int argc, char **argv)
{
	return argc > 0 && str_is(str_base(str_of(argv[0])), "pprof");
}

/* Commands of sonde's own: words where pprof would have a source.  A file is "./help". */
static const struct own_command *own_command(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && !is_pprof(argc, argv) && own_commands[i]; i++)
		if (strcmp(argv[1], own_commands[i]->name) == 0)
			return own_commands[i];
	return NULL;
}

static bool is_word(int argc, char **argv, const char *word)
{
	return argc == 2 && !is_pprof(argc, argv) && strcmp(argv[1], word) == 0;
}

/* What cannot be done is better said before a profile has been fetched for
 * thirty seconds. */
static int check(const struct request *rq, struct err *err)
{
	if (rq->command)
		return command_check(rq->command, "-", err);
	return rq->source.http[0] ? serve_check(rq->source.http, err) : 0;
}

/* The folders that Go keeps modules in, as its own tools find them; with colons between them. */
static char *go_modules(void)
{
	const char *cache = getenv("GOMODCACHE"), *home = getenv("HOME");
	struct str paths = str_of(getenv("GOPATH")), path;
	struct out o;
	char *list;

	out_init(&o, 0);
	if (cache && *cache)
		out_printf(&o, "%s:", cache);
	while (str_split(&paths, ':', &path)) {
		if (path.n)
			out_printf(&o, "%.*s/pkg/mod:", STR_ARG(path));
	}
	if (home && *home)
		out_printf(&o, "%s/go/pkg/mod", home);
	list = mem_str(out_view(&o));
	out_release(&o);
	return list;
}

static int answer(const struct request *rq, struct err *err)
{
	AUTO(freep) char *modules = go_modules();
	struct notify *n = &terminal.notify;
	struct config cfg = rq->config;
	struct profile *p = NULL;
	int rc = check(rq, err);

	cfg.go_root = getenv("GOROOT");
	cfg.go_modules = modules;
	cfg.debug_server = environment_debug_server();
	if (rc == 0 && !rq->command && rq->source.http[0])
		return serve(&cfg, &rq->source, n, err);
	if (rc == 0)
		rc = load(&rq->source, n, &p, err);
	if (rc == 0 && rq->command)
		rc = show(p, rq->command, rq->param, &cfg, false, n, err);
	else if (rc == 0)
		rc = shell(p, &cfg, n, err);
	profile_free(p);
	return rc;
}

static int print_dump(const struct request *rq, struct err *err)
{
	struct out o;
	int rc;

	out_init(&o, 0);
	rc = dump(rq->dump_options, &o, err);
	if (rc)
		return rc;
	return print(&o) ? -EIO : 0;
}

/*
 * Memory that one step gives back, the next one wants: the kernel would only take it away, which
 * interrupts all cores, and clear it again.  One heap, so that what a thread frees is everybody's.
 */
static void keep_memory(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

int main(int argc, char **argv)
{
	const struct own_command *command = own_command(argc, argv);
	struct request rq;
	struct err err = { "" };
	int rc;

	catch_signals();
	if (command)
		return own_command_run(command, argv + 2);
	keep_memory();
	use_time_zone();
	terminal_init(&terminal);
	if (is_word(argc, argv, "help"))
		return print_usage();
	if (is_word(argc, argv, "version"))
		return print_version();
	rc = cmdline_parse(&rq, argc, (const char *const *)argv, &terminal.notify, &err);
	if (rc == -ECANCELED)
		return 0;
	rq.source.as_pprof = is_pprof(argc, argv);
	if (rc == 0 && rq.version)
		return print_version();
	if (rc == 0)
		rc = rq.dump_options[0] ? print_dump(&rq, &err) : answer(&rq, &err);
	viewer_cleanup();
	if (rc == -EPIPE) { /* nobody reads on: end as if SIGPIPE had not been ignored */
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	if (rc && err.msg[0])
		notify_warn(&terminal.notify, "%s\n", err.msg); /* even behind one of its own */
	return rc ? FAILED : 0;
}
