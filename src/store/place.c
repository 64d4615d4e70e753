/*
 * place.c - stores and clusters by name
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/place.h"

#include "base/args.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "base/xalloc.h"
#include "store/kube.h"
#include "store/store-kube.h"
#include "store/store.h"

#include <errno.h>

static const char account[] = "/var/run/secrets/kubernetes.io/serviceaccount";

static const char *env(const struct store_place *p, const char *name)
{
	const char *value = p->env ? p->env(name) : NULL;

	return value && *value ? value : NULL;
}

static int find_server(const struct store_place *p, struct kube *k, struct err *err)
{
	const char *config = env(p, "KUBECONFIG"), *host = env(p, "KUBERNETES_SERVICE_HOST");
	const char *folder = env(p, "SONDE_SERVICE_ACCOUNT"), *home = env(p, "HOME");
	AUTO(freep) char *path = NULL;
	int rc;

	if (config)
		return kube_from_config(k, config, err);
	if (!host && home) {
		path = mem_printf("%s/.kube/config", home);
		rc = kube_from_config(k, path, err);
		if (rc != -ENOENT)
			return rc;
	}
	return kube_in_cluster(k, host, env(p, "KUBERNETES_SERVICE_PORT"),
			       folder ? folder : account, err);
}

static bool is_namespace(const char *z)
{
	size_t n = strspn(z, "abcdefghijklmnopqrstuvwxyz0123456789-");

	return n > 0 && n <= 63 && !z[n];
}

static int set_patience(const char *text, struct kube *k, struct err *err)
{
	int64_t ns;

	if (!text)
		return 0;
	if (!time_parse(text, &ns))
		return err_set(err, -EINVAL, "SONDE_KUBE_PATIENCE is a time such as 15s, not '%s'",
			       text);
	k->patience_ms = ns / 1000000;
	return 0;
}

int kube_find(const struct store_place *p, const char *namespace, struct kube *out, struct err *err)
{
	int rc = find_server(p, out, err);
	const char *pod = env(p, "MY_POD_NAMESPACE");

	if (rc == 0 && (*namespace || pod)) {
		free(out->namespace);
		out->namespace = mem_str(str_of(*namespace ? namespace : pod));
	}
	if (rc == 0 && !out->namespace)
		out->namespace = mem_str(STR("default"));
	if (rc == 0 && !is_namespace(out->namespace))
		rc = err_set(err, -EINVAL, "'%s' cannot be a namespace", out->namespace);
	if (rc < 0) {
		kube_release(out);
		return rc;
	}
	out->proxy = p->proxy;
	out->stop = p->stop;
	return set_patience(env(p, "SONDE_KUBE_PATIENCE"), out, err);
}

int store_open(const char *where, const struct store_place *p, struct store **out, struct err *err)
{
	struct kube k;
	int rc;

	*out = NULL;
	if (strncmp(where, "dir:", 4) == 0 && where[4])
		return store_open_dir(where + 4, out, err);
	if (where[0] == '/' || where[0] == '.')
		return store_open_dir(where, out, err);
	if (strncmp(where, "kube:", 5) != 0)
		return err_set(err, -EINVAL,
			       "'%s' is no place for dumps: dir:PATH, kube: or kube:NAMESPACE",
			       where);
	rc = kube_find(p, where + 5, &k, err);
	if (rc == 0)
		*out = store_open_kube(&k);
	return rc;
}
