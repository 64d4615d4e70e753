/*
 * frame-table-build.c - the frames of many addresses of one binary, as one piece of memory: making
 * it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/par.h"
#include "base/table.h"
#include "base/xalloc.h"
#include "elf/elf-lines.h"
#include "symbol/demangle.h"
#include "symbol/frame-table.h"

#include <errno.h>
#include <stdlib.h>

enum {
	TEXT_MEMO = 1 << 10, /* texts by where they are */
	BATCH = 32,          /* functions, for memory to come near */
	AHEAD = 8,           /* texts, for the same reason */
	PREFETCHED = 256,    /* bytes of them */
	CACHE_LINE = 64,
	FEW_FUNCTIONS = 256, /* not worth a thread */
};

#define ARENA_BUDGET ((size_t)16 << 30)

/* Where a text was found last time it was asked for. */
struct memo {
	struct str s;
	uint32_t number;
};

/* A function that may be the same as another one. */
struct candidate {
	struct str name, readable, file;
	uint64_t name_hash, readable_hash;
	uint32_t start_line;
	uint32_t number; /* in 'functions' */
};

struct builder {
	struct table text_index, function_index;
	struct str *texts;
	size_t ntexts, texts_cap;
	uint64_t *hashes; /* of texts */
	size_t nhashes, hashes_cap;
	uint64_t nbytes;
	struct memo *memo;
	struct elf_function **fresh;  /* functions of the fresh frames */
	struct candidate *candidates; /* one for each of them */
	size_t ncandidates;
	struct table_function *functions;
	size_t nfunctions, functions_cap;
	size_t nold; /* functions that were there before: candidates follow them */
	struct table_frame *frames;
	size_t nframes;
	uint64_t *addresses;
	uint32_t *first;
	size_t naddresses;
	int width;                     /* threads */
	struct arena arenas[PAR_MOST]; /* of readable names */
};

/* ------------------------------------------------------------------ texts */

/* Says that a text will be read soon. */
static void prefetch_text(struct str s)
{
	for (size_t at = 0; at < s.n && at < PREFETCHED; at += CACHE_LINE)
		__builtin_prefetch(s.p + at);
}

static uint64_t hash_text(struct str s)
{
	return hash_bytes(s.p, s.n, 0);
}

static uint64_t rehash_text(uint32_t value, const void *ctx)
{
	return ((const struct builder *)ctx)->hashes[value];
}

static uint32_t find_text(struct builder *b, struct str s, uint64_t hash)
{
	struct probe at;

	table_reserve(&b->text_index, rehash_text, b);
	at = table_probe(&b->text_index, hash);
	while (table_next(&b->text_index, &at)) {
		if (str_eq(b->texts[at.value], s))
			return at.value;
	}
	table_put(&b->text_index, &at, (uint32_t)b->ntexts);
	vec_push(b->texts, b->ntexts, b->texts_cap, s);
	vec_push(b->hashes, b->nhashes, b->hashes_cap, hash);
	b->nbytes += s.n + 1;
	return (uint32_t)b->ntexts - 1;
}

/* The number of a text.  Most come from the same place again and again. */
static uint32_t text_number(struct builder *b, struct str s)
{
	struct memo *m;

	if (s.n == 0)
		s = STR("");
	m = &b->memo[hash_mix((uintptr_t)s.p, s.n) % TEXT_MEMO];
	if (m->s.p != s.p || m->s.n != s.n)
		*m = (struct memo){ s, find_text(b, s, hash_text(s)) };
	return m->number;
}

/* ------------------------------------------------------------------ functions */

static uint64_t hash_function(const struct table_function *f)
{
	return hash_mix(hash_mix(f->name, f->file), f->start_line);
}

static uint64_t rehash_function(uint32_t value, const void *ctx)
{
	return hash_function(&((const struct builder *)ctx)->functions[value]);
}

static uint32_t function_number(struct builder *b, struct table_function f)
{
	struct probe at;

	table_reserve(&b->function_index, rehash_function, b);
	at = table_probe(&b->function_index, hash_function(&f));
	while (table_next(&b->function_index, &at)) {
		const struct table_function *g = &b->functions[at.value];

		if (g->name == f.name && g->file == f.file && g->start_line == f.start_line)
			return at.value;
	}
	table_put(&b->function_index, &at, (uint32_t)b->nfunctions);
	vec_push(b->functions, b->nfunctions, b->functions_cap, f);
	return (uint32_t)b->nfunctions - 1;
}

/* ------------------------------------------------------------------ frames */

static void add_address(struct builder *b, uint64_t address)
{
	b->addresses[b->naddresses++] = address;
}

/* Copies the frames of address 'i' of the old table. */
static void add_old(struct builder *b, const struct frame_table *old, size_t i)
{
	add_address(b, old->addresses[i]);
	for (size_t j = old->first[i]; j < old->first[i + 1]; j++)
		b->frames[b->nframes++] = old->frames[j];
	b->first[b->naddresses] = (uint32_t)b->nframes;
}

/* Functions are numbers of candidates, behind those of the old table, for now. */
static void add_fresh(struct builder *b, uint64_t address, const struct elf_frames *fresh, size_t i)
{
	const struct elf_place *at = &fresh->at[i];

	add_address(b, address);
	for (uint32_t j = 0; j < at->n; j++) {
		const struct elf_frame *f = &at->frames[j];

		b->frames[b->nframes++] = (struct table_frame){
			.function = (uint32_t)b->nold + f->function->number,
			.line = f->line,
			.column = f->column,
		};
	}
	b->first[b->naddresses] = (uint32_t)b->nframes;
}

/* Functions of the old table keep their numbers. */
static void add_old_functions(struct builder *b, const struct frame_table *old)
{
	for (uint32_t i = 0; i < old->nfunctions; i++) {
		const struct table_function *f = &old->functions[i];
		struct table_function copy = {
			.name = text_number(b, frame_table_text(old, f->name)),
			.readable = text_number(b, frame_table_text(old, f->readable)),
			.file = text_number(b, frame_table_text(old, f->file)),
			.start_line = f->start_line,
		};
		struct probe at;

		table_reserve(&b->function_index, rehash_function, b);
		at = table_probe(&b->function_index, hash_function(&copy));
		while (table_next(&b->function_index, &at))
			continue;
		table_put(&b->function_index, &at, i);
		vec_push(b->functions, b->nfunctions, b->functions_cap, copy);
	}
	b->nold = b->nfunctions;
}

static void add_frames(struct builder *b, const struct frame_table *old, const uint64_t *addresses,
		       const struct elf_frames *fresh)
{
	size_t n = old->n + fresh->n, i = 0, nframes = 0;

	if (old->n)
		nframes += old->first[old->n];
	for (size_t j = 0; j < fresh->n; j++)
		nframes += fresh->at[j].n;
	b->addresses = mem_new(n + 1, sizeof(*b->addresses));
	b->first = mem_zeroed(n + 1, sizeof(*b->first));
	b->frames = mem_new(nframes + 1, sizeof(*b->frames));
	for (size_t j = 0; j < fresh->n; j++) {
		while (i < old->n && old->addresses[i] < addresses[j])
			add_old(b, old, i++);
		add_fresh(b, addresses[j], fresh, j);
	}
	while (i < old->n)
		add_old(b, old, i++);
}

/* ------------------------------------------------------------------ names of functions */

/* Each thread takes every so many of them: neighbours take about as long. */
static void name_some(int part, void *ctx)
{
	struct builder *b = ctx;
	size_t ahead = (size_t)b->width * AHEAD;

	for (size_t i = (size_t)part; i < b->ncandidates; i += (size_t)b->width) {
		const struct elf_function *f = b->fresh[i];
		struct candidate *c = &b->candidates[i];

		if (ahead < b->ncandidates - i)
			prefetch_text(b->fresh[i + ahead]->name);
		c->file = f->file;
		c->start_line = f->start_line;
		c->name = f->name.n ? demangle_unversioned(f->name) : STR("");
		c->name_hash = hash_text(c->name);
		c->readable = demangle_name(c->name, DEMANGLE_DEFAULT, &b->arenas[part]);
		c->readable_hash = hash_text(c->readable);
	}
}

static void settle(struct builder *b, struct candidate *c)
{
	struct table_function f = {
		.name = find_text(b, c->name, c->name_hash),
		.readable = find_text(b, c->readable, c->readable_hash),
		.file = text_number(b, c->file),
		.start_line = c->start_line,
	};

	c->number = function_number(b, f);
}

/* Makes room for 'n' entries more at once, while few have to move. */
static void expect(struct table *t, size_t n, uint64_t (*rehash)(uint32_t value, const void *ctx),
		   const struct builder *b)
{
	while ((t->used + n) * 3 > t->mask * 2)
		table_rebuild(t, rehash, b);
}

/* Finds out which candidates are the same. */
static void settle_all(struct builder *b)
{
	expect(&b->text_index, b->ncandidates, rehash_text, b);
	expect(&b->function_index, b->ncandidates, rehash_function, b);
	for (size_t i = 0; i < b->ncandidates; i++) {
		if (b->ncandidates - i > BATCH)
			table_prefetch(&b->text_index, b->candidates[i + BATCH].name_hash);
		settle(b, &b->candidates[i]);
	}
	for (size_t i = 0; i < b->nframes; i++) {
		struct table_frame *f = &b->frames[i];

		if (f->function >= b->nold)
			f->function = b->candidates[f->function - b->nold].number;
	}
}

/* Gives the functions of the fresh frames numbers. */
static void number_functions(struct builder *b, const struct elf_frames *fresh)
{
	size_t n = 0;

	for (size_t i = 0; i < fresh->nparts; i++)
		n += fresh->parts[i].n;
	b->fresh = mem_new(n + 1, sizeof(struct elf_function *));
	for (size_t i = 0; i < fresh->nparts; i++) {
		const struct elf_functions *part = &fresh->parts[i];

		for (size_t k = 0; k < part->n; k++) {
			part->list[k].number = (uint32_t)b->ncandidates & (uint32_t)INT32_MAX;
			b->fresh[b->ncandidates++] = &part->list[k];
		}
	}
	b->candidates = mem_new(n + 1, sizeof(*b->candidates));
}

static void add_all(struct builder *b, const struct frame_table *old, const uint64_t *addresses,
		    const struct elf_frames *fresh)
{
	add_old_functions(b, old);
	number_functions(b, fresh);
	add_frames(b, old, addresses, fresh);
	b->width = b->ncandidates < FEW_FUNCTIONS ? 1 : par_width();
	par_run(b->width, name_some, b);
	settle_all(b);
}

/* ------------------------------------------------------------------ bytes */

static void print_texts(const struct builder *b, struct out *o)
{
	uint32_t start = 0;

	for (size_t i = 0; i < b->ntexts; i++) {
		uint32_t end = start + (uint32_t)b->texts[i].n;

		out_bytes(o, &end, sizeof(end));
		start = end + 1;
	}
	for (size_t i = 0; i < b->ntexts; i++) {
		if (AHEAD < b->ntexts - i)
			prefetch_text(b->texts[i + AHEAD]);
		out_str(o, b->texts[i]);
		out_char(o, '\0');
	}
}

static int print(const struct builder *b, struct out *o, struct err *err)
{
	struct table_header h = {
		.magic = FRAME_TABLE_MAGIC,
		.naddresses = b->naddresses,
		.nframes = b->nframes,
		.nfunctions = b->nfunctions,
		.ntexts = b->ntexts,
		.nbytes = b->nbytes,
	};

	if (b->nbytes > UINT32_MAX || b->nframes > UINT32_MAX)
		return err_set(err, -EFBIG, "too many frames");
	out_reserve(o, sizeof(h) + b->naddresses * sizeof(*b->addresses) +
			       b->nhashes * sizeof(*b->hashes) +
			       (b->naddresses + 1) * sizeof(*b->first) +
			       b->nframes * sizeof(*b->frames) +
			       b->nfunctions * sizeof(*b->functions) +
			       b->ntexts * sizeof(uint32_t) + b->nbytes);
	out_bytes(o, &h, sizeof(h));
	out_bytes(o, b->addresses, b->naddresses * sizeof(*b->addresses));
	out_bytes(o, b->hashes, b->nhashes * sizeof(*b->hashes));
	out_bytes(o, b->first, (b->naddresses + 1) * sizeof(*b->first));
	out_bytes(o, b->frames, b->nframes * sizeof(*b->frames));
	out_bytes(o, b->functions, b->nfunctions * sizeof(*b->functions));
	print_texts(b, o);
	if (o->error)
		return err_set(err, o->error, "out of memory");
	return 0;
}

int frame_table_build(const struct frame_table *old, const uint64_t *addresses,
		      const struct elf_frames *fresh, struct out *to, struct err *err)
{
	struct builder b = { .memo = mem_zeroed(TEXT_MEMO, sizeof(*b.memo)) };
	int rc;

	table_init(&b.text_index, 1024);
	table_init(&b.function_index, 1024);
	for (size_t i = 0; i < PAR_MOST; i++)
		arena_init(&b.arenas[i], ARENA_BUDGET);
	add_all(&b, old, addresses, fresh);
	rc = print(&b, to, err);
	for (size_t i = 0; i < PAR_MOST; i++)
		arena_release(&b.arenas[i]);
	table_release(&b.text_index);
	table_release(&b.function_index);
	free(b.memo);
	free(b.fresh);
	free(b.candidates);
	free(b.texts);
	free(b.hashes);
	free(b.functions);
	free(b.frames);
	free(b.addresses);
	free(b.first);
	return rc;
}

void frame_table_seal(struct out *o)
{
	struct table_header *h = (void *)o->p;

	h->checksum = frame_table_checksum(out_view(o));
}
