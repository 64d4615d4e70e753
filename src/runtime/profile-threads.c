/*
 * profile-threads.c - the profiles of threads: goroutine and threadcreate
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/profiles.h"

static void add_nothing(struct sonde__output *o, const struct sonde__request *rq)
{
	(void)rq;
	sonde__output_comment(o, "sonde: this profile is not supported yet: it is empty");
}

static size_t count_nothing(void)
{
	return 0;
}

static void goroutine_text(struct sonde__buf *b, const struct sonde__request *rq, int64_t debug)
{
	(void)rq;
	(void)debug;
	sonde__buf_text(b, "goroutine profile: total 0\n");
}

static void threadcreate_text(struct sonde__buf *b, const struct sonde__request *rq, int64_t debug)
{
	(void)rq;
	(void)debug;
	sonde__buf_text(b, "threadcreate profile: total 0\n");
}

const struct sonde__kind sonde__kind_goroutine = {
	.name = "goroutine",
	.types = { { "goroutine", "count" } },
	.ntypes = 1,
	.period_type = { "goroutine", "count" },
	.add = add_nothing,
	.text = goroutine_text,
	.count = count_nothing,
};

const struct sonde__kind sonde__kind_threadcreate = {
	.name = "threadcreate",
	.types = { { "threadcreate", "count" } },
	.ntypes = 1,
	.period_type = { "threadcreate", "count" },
	.add = add_nothing,
	.text = threadcreate_text,
	.count = count_nothing,
};
