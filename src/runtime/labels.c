/*
 * labels.c - what the host says a thread is working on
 *
 * Labels are kept once each ("key\0value\0"), and sets as lists of their numbers in the order of
 * their keys.  What is known is found without a lock.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/labels.h"

#include "runtime/buf.h"
#include "runtime/fork.h"
#include "runtime/lookup.h"
#include "runtime/os.h"
#include "runtime/output.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <string.h>

enum {
	KEYS = 64,
	VALUES = 4096, /* of one key */
	LABELS = 16384,
	CHUNK = 64 * 1024,
	CHUNKS = 128, /* 8 MB of labels and sets */
	LOOKUP_MAX = 2 << 20,
	TEXT = SONDE__LABEL_KEY + SONDE__LABEL_VALUE + 2,
};

/* Something that is kept once: a label, or a set. */
struct thing {
	uint32_t n;
	uint32_t key; /* of a label */
	char bytes[];
};

struct table {
	struct sonde__lookup lookup;
	_Atomic(struct thing **) at; /* by number - 1 */
	atomic_uint count;
	size_t max;
};

static struct table labels = { .max = LABELS }, sets = { .max = SONDE__LABEL_SETS };

static struct {
	const char *text;
	atomic_uint values;
} keys[KEYS];
static atomic_uint key_count;

static struct sonde__lock lock;
/* Under the lock. */
static struct sonde__room room = { .chunk = CHUNK, .most = CHUNKS };

static uint64_t hash_of(const void *data, size_t n)
{
	const char *at = data;
	uint64_t h = n, word = 0;

	for (; n >= sizeof(word); n -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, at, n);
	h = (h ^ word) * 0x9e3779b97f4a7c15u;
	return (h ^ h >> 32) * 0xd6e8feb86659fd93u;
}

/* The number is known to be in use. */
static const struct thing *thing_at(struct table *t, uint32_t number)
{
	return atomic_load_explicit(&t->at, memory_order_acquire)[number - 1];
}

struct key {
	struct table *table;
	const void *bytes;
	size_t n;
};

static bool is_same(uint32_t number, const void *key)
{
	const struct key *k = key;
	const struct thing *thing = thing_at(k->table, number);

	return thing->n == k->n && memcmp(thing->bytes, k->bytes, k->n) == 0;
}

/* From here on to find_or_add(): under the lock. */

static struct thing *take_room(size_t n)
{
	return sonde__room_take(&room, (sizeof(struct thing) + n + 7) & ~(size_t)7);
}

static bool has_directory(struct table *t)
{
	struct thing **at;

	if (atomic_load_explicit(&t->at, memory_order_relaxed))
		return true;
	at = sonde__map(t->max * sizeof(struct thing *));
	atomic_store_explicit(&t->at, at, memory_order_release);
	return at;
}

static uint32_t add(const struct key *k, uint64_t hash, uint32_t key)
{
	struct table *t = k->table;
	uint32_t number = atomic_load_explicit(&t->count, memory_order_relaxed) + 1;
	struct thing *thing;

	if (number > t->max || !has_directory(t) || !sonde__lookup_reserve(&t->lookup, LOOKUP_MAX))
		return 0;
	thing = take_room(k->n);
	if (!thing)
		return 0;
	thing->n = (uint32_t)k->n;
	thing->key = key;
	memcpy(thing->bytes, k->bytes, k->n);
	atomic_load_explicit(&t->at, memory_order_relaxed)[number - 1] = thing;
	atomic_store_explicit(&t->count, number, memory_order_release);
	sonde__lookup_add(&t->lookup, hash, number);
	return number;
}

/* The number of a key, from 0 on; KEYS: it has none. */
static uint32_t find_key(const char *text)
{
	uint32_t n = atomic_load_explicit(&key_count, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++)
		if (strcmp(keys[i].text, text) == 0)
			return i;
	return KEYS;
}

static uint32_t add_label(const struct key *k, uint64_t hash)
{
	uint32_t key = find_key(k->bytes), n = atomic_load(&key_count), number;
	bool fresh = key == KEYS;

	if (fresh)
		key = n;
	if (key == KEYS || atomic_load(&keys[key].values) == VALUES)
		return 0;
	number = add(k, hash, key);
	if (!number)
		return 0;
	atomic_fetch_add(&keys[key].values, 1);
	if (fresh) {
		keys[key].text = thing_at(&labels, number)->bytes;
		atomic_store_explicit(&key_count, n + 1, memory_order_release);
	}
	return number;
}

static uint32_t find_or_add(const struct key *k, uint64_t hash)
{
	uint32_t number;

	sonde__lock(&lock);
	number = sonde__lookup_find(&k->table->lookup, hash, is_same, k);
	if (!number)
		number = k->table == &labels ? add_label(k, hash) : add(k, hash, 0);
	sonde__unlock(&lock);
	return number;
}

static void take_lock(void)
{
	sonde__lock(&lock);
}

static void give_lock(void)
{
	sonde__unlock(&lock);
}

/* Labels may be set before anything is switched on. */
static void join_fork(void)
{
	static const struct sonde__fork_part part = { take_lock, give_lock, give_lock };
	static atomic_bool joined;

	if (!atomic_exchange(&joined, true))
		sonde__fork_join(SONDE__FORK_LABELS, &part);
}

/* Whoever sets ever new values of a key shall not stand in line for a table that is full. */
static bool is_hopeless(const struct key *k)
{
	uint32_t key;

	if (atomic_load_explicit(&k->table->count, memory_order_relaxed) == k->table->max)
		return true;
	key = k->table == &labels ? find_key(k->bytes) : KEYS;
	return key != KEYS &&
	       atomic_load_explicit(&keys[key].values, memory_order_relaxed) == VALUES;
}

/* The number of what has these bytes; 0 when there is no room. */
static uint32_t intern(struct table *t, const void *bytes, size_t n)
{
	struct key k = { t, bytes, n };
	uint64_t hash = hash_of(bytes, n);
	uint32_t number = sonde__lookup_find(&t->lookup, hash, is_same, &k);

	if (number || is_hopeless(&k))
		return number;
	sonde__tls.inside++;
	join_fork();
	number = find_or_add(&k, hash);
	sonde__tls.inside--;
	return number;
}

static const struct thing *set_at(uint32_t set)
{
	if (set == 0 || set > atomic_load_explicit(&sets.count, memory_order_acquire))
		return NULL;
	return thing_at(&sets, set);
}

static const struct thing *label_of(const struct thing *set, size_t i)
{
	uint32_t number;

	memcpy(&number, set->bytes + i * sizeof(number), sizeof(number));
	return thing_at(&labels, number);
}

static size_t length_of(const struct thing *set)
{
	return set ? set->n / sizeof(uint32_t) : 0;
}

void sonde__labels_use(uint32_t set)
{
	__atomic_store_n(&sonde__tls.labels, set_at(set) ? set : 0, __ATOMIC_RELAXED);
}

/* The set 'before' with 'label' instead of what it has of 'key'; 0 for 'label': without. */
static uint32_t change(uint32_t before, const char *key, uint32_t label, bool *full)
{
	const struct thing *set = set_at(before);
	uint32_t numbers[SONDE__LABEL_SET + 1], set_number;
	size_t n = 0, length = length_of(set);
	bool done = label == 0;

	for (size_t i = 0; i < length; i++) {
		int order = strcmp(label_of(set, i)->bytes, key);

		if (order >= 0 && !done) {
			numbers[n++] = label;
			done = true;
		}
		if (order != 0)
			memcpy(&numbers[n++], set->bytes + i * sizeof(label), sizeof(label));
	}
	if (!done)
		numbers[n++] = label;
	set_number = n && n <= SONDE__LABEL_SET ? intern(&sets, numbers, n * sizeof(label)) : 0;
	*full = n && !set_number;
	return set_number;
}

/* How much of a value fits, whole characters only. */
static size_t value_length(const char *value)
{
	size_t n = strnlen(value, SONDE__LABEL_VALUE + 1);

	if (n <= SONDE__LABEL_VALUE)
		return n;
	n = SONDE__LABEL_VALUE;
	while (n > 0 && (value[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static uint32_t find_label(const char *key, size_t nkey, const char *value)
{
	char text[TEXT];
	size_t n = value_length(value);

	memcpy(text, key, nkey + 1);
	memcpy(text + nkey + 1, value, n);
	text[nkey + 1 + n] = '\0';
	return intern(&labels, text, nkey + n + 2);
}

int sonde__labels_set(const char *key, const char *value)
{
	size_t nkey = key ? strnlen(key, SONDE__LABEL_KEY + 1) : 0;
	bool taken_away = !value || !*value, full = false;
	uint32_t before = sonde__labels_now(), label, set = 0;

	if (nkey == 0 || nkey > SONDE__LABEL_KEY)
		return -EINVAL;
	label = taken_away ? 0 : find_label(key, nkey, value);
	if (label)
		set = change(before, key, label, &full);
	if (!label || full) /* what it was before would be wrong now */
		set = change(before, key, 0, &(bool){ false });
	sonde__labels_use(set);
	if (taken_away || (label && !full))
		return 0;
	atomic_fetch_add_explicit(&sonde__stats.labels_lost, 1, memory_order_relaxed);
	return -ENOSPC;
}

size_t sonde__labels_expand(uint32_t set, struct sonde__label *to, size_t cap)
{
	const struct thing *s = set_at(set);
	size_t n = length_of(s) < cap ? length_of(s) : cap;

	for (size_t i = 0; i < n; i++) {
		const char *key = label_of(s, i)->bytes;

		to[i] = (struct sonde__label){ .key = key, .text = key + strlen(key) + 1 };
	}
	return n;
}

/* As Go's %q, but for characters beyond ASCII, which stay as they are. */
static void add_quoted(struct sonde__buf *b, const char *text)
{
	static const char special[] = "\a\b\f\n\r\t\v\"\\", letters[] = "abfnrtv\"\\";

	sonde__buf_text(b, "\"");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		const char *at = strchr(special, c);

		if (at)
			sonde__buf_format(b, "\\%c", letters[at - special]);
		else if (c < ' ' || c == 0x7f)
			sonde__buf_format(b, "\\x%02x", c);
		else
			sonde__buf_add(b, text, 1);
	}
	sonde__buf_text(b, "\"");
}

void sonde__labels_text(struct sonde__buf *b, uint32_t set)
{
	struct sonde__label own[SONDE__LABEL_SET];
	size_t n = sonde__labels_expand(set, own, SONDE__LABEL_SET);

	for (size_t i = 0; i < n; i++) {
		sonde__buf_text(b, i ? ", " : "{");
		add_quoted(b, own[i].key);
		sonde__buf_text(b, ":");
		add_quoted(b, own[i].text);
	}
	if (n)
		sonde__buf_text(b, "}");
}
