/*
 * test-dumps.c - dumps that are never lost: every call failing in turn, and death at every call
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "store/crypto.h"
#include "store/dumps.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* A store in memory, which fails when it is told to. */
struct thing {
	char name[128];
	char *bytes;
	size_t n;
	bool used;
};

static struct {
	struct store store;
	struct thing things[400];
	struct store_pair pairs[16];
	size_t npairs;
	unsigned version; /* of the record; 0: none */
	int calls;        /* made so far */
	int fail;         /* this one fails, and does nothing */
	int lose;         /* this one works, but its answer is lost */
	int die;          /* this and all that follow do nothing */
} mem;

static int64_t clock_now;

static int64_t tell_time(void)
{
	return clock_now;
}

/* Whether the call that is about to be made may do anything. */
static bool works(void)
{
	mem.calls++;
	return mem.calls != mem.fail && (mem.die == 0 || mem.calls < mem.die);
}

static int lost(struct err *err)
{
	if (mem.calls == mem.lose)
		return err_set(err, -EIO, "the answer was lost");
	return 0;
}

static struct thing *find_thing(struct str name)
{
	for (size_t i = 0; i < 400; i++)
		if (mem.things[i].used && str_is(name, mem.things[i].name))
			return &mem.things[i];
	return NULL;
}

static void put_thing(struct str name, struct str bytes)
{
	struct thing *t = find_thing(name);

	for (size_t i = 0; !t; i++) {
		assert_true(i < 400);
		if (!mem.things[i].used)
			t = &mem.things[i];
	}
	free(t->bytes);
	t->used = true;
	(void)snprintf(t->name, sizeof(t->name), "%.*s", STR_ARG(name));
	t->bytes = mem_str(bytes);
	t->n = bytes.n;
}

static int mem_put(struct store *s, struct str prefix, const struct store_chunk *chunks, size_t n,
		   struct err *err)
{
	(void)s;
	(void)prefix;
	/* A store that dies has done some of it. */
	for (size_t i = 0; i < n; i++) {
		if (!works())
			return err_set(err, -EIO, "no");
		put_thing(chunks[i].name, chunks[i].bytes);
	}
	return lost(err);
}

static int mem_copy(struct store *s, struct str prefix, const struct store_chunk *chunks,
		    const struct str *to, size_t n, struct err *err)
{
	for (size_t i = 0; i < n; i++) {
		struct store_chunk c = { to[i], chunks[i].bytes };
		int rc = mem_put(s, prefix, &c, 1, err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int mem_get(struct store *s, const struct str *names, size_t n, struct arena *a,
		   struct str *bytes, struct err *err)
{
	(void)s;
	for (size_t i = 0; i < n; i++) {
		const struct thing *t = find_thing(names[i]);

		if (!works())
			return err_set(err, -EIO, "no");
		if (!t)
			return err_set(err, -ENOENT, "there is no %.*s", STR_ARG(names[i]));
		bytes[i] = xarena_str(a, (struct str){ t->bytes, t->n });
	}
	return 0;
}

static int mem_remove(struct store *s, const struct str *names, size_t n, struct err *err)
{
	(void)s;
	for (size_t i = 0; i < n; i++) {
		struct thing *t = find_thing(names[i]);

		if (!works())
			return err_set(err, -EIO, "no");
		if (t)
			t->used = false;
	}
	return 0;
}

static int mem_list(struct store *s, struct str prefix, struct arena *a, struct str **names,
		    size_t *n, struct err *err)
{
	struct str start = xarena_printf(a, "%.*s-heap-", STR_ARG(prefix));

	(void)s;
	if (!works())
		return err_set(err, -EIO, "no");
	*names = xarena(a, 400, sizeof(**names));
	*n = 0;
	for (size_t i = 0; i < 400; i++)
		if (mem.things[i].used && str_starts(str_of(mem.things[i].name), start))
			(*names)[(*n)++] = xarena_str(a, str_of(mem.things[i].name));
	return 0;
}

static int mem_read(struct store *s, struct str prefix, struct arena *a, struct store_record *out,
		    struct err *err)
{
	(void)s;
	(void)prefix;
	*out = (struct store_record){ .version = STR("") };
	if (!works())
		return err_set(err, -EIO, "no");
	if (!mem.version)
		return 0;
	out->pairs = xarena(a, mem.npairs + 1, sizeof(*out->pairs));
	for (size_t i = 0; i < mem.npairs; i++)
		out->pairs[out->npairs++] =
			(struct store_pair){ xarena_str(a, mem.pairs[i].key),
					     xarena_str(a, mem.pairs[i].value) };
	out->version = xarena_printf(a, "%u", mem.version);
	return 0;
}

static void clear_pairs(void)
{
	for (size_t i = 0; i < mem.npairs; i++) {
		free((void *)mem.pairs[i].key.p);
		free((void *)mem.pairs[i].value.p);
	}
	mem.npairs = 0;
}

static void set_pair(struct str key, struct str value)
{
	mem.pairs[mem.npairs++] =
		(struct store_pair){ { mem_str(key), key.n }, { mem_str(value), value.n } };
}

static bool is_version(struct str version)
{
	char text[16] = "";

	if (mem.version)
		(void)snprintf(text, sizeof(text), "%u", mem.version);
	return str_is(version, text);
}

static int mem_write(struct store *s, struct str prefix, struct store_record *r, struct arena *a,
		     struct err *err)
{
	(void)s;
	(void)prefix;
	if (!works())
		return err_set(err, -EIO, "no");
	if (!is_version(r->version))
		return err_set(err, -ESTALE, "changed");
	clear_pairs();
	for (size_t i = 0; i < r->npairs; i++)
		set_pair(r->pairs[i].key, r->pairs[i].value);
	r->version = xarena_printf(a, "%u", ++mem.version);
	return lost(err);
}

static int mem_drop(struct store *s, struct str prefix, struct str version, struct err *err)
{
	(void)s;
	(void)prefix;
	if (!works())
		return err_set(err, -EIO, "no");
	if (!is_version(version))
		return err_set(err, -ESTALE, "changed");
	clear_pairs();
	mem.version = 0;
	return 0;
}

static void mem_close(struct store *s)
{
	(void)s;
}

static const struct store_calls mem_calls = {
	.put = mem_put,
	.copy = mem_copy,
	.get = mem_get,
	.remove = mem_remove,
	.list = mem_list,
	.read = mem_read,
	.write = mem_write,
	.drop = mem_drop,
	.close = mem_close,
};

static int empty(void **state)
{
	(void)state;
	for (size_t i = 0; i < 400; i++)
		free(mem.things[i].bytes);
	clear_pairs();
	memset(&mem, 0, sizeof(mem));
	mem.store.calls = &mem_calls;
	mem.store.where = "memory";
	clock_now = 1600000000;
	return 0;
}

/* --- what the cases use ------------------------------------------------------------------ */

static const struct str prefix = { "main", 4 };

static struct dumps_writer writer(const char *owner)
{
	return (struct dumps_writer){
		.owner = str_of(owner), .chunk_bytes = 10, .now = tell_time, .keep = 3
	};
}

static int put_as(const char *owner, const char *run, uint64_t inuse, const char *bytes,
		  struct err *err)
{
	struct dumps_writer w = writer(owner);
	struct dump about = { .heap_inuse = inuse, .pod = STR("pod-1"), .run = str_of(run) };

	return dumps_put(&mem.store, prefix, &w, &about, str_of(bytes), err);
}

static int put(const char *bytes)
{
	struct err err;

	return put_as("one", "1", 100, bytes, &err);
}

/* The bytes of a dump, "" if there is none, "?" if it is broken; the caller frees them. */
static char *get(uint64_t generation)
{
	AUTO(arena_release) struct arena a;
	struct out to;
	struct err err;
	char *text;
	int rc;

	arena_init(&a, 1 << 20);
	out_init(&to, 0);
	rc = dumps_get(&mem.store, prefix, generation, &a, &to, NULL, &err);
	text = rc == 0 ? mem_str(out_view(&to)) : mem_str(rc == -ENOENT ? STR("") : STR("?"));
	out_release(&to);
	return text;
}

static void assert_dump(uint64_t generation, const char *expected)
{
	char *text = get(generation);

	assert_string_equal(text, expected);
	free(text);
}

static size_t count_things(void)
{
	size_t n = 0;

	for (size_t i = 0; i < 400; i++)
		n += mem.things[i].used;
	return n;
}

static struct str pair(const char *key)
{
	for (size_t i = 0; i < mem.npairs; i++)
		if (str_is(mem.pairs[i].key, key))
			return mem.pairs[i].value;
	return STR("");
}

/* What the document's own commands find: chunks 0 to n-1 by their plain names, one after the other.
 */
static void assert_plain(const char *expected)
{
	struct out o;
	struct thing *t;
	char name[64];

	out_init(&o, 0);
	for (int i = 0;; i++) {
		(void)snprintf(name, sizeof(name), "main-heap-%d", i);
		t = find_thing(str_of(name));
		if (!t)
			break;
		out_bytes(&o, t->bytes, t->n);
	}
	out_char(&o, '\0');
	assert_string_equal(o.p, expected);
	out_release(&o);
}

static const char long_one[] = "the first dump, which has several chunks";
static const char short_one[] = "a second dump";

/* --- cases ------------------------------------------------------------------------------- */

static void a_dump_comes_back_as_it_was(void **state)
{
	(void)state;
	assert_int_equal(put(long_one), 0);
	assert_dump(0, long_one);
	assert_dump(1, long_one);
	assert_dump(2, "");
	assert_plain(long_one);
	assert_true(str_is(pair("keyNumberOfDataSecrets"), "4"));
	assert_true(str_is(pair("keyHeapInUse"), "100"));
	assert_true(str_is(pair("keyPodname"), "pod-1"));
	assert_true(str_is(pair("keyStorageDate"), "2020-09-13T12:26:40Z"));
	assert_true(str_is(pair("keyLength"), "40"));
	assert_int_equal(pair("keySha256").n, SHA256_HEX);
	assert_int_equal(pair("keyLockTime").n, 0);
}

static void a_shorter_dump_leaves_no_chunk_of_a_longer_one(void **state)
{
	(void)state;
	assert_int_equal(put(long_one), 0);
	assert_int_equal(put(short_one), 0);
	assert_plain(short_one);
	assert_dump(0, short_one);
	assert_dump(1, long_one);
	assert_int_equal(count_things(), 4 + 2 + 2);
}

static void only_so_many_are_kept(void **state)
{
	char text[32];

	(void)state;
	for (int i = 1; i <= 6; i++) {
		(void)snprintf(text, sizeof(text), "dump %d", i);
		assert_int_equal(put(text), 0);
	}
	assert_dump(6, "dump 6");
	assert_dump(5, "dump 5");
	assert_dump(2, "");
	assert_int_equal(count_things(), 3 + 1);
}

static void a_small_dump_after_a_restart_keeps_the_evidence(void **state)
{
	struct err err;
	char text[32];

	(void)state;
	assert_int_equal(put_as("one", "before", 600, "evidence", &err), 0);
	for (int i = 2; i <= 9; i++) {
		(void)snprintf(text, sizeof(text), "dump %d", i);
		assert_int_equal(put_as("two", "after", (uint64_t)(300 + i), text, &err), 0);
	}
	assert_dump(1, "evidence");
	assert_dump(9, "dump 9");
}

static void a_missing_chunk_is_named(void **state)
{
	AUTO(arena_release) struct arena a;
	struct out to;
	struct err err;

	(void)state;
	assert_int_equal(put(long_one), 0);
	find_thing(STR("main-heap-g1-one-2"))->used = false;
	arena_init(&a, 1 << 20);
	out_init(&to, 0);
	assert_int_equal(dumps_get(&mem.store, prefix, 0, &a, &to, NULL, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "main-heap-g1-one-2"));
	out_release(&to);
}

static void a_changed_chunk_is_found_out(void **state)
{
	(void)state;
	assert_int_equal(put(long_one), 0);
	find_thing(STR("main-heap-g1-one-2"))->bytes[3] ^= 1;
	assert_dump(0, "?");
}

static void whoever_holds_the_lock_is_waited_for(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(put(long_one), 0);
	set_pair(STR("keyLockTime"), STR("2020-09-13T12:26:30Z"));
	set_pair(STR("keyLockOwner"), STR("other"));
	mem.version++;
	assert_int_equal(put_as("one", "1", 1, short_one, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "other"));
	assert_dump(0, long_one);
	clock_now += DUMPS_LOCK_MAX_S - 60; /* nobody said for how long: an hour */
	assert_int_equal(put_as("one", "1", 1, short_one, &err), -EBUSY);
	clock_now += 60;
	assert_int_equal(put_as("one", "1", 1, short_one, &err), 0);
	assert_dump(0, short_one);
}

/* The record is written when the lock is taken, and next when it is renewed or all is there. */
static int writes_left;

static int die_before_write(struct store *s, struct str p, struct store_record *r, struct arena *a,
			    struct err *err)
{
	if (writes_left-- == 0)
		mem.die = 1;
	return mem_write(s, p, r, a, err);
}

static void a_writer_that_died_is_waited_for_as_long_as_it_said(void **state)
{
	struct store_calls calls = mem_calls;
	struct err err;

	(void)state;
	assert_int_equal(put(long_one), 0);
	calls.write = die_before_write;
	mem.store.calls = &calls;
	writes_left = 1;
	assert_true(put_as("two", "2", 1, short_one, &err) < 0);
	mem.store.calls = &mem_calls;
	mem.die = 0;
	clock_now += DUMPS_LOCK_S - 1;
	assert_int_equal(put_as("one", "1", 1, short_one, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "two"));
	clock_now += 1;
	assert_int_equal(put_as("one", "1", 1, short_one, &err), 0);
	assert_dump(0, short_one);
}

static int put_slowly(struct store *s, struct str p, const struct store_chunk *chunks, size_t n,
		      struct err *err)
{
	int rc = mem_calls.put(s, p, chunks, n, err);

	clock_now += DUMPS_LOCK_S - 1;
	assert_int_equal(put_as("two", "2", 1, short_one, NULL), -EBUSY);
	return rc;
}

/* Of 150 chunks, which are written in several steps. */
static void a_long_store_renews_its_lock(void **state)
{
	struct store_calls calls = mem_calls;
	char text[150 * 10 + 1];
	struct err err;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	calls.put = put_slowly;
	mem.store.calls = &calls;
	assert_int_equal(put_as("one", "1", 1, text, &err), 0);
	mem.store.calls = &mem_calls;
	assert_dump(0, text);
}

static void a_lock_that_makes_no_sense_is_taken_over(void **state)
{
	(void)state;
	assert_int_equal(put(long_one), 0);
	set_pair(STR("keyLockTime"), STR("garbage"));
	set_pair(STR("keyLockOwner"), STR("other"));
	mem.version++;
	assert_int_equal(put(short_one), 0);
	assert_dump(0, short_one);
}

/* What must hold after anything: the newest complete dump is read back whole. */
static bool is_whole(void)
{
	char *text = get(0);
	bool whole = strcmp(text, long_one) == 0 || strcmp(text, short_one) == 0;

	if (!whole)
		print_message("call %d: %s\n", mem.calls, text);
	free(text);
	return whole;
}

/* After the next store there is nothing but what should be. */
static void assert_mended(void)
{
	mem.fail = mem.lose = mem.die = 0;
	clock_now += 2 * DUMPS_LOCK_S;
	assert_int_equal(put("and a third"), 0);
	assert_dump(0, "and a third");
	assert_plain("and a third");
	assert_int_equal(pair("keyLockTime").n, 0);
}

static int calls_of_a_store(void)
{
	int n;

	empty(NULL);
	assert_int_equal(put(long_one), 0);
	n = mem.calls;
	assert_int_equal(put(short_one), 0);
	return mem.calls - n;
}

static void death_at_any_call_leaves_a_whole_dump(void **state)
{
	int n = calls_of_a_store();

	(void)state;
	assert_true(n > 10);
	for (int i = 1; i <= n; i++) {
		empty(NULL);
		assert_int_equal(put(long_one), 0);
		mem.die = mem.calls + i;
		(void)put(short_one);
		mem.die = 0;
		assert_true(is_whole());
		assert_mended();
		assert_true(count_things() <= 4 + 2 + 2 + 2);
	}
}

static void a_failure_of_any_call_leaves_a_whole_dump(void **state)
{
	int n = calls_of_a_store(), stored = 0;

	(void)state;
	for (int i = 1; i <= n; i++) {
		int rc;

		empty(NULL);
		assert_int_equal(put(long_one), 0);
		mem.fail = mem.calls + i;
		rc = put(short_one);
		mem.fail = 0;
		assert_true(is_whole());
		if (rc >= 0) {
			assert_dump(0, short_one);
			stored++;
		} else {
			assert_dump(0, long_one);
		}
		assert_mended();
	}
	assert_true(stored > 0 && stored < n);
}

static void a_lost_answer_leaves_a_whole_dump(void **state)
{
	int n = calls_of_a_store();

	(void)state;
	for (int i = 1; i <= n; i++) {
		empty(NULL);
		assert_int_equal(put(long_one), 0);
		mem.lose = mem.calls + i;
		(void)put(short_one);
		mem.lose = 0;
		assert_true(is_whole());
		assert_mended();
	}
}

/* A writer that slept through the end of its lock, at every point, and then goes on. */
static int other_at;

static int interrupted_write(struct store *s, struct str p, struct store_record *r, struct arena *a,
			     struct err *err)
{
	if (other_at > 0 && --other_at == 0) {
		clock_now += 2 * DUMPS_LOCK_S;
		assert_true(put_as("two", "2", 1, short_one, err) >= 0);
	}
	return mem_write(s, p, r, a, err);
}

static void two_writers_never_mix(void **state)
{
	struct store_calls calls = mem_calls;
	struct err err;

	(void)state;
	calls.write = interrupted_write;
	for (int i = 1; i <= 5; i++) {
		empty(NULL);
		assert_int_equal(put(short_one), 0);
		mem.store.calls = &calls;
		other_at = i;
		(void)put_as("one", "1", 1, long_one, &err);
		mem.store.calls = &mem_calls;
		other_at = 0;
		assert_true(is_whole());
		assert_mended();
	}
}

static void dumps_can_be_removed(void **state)
{
	struct dumps_writer w = writer("one");
	struct err err;

	(void)state;
	assert_int_equal(put("dump 1"), 0);
	assert_int_equal(put("dump 2"), 0);
	assert_int_equal(put("dump 3"), 0);
	assert_int_equal(dumps_remove(&mem.store, prefix, &w, 7, &err), -ENOENT);
	assert_int_equal(dumps_remove(&mem.store, prefix, &w, 1, &err), 0);
	assert_dump(1, "");
	assert_int_equal(dumps_remove(&mem.store, prefix, &w, 3, &err), 0);
	assert_dump(0, "dump 2");
	assert_plain("dump 2");
	assert_int_equal(dumps_remove(&mem.store, prefix, &w, 0, &err), 0);
	assert_dump(0, "");
	assert_int_equal(count_things(), 0);
	assert_int_equal(mem.version, 0);
}

static void a_dump_of_the_original_program_is_read(void **state)
{
	char name[32], text[8];

	(void)state;
	set_pair(STR("keyHeapInUse"), STR("331000000"));
	set_pair(STR("keyHeapAlloc"), STR("330000000"));
	set_pair(STR("keyStorageDate"), STR("2024-09-05 10:00:00.1 +0000 UTC m=+1.2"));
	mem.version = 1;
	for (int i = 11; i >= 0; i--) {
		(void)snprintf(name, sizeof(name), "main-heap-%d", i);
		(void)snprintf(text, sizeof(text), "%d,", i);
		put_thing(str_of(name), str_of(text));
	}
	assert_dump(0, "0,1,2,3,4,5,6,7,8,9,10,11,");
}

static void a_record_cannot_lead_to_other_objects(void **state)
{
	(void)state;
	assert_int_equal(put(long_one), 0);
	for (size_t i = 0; i < mem.npairs; i++)
		if (str_is(mem.pairs[i].key, "keyDataSecrets")) {
			free((void *)mem.pairs[i].value.p);
			mem.pairs[i].value = (struct str){ mem_str(STR("database-password-")), 18 };
		}
	assert_dump(0, "?");
}

static void names_that_cannot_be_are_refused(void **state)
{
	struct dumps_writer w = writer("one"), big = w, nameless = writer("");
	struct dump about = { 0 };
	struct err err;

	(void)state;
	big.chunk_bytes = DUMPS_CHUNK_MAX + 1;
	assert_false(dumps_prefix_ok(STR("")));
	assert_false(dumps_prefix_ok(STR("Main")));
	assert_false(dumps_prefix_ok(STR("../main")));
	assert_false(dumps_prefix_ok(STR("-main")));
	assert_true(dumps_prefix_ok(STR("main-landscaper")));
	assert_int_equal(dumps_put(&mem.store, STR("a/b"), &w, &about, STR("x"), &err), -EINVAL);
	assert_int_equal(dumps_put(&mem.store, prefix, &big, &about, STR("x"), &err), -EINVAL);
	assert_int_equal(dumps_put(&mem.store, prefix, &nameless, &about, STR("x"), &err), -EINVAL);
	assert_int_equal(dumps_put(&mem.store, prefix, &w, &about, STR(""), &err), -EINVAL);
	assert_int_equal(mem.calls, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, empty, empty)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_dump_comes_back_as_it_was),
		CASE(a_shorter_dump_leaves_no_chunk_of_a_longer_one),
		CASE(only_so_many_are_kept),
		CASE(a_small_dump_after_a_restart_keeps_the_evidence),
		CASE(a_missing_chunk_is_named),
		CASE(a_changed_chunk_is_found_out),
		CASE(whoever_holds_the_lock_is_waited_for),
		CASE(a_writer_that_died_is_waited_for_as_long_as_it_said),
		CASE(a_long_store_renews_its_lock),
		CASE(a_lock_that_makes_no_sense_is_taken_over),
		CASE(death_at_any_call_leaves_a_whole_dump),
		CASE(a_failure_of_any_call_leaves_a_whole_dump),
		CASE(a_lost_answer_leaves_a_whole_dump),
		CASE(two_writers_never_mix),
		CASE(dumps_can_be_removed),
		CASE(a_dump_of_the_original_program_is_read),
		CASE(a_record_cannot_lead_to_other_objects),
		CASE(names_that_cannot_be_are_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
