/*
 * source.h - from the name of a profile to its bytes
 *
 * A source is a file, standard input ("-"), a URL, written the many ways the reference tool
 * accepts, or something in a Kubernetes cluster (cluster.h).  What comes out is not compressed any
 * more, and not parsed yet.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SOURCE_SOURCE_H
#define SOURCE_SOURCE_H

#include "base/file.h"
#include "net/http.h"
#include "net/proxy.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct notify;
struct unpack_watcher;

/* The largest profile unless the caller says otherwise: four gigabytes. */
#define SOURCE_MAX_BYTES ((size_t)4 << 30)

struct source_request {
	const char *source;
	int64_t seconds; /* -seconds: how long to profile; not positive: not given */
	int64_t timeout; /* -timeout, in seconds; likewise */
	size_t max;      /* bytes, compressed and not; 0: SOURCE_MAX_BYTES */
	struct http_tls tls;
	struct proxy_rules proxy;
	struct notify *notify;            /* or NULL */
	struct unpack_watcher *watcher;   /* or NULL; see unpack.h */
	const atomic_bool *stop;          /* or NULL; when its owner has set it: give up */
	const char *(*env)(const char *); /* getenv(), to find a cluster; or NULL */

	/* For converting perf.data files, which another program does. */
	const char *tmpdir;       /* NULL or "": the system's */
	char *const *environment; /* of that program */
};

struct source_bytes {
	struct file_bytes bytes;
	bool remote; /* it came over the network, and is nowhere else */
	char *url;   /* where more may be asked for, as shown to the person; or NULL */
};

/*
 * source_read() brings in one source.  What exists as a file is a file, even if it looks like a
 * URL ("2020-10-01-22:08:40.pprof"); else what has a host is a URL.  'notify' hears, as from the
 * reference, "Fetching profile over HTTP from <url>" and "Please wait... (30s)", and progress.
 *
 * Returns 0, and the caller releases '*out' with source_bytes_release().  On failure returns a
 * negative errno, leaves '*out' as it was, and has the reference's sentence in 'err', without
 * the source's name in front: "open x: no such file or directory", "server response: 404 Not
 * Found", "decompressing profile: unexpected EOF".
 *
 * Any number of threads may read sources at once, if 'notify' can bear it.
 */
int source_read(const struct source_request *rq, struct source_bytes *out, struct err *err);

void source_bytes_release(struct source_bytes *b);

/*
 * source_check_tls() says what is wrong with -tls_cert, -tls_key and -tls_ca: one without the
 * other, or a file that cannot be read.  Returns 0 or a negative errno.
 */
int source_check_tls(const struct http_tls *tls, struct err *err);

#endif /* SOURCE_SOURCE_H */
