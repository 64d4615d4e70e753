/*
 * trace.c - what threads do over some time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/trace.h"

#include "runtime/http.h"
#include "runtime/os.h"
#include "runtime/profiles.h"

static const uint64_t second = 1000000000;

/* One at a time. */
static bool tracing;

static struct sonde__output *empty_output(const struct sonde__job *job)
{
	struct sonde__output_head head = {
		.types = { { "samples", "count" }, { "cpu", "nanoseconds" } },
		.ntypes = 2,
		.period_type = { "cpu", "nanoseconds" },
		.period = 10000000,
		.time = job->wall,
		.duration = sonde__now() - job->began,
	};

	return sonde__output_new(&head);
}

static void drop_trace(struct sonde__job *job)
{
	(void)job;
	tracing = false;
	sonde__trace_end();
	sonde__trace_forget();
}

static void finish_trace(struct sonde__job *job)
{
	struct sonde__output *o = empty_output(job);

	drop_trace(job);
	if (o)
		sonde__output_comment(o, "sonde: traces are not supported yet: this is an empty "
					 "profile");
	sonde__respond_profile(job, o, "trace", "");
}

void sonde__profile_trace(struct sonde__job *job)
{
	uint64_t ns;
	char text[64];

	sonde__param(&job->rq, "seconds", text, sizeof(text));
	if (!sonde__parse_seconds(text, &ns) || ns == 0)
		ns = second;
	if (tracing) {
		sonde__respond_error(
			&job->rs, 500,
			"Could not enable tracing: runtime error: tracing is already enabled");
		return;
	}
	tracing = sonde__trace_record();
	job->until = sonde__now() + ns;
	job->then = finish_trace;
	job->drop = drop_trace;
}
