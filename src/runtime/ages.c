/*
 * ages.c - how long ago the sampled allocations that still live were made
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/ages.h"

#include "runtime/heap.h"
#include "runtime/live.h"
#include "runtime/os.h"

static const struct {
	uint64_t below; /* seconds */
	const char *name;
} steps[SONDE__AGES] = {
	{ 1, "<1s" },       { 10, "1s–10s" },   { 60, "10s–1m" },      { 600, "1m–10m" },
	{ 3600, "10m–1h" }, { 86400, "1h–1d" }, { UINT64_MAX, ">1d" },
};

unsigned sonde__age_step(uint64_t age)
{
	unsigned i = 0;

	while (i + 1 < SONDE__AGES && age / 1000000000 >= steps[i].below)
		i++;
	return i;
}

const char *sonde__age_name(unsigned step)
{
	return steps[step < SONDE__AGES ? step : SONDE__AGES - 1].name;
}

struct counting {
	struct sonde__ages *ages;
	size_t rows;
	uint64_t now;
};

static void count(uint64_t mark, void *ctx)
{
	const struct counting *c = ctx;
	uint32_t row = sonde__mark_row(mark);

	if (row != 0 && row <= c->rows)
		c->ages[row - 1].live[sonde__age_step(sonde__mark_age(mark, c->now))]++;
}

struct sonde__ages *sonde__ages_count(size_t rows, size_t *mapped)
{
	struct counting c = { .rows = rows, .now = sonde__now() };

	*mapped = rows * sizeof(*c.ages);
	c.ages = rows ? sonde__map(*mapped) : NULL;
	if (!c.ages) {
		*mapped = 0;
		return NULL;
	}
	sonde__live_walk(count, &c);
	return c.ages;
}
