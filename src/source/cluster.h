/*
 * cluster.h - profiles that are in a Kubernetes cluster, by name
 *
 *	kube://namespace/prefix[@generation]		a dump that is kept in Secrets
 *	kube://namespace/pod:port[/path][?query]	what a pod serves
 *	kube://namespace/svc/service:port[/path]...	what one of the pods of a service does
 *
 * Without a namespace ("kube:///prefix") it is the current one.  Pods are reached through the API
 * server's proxy: nothing needs to be forwarded, and their names alone are enough.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SOURCE_CLUSTER_H
#define SOURCE_CLUSTER_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct err;
struct http_response;
struct source_bytes;
struct source_request;

struct cluster_name {
	struct str namespace; /* "": the current one */
	struct str prefix;    /* of a dump; "": it is a pod */
	uint64_t generation;  /* 0: the newest */
	bool service;
	struct str pod, port; /* or the service's */
	struct str rest;      /* "/path?query", or "" */
};

bool cluster_is(const char *source);

/* Takes 'source' apart; -EINVAL and what is wrong. */
int cluster_parse(struct str source, struct cluster_name *out, struct err *err);

/* source_read() for these names: 'rq' is how, 'a' for what is needed meanwhile. */
int cluster_read(const struct source_request *rq, struct arena *a, struct source_bytes *out,
		 struct err *err);

/*
 * What a pod answers to "/path?query", where a program is asked for more than a profile, within
 * 'wait_ms' (0: fifteen seconds).  Only what
 * comes with status 200 counts; -EREMOTEIO: the program has answered something else; -EACCES,
 * -EHOSTUNREACH: the cluster has not let us reach it.
 */
int cluster_ask(const struct source_request *rq, const struct cluster_name *n, struct str path,
		int64_t wait_ms, struct http_response *rs, struct err *err);

#endif /* SOURCE_CLUSTER_H */
