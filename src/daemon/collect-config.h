/*
 * collect-config.h - what "sonded collect" is to collect: a small YAML file, or flags
 *
 *	root: /var/log/pprof
 *	interval: 30m
 *	seconds: 30
 *	kinds: [profile, heap, goroutine, mutex, block, threadcreate]
 *	keep: {rounds: 48, age: 7d, bytes: 1G}
 *	targets:
 *	- {name: kube-apiserver, url: "http://localhost:8080", process: kube-apiserver}
 *	- {name: web, urls: ["http://a:6060", "http://b:6060"], mutex: 1, block: 1}
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DAEMON_COLLECT_CONFIG_H
#define DAEMON_COLLECT_CONFIG_H

#include "base/arena.h"
#include "base/args.h"
#include "daemon/target.h"

struct err;
struct yaml;

struct collect_config {
	struct arena a; /* everything below lives there */
	const char *root;
	int64_t interval_ns;
	bool plain_names; /* without colons: 20201001T220840Z */
	bool local_time;
	struct {
		uint64_t rounds, bytes;
		int64_t age_s;
	} keep; /* 0: no limit */
	struct target *targets;
	size_t ntargets;
	const char *metrics; /* address to serve metrics on, or NULL */
};

enum {
	COLLECT_CONFIG,
	COLLECT_ROOT,
	COLLECT_INTERVAL,
	COLLECT_SECONDS,
	COLLECT_KINDS,
	COLLECT_TARGET,
	COLLECT_KEEP_ROUNDS,
	COLLECT_KEEP_AGE,
	COLLECT_KEEP_BYTES,
	COLLECT_PLAIN,
	COLLECT_LOCAL,
	COLLECT_ROUNDS,
	COLLECT_METRICS,
};
extern const struct arg collect_flags[];

/*
 * Reads the file that --config names, if any, and then the flags, which win.  -EINVAL and what is
 * wrong, with the line.  Release with collect_config_release(), also after a failure.
 */
int collect_config_read(struct collect_config *c, const struct args *args, struct err *err);
void collect_config_release(struct collect_config *c);

#endif /* DAEMON_COLLECT_CONFIG_H */
