/*
 * stack-bounds.c - where stacks are that we did not see being made
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/stack-bounds.h"

#include "runtime/os.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { MAPS_MAX = 64 << 20, PATIENCE = 10000 };

static const uintptr_t MAIN_MAX = 1ul << 30; /* of a first stack without a limit */

struct snapshot {
	size_t mapped, n;
	struct sonde__range main; /* 0: not found */
	struct sonde__range at[];
};

/* Readers count themselves in, so that a snapshot is given back only when nobody looks at it. */
static _Atomic(struct snapshot *) newest;
static atomic_int readers;

static const char *read_hex(const char *p, const char *end, uintptr_t *value)
{
	uintptr_t v = 0;

	for (; p < end; p++) {
		if (*p >= '0' && *p <= '9')
			v = v << 4 | (uintptr_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			v = v << 4 | (uintptr_t)(*p - 'a' + 10);
		else
			break;
	}
	*value = v;
	return p;
}

static uintptr_t stack_limit(void)
{
	struct rlimit limit = { 0 };
	long failed = sonde__syscall(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)&limit, 0, 0);

	return failed || limit.rlim_cur > MAIN_MAX ? MAIN_MAX : limit.rlim_cur;
}

static bool ends_with(const char *line, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - line) >= n && memcmp(end - n, word, n) == 0;
}

/* "low-high rw-p ...": what can be a stack is readable and writable. */
static void read_line(struct snapshot *s, const char *line, const char *end)
{
	struct sonde__range r;
	const char *p = read_hex(line, end, &r.low);

	if (p == end || *p != '-')
		return;
	p = read_hex(p + 1, end, &r.high);
	if (end - p < 4 || p[1] != 'r' || p[2] != 'w')
		return;
	s->at[s->n++] = r;
	if (!ends_with(line, end, "[stack]"))
		return;
	s->main.high = r.high;
	s->main.low = r.high - stack_limit();
	if (s->main.low > r.low)
		s->main.low = r.low;
}

static struct snapshot *read_maps(const char *text, size_t size)
{
	const char *end = text + size;
	struct snapshot *s;
	size_t lines = 1;
	size_t bytes;

	for (const char *p = text; p < end; p++)
		lines += *p == '\n';
	bytes = sizeof(*s) + lines * sizeof(s->at[0]);
	s = sonde__map(bytes);
	if (!s)
		return NULL;
	s->mapped = bytes;
	for (const char *p = text; p < end;) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));

		eol = eol ? eol : end;
		read_line(s, p, eol);
		p = eol + 1;
	}
	return s;
}

static void retire(struct snapshot *s)
{
	for (int i = 0; s && i < PATIENCE; i++) {
		if (atomic_load(&readers) == 0) {
			sonde__unmap(s, s->mapped);
			return;
		}
		sonde__syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
}

void sonde__ranges_refresh(void)
{
	size_t size, mapped;
	char *text = sonde__slurp("/proc/self/maps", MAPS_MAX, &size, &mapped);
	struct snapshot *s;

	if (!text)
		return;
	s = read_maps(text, size);
	sonde__unmap(text, mapped);
	if (s)
		retire(atomic_exchange(&newest, s));
}

bool sonde__range_around(uintptr_t address, struct sonde__range *r)
{
	bool found = false;
	const struct snapshot *s;
	size_t low = 0;
	size_t high;

	atomic_fetch_add(&readers, 1);
	s = atomic_load(&newest);
	high = s ? s->n : 0;
	while (low < high && !found) {
		size_t mid = low + (high - low) / 2;

		if (address < s->at[mid].low)
			high = mid;
		else if (address >= s->at[mid].high)
			low = mid + 1;
		else {
			*r = s->at[mid];
			found = true;
		}
	}
	atomic_fetch_sub(&readers, 1);
	return found;
}

bool sonde__main_stack(struct sonde__range *r)
{
	const struct snapshot *s;

	atomic_fetch_add(&readers, 1);
	s = atomic_load(&newest);
	*r = s ? s->main : (struct sonde__range){ 0 };
	atomic_fetch_sub(&readers, 1);
	return r->high != 0;
}
