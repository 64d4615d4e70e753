/*
 * stress.c - a program that switches the runtime on and off while everything else happens, too
 *
 * usage: stress SECONDS LIBRARY...
 *
 * Threads that live shortly, forks, children that become another program, and libraries that come
 * and go, all of which allocate; and one thread that starts and stops the runtime.  Prints how
 * often it was on, and ends with 1 if anything went wrong.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sonde.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static atomic_bool over;
static atomic_int wrong;
static char **libraries;

static void expect(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "%s (errno %d)\n", what, errno);
	atomic_fetch_add(&wrong, 1);
}

static void allocate(unsigned n)
{
	void *held[64] = { 0 };

	for (unsigned i = 0; i < n; i++) {
		free(held[i % 64]);
		held[i % 64] = malloc(i * 37 % 5000 + 1);
		memset(held[i % 64], (int)i, i * 37 % 5000 + 1);
	}
	for (unsigned i = 0; i < 64; i++)
		free(held[i]);
}

static void *live_shortly(void *unused)
{
	allocate(100);
	return unused;
}

static void *make_threads(void *unused)
{
	while (!atomic_load(&over)) {
		pthread_t all[8];

		for (int i = 0; i < 8; i++)
			expect(pthread_create(&all[i], NULL, live_shortly, NULL) == 0,
			       "pthread_create");
		for (int i = 0; i < 8; i++)
			expect(pthread_join(all[i], NULL) == 0, "pthread_join");
	}
	return unused;
}

static void await(pid_t pid, int status)
{
	int got = 0;

	expect(waitpid(pid, &got, 0) == pid, "waitpid");
	if (!WIFEXITED(got) || WEXITSTATUS(got) != status)
		fprintf(stderr, "status %#x, not %d: ", (unsigned)got, status);
	expect(WIFEXITED(got) && WEXITSTATUS(got) == status, "a child");
}

static void *make_children(void *unused)
{
	char *const args[] = { (char *)"true", NULL };

	while (!atomic_load(&over)) {
		pid_t pid = fork();

		if (pid == 0) {
			allocate(200);
			_exit(7);
		}
		await(pid, 7);
		pid = fork();
		if (pid == 0) {
			execvp("true", args);
			_exit(1);
		}
		await(pid, 0);
		expect(posix_spawnp(&pid, "true", NULL, NULL, args, environ) == 0, "posix_spawnp");
		await(pid, 0);
	}
	return unused;
}

static void *load_libraries(void *unused)
{
	while (!atomic_load(&over)) {
		for (char **l = libraries; *l; l++) {
			void *h = dlopen(*l, RTLD_NOW);
			void *(*work)(int) = h ? (void *(*)(int))dlsym(h, "plugin_work") : NULL;

			expect(work, "dlopen");
			if (work)
				free(work(5));
			expect(h && dlclose(h) == 0, "dlclose");
		}
	}
	return unused;
}

/* Half of the time a child does it, too. */
static void start_in_child(const struct sonde_options *o)
{
	pid_t pid = fork();

	if (pid == 0) {
		int rc = sonde_start(o);

		allocate(100);
		sonde_stop();
		_exit(rc == 0 ? 9 : -rc);
	}
	await(pid, 9);
}

static int switch_on_and_off(time_t end)
{
	struct sonde_options o = { SONDE_OPTIONS, .addr = "unix:@stress", .heap_rate = 512,
				   .cpu_hz = 1000, .log = "none" };
	char name[40];
	int n = 0;

	snprintf(name, sizeof(name), "unix:@stress-%d", (int)getpid());
	o.addr = name;
	while (time(NULL) < end) {
		int rc = sonde_start(&o);

		expect(rc == 0, "sonde_start");
		expect(sonde_is_on(), "sonde_is_on");
		expect(sonde_start(&o) == -EALREADY, "a second sonde_start");
		allocate(2000);
		if (n % 2)
			start_in_child(&o);
		sonde_stop();
		expect(!sonde_is_on(), "sonde_is_on after sonde_stop");
		n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	void *(*const all[])(void *) = { make_threads, make_children, load_libraries,
					 make_threads };
	enum { N = sizeof(all) / sizeof(all[0]) };
	pthread_t threads[N];
	int n;

	if (argc < 2)
		return 2;
	libraries = argv + 2;
	for (int i = 0; i < N; i++)
		expect(pthread_create(&threads[i], NULL, all[i], NULL) == 0, "pthread_create");
	n = switch_on_and_off(time(NULL) + strtol(argv[1], NULL, 10));
	atomic_store(&over, true);
	for (int i = 0; i < N; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", n);
	return atomic_load(&wrong) > 0;
}
