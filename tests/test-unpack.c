/*
 * test-unpack.c - compressed bytes in, plain bytes out
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/file.h"
#include "base/notify.h"
#include "source/unpack.h"

#include <errno.h>
#include <libdeflate.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

enum { MAX = 64 << 20 };

/* A file in the making. */
struct maker {
	char p[4 << 20];
	size_t n;
};

static struct maker made;

static void add(const void *p, size_t n)
{
	assert_true(n <= sizeof(made.p) - made.n);
	memcpy(made.p + made.n, p, n);
	made.n += n;
}

static void add_le(uint32_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		add(&(char){ (char)(v >> 8 * i) }, 1);
}

/* The deflated 'n' bytes at 'p', and the trailer of a gzip member. */
static void add_deflated(const void *p, size_t n)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);

	made.n += libdeflate_deflate_compress(c, p, n, made.p + made.n, sizeof(made.p) - made.n);
	libdeflate_free_compressor(c);
	add_le(libdeflate_crc32(0, p, n), 4);
	add_le((uint32_t)n, 4);
}

static void add_member(const char *text)
{
	add("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
	add_deflated(text, strlen(text));
}

static void add_frame(const void *p, size_t n)
{
	made.n += ZSTD_compress(made.p + made.n, sizeof(made.p) - made.n, p, n, 3);
}

static void start(void **state)
{
	(void)state;
	made.n = 0;
}

static int unpack_made(size_t max, struct file_bytes *b, struct err *err)
{
	*b = (struct file_bytes){ .p = malloc(made.n + 1), .n = made.n };
	memcpy(b->p, made.p, made.n);
	return unpack(b, max, NULL, NULL, err);
}

static void assert_unpacks(const void *p, size_t n)
{
	struct err err = { "" };
	struct file_bytes b;

	if (unpack_made(MAX, &b, &err) != 0)
		fail_msg("%s", err.msg);
	assert_int_equal(b.n, n);
	if (n)
		assert_memory_equal(b.p, p, n);
	file_bytes_release(&b);
}

static void assert_refused(size_t max, int code, const char *why)
{
	struct err err = { "" };
	struct file_bytes b;

	assert_int_equal(unpack_made(max, &b, &err), code);
	assert_string_equal(err.msg, why);
	assert_int_equal(b.n, made.n);
	assert_memory_equal(b.p, made.p, made.n);
	file_bytes_release(&b);
}

static void assert_broken(const char *why)
{
	assert_refused(MAX, -EBADMSG, why);
}

static void what_is_not_compressed_stays_as_it_is(void **state)
{
	start(state);
	assert_unpacks("", 0);
	add("\x1f", 1);
	assert_unpacks("\x1f", 1);
	add("\x8a text", 6);
	assert_unpacks("\x1f\x8a text", 7);
}

static void gzip_members_follow_each_other(void **state)
{
	start(state);
	add_member("one");
	assert_unpacks("one", 3);
	add_member("");
	add_member("two");
	assert_unpacks("onetwo", 6);
}

static void an_empty_member_is_an_empty_file(void **state)
{
	start(state);
	add_member("");
	assert_unpacks("", 0);
}

static void a_header_may_have_all_its_parts(void **state)
{
	start(state);
	add("\x1f\x8b\x08\x1e\1\2\3\4\0\3", 10);
	add("\3\0xyz", 5);
	add("name", 5);
	add("comment", 8);
	add_le(libdeflate_crc32(0, made.p, made.n) & 0xffff, 2);
	add_deflated("text", 4);
	assert_unpacks("text", 4);
	made.p[12] ^= 1;
	assert_broken("decompressing profile: gzip: invalid header");
}

static void a_name_has_at_most_512_bytes(void **state)
{
	char name[513] = { 0 };

	start(state);
	memset(name, 'n', sizeof(name) - 1);
	add("\x1f\x8b\x08\x08\0\0\0\0\0\xff", 10);
	add(name + 1, 512);
	add_deflated("text", 4);
	assert_unpacks("text", 4);
	start(state);
	add("\x1f\x8b\x08\x08\0\0\0\0\0\xff", 10);
	add(name, 513);
	add_deflated("text", 4);
	assert_broken("decompressing profile: gzip: invalid header");
}

static void every_truncation_is_an_unexpected_end(void **state)
{
	struct err err = { "" };
	struct file_bytes b;
	size_t all;

	start(state);
	add("\x1f\x8b\x08\x1e\1\2\3\4\0\3", 10);
	add("\3\0xyzname\0comment\0", 18);
	add_le(libdeflate_crc32(0, made.p, made.n) & 0xffff, 2);
	add_deflated("some text some text some text", 29);
	all = made.n;
	for (made.n = 2; made.n < all; made.n++) {
		assert_int_equal(unpack_made(MAX, &b, &err), -EBADMSG);
		assert_string_equal(err.msg, "decompressing profile: unexpected EOF");
		file_bytes_release(&b);
	}
}

static void what_follows_a_member_must_be_a_member(void **state)
{
	start(state);
	add_member("one");
	add("garbage that is long enough", 27);
	assert_broken("decompressing profile: gzip: invalid header");
	made.n -= 20;
	assert_broken("decompressing profile: unexpected EOF");
}

static void checksum_and_size_are_checked(void **state)
{
	start(state);
	add_member("one");
	made.p[made.n - 8] ^= 1;
	assert_broken("decompressing profile: gzip: invalid checksum");
	made.p[made.n - 8] ^= 1;
	made.p[made.n - 1] ^= 1;
	assert_broken("decompressing profile: gzip: invalid checksum");
}

static void corrupt_data_is_told_from_missing_data(void **state)
{
	struct err err = { "" };
	struct file_bytes b;

	start(state);
	add("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
	add("\x07\x00garbage garbage", 17); /* block type 3 does not exist */
	assert_int_equal(unpack_made(MAX, &b, &err), -EBADMSG);
	assert_memory_equal(err.msg, "decompressing profile: flate: corrupt input before offset ",
			    58);
	file_bytes_release(&b);
}

static void a_bomb_is_refused_at_the_limit(void **state)
{
	char *zeros = calloc(32, 1 << 20);

	start(state);
	add("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
	add_deflated(zeros, 32 << 20);
	assert_unpacks(zeros, 32 << 20);
	assert_refused(1 << 20, -EFBIG,
		       "decompressing profile: content is larger than 1048576 bytes");
	start(state);
	add_frame(zeros, 32 << 20);
	assert_unpacks(zeros, 32 << 20);
	assert_refused(1 << 20, -EFBIG,
		       "decompressing profile: content is larger than 1048576 bytes");
	free(zeros);
}

static void the_limit_itself_is_allowed(void **state)
{
	struct file_bytes b;

	start(state);
	add_member("12345");
	assert_int_equal(unpack_made(5, &b, NULL), 0);
	file_bytes_release(&b);
	assert_refused(4, -EFBIG, "decompressing profile: content is larger than 4 bytes");
}

static void a_lie_about_the_size_costs_nothing(void **state)
{
	struct rusage before, after;

	start(state);
	add_member("text");
	memcpy(made.p + made.n - 4, "\xff\xff\xff\x3f", 4);
	getrusage(RUSAGE_SELF, &before);
	assert_broken("decompressing profile: gzip: invalid checksum");
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 4096);
}

static void zstd_frames_follow_each_other(void **state)
{
	start(state);
	add_frame("one", 3);
	add("\x50\x2a\x4d\x18\2\0\0\0xx", 10); /* a frame to skip */
	add_frame("two", 3);
	assert_unpacks("onetwo", 6);
}

static void a_broken_zstd_file_is_refused(void **state)
{
	struct err err = { "" };
	struct file_bytes b;

	start(state);
	add_frame("some text some text some text some text some text", 49);
	made.n -= 3;
	assert_broken("decompressing profile: unexpected EOF");
	made.n += 3;
	add("garbage garbage", 15);
	assert_int_equal(unpack_made(MAX, &b, &err), -EBADMSG);
	assert_memory_equal(err.msg, "decompressing profile: ", 23);
	file_bytes_release(&b);
}

static void the_compressed_file_is_let_go(void **state)
{
	char path[] = "/tmp/test-unpack.XXXXXX";
	int fd = mkstemp(path);
	struct file_bytes b;

	start(state);
	add_member("text");
	assert_int_equal(write(fd, made.p, made.n), made.n);
	assert_int_equal(file_read(path, MAX, &b, NULL), 0);
	assert_int_equal(unpack(&b, MAX, NULL, NULL, NULL), 0);
	assert_int_equal(b.n, 4);
	assert_memory_equal(b.p, "text", 4);
	file_bytes_release(&b);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_compressed_stays_as_it_is),
		cmocka_unit_test(gzip_members_follow_each_other),
		cmocka_unit_test(an_empty_member_is_an_empty_file),
		cmocka_unit_test(a_header_may_have_all_its_parts),
		cmocka_unit_test(a_name_has_at_most_512_bytes),
		cmocka_unit_test(every_truncation_is_an_unexpected_end),
		cmocka_unit_test(what_follows_a_member_must_be_a_member),
		cmocka_unit_test(checksum_and_size_are_checked),
		cmocka_unit_test(corrupt_data_is_told_from_missing_data),
		cmocka_unit_test(a_bomb_is_refused_at_the_limit),
		cmocka_unit_test(the_limit_itself_is_allowed),
		cmocka_unit_test(a_lie_about_the_size_costs_nothing),
		cmocka_unit_test(zstd_frames_follow_each_other),
		cmocka_unit_test(a_broken_zstd_file_is_refused),
		cmocka_unit_test(the_compressed_file_is_let_go),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
