/*
 * store-kube.h - dumps in the Secrets of a Kubernetes namespace
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_STORE_KUBE_H
#define STORE_STORE_KUBE_H

struct kube;
struct store;

/* A store in k's namespace, which must be set.  Takes over what 'k' holds. */
struct store *store_open_kube(struct kube *k);

#endif /* STORE_STORE_KUBE_H */
