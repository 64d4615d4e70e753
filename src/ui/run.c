/*
 * run.c - "sonde run": start a program with libsonde.so in it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/run.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "ui/preloadable.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OURS = 125, NOT_STARTED = 126, NOT_FOUND = 127 };

/* Where a program is found that says nothing else. */
static const char default_addr[] = "localhost:8070";

enum { FLAG_PRESET = 1, FLAG_LIB = 10, FLAG_HELP, NFLAGS };

const struct run_flag run_flags[] = {
	{ "addr", "SONDE_ADDR", "address",
	  "Where to serve profiles: host:port, :port for all addresses, or unix:/path\n"
	  "localhost:8070 if neither this nor the environment says",
	  RUN_TEXT },
	[FLAG_PRESET] = { "preset", "SONDE_PRESET", "name",
			  "Address, rates and log of one of enable-profiler, pprof-addr,\n"
			  "profiling-config, build-profiled, contention; see libsonde(3)",
			  RUN_TEXT },
	{ "heap-rate", "SONDE_HEAP_RATE", "bytes",
	  "Sample one allocation in so many bytes, on average\n"
	  "524288 if not set; 1 samples every one, 0 none",
	  RUN_NUMBER },
	{ "mutex-fraction", "SONDE_MUTEX_FRACTION", "n",
	  "Sample one in so many waits for mutexes, for the profile \"mutex\"\n"
	  "0 if not set: none; 1 samples every one",
	  RUN_NUMBER },
	{ "block-rate", "SONDE_BLOCK_RATE", "ns",
	  "Sample one wait in so many nanoseconds of waiting, for the profile \"block\"\n"
	  "0 if not set: none; 1 samples every one",
	  RUN_NUMBER },
	{ "cpu-hz", "SONDE_CPU_HZ", "n",
	  "Samples per second of CPU time, while a CPU profile is taken; 100 if not set",
	  RUN_NUMBER },
	{ "memlog", "SONDE_MEMLOG", "time",
	  "Write a line about memory to the log at the start, and every so often: 60s, 500ms",
	  RUN_TEXT },
	{ "dump", "SONDE_DUMP", "place",
	  "Store heap dumps when memory grows: dir:PATH, kube: or kube:NAMESPACE", RUN_TEXT },
	{ "token", "SONDE_TOKEN", "text",
	  "Answer only requests with the header \"Authorization: Bearer <text>\"\n"
	  "Other people on this machine can see the arguments of commands: a variable\n"
	  "SONDE_TOKEN in the environment does the same and is not shown",
	  RUN_TEXT },
	{ "log", "SONDE_LOG", "file", "Where to log: stderr, syslog, or a file", RUN_FILE },
	[FLAG_LIB] = { "lib", NULL, "file",
		       "The libsonde.so to use; SONDE_LIB, or the one installed, if not set",
		       RUN_FILE },
	[FLAG_HELP] = { "help", NULL, NULL, "Show this text", RUN_TEXT },
	[NFLAGS] = { NULL, NULL, NULL, NULL, RUN_TEXT },
};

struct run {
	const char *values[NFLAGS];
	char **program; /* its arguments, up to NULL */
};

static int complain(const struct err *err, int status)
{
	struct out o;

	out_init_fd(&o, STDERR_FILENO);
	out_printf(&o, "sonde run: %s\n", err->msg);
	(void)out_finish(&o);
	out_release(&o);
	return status;
}

static void write_help(struct out *o, const struct run_flag *f)
{
	struct str rest = str_of(f->help), line;
	char *left = mem_printf("--%s%s%s", f->name, f->value ? " " : "", f->value ? f->value : "");

	out_printf(o, "  %-18s", left);
	for (int i = 0; str_split(&rest, '\n', &line); i++)
		out_printf(o, "%s %.*s\n", i ? "                    " : "", STR_ARG(line));
	free(left);
}

static int print_help(void)
{
	struct out o;
	int rc;

	out_init_fd(&o, STDOUT_FILENO);
	out_text(&o, "usage: sonde run [options] [--] program [arguments]\n"
		     "\n"
		     "Starts a program with libsonde.so in it, which serves profiles of it:\n"
		     "\n"
		     "  sonde run --addr :8070 -- redis-server\n"
		     "  sonde http://localhost:8070\n"
		     "\n"
		     "options:\n");
	for (const struct run_flag *f = run_flags; f->name; f++)
		write_help(&o, f);
	rc = out_finish(&o);
	out_release(&o);
	return rc ? OURS : 0;
}

/* For bytes, as the library reads them: 524288 or 512K. */
static bool is_number(const char *z)
{
	size_t n = z ? strspn(z, "0123456789") : 0;

	return n > 0 && n < 19 && (!z[n] || (strchr("KMGkmg", z[n]) && !z[n + 1]));
}

static int flag_find(struct str name, struct err *err)
{
	for (int i = 0; run_flags[i].name; i++) {
		if (str_is(name, run_flags[i].name))
			return i;
	}
	return err_set(err, -EINVAL, "there is no option --%.*s; see sonde run --help",
		       STR_ARG(name));
}

/* Sets the flag 'arg', which has its value after an equals sign or takes it from '*next'. */
static int flag_set(struct run *r, const char *arg, char ***next, struct err *err)
{
	struct str rest = str_of(arg), name;
	const char *value = strchr(arg, '=');
	int i;

	str_split(&rest, '=', &name);
	i = flag_find(name, err);
	if (i < 0)
		return i;
	if (value && run_flags[i].value)
		value++;
	else if (run_flags[i].value && **next)
		value = *(*next)++;
	if (!value != !run_flags[i].value)
		return err_set(err, -EINVAL, "--%.*s takes %s value", STR_ARG(name),
			       value ? "no" : "a");
	if (run_flags[i].kind == RUN_NUMBER && !is_number(value))
		return err_set(err, -EINVAL, "--%.*s takes a number, not '%s'", STR_ARG(name),
			       value);
	r->values[i] = value ? value : "";
	return 0;
}

static int parse(struct run *r, char **next, struct err *err)
{
	int rc = 0;

	while (rc == 0 && *next && **next == '-' && strcmp(*next, "--") != 0) {
		const char *arg = *next++;

		rc = flag_set(r, arg + 1 + (arg[1] == '-'), &next, err);
	}
	if (rc == 0 && *next && strcmp(*next, "--") == 0)
		next++;
	r->program = next;
	if (rc == 0 && !*next && !r->values[FLAG_HELP])
		rc = err_set(err, -EINVAL, "which program? see sonde run --help");
	return rc;
}

/* The folder this program is in, without the slash. */
static struct str own_folder(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size);
	struct str path = { buf, n > 0 ? (size_t)n : 0 };
	ptrdiff_t slash = str_rfind_char(path, '/');

	path.n = slash > 0 ? (size_t)slash : 0;
	return path;
}

#define MULTIARCH "/../lib/" SONDE_MULTIARCH

/* The library: as told, or beside this program, or where it is installed.  To be freed. */
static char *find_library(const char *told, struct err *err)
{
	static const char *const places[] = { "", "/../lib", MULTIARCH, "/../lib64" };
	char buf[PATH_MAX];
	struct str here = own_folder(buf, sizeof(buf));
	char *found;

	if (told && *told) {
		found = realpath(told, NULL);
		if (!found)
			err_set(err, -errno, "cannot find the library '%s': %m", told);
		return found;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		AUTO(freep) char *try = mem_printf("%.*s%s/libsonde.so", STR_ARG(here), places[i]);

		found = realpath(try, NULL);
		if (found)
			return found;
	}
	found = realpath(SONDE_LIBDIR "/libsonde.so", NULL);
	if (!found)
		err_set(err, -ENOENT,
			"cannot find libsonde.so beside sonde, in ../lib or in %s; say where it is "
			"with --lib or SONDE_LIB",
			SONDE_LIBDIR);
	return found;
}

/* Puts the library before others that are preloaded: an allocator among them is what our hooks
 * pass their calls on to. */
static int preload(const char *library, struct err *err)
{
	const char *old = getenv("LD_PRELOAD");
	AUTO(freep) char *list = NULL;

	if (strpbrk(library, " :"))
		return err_set(
			err, -EINVAL,
			"the loader cannot take '%s': there is a blank or a colon in its name",
			library);
	list = mem_printf("%s%s%s", library, old && *old ? ":" : "", old ? old : "");
	return setenv("LD_PRELOAD", list, 1) ? err_set(err, -errno, "%m") : 0;
}

/* Whether the environment has one of the switches of libsonde(3) that come with an address. */
static bool has_address(void)
{
	const struct str ending = STR("_PPROF_ADDR=");
	const char *addr = getenv("SONDE_ADDR"), *preset = getenv("SONDE_PRESET");
	const char *enable = getenv("ENABLE_PROFILER");

	for (char **at = environ; *at; at++) {
		const char *equals = strchr(*at, '=');
		struct str name = { *at, equals ? (size_t)(equals - *at) + 1 : 0 };

		if (equals && equals[1] && str_ends(name, ending))
			return true;
	}
	return (addr && *addr) || (preset && *preset) || (enable && strcmp(enable, "true") == 0);
}

static int set_environment(const struct run *r, struct err *err)
{
	char pid[16];

	if (!r->values[FLAG_PRESET] && !has_address())
		setenv("SONDE_ADDR", default_addr, 1);
	/* Programs that this one starts would find the address taken, and complain. */
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("SONDE_PID", pid, 1);
	for (int i = 0; run_flags[i].name; i++) {
		if (r->values[i] && run_flags[i].variable &&
		    setenv(run_flags[i].variable, r->values[i], 1))
			return err_set(err, -errno, "%m");
	}
	return 0;
}

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* As a shell finds it: one that cannot be executed only if there is no other.  To be freed. */
static char *find_program(const char *name)
{
	const char *path = getenv("PATH");
	struct str rest = str_of(path ? path : "/usr/local/bin:/usr/bin:/bin"), folder;
	char *second = NULL;

	if (strchr(name, '/'))
		return is_file(name) ? mem_str(str_of(name)) : NULL;
	while (*name && str_split(&rest, ':', &folder)) {
		char *try = mem_printf("%.*s%s%s", STR_ARG(folder), folder.n ? "/" : "./", name);

		if (is_file(try) && access(try, X_OK) == 0) {
			free(second);
			return try;
		}
		if (!second && is_file(try))
			second = try;
		else
			free(try);
	}
	return second;
}

static int start(const struct run *r, const char *path, struct err *err)
{
	execv(path, r->program);
	return errno == ENOEXEC ? err_set(err, -errno,
					  "cannot start '%s': it is no program, and "
					  "names none that runs it",
					  path)
				: err_set(err, -errno, "cannot start '%s': %m", path);
}

int run_main(int argc, char **argv)
{
	AUTO(freep) char *library = NULL, *path = NULL;
	struct run r = { .program = NULL };
	struct err err = { "" };

	(void)argc;
	if (parse(&r, argv + 1, &err))
		return complain(&err, OURS);
	if (r.values[FLAG_HELP])
		return print_help();
	library = find_library(r.values[FLAG_LIB] ? r.values[FLAG_LIB] : getenv("SONDE_LIB"), &err);
	if (!library)
		return complain(&err, OURS);
	path = find_program(r.program[0]);
	if (!path) {
		err_set(&err, -ENOENT, "cannot find '%s'", r.program[0]);
		return complain(&err, NOT_FOUND);
	}
	if (access(path, X_OK) == 0 && preloadable(path, library, &err))
		return complain(&err, NOT_STARTED);
	if (preload(library, &err) || set_environment(&r, &err))
		return complain(&err, OURS);
	start(&r, path, &err);
	return complain(&err, NOT_STARTED);
}
