/*
 * test-child.c - other programs, within limits
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/child.h"
#include "base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "PATH=/usr/bin:/bin";
static char *const no_env[] = { path, NULL };
static struct child_limits limits = { 300, (uint64_t)1 << 30, 1 << 20 };
static struct file_bytes output;
static struct err err;

static int sh(const char *script, struct str input)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	output = (struct file_bytes){ 0 };
	return child_run("/bin/sh", argv, no_env, input, &limits, &output, &err);
}

static void assert_output(const char *expected)
{
	assert_int_equal(output.n, strlen(expected));
	if (output.n)
		assert_memory_equal(output.p, expected, output.n);
	file_bytes_release(&output);
}

static void nothing_is_left_to_wait_for(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void input_goes_in_and_output_comes_out(void **state)
{
	(void)state;
	assert_int_equal(sh("tr a-z A-Z", STR("abc")), 0);
	assert_output("ABC");
	assert_int_equal(sh("cat", STR("")), 0);
	assert_output("");
	nothing_is_left_to_wait_for();
}

static void more_than_a_pipe_holds_does_not_block(void **state)
{
	size_t n = 512 << 10;
	char *big = malloc(n);

	(void)state;
	assert_non_null(big);
	memset(big, 'x', n);
	assert_int_equal(sh("cat", (struct str){ big, n }), 0);
	assert_int_equal(output.n, n);
	assert_memory_equal(output.p, big, n);
	file_bytes_release(&output);
	assert_int_equal(sh("exec <&-; echo enough", (struct str){ big, n }), 0);
	assert_output("enough\n");
	free(big);
}

static void failures_are_told(void **state)
{
	(void)state;
	assert_int_equal(sh("echo half; exit 3", STR("")), -EPROTO);
	assert_string_equal(err.msg, "exit status 3");
	assert_null(output.p);
	assert_int_equal(sh("kill -SEGV $$", STR("")), -EPROTO);
	assert_string_equal(err.msg, "signal: segmentation fault");
	nothing_is_left_to_wait_for();
}

static void a_program_that_cannot_start_says_why(void **state)
{
	const char *const argv[] = { "x", NULL };

	(void)state;
	assert_int_equal(child_run("/nonexistent", argv, no_env, STR(""), &limits, &output, &err),
			 -ENOENT);
	assert_string_equal(err.msg, "/nonexistent: no such file or directory");
	assert_int_equal(child_run("/dev/null", argv, no_env, STR(""), &limits, &output, &err),
			 -EACCES);
	nothing_is_left_to_wait_for();
}

static void time_is_limited(void **state)
{
	(void)state;
	limits.seconds = 1;
	assert_int_equal(sh("sleep 1000", STR("")), -ETIMEDOUT);
	assert_string_equal(err.msg, "it took longer than 1 s");
	assert_int_equal(sh("while :; do :; done", STR("")), -ETIMEDOUT);
	limits.seconds = 300;
	nothing_is_left_to_wait_for();
}

static void output_is_limited(void **state)
{
	(void)state;
	assert_int_equal(sh("exec yes", STR("")), -EFBIG);
	assert_string_equal(err.msg, "it wrote more than 1 MB");
	nothing_is_left_to_wait_for();
}

static void memory_is_limited(void **state)
{
	(void)state;
	assert_int_equal(sh("ulimit -v", STR("")), 0);
	assert_output("1048576\n");
	limits.memory = 1 << 20;
	assert_int_not_equal(sh("echo", STR("")), 0);
	limits.memory = (uint64_t)1 << 30;
}

/* The second half of the pipe would go on for a while. */
static void what_a_child_started_ends_with_it(void **state)
{
	pid_t left;
	int alive = 0;

	(void)state;
	assert_int_equal(sh("sleep 1000 >/dev/null & echo $!", STR("")), 0);
	left = (pid_t)strtol(output.p, NULL, 10);
	file_bytes_release(&output);
	assert_true(left > 1);
	for (int i = 0; i < 5000 && alive == 0; i++) {
		char stat[64], text[256] = "";
		FILE *f;

		snprintf(stat, sizeof(stat), "/proc/%d/stat", (int)left);
		f = fopen(stat, "r");
		if (f && !fgets(text, sizeof(text), f))
			text[0] = '\0';
		if (f)
			fclose(f);
		if (!text[0] || strstr(text, ") Z")) /* gone, or about to be collected by init */
			return;
		usleep(50 * 1000);
		alive = kill(left, 0);
	}
	assert_int_not_equal(alive, 0);
}

static void on_alarm(int sig)
{
	(void)sig;
	child_kill_all();
}

static void a_signal_handler_can_kill_it(void **state)
{
	struct itimerval often = { { 1, 0 }, { 1, 0 } }, never = { 0 };

	(void)state;
	/* Again and again: at first there may be no child yet. */
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	assert_int_equal(sh("sleep 1000", STR("")), -EPROTO);
	assert_string_equal(err.msg, "signal: killed");
	setitimer(ITIMER_REAL, &never, NULL);
	nothing_is_left_to_wait_for();
}

/* A process that is killed between starting a child and its end. */
static void a_child_does_not_outlive_us(void **state)
{
	int ends[2], status;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		const char *const argv[] = { "sleep", "1000", NULL };

		child_run("/bin/sleep", argv, no_env, STR(""), &limits, &output, NULL);
		_exit(0);
	}
	close(ends[1]);
	usleep(200 * 1000);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	assert_int_equal(read(ends[0], &byte, 1), 0); /* when the last process has let go of it */
	close(ends[0]);
}

static void programs_are_found_in_absolute_folders(void **state)
{
	char *found = child_find("sh", "relative::/nonexistent:/bin:/usr/bin");

	(void)state;
	assert_string_equal(found, "/bin/sh");
	free(found);
	assert_null(child_find("sh", "/nonexistent"));
	assert_null(child_find("bin", "/usr:/"));
	assert_null(child_find("passwd", "/etc"));
	assert_null(child_find("sh", NULL));
	assert_int_equal(chdir("/"), 0);
	assert_null(child_find("sh", "bin:./bin:"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(input_goes_in_and_output_comes_out),
		cmocka_unit_test(more_than_a_pipe_holds_does_not_block),
		cmocka_unit_test(failures_are_told),
		cmocka_unit_test(a_program_that_cannot_start_says_why),
		cmocka_unit_test(time_is_limited),
		cmocka_unit_test(output_is_limited),
		cmocka_unit_test(memory_is_limited),
		cmocka_unit_test(what_a_child_started_ends_with_it),
		cmocka_unit_test(a_signal_handler_can_kill_it),
		cmocka_unit_test(a_child_does_not_outlive_us),
		cmocka_unit_test(programs_are_found_in_absolute_folders),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
