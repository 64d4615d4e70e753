/*
 * check-command.c - "sonde check": does this program really serve profiles?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "render/json.h"
#include "source/source.h"
#include "ui/endpoint.h"
#include "ui/environment.h"
#include "ui/own-command.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

enum { FLAG_TOKEN, FLAG_CA, FLAG_CERT, FLAG_KEY, FLAG_INSECURE, FLAG_JSON };
enum { TOKEN_MAX = 64 << 10 };

static const struct arg flags[] = {
	[FLAG_TOKEN] = { "token-file", "file", "Say who we are with the token that is in there",
			 ARG_FILE },
	[FLAG_CA] = { "ca", "file", "Trust servers by these certificates", ARG_FILE },
	[FLAG_CERT] = { "cert", "file", "The certificate of this client", ARG_FILE },
	[FLAG_KEY] = { "key", "file", "Its private key", ARG_FILE },
	[FLAG_INSECURE] = { "insecure", NULL, "Believe any server", ARG_TEXT },
	[FLAG_JSON] = { "json", NULL, "As JSON", ARG_TEXT },
	{ NULL, NULL, NULL, ARG_TEXT },
};

static const char *verdict(const struct endpoint *e)
{
	switch (e->state) {
	case ENDPOINT_SERVES:
		return "serves profiles";
	case ENDPOINT_SILENT:
		return "nothing answers";
	case ENDPOINT_CLOSED:
		return "wants to know who we are";
	case ENDPOINT_NOT_PROFILED:
		break;
	}
	return "not a profiled build";
}

static void write_text(struct out *o, const struct endpoint *e)
{
	out_printf(o, "%.*s: %s", STR_ARG(e->url), verdict(e));
	if (e->state != ENDPOINT_SERVES) {
		out_printf(o, ": %.*s\n", STR_ARG(e->why));
		return;
	}
	out_char(o, '\n');
	if (e->program.n)
		out_printf(o, "  program   %.*s\n", STR_ARG(e->program));
	if (e->runtime.n)
		out_printf(o, "  runtime   %.*s%s%.*s\n", STR_ARG(e->runtime),
			   e->version.n ? " " : "", STR_ARG(e->version));
	out_printf(o, "  heap      %zu samples\n", e->samples);
	for (size_t i = 0; i < e->nkinds; i++)
		out_printf(o, "%s%.*s %" PRIu64 "%s", i ? ", " : "  profiles  ",
			   STR_ARG(e->kinds[i].name), e->kinds[i].count,
			   i + 1 == e->nkinds ? "\n" : "");
	for (size_t i = 0; i < e->noff; i++)
		out_printf(o, "  off       %.*s\n", STR_ARG(e->off[i]));
}

static void write_json(struct json *j, const struct endpoint *e)
{
	json_open(j, NULL, '{');
	json_string(j, "url", e->url);
	json_bool(j, "serves", e->state == ENDPOINT_SERVES);
	json_string(j, "verdict", str_of(verdict(e)));
	json_string(j, "why", e->state == ENDPOINT_SERVES ? STR("") : e->why);
	json_string(j, "program", e->program);
	json_string(j, "runtime", e->runtime);
	json_string(j, "version", e->version);
	json_int(j, "heapSamples", (int64_t)e->samples);
	json_open(j, "profiles", '[');
	for (size_t i = 0; i < e->nkinds; i++) {
		json_open(j, NULL, '{');
		json_string(j, "name", e->kinds[i].name);
		json_int(j, "count", (int64_t)e->kinds[i].count);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_open(j, "off", '[');
	for (size_t i = 0; i < e->noff; i++)
		json_string(j, NULL, e->off[i]);
	json_close(j, ']');
	json_close(j, '}');
}

static int read_token(const char *path, char **header, struct err *err)
{
	struct file_bytes b;
	int rc;

	if (!path)
		return 0;
	rc = file_read(path, TOKEN_MAX, &b, err);
	if (rc < 0)
		return rc;
	*header = mem_printf("Authorization: Bearer %.*s",
			     STR_ARG(str_trim((struct str){ b.p, b.n })));
	file_bytes_release(&b);
	return 0;
}

/* The worse of both; -1 if it could not even be asked. */
static int check_one(const struct args *args, const char *where, const char *const *headers,
		     struct out *o, struct json *j)
{
	struct source_request rq = {
		.tls = { args->values[FLAG_CERT], args->values[FLAG_KEY], args->values[FLAG_CA],
			 args->values[FLAG_INSECURE] != NULL },
		.proxy = environment_proxy(),
		.env = environment_value,
	};
	struct err err = { "" };
	struct endpoint e;
	int status;

	if (endpoint_check(where, &rq, headers, &e, &err) < 0) {
		status = own_complain("check", &err, OWN_WRONG_USE);
	} else {
		status = e.state == ENDPOINT_SERVES ? OWN_OK : OWN_FAILED;
		if (args->values[FLAG_JSON])
			write_json(j, &e);
		else
			write_text(o, &e);
	}
	endpoint_release(&e);
	return status;
}

static int run_check(const struct args *args)
{
	AUTO(freep) char *token = NULL;
	const char *headers[2] = { NULL };
	struct err err = { "" };
	struct json j = { 0 };
	struct out o;
	int status = OWN_OK;

	if (!args->rest[0] || read_token(args->values[FLAG_TOKEN], &token, &err) < 0) {
		if (!*err.msg)
			err_set(&err, -EINVAL, "where? host:port, or a URL; see --help");
		return own_complain("check", &err, OWN_WRONG_USE);
	}
	headers[0] = token;
	out_init_fd(&o, STDOUT_FILENO);
	j.o = &o;
	if (args->values[FLAG_JSON])
		json_open(&j, NULL, '[');
	for (char **where = args->rest; *where; where++) {
		int one = check_one(args, *where, headers, &o, &j);

		status = one > status ? one : status;
	}
	if (args->values[FLAG_JSON])
		json_close(&j, ']');
	return own_print("check", &o) ? OWN_FAILED : status;
}

const struct own_command own_check = {
	.name = "check",
	.what = "Tell whether a program really serves profiles",
	.usage = "usage: sonde check [options] place...\n"
		 "\n"
		 "Asks the program at a place (host:port, a URL, or kube://namespace/pod:port) for "
		 "a\n"
		 "heap profile, reads it, and tells what runs there and what is off.  Ends with 0 "
		 "if\n"
		 "all of them serve profiles, with 1 if one does not, with 2 for wrong use.\n"
		 "\n"
		 "  sonde check localhost:6060\n",
	.flags = flags,
	.run = run_check,
};
