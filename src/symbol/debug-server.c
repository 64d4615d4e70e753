/*
 * debug-server.c - binaries, debug information and sources from debuginfod servers, by build id
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/debug-server.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/lazy.h"
#include "base/notify.h"
#include "base/xalloc.h"
#include "elf/elf-file.h"

#include <ctype.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
	BUILD_ID_MAX = 128, /* hexadecimal digits */
	WAIT_MS = 30000,
	TOTAL_MS = 300000,
};

/* Each is libdebuginfod's function of the same name, with "debuginfod_" in front. */
static struct {
	debuginfod_client *(*begin)(void);
	void (*end)(debuginfod_client *c);
	int (*find_executable)(debuginfod_client *c, const unsigned char *id, int n, char **path);
	int (*find_debuginfo)(debuginfod_client *c, const unsigned char *id, int n, char **path);
	int (*find_source)(debuginfod_client *c, const unsigned char *id, int n, const char *name,
			   char **path);
	void (*set_progressfn)(debuginfod_client *c, debuginfod_progressfn_t fn);
	void (*set_user_data)(debuginfod_client *c, void *value);
	void *(*get_user_data)(debuginfod_client *c);
} calls;

#define FIND(name) calls.name = (__typeof__(calls.name))lazy_sym(lib, "debuginfod_" #name)

static int bind_calls(struct lazy_lib *lib, struct err *err)
{
	(void)err;
	FIND(begin);
	FIND(end);
	FIND(find_executable);
	FIND(find_debuginfo);
	FIND(find_source);
	FIND(set_progressfn);
	FIND(set_user_data);
	FIND(get_user_data);
	return 0;
}

static int load_library(struct err *err)
{
	static struct lazy_lib lib = { .soname = DEBUGINFOD_SONAME,
				       .package = "libdebuginfod1",
				       .bind = bind_calls };

	return lazy_open(&lib, err);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void debug_server_init(struct debug_server *s, const char *urls)
{
	*s = (struct debug_server){ .urls = urls };
	pthread_mutex_init(&s->lock, NULL);
}

void debug_server_renew(struct debug_server *s)
{
	s->is_old = false;
}

/* Called about once a second.  'total' is 0 before the server has answered. */
static int on_progress(debuginfod_client *client, long done, long total)
{
	struct debug_server *s = calls.get_user_data(client);
	int64_t now = now_ms();

	if (total > 0 && done != s->bytes) {
		s->bytes = done;
		s->since_ms = now;
	}
	s->late = now - s->since_ms > s->wait_ms || now > s->until_ms;
	if (total > 0)
		notify_progress(s->notify, "debuginfod", (uint64_t)done, (uint64_t)total, "bytes");
	else
		notify_progress(s->notify, "debuginfod", (uint64_t)(now - s->since_ms) / 1000, 0,
				"s");
	return s->late;
}

static void give_up(struct debug_server *s, const char *why)
{
	s->gave_up = true;
	notify_warn(s->notify, "debuginfod: %s; going on without it", why);
}

static void judge(struct debug_server *s, int rc)
{
	char why[128];

	if (rc == -ENOENT && !s->late)
		return;
	if (s->late || rc == -ETIME || rc == -ETIMEDOUT)
		give_up(s, "the server does not answer in time");
	else
		give_up(s, errno_text(-rc, why, sizeof(why)));
}

struct question {
	enum debug_server_kind kind;
	const char *id;
	const char *source; /* the name of one; NULL: another kind of file */
};

static int find(debuginfod_client *client, const struct question *q, char **path)
{
	const unsigned char *id = (const unsigned char *)q->id;

	if (q->source)
		return calls.find_source(client, id, 0, q->source, path);
	return q->kind == DEBUG_SERVER_EXECUTABLE ? calls.find_executable(client, id, 0, path)
						  : calls.find_debuginfo(client, id, 0, path);
}

/* One question to all servers; the path or NULL. */
static char *ask(struct debug_server *s, const struct question *q)
{
	debuginfod_client *client = calls.begin();
	char *path = NULL;
	int rc = -ENOMEM;

	s->since_ms = now_ms();
	s->bytes = 0;
	s->late = false;
	if (client) {
		calls.set_user_data(client, s);
		calls.set_progressfn(client, on_progress);
		rc = find(client, q, &path);
		calls.end(client);
	}
	notify_progress(s->notify, NULL, 0, 0, NULL);
	if (rc >= 0) {
		close(rc);
		return path;
	}
	judge(s, rc);
	return NULL;
}

static bool is_build_id(struct str id)
{
	for (size_t i = 0; i < id.n; i++) {
		if (!isxdigit((unsigned char)id.p[i]) || isupper((unsigned char)id.p[i]))
			return false;
	}
	return id.n > 0 && id.n % 2 == 0 && id.n <= BUILD_ID_MAX;
}

/* Loads the library and starts the clock, for the first question of a report. */
static bool is_ready(struct debug_server *s)
{
	struct err why;

	if (s->gave_up || atomic_exchange(&s->is_old, true))
		return !s->gave_up;
	if (s->wait_ms <= 0)
		s->wait_ms = WAIT_MS;
	s->until_ms = now_ms() + (s->total_ms > 0 ? s->total_ms : TOTAL_MS);
	if (load_library(&why) < 0)
		give_up(s, why.msg);
	return !s->gave_up;
}

/* Whether the file is what was asked for.  One that is not is not kept for the next time, either.
 */
static bool is_true(struct debug_server *s, const char *path, const char *id)
{
	AUTO(elf_closep) struct elf_file *f = NULL;
	AUTO(freep) char *why = NULL;

	if (elf_open(path, &f, NULL) == 0 && strcmp(f->build_id, id) == 0)
		return true;
	why = mem_printf("what the server has for build ID %s is another file", id);
	give_up(s, why);
	(void)unlink(path);
	return false;
}

static char *ask_if_ready(struct debug_server *s, struct str build_id, struct question q,
			  struct notify *n)
{
	AUTO(freep) char *id = mem_str(build_id);
	char *path = NULL;

	if (!is_build_id(build_id))
		return NULL;
	q.id = id;
	pthread_mutex_lock(&s->lock);
	s->notify = n;
	if (is_ready(s))
		path = ask(s, &q);
	if (path && !q.source && !is_true(s, path, id)) {
		free(path);
		path = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	return path;
}

char *debug_server_fetch(struct debug_server *s, enum debug_server_kind kind, struct str build_id,
			 struct notify *n)
{
	return ask_if_ready(s, build_id, (struct question){ .kind = kind }, n);
}

char *debug_server_fetch_source(struct debug_server *s, struct str build_id, const char *path,
				struct notify *n)
{
	return *path == '/' ? ask_if_ready(s, build_id, (struct question){ .source = path }, n)
			    : NULL;
}
