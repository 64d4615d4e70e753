/*
 * allocator-count.c - what the host's allocator says of itself
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/allocator-count.h"

#include "runtime/heap.h"
#include "runtime/os.h"

#include <dlfcn.h>
#include <malloc.h>
#include <string.h>

/* Numbers that were read one after the other may not fit together. */
static uint64_t at_most(uint64_t n, uint64_t limit)
{
	return n < limit ? n : limit;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* glibc: mallinfo2() goes over all arenas, and over the free blocks of each, under its lock. */

typedef struct mallinfo2 mallinfo2_fn(void);
typedef struct mallinfo mallinfo_fn(void);

/* Before 2.33: the same in ints, which wrap around at 4 GB. */
static bool count_old_glibc(struct sonde__allocator_count *c)
{
	mallinfo_fn *ask = (mallinfo_fn *)dlsym(RTLD_DEFAULT, "mallinfo");
	struct mallinfo m;

	if (!ask)
		return false;
	m = ask();
	c->alloc = (uint64_t)(unsigned)m.uordblks + (unsigned)m.hblkhd;
	c->sys = (uint64_t)(unsigned)m.arena + (unsigned)m.hblkhd;
	c->idle = minus((unsigned)m.fordblks, (unsigned)m.fsmblks);
	return true;
}

static bool count_glibc(struct sonde__allocator_count *c)
{
	mallinfo2_fn *ask = (mallinfo2_fn *)dlsym(RTLD_DEFAULT, "mallinfo2");
	struct mallinfo2 m;

	c->knows_heap = true;
	c->knows_alloc = true;
	if (!ask)
		return count_old_glibc(c);
	m = ask();
	c->alloc = m.uordblks + m.hblkhd;
	c->sys = m.arena + m.hblkhd;
	/* Fast bins hold small blocks for their own size: that is not idle. */
	c->idle = minus(m.fordblks, m.fsmblks);
	return true;
}

/* jemalloc: numbers of an epoch, which fit together; 4096 stands for all arenas. */

typedef int mallctl_fn(const char *, void *, size_t *, void *, size_t);

struct jemalloc {
	mallctl_fn *mallctl;
	bool failed;
};

static void ask_value(struct jemalloc *j, const char *name, void *to, size_t size)
{
	size_t n = size;

	if (j->mallctl(name, to, &n, NULL, 0) != 0 || n != size)
		j->failed = true;
}

static uint64_t ask_size(struct jemalloc *j, const char *name)
{
	size_t v = 0;

	ask_value(j, name, &v, sizeof(v));
	return v;
}

/* "PREFIX.KIND.I.WHAT" */
static uint64_t ask_of(struct jemalloc *j, const char *kind, unsigned i, const char *what)
{
	char name[64];
	uint64_t v = 0; /* size_t is as large */

	sonde__format(name, sizeof(name), "%s.%u.%s", kind, i, what);
	ask_value(j, name, &v, sizeof(v));
	return v;
}

/*
 * Of one size.  What a thread takes from its own cache is no 'nmalloc', which counts what came into
 * caches, and is in 'nrequests' once the cache has been filled or emptied again.
 */
static struct sonde__size_count count_size(struct jemalloc *j, const char *kind, const char *stats,
					   unsigned i)
{
	uint64_t freed = ask_of(j, stats, i, "ndalloc"), made = ask_of(j, stats, i, "nmalloc");
	uint64_t asked = ask_of(j, stats, i, "nrequests");
	struct sonde__size_count s = { .size = ask_of(j, kind, i, "size"),
				       .mallocs = made > asked ? made : asked };

	s.frees = s.mallocs - at_most(minus(made, freed), s.mallocs);
	return s;
}

/* Sizes of one kind; as many as there is room for are listed, too. */
static void count_sizes(struct jemalloc *j, struct sonde__allocator_count *c, const char *kind,
			const char *stats, unsigned n)
{
	for (unsigned i = 0; i < n && !j->failed; i++) {
		struct sonde__size_count s = count_size(j, kind, stats, i);

		c->mallocs += s.mallocs;
		c->frees += s.frees;
		c->total += s.mallocs * s.size;
		if (c->nsizes < SONDE__SIZES)
			c->sizes[c->nsizes++] = s;
	}
}

static void count_jemalloc_calls(struct jemalloc *j, struct sonde__allocator_count *c)
{
	unsigned nbins = 0, nlarge = 0;

	ask_value(j, "arenas.nbins", &nbins, sizeof(nbins));
	ask_value(j, "arenas.nlextents", &nlarge, sizeof(nlarge));
	count_sizes(j, c, "arenas.bin", "stats.arenas.4096.bins", nbins);
	count_sizes(j, c, "arenas.lextent", "stats.arenas.4096.lextents", nlarge);
	c->knows_calls = !j->failed;
}

static bool count_jemalloc(struct sonde__allocator_count *c)
{
	struct jemalloc j = { .mallctl = (mallctl_fn *)dlsym(RTLD_DEFAULT, "mallctl") };
	uint64_t epoch = 1, active, mapped, resident;

	if (!j.mallctl || j.mallctl("epoch", NULL, NULL, &epoch, sizeof(epoch)) != 0)
		return false;
	c->alloc = ask_size(&j, "stats.allocated");
	c->metadata = ask_size(&j, "stats.metadata");
	active = ask_size(&j, "stats.active");
	resident = ask_size(&j, "stats.resident");
	mapped = ask_size(&j, "stats.mapped") + ask_size(&j, "stats.retained");
	if (j.failed)
		return false;
	c->sys = minus(mapped, c->metadata);
	c->sys = c->sys > active ? c->sys : active;
	c->idle = c->sys - active;
	c->released = minus(mapped, resident);
	c->knows_heap = true;
	c->knows_alloc = true;
	c->knows_released = true;
	count_jemalloc_calls(&j, c);
	return true;
}

/* tcmalloc (gperftools). */

typedef int property_fn(const char *, size_t *);

static bool count_tcmalloc(struct sonde__allocator_count *c)
{
	property_fn *ask = (property_fn *)dlsym(RTLD_DEFAULT, "MallocExtension_GetNumericProperty");
	size_t sys = 0, alloc = 0, free = 0, unmapped = 0;

	if (!ask || !ask("generic.heap_size", &sys) ||
	    !ask("generic.current_allocated_bytes", &alloc))
		return false;
	ask("tcmalloc.pageheap_free_bytes", &free);
	ask("tcmalloc.pageheap_unmapped_bytes", &unmapped);
	c->alloc = alloc;
	c->sys = sys;
	c->idle = free + unmapped;
	c->released = unmapped;
	c->knows_heap = true;
	c->knows_alloc = true;
	c->knows_released = true;
	return true;
}

/* mimalloc tells what it has committed, and no more that would be a number. */

typedef void process_info_fn(size_t *elapsed, size_t *user, size_t *system, size_t *rss,
			     size_t *peak_rss, size_t *commit, size_t *peak_commit, size_t *faults);

static bool count_mimalloc(struct sonde__allocator_count *c)
{
	process_info_fn *ask = (process_info_fn *)dlsym(RTLD_DEFAULT, "mi_process_info");
	size_t v[8] = { 0 };

	if (!ask)
		return false;
	ask(&v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);
	c->sys = v[5];
	c->knows_heap = true;
	return true;
}

static const struct {
	const char *name;
	bool (*count)(struct sonde__allocator_count *c);
} counts[] = {
	{ "glibc", count_glibc },
	{ "jemalloc", count_jemalloc },
	{ "tcmalloc", count_tcmalloc },
	{ "mimalloc", count_mimalloc },
};

void sonde__allocator_count(struct sonde__allocator_count *c)
{
	const char *name = sonde__allocator();

	*c = (struct sonde__allocator_count){ 0 };
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (strcmp(name, counts[i].name) != 0)
			continue;
		if (!counts[i].count(c))
			*c = (struct sonde__allocator_count){ 0 };
	}
	c->idle = at_most(c->idle, c->sys);
	c->alloc = at_most(c->alloc, c->sys - c->idle);
	c->released = at_most(c->released, c->idle);
}
