/*
 * dumps.c - dumps that are never lost
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/dumps.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/notify.h"
#include "base/out.h"
#include "base/par.h"
#include "base/xalloc.h"
#include "store/crypto.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

enum { BATCH = 64, FETCH = 16, OWNER_MAX = 16, TRIES = 3 };
static const size_t memory = (size_t)1 << 30;

/* A writer at work. */
struct work {
	struct store *s;
	const struct dumps_writer *w;
	struct arena *a;
	struct record r;
	int64_t locked; /* when the lock was last written */
};

static int64_t now(const struct dumps_writer *w)
{
	return w->now ? w->now() : (int64_t)time(NULL);
}

static unsigned lock_seconds(const struct dumps_writer *w)
{
	return w->lock_s ? w->lock_s : DUMPS_LOCK_S;
}

static bool is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool dumps_prefix_ok(struct str prefix)
{
	if (prefix.n == 0 || prefix.n > STORE_PREFIX_MAX)
		return false;
	for (size_t i = 0; i < prefix.n; i++) {
		bool dash = prefix.p[i] == '-' && i > 0 && i + 1 < prefix.n;

		if (!is_label_char(prefix.p[i]) && !dash)
			return false;
	}
	return true;
}

static struct str chunk_name(struct arena *a, struct str names, size_t i)
{
	return xarena_printf(a, "%.*s%zu", STR_ARG(names), i);
}

static struct str plain_names(struct arena *a, struct str prefix)
{
	return xarena_printf(a, "%.*s-heap-", STR_ARG(prefix));
}

/* --- the lock ---------------------------------------------------------------------------- */

/* Whether somebody else holds it; a time that makes no sense, or lies far ahead, does not count. */
static bool is_locked(const struct work *k)
{
	int64_t since, age, most = DUMPS_LOCK_MAX_S;

	if (!k->r.lock_time.n || str_eq(k->r.lock_owner, k->w->owner))
		return false;
	if (!date_parse(k->r.lock_time, &since))
		return false;
	if (k->r.lock_s > 0 && k->r.lock_s < DUMPS_LOCK_MAX_S)
		most = (int64_t)k->r.lock_s;
	age = now(k->w) - since;
	return age < most && age > -most;
}

static int write_lock(struct work *k, struct err *err)
{
	int64_t t = now(k->w);

	k->r.lock_owner = k->w->owner;
	k->r.lock_time = date_text(k->a, t);
	k->r.lock_s = lock_seconds(k->w);
	k->locked = t;
	return record_write(k->s, k->a, &k->r, err);
}

static int take_lock(struct work *k, struct str prefix, struct err *err)
{
	int rc = -ESTALE;

	for (int i = 0; i < TRIES && rc == -ESTALE; i++) {
		rc = record_read(k->s, prefix, k->a, &k->r, err);
		if (rc < 0)
			return rc;
		if (is_locked(k))
			return err_set(err, -EBUSY, "%s: %.*s-heap is locked by %.*s since %.*s",
				       k->s->where, STR_ARG(prefix), STR_ARG(k->r.lock_owner),
				       STR_ARG(k->r.lock_time));
		rc = write_lock(k, err);
	}
	return rc;
}

/* A long store must not look like one that has died. */
static int keep_lock(struct work *k, struct err *err)
{
	if (now(k->w) - k->locked < lock_seconds(k->w) / 4)
		return 0;
	return write_lock(k, err);
}

static int give_lock(struct work *k, struct err *err)
{
	k->r.lock_owner = k->r.lock_time = STR("");
	return record_write(k->s, k->a, &k->r, err);
}

/* --- chunks ------------------------------------------------------------------------------ */

static struct store_chunk *cut(struct work *k, const struct dump *d, struct str bytes)
{
	struct store_chunk *chunks = xarena(k->a, d->chunks, sizeof(*chunks));
	size_t size = k->w->chunk_bytes ? k->w->chunk_bytes : DUMPS_CHUNK;

	for (size_t i = 0; i < d->chunks; i++) {
		size_t n = bytes.n - i * size < size ? bytes.n - i * size : size;

		chunks[i] = (struct store_chunk){ chunk_name(k->a, d->names, i),
						  { bytes.p + i * size, n } };
	}
	return chunks;
}

static int put_chunks(struct work *k, const struct store_chunk *chunks, size_t n, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i += BATCH) {
		rc = k->s->calls->put(k->s, k->r.prefix, chunks + i, n - i < BATCH ? n - i : BATCH,
				      err);
		if (rc == 0)
			rc = keep_lock(k, err);
	}
	return rc;
}

/* To the names that people use by hand. */
static int copy_chunks(struct work *k, const struct store_chunk *chunks, size_t n, struct err *err)
{
	struct str plain = plain_names(k->a, k->r.prefix);
	struct str *to = xarena(k->a, n, sizeof(*to));
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		to[i] = chunk_name(k->a, plain, i);
	for (size_t i = 0; i < n && rc == 0; i += BATCH) {
		rc = k->s->calls->copy(k->s, k->r.prefix, chunks + i, to + i,
				       n - i < BATCH ? n - i : BATCH, err);
		if (rc == 0)
			rc = keep_lock(k, err);
	}
	if (rc == 0)
		k->r.copied = k->r.newest.generation;
	return rc;
}

static void remove_chunks(struct work *k, const struct store_chunk *chunks, size_t n)
{
	struct str *names = xarena(k->a, n, sizeof(*names));

	for (size_t i = 0; i < n; i++)
		names[i] = chunks[i].name;
	(void)k->s->calls->remove(k->s, names, n, NULL);
}

/* --- what may go ------------------------------------------------------------------------- */

static bool all_digits(struct str s, size_t *value)
{
	*value = 0;
	if (s.n == 0 || s.n > 9 || (s.n > 1 && s.p[0] == '0'))
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		*value = *value * 10 + (size_t)(s.p[i] - '0');
	}
	return true;
}

static bool is_chunk_of(const struct dump *d, struct str name)
{
	size_t i;

	return d->names.n && str_starts(name, d->names) &&
	       all_digits(str_skip(name, d->names.n), &i) && i < d->chunks;
}

/* "g7-1a2b3c-0": what a writer names its chunks, behind the plain names. */
static bool is_staged(struct str rest)
{
	struct str part;
	size_t v;

	if (!rest.n || rest.p[0] != 'g')
		return false;
	rest = str_skip(rest, 1);
	return str_split(&rest, '-', &part) && all_digits(part, &v) &&
	       str_split(&rest, '-', &part) && part.n > 0 && str_split(&rest, '-', &part) &&
	       all_digits(part, &v) && !str_split(&rest, '-', &part);
}

static bool is_waste(const struct record *r, struct str plain, struct str name)
{
	struct str rest = str_skip(name, plain.n);
	size_t i;

	if (name.n && name.p[0] == '.')
		return true;
	if (!str_starts(name, plain))
		return false;
	if (all_digits(rest, &i))
		return i >= r->newest.chunks;
	if (!is_staged(rest) || is_chunk_of(&r->newest, name))
		return false;
	for (size_t k = 0; k < r->nolder; k++)
		if (is_chunk_of(&r->older[k], name))
			return false;
	return true;
}

/* Removes what no record names: the leftovers of writers that died, and dumps that are too many. */
static int sweep(struct work *k, struct err *err)
{
	struct str plain = plain_names(k->a, k->r.prefix), *names = NULL;
	size_t n = 0, waste = 0;
	int rc = k->s->calls->list(k->s, k->r.prefix, k->a, &names, &n, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		if (is_waste(&k->r, plain, names[i]))
			names[waste++] = names[i];
	return waste ? k->s->calls->remove(k->s, names, waste, err) : 0;
}

static bool last_of_run(const struct record *r, size_t i)
{
	if (str_eq(r->older[i].run, r->newest.run))
		return false;
	for (size_t k = 0; k < i; k++)
		if (str_eq(r->older[k].run, r->older[i].run))
			return false;
	return true;
}

static bool is_largest(const struct record *r, size_t i)
{
	for (size_t k = 0; k < r->nolder; k++)
		if (r->older[k].heap_inuse > r->older[i].heap_inuse)
			return false;
	return true;
}

/* Which of the older dumps to give up, of at least one. */
static size_t choose_victim(const struct record *r)
{
	for (size_t i = r->nolder; i-- > 0;)
		if (!last_of_run(r, i) && !is_largest(r, i))
			return i;
	for (size_t i = r->nolder; i-- > 0;)
		if (!is_largest(r, i))
			return i;
	return r->nolder - 1;
}

static void drop_older(struct record *r, size_t i)
{
	memmove(&r->older[i], &r->older[i + 1], (r->nolder - i - 1) * sizeof(*r->older));
	r->nolder--;
}

static void trim(struct work *k)
{
	unsigned keep = k->w->keep ? k->w->keep : DUMPS_KEEP;

	keep = keep < DUMPS_KEEP_MAX ? keep : DUMPS_KEEP_MAX;
	while (k->r.nolder > 0 && k->r.nolder + 1 > keep)
		drop_older(&k->r, choose_victim(&k->r));
}

/* --- storing ----------------------------------------------------------------------------- */

static uint64_t next_generation(const struct record *r)
{
	uint64_t most = r->newest.generation;

	for (size_t i = 0; i < r->nolder; i++)
		most = r->older[i].generation > most ? r->older[i].generation : most;
	return most + 1;
}

/* The checksum is worked out while the chunks are on their way. */
struct sum {
	struct par_task task;
	struct str bytes;
	char hex[SHA256_HEX + 1];
	struct err err;
	int rc;
};

static void work_out(void *ctx)
{
	struct sum *sum = ctx;

	sum->rc = sha256_hex(sum->bytes, sum->hex, &sum->err);
}

static struct dump describe(struct work *k, const struct dump *about, struct str bytes)
{
	size_t size = k->w->chunk_bytes ? k->w->chunk_bytes : DUMPS_CHUNK;
	struct dump d = *about;

	d.generation = next_generation(&k->r);
	d.length = bytes.n;
	d.chunks = (bytes.n + size - 1) / size;
	d.counted = true;
	d.stored = now(k->w);
	d.names = xarena_printf(k->a, "%.*s-heap-g%" PRIu64 "-%.*s-", STR_ARG(k->r.prefix),
				d.generation, STR_ARG(k->w->owner));
	return d;
}

static int put_summed(struct work *k, const struct store_chunk *chunks, struct str bytes,
		      struct dump *d, struct err *err)
{
	struct sum sum = { .bytes = bytes };
	int rc;

	par_start(&sum.task, work_out, &sum);
	rc = put_chunks(k, chunks, d->chunks, err);
	par_wait(&sum.task);
	if (rc == 0 && sum.rc < 0)
		rc = err_set(err, sum.rc, "%s", sum.err.msg);
	d->sha256 = xarena_str(k->a, str_of(sum.hex));
	return rc;
}

/* 'd' in front of those there are. */
static void push(struct work *k, const struct dump *d)
{
	size_t n = k->r.nolder;
	struct dump *older = xarena(k->a, n + 2, sizeof(*older));

	if (n)
		memcpy(older + 1, k->r.older, n * sizeof(*older));
	older[0] = k->r.newest;
	/* Another program's dump has the plain names only, and those are about to be used. */
	k->r.older = k->r.newest.generation ? older : older + 1;
	k->r.nolder = k->r.newest.generation ? n + 1 : n;
	k->r.newest = *d;
}

/*
 * One change of the record makes 'd' the newest.  When that fails, only the record can tell whether
 * it happened: the answer may have been lost.  As long as it cannot be read, the chunks stay.
 */
static int publish(struct work *k, const struct dump *d, const struct store_chunk *chunks,
		   struct err *err)
{
	int rc;

	push(k, d);
	rc = record_write(k->s, k->a, &k->r, err);
	if (rc == 0 || record_read(k->s, k->r.prefix, k->a, &k->r, NULL) < 0)
		return rc;
	if (str_eq(k->r.newest.names, d->names))
		return 0;
	remove_chunks(k, chunks, d->chunks);
	if (str_eq(k->r.lock_owner, k->w->owner))
		(void)give_lock(k, NULL);
	return rc;
}

/*
 * The dump is safe by now: the rest is order, and the next writer mends what fails here.  It must
 * not have to wait for that until the lock is too old.
 */
static int tidy(struct work *k, const struct store_chunk *chunks, size_t n, struct err *err)
{
	int rc = copy_chunks(k, chunks, n, err), given;

	trim(k);
	if (rc == 0)
		rc = record_write(k->s, k->a, &k->r, err);
	if (rc == 0)
		rc = sweep(k, err);
	given = give_lock(k, rc == 0 ? err : NULL);
	return rc < 0 ? rc : given;
}

static int check(struct str prefix, const struct dumps_writer *w, struct str bytes, struct err *err)
{
	size_t size = w->chunk_bytes;

	if (!dumps_prefix_ok(prefix))
		return err_set(err, -EINVAL,
			       "%.*s cannot be a prefix: small letters, digits and dashes only",
			       STR_ARG(prefix));
	if (size > DUMPS_CHUNK_MAX)
		return err_set(err, -EINVAL, "chunks cannot be larger than %d bytes",
			       DUMPS_CHUNK_MAX);
	if (w->owner.n == 0 || w->owner.n > OWNER_MAX)
		return err_set(err, -EINVAL, "a writer needs a name of at most %d letters",
			       OWNER_MAX);
	for (size_t i = 0; i < w->owner.n; i++)
		if (!is_label_char(w->owner.p[i]))
			return err_set(err, -EINVAL, "a writer's name has letters and digits only");
	if (bytes.n == 0)
		return err_set(err, -EINVAL, "there is no dump of nothing");
	return 0;
}

int dumps_put(struct store *s, struct str prefix, const struct dumps_writer *w,
	      const struct dump *about, struct str bytes, struct err *err)
{
	AUTO(arena_release) struct arena a;
	struct work k = { .s = s, .w = w, .a = &a };
	struct store_chunk *chunks;
	struct dump d;
	int rc;

	arena_init(&a, memory);
	rc = check(prefix, w, bytes, err);
	if (rc == 0)
		rc = take_lock(&k, prefix, err);
	if (rc != 0)
		return rc;
	d = describe(&k, about, bytes);
	chunks = cut(&k, &d, bytes);
	rc = put_summed(&k, chunks, bytes, &d, err);
	if (rc < 0) {
		remove_chunks(&k, chunks, d.chunks);
		(void)give_lock(&k, NULL);
		return rc;
	}
	rc = publish(&k, &d, chunks, err);
	if (rc < 0)
		return rc;
	return tidy(&k, chunks, d.chunks, err) < 0 ? 1 : 0;
}

/* --- reading and removing ---------------------------------------------------------------- */

static const struct dump *find(const struct record *r, uint64_t generation)
{
	if (r->newest.names.n && (generation == 0 || r->newest.generation == generation))
		return &r->newest;
	for (size_t i = 0; i < r->nolder; i++)
		if (r->older[i].generation == generation)
			return &r->older[i];
	return NULL;
}

static int no_dump(struct err *err, struct store *s, struct str prefix, uint64_t generation)
{
	if (generation)
		return err_set(err, -ENOENT, "%s: %.*s-heap has no dump %" PRIu64, s->where,
			       STR_ARG(prefix), generation);
	return err_set(err, -ENOENT, "%s: there is no dump of %.*s", s->where, STR_ARG(prefix));
}

/* How many chunks a dump has whose number nobody wrote down: all there are from 0 on. */
static int count_chunks(struct store *s, struct str prefix, struct arena *a, struct dump *d,
			struct err *err)
{
	struct str *names = NULL;
	size_t n = 0, most = 0, i;
	int rc = s->calls->list(s, prefix, a, &names, &n, err);

	for (size_t k = 0; rc == 0 && k < n; k++)
		if (str_starts(names[k], d->names) &&
		    all_digits(str_skip(names[k], d->names.n), &i) && i + 1 > most)
			most = i + 1;
	d->chunks = most;
	return rc;
}

static int fetch(struct store *s, const struct dump *d, struct out *to, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < d->chunks && rc == 0; i += FETCH) {
		size_t n = d->chunks - i < FETCH ? d->chunks - i : FETCH;
		AUTO(arena_release) struct arena a;
		struct str names[FETCH], bytes[FETCH];

		notify_progress(s->notify, "fetching", to->n, d->length, "bytes");
		arena_init(&a, memory);
		for (size_t k = 0; k < n; k++)
			names[k] = chunk_name(&a, d->names, i + k);
		rc = s->calls->get(s, names, n, &a, bytes, err);
		for (size_t k = 0; rc == 0 && k < n; k++)
			out_str(to, bytes[k]);
	}
	notify_progress(s->notify, NULL, 0, 0, NULL);
	if (rc == 0 && to->error)
		rc = err_set(err, to->error, "%s: no room for the dump", s->where);
	return rc;
}

static int verify(struct store *s, const struct dump *d, struct str bytes, struct err *err)
{
	char hex[SHA256_HEX + 1];
	int rc;

	if (!d->sha256.n)
		return 0;
	if (bytes.n != d->length)
		return err_set(err, -EBADMSG,
			       "%s: the chunks %.*s* have %zu bytes together instead of %" PRIu64,
			       s->where, STR_ARG(d->names), bytes.n, d->length);
	rc = sha256_hex(bytes, hex, err);
	if (rc == 0 && !str_is(d->sha256, hex))
		return err_set(err, -EBADMSG,
			       "%s: the chunks %.*s* do not have the checksum they should have",
			       s->where, STR_ARG(d->names));
	return rc;
}

static int get_once(struct store *s, const struct record *r, uint64_t generation, struct arena *a,
		    struct out *to, struct dump *which, struct err *err)
{
	const struct dump *found = find(r, generation);
	int rc = 0;

	if (!found)
		return no_dump(err, s, r->prefix, generation);
	*which = *found;
	to->n = 0;
	if (!which->counted)
		rc = count_chunks(s, r->prefix, a, which, err);
	if (rc == 0)
		rc = fetch(s, which, to, err);
	if (rc == 0)
		rc = verify(s, which, out_view(to), err);
	return rc;
}

int dumps_get(struct store *s, struct str prefix, uint64_t generation, struct arena *a,
	      struct out *to, struct dump *which, struct err *err)
{
	struct dump d;
	int rc = 0;

	for (int i = 0; i < TRIES; i++) {
		struct record r, again;

		rc = record_read(s, prefix, a, &r, err);
		if (rc < 0)
			return rc;
		rc = get_once(s, &r, generation, a, to, which ? which : &d, err);
		/* A writer may have removed what we were about to read. */
		if (rc == 0 || record_read(s, prefix, a, &again, NULL) < 0 ||
		    str_eq(r.version, again.version))
			return rc;
	}
	return rc;
}

/* The plain names of a dump that has become the newest again. */
static int copy_again(struct work *k, struct err *err)
{
	const struct dump *d = &k->r.newest;
	struct str plain = plain_names(k->a, k->r.prefix);
	int rc = 0;

	for (size_t i = 0; i < d->chunks && rc == 0; i++) {
		AUTO(arena_release) struct arena a;
		struct str to = chunk_name(k->a, plain, i);
		struct store_chunk c = { .name = chunk_name(k->a, d->names, i) };

		arena_init(&a, memory);
		rc = k->s->calls->get(k->s, &c.name, 1, &a, &c.bytes, err);
		if (rc == 0)
			rc = k->s->calls->copy(k->s, k->r.prefix, &c, &to, 1, err);
		if (rc == 0)
			rc = keep_lock(k, err);
	}
	if (rc == 0)
		k->r.copied = d->generation;
	return rc;
}

/* The newest goes: the one before it is the newest then. */
static int drop_newest(struct work *k, struct err *err)
{
	int rc;

	k->r.newest = k->r.older[0];
	drop_older(&k->r, 0);
	rc = record_write(k->s, k->a, &k->r, err);
	return rc < 0 ? rc : copy_again(k, err);
}

static int remove_all(struct work *k, struct err *err)
{
	int rc = k->s->calls->drop(k->s, k->r.prefix, k->r.version, err);

	if (rc < 0)
		return rc;
	k->r = (struct record){ .prefix = k->r.prefix };
	return sweep(k, err);
}

static int remove_one(struct work *k, const struct dump *d, struct err *err)
{
	int rc = 0;

	if (d == &k->r.newest)
		rc = drop_newest(k, err);
	else
		drop_older(&k->r, (size_t)(d - k->r.older));
	if (rc == 0)
		rc = record_write(k->s, k->a, &k->r, err);
	if (rc == 0)
		rc = sweep(k, err);
	if (rc == 0)
		rc = give_lock(k, err);
	return rc;
}

int dumps_remove(struct store *s, struct str prefix, const struct dumps_writer *w,
		 uint64_t generation, struct err *err)
{
	AUTO(arena_release) struct arena a;
	struct work k = { .s = s, .w = w, .a = &a };
	const struct dump *d;
	int rc;

	arena_init(&a, memory);
	rc = record_read(s, prefix, &a, &k.r, err);
	if (rc < 0)
		return rc;
	if (!find(&k.r, generation))
		return no_dump(err, s, prefix, generation);
	rc = take_lock(&k, prefix, err);
	if (rc < 0)
		return rc;
	d = find(&k.r, generation);
	if (generation == 0 || !d || (d == &k.r.newest && k.r.nolder == 0))
		return remove_all(&k, err);
	return remove_one(&k, d, err);
}
