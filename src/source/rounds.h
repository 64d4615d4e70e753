/*
 * rounds.h - names in a folder that rounds of profiles were collected in
 *
 *	ROOT/2020-10-01-22:08:40/kube-apiserver-heap-2020-10-01-22:08:40.pprof
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SOURCE_ROUNDS_H
#define SOURCE_ROUNDS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { STAMP_BYTES = 24 };

/* How rounds are called, for strftime(): "2020-10-01-22:08:40", or "20201001T220840Z". */
#define STAMP_FORMAT       "%Y-%m-%d-%H:%M:%S"
#define STAMP_FORMAT_PLAIN "%Y%m%dT%H%M%SZ"

/* What a round is called: when it was; false if it is none. */
bool stamp_parse(struct str name, int64_t *seconds);

/* A profile of a round. */
struct round_file {
	struct str component, kind;
	int64_t seconds; /* after 1970 */
};

/* What a file is, by its name; false if that is not the name of a profile of a round. */
bool round_file_parse(struct str name, struct round_file *out);

/* Calls 'found' for every file below 'folder', some levels deep, but for those with a dot. */
void rounds_walk(const char *folder, void (*found)(void *ctx, const char *path, const char *name),
		 void *ctx);

#endif /* SOURCE_ROUNDS_H */
