/*
 * profiles.h - the profiles there are, and how they are taken
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_PROFILES_H
#define RUNTIME_PROFILES_H

#include "runtime/job.h"
#include "runtime/output.h"

struct sonde__kind {
	const char *name;
	struct sonde__value_type types[SONDE__TYPES];
	size_t ntypes;
	struct sonde__value_type period_type;
	const char *default_type;
	bool heap;
};

/* The profiles that have a name; the last has none. */
extern const struct sonde__kind sonde__kinds[];

/* How many stacks a profile has, for the index. */
size_t sonde__kind_count(const struct sonde__kind *k);

void sonde__profile_named(struct sonde__job *job, const char *name);
void sonde__profile_cpu(struct sonde__job *job);
void sonde__profile_trace(struct sonde__job *job);

/* The text forms of debug=1. */
void sonde__profile_text(struct sonde__buf *b, const struct sonde__kind *k);

/* agent.c: the arguments the program was started with, separated by NUL. */
const char *sonde__cmdline(size_t *n);

#endif /* RUNTIME_PROFILES_H */
