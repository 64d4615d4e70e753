/*
 * profile-contention.c - the profiles of waiting: mutex and block
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

static void mutex_text(struct sonde__buf *b, const struct sonde__request *rq, int64_t debug)
{
	(void)rq;
	(void)debug;
	sonde__buf_text(b, "--- mutex:\ncycles/second=1000000000\nsampling period=0\n");
}

static void block_text(struct sonde__buf *b, const struct sonde__request *rq, int64_t debug)
{
	(void)rq;
	(void)debug;
	sonde__buf_text(b, "--- contention:\ncycles/second=1000000000\n");
}

#define CONTENTION                                                                                 \
	.types = { { "contentions", "count" }, { "delay", "nanoseconds" } }, .ntypes = 2,          \
	.period_type = { "contentions", "count" }, .add = add_nothing, .count = count_nothing

const struct sonde__kind sonde__kind_mutex = {
	.name = "mutex",
	.text = mutex_text,
	CONTENTION,
};

const struct sonde__kind sonde__kind_block = {
	.name = "block",
	.text = block_text,
	CONTENTION,
};
