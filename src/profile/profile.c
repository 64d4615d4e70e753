/*
 * profile.c - a profile in memory: its strings, its life and its sample types
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/profile.h"

#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"

#include <errno.h>
#include <stdlib.h>

enum { BATCH = 32 };

static uint64_t hash_string(uint32_t i, const void *ctx)
{
	const struct strings *s = ctx;

	return hash_bytes(s->at[i].p, s->at[i].n, 0);
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	if (!p->origin || p->strings != p->origin->strings)
		strings_release(p->strings);
	arena_release(&p->arena);
	free(p);
}

struct profile *profile_view(const struct profile *p)
{
	struct profile *v = mem_new(1, sizeof(*v));

	*v = *p;
	v->origin = p;
	arena_init(&v->arena, PROFILE_BUDGET);
	return v;
}

/* The bytes of the strings stay where they are. */
static struct strings *copy_strings(const struct strings *from)
{
	struct strings *s = mem_zeroed(1, sizeof(*s));

	arena_init(&s->arena, PROFILE_BUDGET);
	table_copy(&s->index, &from->index);
	s->n = s->cap = from->n;
	s->at = mem_new(s->cap, sizeof(*s->at));
	memcpy(s->at, from->at, s->n * sizeof(*s->at));
	s->users = 1;
	return s;
}

struct profile *profile_fork(const struct profile *p)
{
	struct profile *v = profile_view(p);

	v->strings = copy_strings(p->strings);
	return v;
}

static bool find(const struct strings *s, struct str key, struct probe *at)
{
	while (table_next(&s->index, at)) {
		if (str_eq(s->at[at->value], key))
			return true;
	}
	return false;
}

static uint32_t intern_hashed(struct strings *s, struct str key, uint64_t hash, bool copy)
{
	struct probe at;

	table_reserve(&s->index, hash_string, s);
	at = table_probe(&s->index, hash);
	if (find(s, key, &at))
		return at.value;
	table_put(&s->index, &at, (uint32_t)s->n);
	vec_push(s->at, s->n, s->cap, copy ? xarena_str(&s->arena, key) : key);
	return (uint32_t)s->n - 1;
}

static uint32_t intern(struct strings *s, struct str key, bool copy)
{
	return intern_hashed(s, key, hash_bytes(key.p, key.n, 0), copy);
}

/*
 * Each step for all of the batch asks for the memory that the next one reads: slot, entry, bytes.
 */
static void intern_batch(struct strings *s, const struct str *keys, const uint64_t *hashes,
			 size_t n, bool copy, uint32_t *numbers)
{
	for (size_t i = 0; i < n; i++)
		table_prefetch(&s->index, hashes[i]);
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(&s->at[table_guess(&s->index, hashes[i])]);
	if (copy) {
		for (size_t i = 0; i < n; i++)
			__builtin_prefetch(s->at[table_guess(&s->index, hashes[i])].p);
	}
	for (size_t i = 0; i < n; i++)
		numbers[i] = intern_hashed(s, keys[i], hashes[i], copy);
}

void strings_expect(struct strings *s, size_t n)
{
	while ((s->index.used + n) * 3 > s->index.mask * 2)
		table_rebuild(&s->index, hash_string, s);
}

void strings_intern(struct strings *s, const struct str *keys, size_t n, uint32_t *numbers)
{
	uint64_t hashes[BATCH];

	strings_expect(s, n);
	for (size_t i = 0; i < n; i += BATCH) {
		size_t some = n - i < BATCH ? n - i : BATCH;

		for (size_t k = 0; k < some; k++)
			hashes[k] = hash_bytes(keys[i + k].p, keys[i + k].n, 0);
		intern_batch(s, keys + i, hashes, some, true, numbers + i);
	}
}

void strings_adopt(struct strings *s, const struct str *keys, const uint64_t *hashes, size_t n,
		   uint32_t *numbers)
{
	for (size_t i = 0; i < n; i += BATCH)
		intern_batch(s, keys + i, hashes + i, n - i < BATCH ? n - i : BATCH, false,
			     numbers + i);
}

/* Bytes that strings are in. */
struct strings_bytes {
	struct file_bytes bytes;
	struct strings_bytes *next;
};

void strings_keep(struct strings *s, struct file_bytes bytes)
{
	struct strings_bytes *k = mem_new(1, sizeof(*k));

	*k = (struct strings_bytes){ bytes, s->kept };
	s->kept = k;
}

static void release_kept(struct strings_bytes *k)
{
	while (k) {
		struct strings_bytes *next = k->next;

		file_bytes_release(&k->bytes);
		free(k);
		k = next;
	}
}

struct strings *strings_new(void)
{
	struct strings *s = mem_zeroed(1, sizeof(*s));

	arena_init(&s->arena, PROFILE_BUDGET);
	table_init(&s->index, 0);
	(void)intern(s, STR(""), false);
	s->users = 1;
	return s;
}

void strings_release(struct strings *s)
{
	if (--s->users > 0)
		return;
	arena_release(&s->arena);
	table_release(&s->index);
	release_kept(s->kept);
	free(s->at);
	free(s);
}

struct profile *profile_new(struct strings *strings)
{
	struct profile *p = mem_zeroed(1, sizeof(*p));

	arena_init(&p->arena, PROFILE_BUDGET);
	if (strings)
		strings->users++;
	p->strings = strings ? strings : strings_new();
	return p;
}

uint32_t profile_intern(struct profile *p, struct str key)
{
	return intern(p->strings, key, false);
}

uint32_t profile_intern_copy(struct profile *p, struct str key)
{
	return intern(p->strings, key, true);
}

uint32_t profile_lookup(const struct profile *p, struct str key)
{
	struct probe at = table_probe(&p->strings->index, hash_bytes(key.p, key.n, 0));

	return find(p->strings, key, &at) ? at.value : NONE;
}

/* A whole decimal number, as Go's strconv.Atoi takes it. */
static bool parse_index(struct str s, long long *v)
{
	size_t i = s.n && (s.p[0] == '-' || s.p[0] == '+');

	if (i == s.n || s.n > 18)
		return false;
	for (*v = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		*v = *v * 10 + (s.p[i] - '0');
	}
	if (s.p[0] == '-')
		*v = -*v;
	return true;
}

static int unknown_type(const struct profile *p, struct str name, struct err *err)
{
	struct out o;

	out_init(&o, 0);
	out_printf(&o, "sample_index \"%.*s\" must be one of: [", STR_ARG(name));
	for (uint32_t i = 0; i < p->ntypes; i++) {
		if (i)
			out_char(&o, ' ');
		out_str(&o, profile_str(p, p->types[i].type));
	}
	out_char(&o, ']');
	err_set(err, -EINVAL, "%.*s", STR_ARG(out_view(&o)));
	out_release(&o);
	return -EINVAL;
}

int profile_sample_index(const struct profile *p, struct str name, struct err *err)
{
	struct str bare = str_starts(name, STR("inuse_")) ? str_skip(name, 6) : name;
	long long i;

	if (name.n == 0) {
		for (uint32_t t = 0; p->default_type && t < p->ntypes; t++) {
			if (p->types[t].type == p->default_type)
				return (int)t;
		}
		return (int)p->ntypes - 1;
	}
	if (parse_index(name, &i)) {
		if (i >= 0 && i < (long long)p->ntypes)
			return (int)i;
		return err_set(err, -EINVAL, "sample_index %.*s is outside the range [0..%d]",
			       STR_ARG(name), (int)p->ntypes - 1);
	}
	for (uint32_t t = 0; t < p->ntypes; t++) {
		struct str type = profile_str(p, p->types[t].type);

		if (str_eq(type, name) || str_eq(type, bare))
			return (int)t;
	}
	return unknown_type(p, name, err);
}
