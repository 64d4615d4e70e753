/*
 * lines.c - files and lines of places in memory, from the debug information of files that run
 *
 * Only the agent calls this.  What was found is kept, by file and address in it; so is that nothing
 * was.  When there is no more room, all is forgotten.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/binary.h"
#include "runtime/buf.h"
#include "runtime/line-program.h"
#include "runtime/os.h"
#include "runtime/output.h"
#include "runtime/sort.h"
#include "runtime/unwind.h"

#include <string.h>

enum {
	KNOWN_MAX = 1 << 18,
	TEXT_MAX = 16 << 20,
	SECTION_MAX = 128 << 20, /* of .debug_line: larger ones take too long */
	PACKED_MAX = 32 << 20,   /* of what has to be unpacked as a whole, and of texts */
	UNIT_MAX = 8 << 20,
	WINDOW = 1 << 20, /* read at once */
};

struct known {
	uint64_t pc, bias; /* of the module: another one may be there later */
	uint32_t line, start_line, file;
	uint32_t build; /* of the module's build id */
};

static struct sonde__buf known = { .max = KNOWN_MAX * sizeof(struct known) };
static struct sonde__buf texts = { .max = TEXT_MAX };
static struct sonde__index by_pc, by_text;

static void forget_all(void)
{
	sonde__buf_release(&known);
	sonde__buf_release(&texts);
	known = (struct sonde__buf){ .max = KNOWN_MAX * sizeof(struct known) };
	texts = (struct sonde__buf){ .max = TEXT_MAX };
	sonde__index_release(&by_pc);
	sonde__index_release(&by_text);
}

/* Where the text is, plus 1; 0 if there is no room. */
static uint32_t keep_text(const char *text)
{
	size_t n = strlen(text) + 1;
	uint32_t hash = sonde__hash(text, n), id;

	for (size_t at = hash; (id = sonde__index_next(&by_text, hash, &at)) != 0;)
		if (strcmp(texts.p + id - 1, text) == 0)
			return id;
	id = (uint32_t)texts.n + 1;
	sonde__buf_add(&texts, text, n);
	return !texts.full && sonde__index_put(&by_text, hash, id) ? id : 0;
}

static uint32_t build_of(const struct sonde__module *m)
{
	return m->nbuild_id ? sonde__hash(m->build_id, m->nbuild_id) : 0;
}

static uint32_t hash_pc(uint64_t pc)
{
	return (uint32_t)((pc + 1) * 0x9e3779b97f4a7c15u >> 32);
}

static const struct known *find_known(uint64_t pc, const struct sonde__module *m)
{
	const struct known *all = (const struct known *)(void *)known.p;
	uint32_t hash = hash_pc(pc), id;

	for (size_t at = hash; (id = sonde__index_next(&by_pc, hash, &at)) != 0;) {
		const struct known *k = &all[id - 1];

		if (k->pc == pc && k->bias == m->bias && k->build == build_of(m))
			return k;
	}
	return NULL;
}

static void keep(const struct sonde__spot *s, const struct sonde__module *m)
{
	struct known *k = sonde__buf_more(&known, sizeof(*k));

	if (!k)
		return;
	*k =
		(struct known){ s->pc + m->bias, m->bias, s->line,
				s->start_line,   s->file, build_of(m) };
	sonde__index_put(&by_pc, hash_pc(k->pc), (uint32_t)(known.n / sizeof(*k)));
}

struct search {
	const struct sonde__module *m;
	struct sonde__spot *spots;
	size_t n;
	struct sonde__line_sections s;
};

static void search_packed(struct search *s)
{
	size_t mapped;
	uint8_t *line = sonde__names_section(s->m, ".debug_line", PACKED_MAX, &s->s.nline, &mapped);

	if (!line)
		return;
	s->s.line = line;
	sonde__line_program(&s->s, s->spots, s->n, keep_text);
	sonde__unmap(line, mapped);
}

/* How many of the 'n' bytes are whole units; 'wanted': how many the first one has. */
static size_t whole_units(const uint8_t *p, size_t n, uint64_t *wanted)
{
	size_t at = 0;

	*wanted = 0;
	while (n - at >= 12) {
		uint64_t size = 0;

		memcpy(&size, p + at, 4);
		if (size == 0xffffffff) {
			memcpy(&size, p + at + 4, 8);
			size = size < UINT64_MAX - 12 ? size + 12 : size;
		} else {
			size += 4;
		}
		if (at == 0)
			*wanted = size;
		if (size > n - at)
			break;
		at += (size_t)size;
	}
	return at;
}

/* A part after the other: the memory that all of it takes is not ours to take. */
static void search_plain(struct search *s, const struct sonde__binary *b, const Elf64_Shdr *sh)
{
	size_t mapped = WINDOW + 1;
	uint8_t *window = sonde__map(mapped);
	uint64_t at = 0, wanted;

	while (window && at < sh->sh_size) {
		uint64_t left = sh->sh_size - at;
		size_t n = left < mapped - 1 ? (size_t)left : mapped - 1, whole;

		if (!sonde__binary_read(b, window, n, sh->sh_offset + at))
			break;
		whole = whole_units(window, n, &wanted);
		if (whole == 0 && (wanted > left || wanted > UNIT_MAX || wanted < mapped)) {
			break;
		} else if (whole == 0) {
			sonde__unmap(window, mapped);
			mapped = (size_t)wanted + 1;
			window = sonde__map(mapped);
			continue;
		}
		s->s.line = window;
		s->s.nline = whole;
		sonde__line_program(&s->s, s->spots, s->n, keep_text);
		at += whole;
	}
	sonde__unmap(window, window ? mapped : 0);
}

static void search(const struct sonde__module *m, struct sonde__spot *spots, size_t n)
{
	struct search s = { .m = m, .spots = spots, .n = n };
	const struct sonde__binary *b = sonde__names_binary(m, ".debug_line");
	const Elf64_Shdr *sh = b ? sonde__binary_section(b, ".debug_line") : NULL;
	size_t mapped = 0;
	uint8_t *strings = NULL;

	if (sh)
		strings = sonde__names_section(m, ".debug_line_str", PACKED_MAX, &s.s.nstrings,
					       &mapped);
	s.s.strings = strings;
	if (sh && (sh->sh_flags & SHF_COMPRESSED))
		search_packed(&s);
	else if (sh && sh->sh_size <= SECTION_MAX)
		search_plain(&s, b, sh);
	sonde__unmap(strings, strings ? mapped : 0);
	for (size_t i = 0; i < n; i++)
		keep(&spots[i], m);
}

static bool is_before(const void *a, const void *b)
{
	const struct sonde__spot *x = a, *y = b;

	return x->pc < y->pc;
}

/* Those that are not known yet, by address in memory. */
static void gather(struct sonde__buf *to, const uint64_t *pcs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct sonde__module *m = sonde__module_at(pcs[i]);
		struct sonde__spot s = { .pc = pcs[i] };

		if (!m || find_known(pcs[i], m) || !sonde__name(pcs[i], &s.start))
			continue;
		sonde__buf_add(to, &s, sizeof(s));
	}
	sonde__sort(to->p, to->n / sizeof(struct sonde__spot), sizeof(struct sonde__spot),
		    is_before);
}

void sonde__lines_find(const uint64_t *pcs, size_t n)
{
	struct sonde__buf list = { 0 };
	struct sonde__spot *s;
	size_t count, end;

	if (known.full || texts.full)
		forget_all();
	gather(&list, pcs, n);
	s = (struct sonde__spot *)(void *)list.p;
	count = list.n / sizeof(*s);
	for (size_t i = 0; i < count; i = end) {
		const struct sonde__module *m = sonde__module_at(s[i].pc);

		for (end = i; end < count && sonde__module_at(s[end].pc) == m; end++) {
			s[end].pc -= m ? m->bias : 0;
			s[end].start -= m ? m->bias : 0;
		}
		if (m)
			search(m, s + i, end - i);
	}
	sonde__buf_release(&list);
}

bool sonde__line(uint64_t pc, struct sonde__line *to)
{
	const struct sonde__module *m = sonde__module_at(pc);
	const struct known *k = m ? find_known(pc, m) : NULL;

	if (!k || !k->file)
		return false;
	*to = (struct sonde__line){ texts.p + k->file - 1, k->line, k->start_line };
	return true;
}

size_t sonde__lines_bytes(void)
{
	return known.cap + texts.cap;
}
