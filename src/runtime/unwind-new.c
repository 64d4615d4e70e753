/*
 * unwind-new.c - rules for libraries that were loaded a moment ago
 *
 * Until the agent has seen a library, its code would end every stack.  The C library has a function
 * that finds out about an address without a lock, for unwinders (glibc 2.35): with it, the one
 * entry of .eh_frame that is needed is looked up where it is.  That is slow, and happens once for
 * each address: the answer goes to the cache.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/eh-frame.h"
#include "runtime/rule-cache.h"

#include <dlfcn.h>
#include <string.h>

#ifdef DLFO_STRUCT_HAS_EH_DBASE

#pragma weak _dl_find_object

/* What .eh_frame_hdr begins with; every linker writes this one. */
struct header {
	uint8_t version, eh_frame, count, table;
	int32_t to_eh_frame; /* from this field */
	uint32_t n;
};

/* A row of its table; both count from the header. */
struct place {
	int32_t code, entry;
};

/* 'n' bytes (8 or more) of a library that may not be what it seems, or be gone soon. */
static bool copy(void *to, uint64_t from, size_t n)
{
	if (!sonde__is_readable(from) || !sonde__is_readable(from + n - 8))
		return false;
	memcpy(to, (const void *)(uintptr_t)from, n); /* NOLINT */
	return true;
}

static bool read_header(uint64_t at, uint64_t end, struct header *h)
{
	return end - at > sizeof(*h) && copy(h, at, sizeof(*h)) && h->version == 1 &&
	       h->eh_frame == 0x1b && h->count == 0x03 && h->table == 0x3b && h->n > 0 &&
	       h->n <= (end - at - sizeof(*h)) / sizeof(struct place);
}

/* The entry of the last function that does not begin behind 'pc'. */
static bool find_entry(uint64_t hdr, const struct header *h, uint64_t pc, uint64_t *entry)
{
	uint64_t rows = hdr + sizeof(*h);
	uint32_t low = 0, high = h->n;
	struct place p;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (!copy(&p, rows + middle * sizeof(p), sizeof(p)))
			return false;
		if (hdr + (uint64_t)(int64_t)p.code <= pc)
			low = middle;
		else
			high = middle;
	}
	if (!copy(&p, rows + low * sizeof(p), sizeof(p)))
		return false;
	*entry = hdr + (uint64_t)(int64_t)p.entry;
	return true;
}

/* Whether the entry at 'at' can be read, and where it ends. */
static bool check_entry(uint64_t at, uint64_t limit, uint64_t *end)
{
	uint32_t head[2];

	if (at >= limit || !copy(head, at, sizeof(head)))
		return false;
	*end = at + 4 + head[0];
	return head[0] >= 4 && head[0] < 0xfffffff0 && *end <= limit &&
	       sonde__is_readable(*end - 8);
}

/* Where the entry at 'at' says its CIE is. */
static uint64_t cie_of(uint64_t at)
{
	uint32_t head[2];

	memcpy(head, (const void *)(uintptr_t)at, sizeof(head)); /* NOLINT: checked */
	return at + 4 - head[1];
}

bool sonde__rule_of_new(uint64_t pc, uint32_t *rule)
{
	struct dl_find_object o;
	struct sonde__eh_frame in = { 0 };
	uint64_t hdr, low, high, entry, end, cie_end;
	struct header h;

	if (_dl_find_object == NULL || _dl_find_object((void *)(uintptr_t)pc, &o) != 0)
		return false;
	hdr = (uintptr_t)o.dlfo_eh_frame;
	low = (uintptr_t)o.dlfo_map_start;
	high = (uintptr_t)o.dlfo_map_end;
	if (hdr < low || hdr >= high || !read_header(hdr, high, &h) ||
	    !find_entry(hdr, &h, pc, &entry) || !check_entry(entry, high, &end))
		return false;
	in.address = hdr + 4 + (uint64_t)(int64_t)h.to_eh_frame;
	if (in.address < low || entry < in.address || cie_of(entry) < in.address ||
	    !check_entry(cie_of(entry), high, &cie_end))
		return false;
	in.bytes = (const uint8_t *)(uintptr_t)in.address; /* NOLINT */
	in.n = (end > cie_end ? end : cie_end) - in.address;
	in.low = low;
	in.high = high;
	*rule = sonde__eh_frame_rule(&in, entry - in.address, pc);
	return *rule != RULE_NONE;
}

#else

bool sonde__rule_of_new(uint64_t pc, uint32_t *rule)
{
	(void)pc;
	(void)rule;
	return false;
}

#endif
