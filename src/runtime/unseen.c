/*
 * unseen.c - whether there is memory that the heap profile does not show
 *
 * A program may have an allocator of its own that no lookup of symbols finds: hidden in it, under
 * another name, in a library that is bound to itself, or in the runtime of its language.  What can
 * be seen is how much memory there is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/heap.h"
#include "runtime/os.h"
#include "runtime/output.h"
#include "runtime/runtime.h"
#include "runtime/unwind.h"

#include <string.h>

enum { STATUS_MAX = 64 << 10, SECTION_MAX = 1 << 20, MB = 1000000 };

/* Less than this is stacks, and what libraries need for themselves. */
static const uint64_t worth_a_word = 16 * MB;

/* Memory that is in no file. */
static uint64_t anonymous_bytes(void)
{
	static const char word[] = "\nRssAnon:";
	size_t size, mapped;
	char *text = sonde__slurp("/proc/self/status", STATUS_MAX, &size, &mapped);
	const char *p;
	uint64_t n = 0;

	if (!text)
		return 0;
	p = memmem(text, size, word, sizeof(word) - 1);
	p = p ? p + sizeof(word) - 1 : "";
	p += strspn(p, " \t");
	for (; *p >= '0' && *p <= '9'; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	sonde__unmap(text, mapped);
	return n * 1024;
}

static bool is_go(void)
{
	const struct sonde__modules *all = sonde__modules();
	size_t n, mapped;
	uint8_t *note;

	if (!all || all->n == 0)
		return false;
	note = sonde__names_section(&all->at[all->main], ".note.go.buildid", SECTION_MAX, &n,
				    &mapped);
	sonde__names_close();
	if (note)
		sonde__unmap(note, mapped);
	return note != NULL;
}

bool sonde__heap_unseen(char *to, size_t cap)
{
	uint64_t all = anonymous_bytes(), own = atomic_load(&sonde__stats.own_bytes);
	int64_t live = sonde__heap_live_bytes();
	uint64_t seen = live > 0 ? (uint64_t)live : 0;

	all = all > own ? all - own : 0;
	if (sonde__heap_rate() == 0 || all < worth_a_word || seen > all / 4)
		return false;
	sonde__format(to, cap, "%llu MB of the %llu MB in use were allocated with malloc(): %s",
		      (unsigned long long)(seen / MB), (unsigned long long)(all / MB),
		      is_go() ? "the program is written in Go, which has an allocator and profiles "
				"of its own"
			      : "the rest came another way, before the start of the runtime, or is "
				"kept by the allocator");
	return true;
}
