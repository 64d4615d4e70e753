/*
 * gen-profile.c - make a large heap profile that looks like a server's
 *
 *	gen-profile [name=value]... > heap.pb.gz
 *
 *	samples=300000	distinct stacks
 *	functions=20000	with about three call sites each, some of them inlined
 *	depth=30	frames of a stack, on average
 *	live=100	percent of the stacks that still hold memory
 *	seed=1		another seed is another program
 *	round=0		the same program at another time: other stacks and values
 *	gzip=1		0 writes it as it is
 *
 * Stacks are walks over a fixed graph of calls: every call site calls one function, and one of
 * a function's sites is taken more often than the others.  So stacks share their roots, as
 * those of a server do, and yet hardly two are equal.  Samples come in no order, like buckets of
 * a hash table.  The same arguments make the same bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/pbw.h"

#include <libdeflate.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SITES = 3, ROOTS = 8, DEEPEST = 400 };

/* Field numbers, from profile.proto. */
enum {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME = 9,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
};

static const char *const words[] = {
	"",
	"alloc_objects",
	"count",
	"alloc_space",
	"bytes",
	"inuse_objects",
	"inuse_space",
	"space",
	"/usr/local/bin/server",
	"6f0d2c6a7c1b4f0e9a5d3b8c7e6f1a2b3c4d5e6f",
};
enum { NWORDS = sizeof(words) / sizeof(words[0]) };
enum {
	W_ALLOC_OBJECTS = 1,
	W_COUNT,
	W_ALLOC_SPACE,
	W_BYTES,
	W_INUSE_OBJECTS,
	W_INUSE_SPACE,
	W_SPACE,
	W_FILE,
	W_BUILD_ID
};

static struct {
	uint64_t samples, functions, depth, live, seed, round, gzip;
} opt = { 300000, 20000, 30, 100, 1, 0, 1 };

static uint32_t *callee; /* of each call site: a function */

/* What has been used so far, numbered from 1 in that order: only that is written. */
struct used {
	uint32_t *id;    /* of each thing, 0 if it has not been used */
	uint32_t *thing; /* of each id */
	uint32_t n;
};

static struct used sites, functions;

static uint32_t use(struct used *u, uint64_t thing)
{
	if (u->id[thing] == 0) {
		u->id[thing] = ++u->n;
		u->thing[u->n] = (uint32_t)thing;
	}
	return u->id[thing];
}

static void *allocate(uint64_t n)
{
	void *p = calloc(n, sizeof(uint32_t));

	if (!p)
		exit(1);
	return p;
}

static void used_init(struct used *u, uint64_t n)
{
	u->id = allocate(n);
	u->thing = allocate(n + 1);
}

static void used_release(struct used *u)
{
	free(u->id);
	free(u->thing);
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9;
	x ^= x >> 27;
	x *= 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* The program's own numbers depend on the seed alone; the rounds' on both. */
static uint64_t state;

static uint64_t draw(void)
{
	state += 0x9e3779b97f4a7c15;
	return mix(state);
}

static uint64_t below(uint64_t n)
{
	return draw() % n;
}

static void make_calls(void)
{
	callee = allocate(opt.functions * SITES);
	for (uint64_t i = 0; i < opt.functions * SITES; i++)
		callee[i] = (uint32_t)below(opt.functions);
}

/* One stack, leaf first, as a packed list of location ids, which count up as Go's writer counts. */
static void write_stack(struct pbw *w)
{
	uint64_t stack[DEEPEST];
	uint64_t depth = opt.depth / 2 + below(opt.depth + 1);
	uint64_t f = below(ROOTS);
	size_t mark;

	if (depth == 0 || depth > DEEPEST)
		depth = depth ? DEEPEST : 1;
	for (uint64_t i = 0; i < depth; i++) {
		uint64_t r = below(100);
		uint64_t site = f * SITES + (r < 50 ? 0 : r < 80 ? 1 : 2);

		stack[depth - 1 - i] = site;
		f = callee[site];
	}
	mark = pbw_begin(w, 1);
	for (uint64_t i = 0; i < depth; i++)
		pbw_varint(w, use(&sites, stack[i]));
	pbw_end(w, mark);
}

static void write_sample(struct pbw *w)
{
	size_t mark = pbw_begin(w, PROFILE_SAMPLE);
	uint64_t size = 8 * (1 + below(32)) << below(8);
	uint64_t n = 1 + below(1 + below(2000));
	uint64_t live = below(100) < opt.live ? 1 + below(n) : 0;
	size_t inner;

	write_stack(w);
	inner = pbw_begin(w, 2);
	pbw_varint(w, n);
	pbw_varint(w, n * size);
	pbw_varint(w, live);
	pbw_varint(w, live * size);
	pbw_end(w, inner);
	inner = pbw_begin(w, 3);
	pbw_u64(w, 1, W_BYTES);
	pbw_u64(w, 3, size);
	pbw_end(w, inner);
	pbw_end(w, mark);
}

static void write_type(struct pbw *w, uint32_t field, uint64_t type, uint64_t unit)
{
	size_t mark = pbw_begin(w, field);

	pbw_u64(w, 1, type);
	pbw_u64(w, 2, unit);
	pbw_end(w, mark);
}

static void write_mapping(struct pbw *w)
{
	size_t mark = pbw_begin(w, PROFILE_MAPPING);

	pbw_u64(w, 1, 1);
	pbw_u64(w, 2, 0x400000);
	pbw_u64(w, 3, 0x400000 + opt.functions * SITES * 64);
	pbw_u64(w, 5, W_FILE);
	pbw_u64(w, 6, W_BUILD_ID);
	pbw_u64(w, 7, 1);
	pbw_u64(w, 8, 1);
	pbw_u64(w, 9, 1);
	pbw_u64(w, 10, 1);
	pbw_end(w, mark);
}

static void write_line(struct pbw *w, uint64_t function, uint64_t line)
{
	size_t mark = pbw_begin(w, 4);

	pbw_u64(w, 1, use(&functions, function));
	pbw_u64(w, 2, line);
	pbw_end(w, mark);
}

/* The call site of that id; one in six has one or two functions inlined into it. */
static void write_location(struct pbw *w, uint32_t id)
{
	uint64_t site = sites.thing[id];
	size_t mark = pbw_begin(w, PROFILE_LOCATION);
	uint64_t r = mix(opt.seed * 7919 + site);

	pbw_u64(w, 1, id);
	pbw_u64(w, 2, 1);
	pbw_u64(w, 3, 0x400000 + site * 64 + r % 61);
	if (r % 6 == 0)
		write_line(w, (r >> 8) % opt.functions, 1 + (r >> 20) % 900);
	if (r % 12 == 0)
		write_line(w, (r >> 16) % opt.functions, 1 + (r >> 30) % 900);
	write_line(w, site / SITES, 1 + (r >> 40) % 900);
	pbw_end(w, mark);
}

/* Function 'id' has two strings of its own: its name, and its file. */
static void write_function(struct pbw *w, uint32_t id)
{
	size_t mark = pbw_begin(w, PROFILE_FUNCTION);

	pbw_u64(w, 1, id);
	pbw_u64(w, 2, NWORDS + 2 * (id - 1));
	pbw_u64(w, 3, NWORDS + 2 * (id - 1));
	pbw_u64(w, 4, NWORDS + 2 * (id - 1) + 1);
	pbw_end(w, mark);
}

static void write_names(struct pbw *w, uint64_t f)
{
	static const char *const part[] = { "http", "rpc",   "store", "index", "cache", "codec",
					    "auth", "queue", "net",   "log",   "raft",  "wal" };
	enum { NPARTS = sizeof(part) / sizeof(part[0]) };
	uint64_t r = mix(opt.seed * 104729 + f);
	char text[256];
	int n;

	n = snprintf(text, sizeof(text), "example.com/server/%s/%s.(*%s%c).fn%" PRIu64,
		     part[r % NPARTS], part[r / 16 % NPARTS], part[r / 256 % NPARTS],
		     (char)('A' + r / 4096 % 26), f);
	pbw_bytes(w, PROFILE_STRING, text, (size_t)n);
	n = snprintf(text, sizeof(text), "/go/src/example.com/server/%s/%s/file%" PRIu64 ".go",
		     part[r % NPARTS], part[r / 16 % NPARTS], f / 8);
	pbw_bytes(w, PROFILE_STRING, text, (size_t)n);
}

static void write_strings(struct pbw *w)
{
	for (size_t i = 0; i < NWORDS; i++)
		pbw_bytes(w, PROFILE_STRING, words[i], strlen(words[i]));
	for (uint32_t id = 1; id <= functions.n; id++)
		write_names(w, functions.thing[id]);
}

static void write_profile(struct pbw *w)
{
	write_type(w, PROFILE_TYPE, W_ALLOC_OBJECTS, W_COUNT);
	write_type(w, PROFILE_TYPE, W_ALLOC_SPACE, W_BYTES);
	write_type(w, PROFILE_TYPE, W_INUSE_OBJECTS, W_COUNT);
	write_type(w, PROFILE_TYPE, W_INUSE_SPACE, W_BYTES);
	for (uint64_t i = 0; i < opt.samples; i++)
		write_sample(w);
	write_mapping(w);
	for (uint32_t id = 1; id <= sites.n; id++)
		write_location(w, id);
	for (uint32_t id = 1; id <= functions.n; id++)
		write_function(w, id);
	write_strings(w);
	pbw_u64(w, PROFILE_TIME, (1700000000 + opt.round * 60) * 1000000000);
	write_type(w, PROFILE_PERIOD_TYPE, W_SPACE, W_BYTES);
	pbw_u64(w, PROFILE_PERIOD, 524288);
}

static void put(const void *p, size_t n)
{
	if (fwrite(p, 1, n, stdout) != n || fflush(stdout) != 0) {
		perror("gen-profile");
		exit(1);
	}
}

static void put_compressed(const void *p, size_t n)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
	size_t room = c ? libdeflate_gzip_compress_bound(c, n) : 0;
	void *to = malloc(room);

	if (!c || !to)
		exit(1);
	put(to, libdeflate_gzip_compress(c, p, n, to, room));
	free(to);
	libdeflate_free_compressor(c);
}

static void read_options(int argc, char **argv)
{
	const struct {
		const char *name;
		uint64_t *to;
	} table[] = { { "samples", &opt.samples }, { "functions", &opt.functions },
		      { "depth", &opt.depth },     { "live", &opt.live },
		      { "seed", &opt.seed },       { "round", &opt.round },
		      { "gzip", &opt.gzip } };

	for (int i = 1; i < argc; i++) {
		const char *eq = strchr(argv[i], '=');
		size_t k = 0;

		while (k < 7 &&
		       (!eq || strncmp(argv[i], table[k].name, (size_t)(eq - argv[i])) != 0))
			k++;
		if (k == 7) {
			fprintf(stderr, "gen-profile: what is '%s'?\n", argv[i]);
			exit(2);
		}
		*table[k].to = strtoull(eq + 1, NULL, 10);
	}
	if (opt.functions < ROOTS)
		opt.functions = ROOTS;
}

int main(int argc, char **argv)
{
	struct pbw w = { 0 };

	read_options(argc, argv);
	state = opt.seed;
	make_calls();
	used_init(&sites, opt.functions * SITES);
	used_init(&functions, opt.functions);
	state = mix(opt.seed + opt.round * 0x10001) | 1;

	w.cap = opt.samples * (64 + opt.depth * 6) + opt.functions * 600 + 4096;
	w.p = malloc(w.cap);
	if (!w.p)
		return 1;
	write_profile(&w);
	if (w.n > w.cap) {
		fprintf(stderr, "gen-profile: needs %zu bytes, has %zu\n", w.n, w.cap);
		return 1;
	}
	if (opt.gzip)
		put_compressed(w.p, w.n);
	else
		put(w.p, w.n);
	free(w.p);
	free(callee);
	used_release(&sites);
	used_release(&functions);
	return 0;
}
