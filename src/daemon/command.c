/*
 * command.c - what the commands of sonded share
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "daemon/command.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "net/proxy.h"
#include "store/dumps.h"
#include "store/kube.h"
#include "store/place.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

atomic_bool daemon_stop;

int daemon_complain(const char *name, const char *why, int status)
{
	struct out o;

	out_init_fd(&o, STDERR_FILENO);
	out_printf(&o, "sonded %s: %s\n", name, why);
	(void)out_finish(&o);
	out_release(&o);
	return status;
}

int daemon_print(const char *name, struct out *o)
{
	char why[128];
	struct err err;
	int rc = out_finish(o);

	out_release(o);
	if (rc == 0)
		return STATUS_OK;
	err_set(&err, rc, "write /dev/stdout: %s", errno_text(-rc, why, sizeof(why)));
	return daemon_complain(name, err.msg, STATUS_FAILED);
}

int daemon_read_keep(const char *value, unsigned *keep, struct err *err)
{
	uint64_t n = value ? args_number(value) : 0;

	*keep = (unsigned)n;
	if (!value || (n > 0 && n <= DUMPS_KEEP_MAX))
		return 0;
	return err_set(err, -EINVAL, "--keep is 1 to %d", DUMPS_KEEP_MAX);
}

static const char *environment(const char *name)
{
	return getenv(name);
}

static struct proxy_rules proxy;

static void find_proxy(void)
{
	proxy = proxy_rules_from(environment);
}

const struct store_place *daemon_place(void)
{
	static const struct store_place place = {
		.env = environment,
		.proxy = &proxy,
		.stop = &daemon_stop,
	};
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_proxy);
	return &place;
}

void daemon_random_name(char to[17])
{
	unsigned char bytes[8] = { 0 };

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		memcpy(bytes, &(pid_t){ getpid() }, sizeof(pid_t));
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

int daemon_check_verbs(const char *where, struct err *err)
{
	AUTO(arena_release) struct arena a;
	struct str denied;
	struct kube k;
	int rc;

	arena_init(&a, 1 << 20);
	if (strncmp(where, "kube:", 5) != 0)
		return 0;
	rc = kube_find(daemon_place(), where + 5, &k, err);
	if (rc < 0)
		return rc;
	rc = kube_check_verbs(&k, &a, &denied, err);
	if (rc == 0 && denied.n)
		rc = err_set(
			err, -EACCES,
			"the service account may not %.*s secrets in the namespace %s; it needs "
			"%s (see \"sonded verbs\")",
			STR_ARG(denied), k.namespace, kube_verbs);
	kube_release(&k);
	return rc;
}
