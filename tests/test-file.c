/*
 * test-file.c - whole files in, and what is left of those that others cut short meanwhile
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/file.h"
#include "base/notify.h"
#include "elf/elf-file.h"
#include "elf/elf-lines.h"
#include "source/source.h"
#include "symbol/resolve.h"
#include "symbol/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SIZE = 12 << 20, SMALL = 100000, PAGE = 4096, PROGRESS = 80 << 20 };

static char path[64];
static char *content; /* SIZE bytes that cannot be made smaller */

static int start_all(void **state)
{
	uint64_t x = 88172645463325252U;

	(void)state;
	content = malloc(SIZE);
	for (size_t i = 0; i < SIZE; i += sizeof(x)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(content + i, &x, sizeof(x));
	}
	return 0;
}

static int stop_all(void **state)
{
	(void)state;
	free(content);
	return 0;
}

static int start(void **state)
{
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/test-file.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static void write_file(const void *p, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	fclose(f);
}

static void assert_says_shorter(const struct err *err)
{
	char want[128];

	snprintf(want, sizeof(want), "read %s: file became shorter while it was read", path);
	assert_string_equal(err->msg, want);
}

/* ------------------------------------------------------------------ bytes */

static void what_is_read_stays_when_the_file_changes(void **state)
{
	static const size_t sizes[] = { 1, SMALL, SIZE };
	struct file_bytes b;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		write_file(content, sizes[i]);
		assert_int_equal(file_read(path, SIZE_MAX / 2, &b, NULL), 0);
		write_file("x", 1);
		assert_int_equal(b.n, sizes[i]);
		assert_memory_equal(b.p, content, b.n);
		file_bytes_release(&b);
	}
}

static void a_file_is_read_from_its_beginning(void **state)
{
	struct file_bytes b;
	int fd;

	(void)state;
	write_file("abc", 3);
	fd = open(path, O_RDONLY);
	assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
	assert_int_equal(file_read_fd(fd, path, SIZE, &b, NULL), 0);
	close(fd);
	assert_int_equal(b.n, 3);
	assert_memory_equal(b.p, "abc", 3);
	file_bytes_release(&b);
}

static void what_is_too_large_is_refused(void **state)
{
	struct file_bytes b;

	(void)state;
	write_file(content, SMALL);
	assert_int_equal(file_read(path, SMALL - 1, &b, NULL), -EFBIG);
	assert_int_equal(file_map(path, SMALL - 1, &b, NULL), -EFBIG);
	assert_int_equal(file_read(path, SMALL, &b, NULL), 0);
	file_bytes_release(&b);
}

static void what_is_gone_from_a_mapped_file_is_zero(void **state)
{
	static const char zeros[SMALL];
	struct file_bytes b;
	struct err err = { "" };

	(void)state;
	write_file(content, SMALL);
	assert_int_equal(file_map(path, SIZE, &b, NULL), 0);
	assert_memory_equal(b.p, content, SMALL);
	assert_int_equal(file_bytes_check(&b, path, &err), 0);
	assert_int_equal(truncate(path, PAGE), 0);
	assert_memory_equal(b.p, content, PAGE);
	assert_int_equal(file_bytes_check(&b, path, &err), 0);
	assert_memory_equal(b.p + PAGE, zeros, SMALL - PAGE);
	assert_int_equal(file_bytes_check(&b, path, &err), -EIO);
	assert_says_shorter(&err);
	assert_int_equal(file_bytes_own(&b, path, NULL), -EIO);
	file_bytes_release(&b);
}

static void a_copy_of_a_mapped_file_stays(void **state)
{
	struct file_bytes b;

	(void)state;
	write_file(content, SMALL);
	assert_int_equal(file_map(path, SIZE, &b, NULL), 0);
	assert_int_equal(file_bytes_own(&b, path, NULL), 0);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(b.n, SMALL);
	assert_memory_equal(b.p, content, SMALL);
	file_bytes_release(&b);
}

/*
 * Memory of this process that is pages of the mapping at 'p', in kB.  As the tables of pages have
 * it: the sums of the whole process are kept per processor, and may lag behind.
 */
static long pages_of(const void *p)
{
	char line[512], *end;
	FILE *f = fopen("/proc/self/smaps", "r");
	bool here = false;
	long kb = -1;

	assert_non_null(f);
	while (kb < 0 && fgets(line, sizeof(line), f)) {
		unsigned long from = strtoul(line, &end, 16);

		if (end > line && *end == '-')
			here = (uintptr_t)p >= from && (uintptr_t)p < strtoul(end + 1, NULL, 16);
		else if (here && strncmp(line, "Rss:", 4) == 0)
			kb = strtol(line + 4, NULL, 10);
	}
	fclose(f);
	assert_true(kb >= 0);
	return kb;
}

static void what_was_passed_takes_no_memory_and_is_still_there(void **state)
{
	struct file_bytes b;
	long before;

	(void)state;
	write_file(content, SIZE);
	assert_int_equal(file_map(path, SIZE, &b, NULL), 0);
	before = pages_of(b.p);
	file_bytes_pass(&b, 1, SIZE - 1);
	assert_true(before - pages_of(b.p) > (SIZE - 4 * PAGE) / 1024);
	assert_memory_equal(b.p, content, SIZE);
	file_bytes_release(&b);
}

static void more_files_than_can_be_watched_are_read(void **state)
{
	enum { MANY = 300 };
	static struct file_bytes b[MANY];

	(void)state;
	write_file(content, SMALL);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(file_map(path, SIZE, &b[i], NULL), 0);
	assert_non_null(b[0].window);
	assert_null(b[MANY - 1].window);
	for (int i = 0; i < MANY; i++) {
		assert_memory_equal(b[i].p, content, SMALL);
		file_bytes_release(&b[i]);
	}
}

/* Runs it in a process of its own; the signal that ended that, or 0. */
static int death_by(void (*act)(void))
{
	struct file_bytes b;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGBUS, SIG_DFL);
		if (file_map(path, SIZE, &b, NULL) == 0)
			act();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void send_one(void)
{
	raise(SIGBUS);
}

static void look_behind_a_file(void)
{
	int fd = open(path, O_RDONLY);
	volatile char *p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	if (truncate(path, 0) == 0)
		(void)p[0];
}

static void other_bus_errors_kill_as_ever(void **state)
{
	(void)state;
	write_file(content, SMALL);
	assert_int_equal(death_by(send_one), SIGBUS);
	assert_int_equal(death_by(look_behind_a_file), SIGBUS);
}

/* ------------------------------------------------------------------ profiles and programs */

static void cut(struct notify *n, const char *what, uint64_t done, uint64_t total, const char *unit)
{
	(void)n;
	(void)done;
	(void)total;
	(void)unit;
	if (what && strcmp(what, "unpacking") == 0)
		assert_int_equal(truncate(path, 0), 0);
}

/* As large as one has to be for progress to be told: that is when we cut it. */
static void a_profile_that_is_cut_while_it_is_unpacked_is_an_error(void **state)
{
	struct notify notify = { .progress = cut };
	struct source_request rq = { .source = path, .notify = &notify };
	struct source_bytes b = { 0 };
	struct err err = { "" };

	(void)state;
	write_file("\x1f\x8b\x08\0\0\0\0\0\0\0\0", 11);
	assert_int_equal(truncate(path, PROGRESS), 0);
	assert_true(source_read(&rq, &b, &err) < 0);
	assert_says_shorter(&err);
}

static void a_profile_that_is_not_packed_is_a_copy(void **state)
{
	struct source_request rq = { .source = path };
	struct source_bytes b = { 0 };

	(void)state;
	write_file(content, SMALL);
	assert_int_equal(source_read(&rq, &b, NULL), 0);
	assert_int_equal(truncate(path, 0), 0);
	assert_memory_equal(b.bytes.p, content, SMALL);
	source_bytes_release(&b);
}

static void copy_program(void)
{
	struct file_bytes b;

	assert_int_equal(file_read("/proc/self/exe", SIZE_MAX / 2, &b, NULL), 0);
	write_file(b.p, b.n);
	file_bytes_release(&b);
}

/* With debug information, since that is what is mapped. */
static void a_program_that_is_cut_while_it_is_read_names_nothing(void **state)
{
	struct symbolize_options o = { 0 };
	struct resolver r = { .options = &o };
	struct resolved found = { 0 };
	struct elf_file *f = NULL;
	struct err err = { "" };
	uint64_t address;

	(void)state;
	copy_program();
	assert_int_equal(elf_open(path, &f, NULL), 0);
	assert_int_equal(elf_read_symbols(f, NULL), 0);
	assert_true(f->nsymbols > 0);
	address = f->symbols[f->nsymbols / 2].start;
	assert_int_equal(resolve(&r, f, &address, 1, &found, &err), 0);
	assert_int_equal(found.table.n, 1);
	resolved_release(&found);
	assert_int_equal(truncate(path, PAGE), 0);
	assert_int_equal(resolve(&r, f, &address, 1, &found, &err), -EIO);
	assert_int_equal(found.table.n, 0);
	assert_says_shorter(&err);
	resolved_release(&found);
	elf_close(f);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_is_read_stays_when_the_file_changes),
		CASE(a_file_is_read_from_its_beginning),
		CASE(what_is_too_large_is_refused),
		CASE(what_is_gone_from_a_mapped_file_is_zero),
		CASE(a_copy_of_a_mapped_file_stays),
		CASE(what_was_passed_takes_no_memory_and_is_still_there),
		CASE(more_files_than_can_be_watched_are_read),
		CASE(other_bus_errors_kill_as_ever),
		CASE(a_profile_that_is_cut_while_it_is_unpacked_is_an_error),
		CASE(a_profile_that_is_not_packed_is_a_copy),
		CASE(a_program_that_is_cut_while_it_is_read_names_nothing),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start_all, stop_all);
}
