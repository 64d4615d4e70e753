/*
 * store.c - "sonded store": one dump into a store
 *
 * This is what libsonde starts to ship a dump: the host never speaks TLS and never waits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "daemon/command.h"
#include "daemon/heap-numbers.h"
#include "store/dumps.h"
#include "store/kube.h"
#include "store/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	FLAG_TO,
	FLAG_PREFIX,
	FLAG_POD,
	FLAG_RUN,
	FLAG_IN_USE,
	FLAG_ALLOC,
	FLAG_CHUNK,
	FLAG_KEEP,
	FLAG_REMOVE,
};

static const struct arg flags[] = {
	[FLAG_TO] = { "to", "place",
		      "Where to: dir:PATH, kube: or kube:NAMESPACE; SONDE_DUMP if not set",
		      ARG_FILE },
	[FLAG_PREFIX] = { "prefix", "name",
			  "What the objects are called: NAME-heap, NAME-heap-0, ...\n"
			  "SONDE_DUMP_PREFIX if not set",
			  ARG_TEXT },
	[FLAG_POD] = { "pod", "name", "Whose heap it is; MY_POD_NAME, or this machine, if not set",
		       ARG_TEXT },
	[FLAG_RUN] = { "run", "id", "Which life of it: another one after every restart", ARG_TEXT },
	[FLAG_IN_USE] = { "heap-in-use", "bytes",
			  "How large the heap was; if neither this nor --heap-alloc is set,\n"
			  "both are what the profile says",
			  ARG_NUMBER },
	[FLAG_ALLOC] = { "heap-alloc", "bytes", "How much of it was allocated", ARG_NUMBER },
	[FLAG_CHUNK] = { "chunk", "bytes", "Size of the pieces; 512000 if not set, at most 1M",
			 ARG_NUMBER },
	[FLAG_KEEP] = { "keep", "n", "How many dumps of the prefix to keep; 5 if not set",
			ARG_NUMBER },
	[FLAG_REMOVE] = { "remove", NULL, "Remove the file when it is stored", ARG_TEXT },
	{ NULL, NULL, NULL, ARG_TEXT },
};

static const char *given(const struct args *args, int flag, const char *variable)
{
	const char *value = args->values[flag] ? args->values[flag] : getenv(variable);

	return value ? value : "";
}

static int put(const struct args *args, struct store *s, unsigned keep, struct str bytes,
	       struct err *err)
{
	char owner[17], host[HOST_NAME_MAX + 1] = "";
	const char *pod = given(args, FLAG_POD, "MY_POD_NAME");
	struct dumps_writer w = {
		.owner = { owner, 16 },
		.chunk_bytes = args_number(args->values[FLAG_CHUNK]),
		.keep = keep,
	};
	struct dump about = {
		.heap_inuse = args_number(args->values[FLAG_IN_USE]),
		.heap_alloc = args_number(args->values[FLAG_ALLOC]),
		.run = str_of(args->values[FLAG_RUN]),
	};
	struct heap_numbers n;

	if (!args->values[FLAG_IN_USE] && !args->values[FLAG_ALLOC] && heap_numbers_of(bytes, &n)) {
		about.heap_inuse = n.heap_inuse;
		about.heap_alloc = n.heap_alloc;
	}
	daemon_random_name(owner);
	(void)gethostname(host, sizeof(host) - 1);
	about.pod = str_of(*pod ? pod : host);
	return dumps_put(s, str_of(given(args, FLAG_PREFIX, "SONDE_DUMP_PREFIX")), &w, &about,
			 bytes, err);
}

static int run_store(const struct args *args)
{
	AUTO(store_closep) struct store *s = NULL;
	const char *where = given(args, FLAG_TO, "SONDE_DUMP");
	const char *path = args->rest[0];
	struct file_bytes b = { 0 };
	struct err err = { "" };
	unsigned keep;
	int rc;

	if (!path || args->rest[1])
		return daemon_complain("store", "which file? one; see --help", STATUS_WRONG_USE);
	if (!*where)
		return daemon_complain("store",
				       "where to? --to dir:PATH or kube:", STATUS_WRONG_USE);
	if (!*given(args, FLAG_PREFIX, "SONDE_DUMP_PREFIX"))
		return daemon_complain("store", "what is it called? --prefix name",
				       STATUS_WRONG_USE);
	if (daemon_read_keep(args->values[FLAG_KEEP], &keep, &err) < 0)
		return daemon_complain("store", err.msg, STATUS_WRONG_USE);
	rc = strcmp(path, "-") == 0
		     ? file_read_fd(STDIN_FILENO, "standard input", SIZE_MAX / 2, &b, &err)
		     : file_read(path, SIZE_MAX / 2, &b, &err);
	if (rc == 0)
		rc = store_open(where, daemon_place(), &s, &err);
	if (rc == 0)
		rc = put(args, s, keep, (struct str){ b.p, b.n }, &err);
	if (rc == -EACCES)
		(void)daemon_check_verbs(where, &err);
	file_bytes_release(&b);
	if (rc < 0)
		return daemon_complain("store", err.msg, STATUS_FAILED);
	if (rc > 0)
		(void)daemon_complain("store", err.msg, 0);
	if (args->values[FLAG_REMOVE])
		(void)unlink(path);
	return STATUS_OK;
}

const struct daemon_command command_store = {
	.name = "store",
	.what = "Put one dump into a store",
	.usage = "usage: sonded store --to place --prefix name [options] file\n"
		 "\n"
		 "Stores a heap profile as the newest dump of that name: all of it, or nothing.\n"
		 "The file \"-\" is standard input.\n",
	.flags = flags,
	.run = run_store,
};

/* --- sonded verbs ------------------------------------------------------------------------ */

static const struct arg verbs_flags[] = {
	{ "check", "place", "Ask the server of kube: or kube:NAMESPACE whether we have them",
	  ARG_TEXT },
	{ NULL, NULL, NULL, ARG_TEXT },
};

static int run_verbs(const struct args *args)
{
	struct err err = { "" };
	struct out o;

	if (args->values[0] && strncmp(args->values[0], "kube:", 5) != 0)
		return daemon_complain("verbs", "--check takes kube: or kube:NAMESPACE",
				       STATUS_WRONG_USE);
	if (args->values[0] && daemon_check_verbs(args->values[0], &err) < 0)
		return daemon_complain("verbs", err.msg, STATUS_FAILED);
	out_init_fd(&o, STDOUT_FILENO);
	out_printf(&o, "- apiGroups: [\"\"]\n  resources: [\"secrets\"]\n  verbs: [%s]\n",
		   kube_verbs);
	return daemon_print("verbs", &o);
}

const struct daemon_command command_verbs = {
	.name = "verbs",
	.what = "What storing in Kubernetes needs to be allowed to do",
	.usage = "usage: sonded verbs [--check place]\n"
		 "\n"
		 "Prints the rule for a Role that lets sonded keep dumps as Secrets.\n",
	.flags = verbs_flags,
	.run = run_verbs,
};
