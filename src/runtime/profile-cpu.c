/*
 * profile-cpu.c - the profile of CPU time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/cpu.h"
#include "runtime/http.h"
#include "runtime/labels.h"
#include "runtime/os.h"
#include "runtime/profiles.h"
#include "runtime/unwind.h"

#include <errno.h>

static const uint64_t second = 1000000000;
enum { SECONDS_MAX = 1000000000, CPU_SECONDS = 30 };

/* One at a time. */
static bool cpu_running;

void sonde__profile_cpu_forget(void)
{
	cpu_running = false;
}

bool sonde__job_needs_polling(void)
{
	return cpu_running;
}

static void drop_cpu(struct sonde__job *job)
{
	size_t n = 0, mapped = 0;
	unsigned hz = 0;
	void *rows = sonde__cpu_stop(&n, &mapped, &hz);

	(void)job;
	sonde__unmap(rows, mapped);
	cpu_running = false;
}

static struct sonde__output *cpu_output(const struct sonde__job *job, uint64_t duration,
					unsigned hz)
{
	struct sonde__output_head head = {
		.types = { { "samples", "count" }, { "cpu", "nanoseconds" } },
		.ntypes = 2,
		.period_type = { "cpu", "nanoseconds" },
		.period = (int64_t)(second / (hz ? hz : SONDE__CPU_HZ)),
		.time = job->wall,
		.duration = duration,
		.symbolize = sonde__wants_names(&job->rq),
	};

	return sonde__output_new(&head);
}

static void add_row(struct sonde__output *o, const struct sonde__cpu_row *row,
		    const int64_t *values)
{
	struct sonde__label labels[SONDE__LABEL_SET];
	size_t n = sonde__labels_expand(row->labels, labels, SONDE__LABEL_SET);

	sonde__output_add(o, row->stack, values, labels, n);
}

static void finish_cpu(struct sonde__job *job)
{
	uint64_t duration = sonde__now() - job->began;
	size_t n = 0, mapped = 0;
	unsigned hz = 0;
	struct sonde__cpu_row *rows = sonde__cpu_stop(&n, &mapped, &hz);
	struct sonde__output *o = cpu_output(job, duration, hz);
	uint64_t lost = 0;

	cpu_running = false;
	sonde__modules_refresh();
	for (size_t i = 0; i < n && o; i++) {
		int64_t ticks = (int64_t)rows[i].ticks;
		int64_t v[SONDE__TYPES] = { ticks, ticks * (int64_t)(second / (hz ? hz : 1)) };

		lost += rows[i].stack == 0 ? rows[i].ticks : 0;
		add_row(o, &rows[i], v);
	}
	sonde__unmap(rows, mapped);
	if (!o) {
		sonde__respond_profile(job, NULL, "profile", "");
		return;
	}
	sonde__comment_off(o, SONDE__CPU, "the CPU profile is");
	sonde__comment_count(o, lost, "samples lost");
	sonde__comment_labels(o);
	sonde__comment_count(o, atomic_load(&sonde__stats.truncated),
			     "stacks cut at the root since the start, they were too deep");
	sonde__respond_profile(job, o, "profile", "");
}

static unsigned wanted_hz(const struct sonde__request *rq)
{
	int64_t hz = sonde__int_param(rq, "hz");

	if (hz < 1)
		return sonde__agent_config()->cpu_hz;
	return hz > SONDE__CPU_HZ_MAX ? SONDE__CPU_HZ_MAX : (unsigned)hz;
}

static void refuse_cpu(struct sonde__job *job, int rc)
{
	const char *why = sonde__why_off(SONDE__CPU);
	char text[256];

	if (rc == -EBUSY)
		why = "cpu profiling already in use";
	sonde__format(text, sizeof(text), "Could not enable CPU profiling: %s",
		      why ? why : sonde__error_text(-rc));
	sonde__respond_error(&job->rs, 500, text);
}

void sonde__profile_cpu(struct sonde__job *job)
{
	int64_t seconds;
	char text[64];
	int rc;

	sonde__param(&job->rq, "seconds", text, sizeof(text));
	if (!sonde__parse_int(text, &seconds) || seconds <= 0)
		seconds = CPU_SECONDS;
	if (seconds > SECONDS_MAX)
		seconds = SECONDS_MAX;
	sonde__modules_refresh();
	rc = cpu_running ? -EBUSY : sonde__cpu_start(wanted_hz(&job->rq));
	if (rc < 0) {
		refuse_cpu(job, rc);
		return;
	}
	cpu_running = true;
	job->began = sonde__now();
	job->until = job->began + (uint64_t)seconds * second;
	job->then = finish_cpu;
	job->drop = drop_cpu;
}
