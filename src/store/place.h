/*
 * place.h - stores and clusters by name
 *
 *	dir:/path, /path, ./path	a directory
 *	kube:, kube:namespace		Secrets, in the namespace of this pod or in that one
 *
 * A cluster is the one this pod is in, or the one of a kubeconfig.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_PLACE_H
#define STORE_PLACE_H

#include <stdatomic.h>

struct err;
struct kube;
struct proxy_rules;
struct store;

struct store_place {
	const char *(*env)(const char *name); /* the environment: getenv(), or NULL for none */
	const struct proxy_rules *proxy;
	const atomic_bool *stop;
};

/* -EINVAL: no such kind of place; else what opening it gave. */
int store_open(const char *where, const struct store_place *p, struct store **out, struct err *err);

/*
 * Where the cluster is: KUBECONFIG, else the pod's own service account (in the folder
 * SONDE_SERVICE_ACCOUNT, or where Kubernetes puts it), else ~/.kube/config.  The namespace is
 * 'namespace' if it is not "", else MY_POD_NAMESPACE, else the account's or context's, else
 * "default".
 */
int kube_find(const struct store_place *p, const char *namespace, struct kube *out,
	      struct err *err);

/* The verbs on Secrets that we need, separated by ", ". */
extern const char kube_verbs[];

/* kubeconfig.c: from a file of that kind, by its current context. */
int kube_from_config(struct kube *k, const char *path, struct err *err);

#endif /* STORE_PLACE_H */
