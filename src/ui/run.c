/*
 * run.c - "sonde run": start a program with libsonde.so in it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "ui/own-command.h"
#include "ui/preloadable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OURS = 125, NOT_STARTED = 126, NOT_FOUND = 127 };

/* Where a program is found that says nothing else. */
static const char default_addr[] = "localhost:8070";

enum {
	FLAG_ADDR,
	FLAG_PRESET,
	FLAG_HEAP_RATE,
	FLAG_MUTEX_FRACTION,
	FLAG_BLOCK_RATE,
	FLAG_CPU_HZ,
	FLAG_MEMLOG,
	FLAG_DUMP,
	FLAG_TOKEN,
	FLAG_LOG,
	FLAG_LIB,
	NFLAGS,
};

static const struct arg flags[] = {
	[FLAG_ADDR] = { "addr", "address",
			"Where to serve profiles: host:port, :port for all addresses, or "
			"unix:/path\n"
			"localhost:8070 if neither this nor the environment says",
			ARG_TEXT },
	[FLAG_PRESET] = { "preset", "name",
			  "Address, rates and log of one of enable-profiler, pprof-addr,\n"
			  "profiling-config, build-profiled, contention; see libsonde(3)",
			  ARG_TEXT },
	[FLAG_HEAP_RATE] = { "heap-rate", "bytes",
			     "Sample one allocation in so many bytes, on average\n"
			     "524288 if not set; 1 samples every one, 0 none",
			     ARG_NUMBER },
	[FLAG_MUTEX_FRACTION] = { "mutex-fraction", "n",
				  "Sample one in so many waits for mutexes, for the profile "
				  "\"mutex\"\n"
				  "0 if not set: none; 1 samples every one",
				  ARG_NUMBER },
	[FLAG_BLOCK_RATE] = { "block-rate", "ns",
			      "Sample one wait in so many nanoseconds of waiting, for the profile "
			      "\"block\"\n"
			      "0 if not set: none; 1 samples every one",
			      ARG_NUMBER },
	[FLAG_CPU_HZ] = { "cpu-hz", "n",
			  "Samples per second of CPU time, while a CPU profile is taken; 100 if "
			  "not set",
			  ARG_NUMBER },
	[FLAG_MEMLOG] = { "memlog", "time",
			  "Write a line about memory to the log at the start, and every so often: "
			  "60s, 500ms",
			  ARG_TEXT },
	[FLAG_DUMP] = { "dump", "place",
			"Store heap dumps when memory grows: dir:PATH, kube: or kube:NAMESPACE",
			ARG_FILE },
	[FLAG_TOKEN] = { "token", "text",
			 "Answer only requests with the header \"Authorization: Bearer <text>\"\n"
			 "Other people on this machine can see the arguments of commands: a "
			 "variable\n"
			 "SONDE_TOKEN in the environment does the same and is not shown",
			 ARG_TEXT },
	[FLAG_LOG] = { "log", "file", "Where to log: stderr, syslog, none, or a file", ARG_FILE },
	[FLAG_LIB] = { "lib", "file",
		       "The libsonde.so to use; SONDE_LIB, or the one installed, if not set",
		       ARG_FILE },
	[NFLAGS] = { NULL, NULL, NULL, ARG_TEXT },
};

/* An option is a variable in the environment of the program. */
static const char *const variables[NFLAGS] = {
	[FLAG_ADDR] = "SONDE_ADDR",
	[FLAG_PRESET] = "SONDE_PRESET",
	[FLAG_HEAP_RATE] = "SONDE_HEAP_RATE",
	[FLAG_MUTEX_FRACTION] = "SONDE_MUTEX_FRACTION",
	[FLAG_BLOCK_RATE] = "SONDE_BLOCK_RATE",
	[FLAG_CPU_HZ] = "SONDE_CPU_HZ",
	[FLAG_MEMLOG] = "SONDE_MEMLOG",
	[FLAG_DUMP] = "SONDE_DUMP",
	[FLAG_TOKEN] = "SONDE_TOKEN",
	[FLAG_LOG] = "SONDE_LOG",
};

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

static int check_preset(const char *name, struct err *err)
{
	static const char *const names[] = { "enable-profiler", "pprof-addr", "profiling-config",
					     "build-profiled", "contention" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0)
			return 0;
	}
	return err_set(err, -EINVAL, "there is no preset '%s'; see sonde run --help", name);
}

/* The library would have nowhere to say that it has nowhere to log. */
static int check_log(const char *where, struct err *err)
{
	AUTO(closep) int fd = -1;

	if (strcmp(where, "stderr") == 0 || strcmp(where, "syslog") == 0 ||
	    strcmp(where, "none") == 0)
		return 0;
	fd = open(where, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0600);
	return fd < 0 ? err_set(err, -errno, "cannot log to '%s': %m", where) : 0;
}

/* As store_open() has it; whether it is there is found out when there is something to store. */
static int check_dump(const char *where, struct err *err)
{
	if ((str_starts(str_of(where), STR("dir:")) && where[4]) || strchr("/.", where[0]) ||
	    str_starts(str_of(where), STR("kube:")))
		return 0;
	return err_set(err, -EINVAL,
		       "'%s' is no place for dumps: dir:PATH, kube: or kube:NAMESPACE", where);
}

static int check_values(const struct args *args, struct err *err)
{
	const char *preset = args->values[FLAG_PRESET], *log = args->values[FLAG_LOG];
	const char *dump = args->values[FLAG_DUMP];
	int rc = preset ? check_preset(preset, err) : 0;

	if (rc == 0 && dump)
		rc = check_dump(dump, err);
	if (rc == 0 && log && *log)
		rc = check_log(log, err);
	return rc;
}

static int set_environment(const struct args *args, struct err *err)
{
	char pid[16];

	if (!args->values[FLAG_PRESET] && !has_address())
		setenv("SONDE_ADDR", default_addr, 1);
	/* Programs that this one starts would find the address taken, and complain. */
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("SONDE_PID", pid, 1);
	for (size_t i = 0; i < NFLAGS; i++) {
		if (args->values[i] && variables[i] && setenv(variables[i], args->values[i], 1))
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

static int start(char **program, const char *path, struct err *err)
{
	execv(path, program);
	return errno == ENOEXEC ? err_set(err, -errno,
					  "cannot start '%s': it is no program, and "
					  "names none that runs it",
					  path)
				: err_set(err, -errno, "cannot start '%s': %m", path);
}

static int run_program(const struct args *args)
{
	const char *told = args->values[FLAG_LIB];
	AUTO(freep) char *library = NULL, *path = NULL;
	char **program = args->rest;
	struct err err = { "" };

	if (!*program)
		err_set(&err, -EINVAL, "which program? see sonde run --help");
	else if (check_values(args, &err) == 0)
		library = find_library(told ? told : getenv("SONDE_LIB"), &err);
	if (!library)
		return own_complain("run", &err, OURS);
	path = find_program(program[0]);
	if (!path) {
		err_set(&err, -ENOENT, "cannot find '%s'", program[0]);
		return own_complain("run", &err, NOT_FOUND);
	}
	if (access(path, X_OK) == 0 && preloadable(path, library, &err))
		return own_complain("run", &err, NOT_STARTED);
	if (preload(library, &err) || set_environment(args, &err))
		return own_complain("run", &err, OURS);
	start(program, path, &err);
	return own_complain("run", &err, NOT_STARTED);
}

static bool ends_at_program(char **words, size_t n)
{
	(void)words;
	return n == 1;
}

/*
 * The program takes this process over, so that its parent sees its signals and its status without
 * our doing.  Other statuses are as those of other commands that start one: 125 if it is our fault
 * or our user's, 126 for a program that cannot be started (with the library), 127 for none of that
 * name.
 */
const struct own_command own_run = {
	.name = "run",
	.what = "Start a program that serves profiles of itself",
	.usage = "usage: sonde run [options] [--] program [arguments]\n"
		 "\n"
		 "Starts a program with libsonde.so in it, which serves profiles of it:\n"
		 "\n"
		 "  sonde run --addr :8070 -- redis-server\n"
		 "  sonde http://localhost:8070\n",
	.flags = flags,
	.ends = ends_at_program,
	.wrong_use = OURS,
	.next = "program",
	.run = run_program,
};
