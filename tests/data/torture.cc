// torture.cc - a program that does everything that has ever broken a profiler, all at once
//
// usage: torture SECONDS PLUGIN.so
//
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern char **environ;

// There only with the library in the program.
static auto label_set = (int (*)(const char *, const char *))dlsym(RTLD_DEFAULT, "sonde_label_set");
static auto label_save = (unsigned (*)())dlsym(RTLD_DEFAULT, "sonde_label_save");
static auto label_restore = (void (*)(unsigned))dlsym(RTLD_DEFAULT, "sonde_label_restore");

// Not known to the compiler, which would leave out what comes to nothing.
static void *(*volatile allocate)(size_t) = malloc;

static std::atomic<bool> over;
static std::atomic<long> wrong, signals;

static void check(bool good)
{
	if (!good)
		wrong++;
}

struct cleaner {
	std::vector<std::string> kept = std::vector<std::string>(10, std::string(300, 'x'));
	~cleaner()
	{
		kept.clear();
	}
};

__attribute__((noinline)) static void deeper(int n)
{
	cleaner c;

	if (n == 0)
		throw std::runtime_error("thrown");
	deeper(n - 1);
	asm volatile("");
}

static void throwing()
{
	while (!over) {
		bool caught = false;

		try {
			deeper(30);
		} catch (const std::exception &e) {
			caught = strcmp(e.what(), "thrown") == 0;
		}
		check(caught);
	}
}

// Ever new values, beyond what there is room for, and a few that come again.
static void label(long n)
{
	unsigned before = label_save ? label_save() : 0;

	if (!label_set)
		return;
	label_set("number", std::to_string(n).c_str());
	check(label_set("kind", n % 2 ? "odd" : "even") == 0);
	free(allocate(20000));
	label_restore(before);
}

static void *short_life(void *arg)
{
	char *p = (char *)allocate(3000);

	memset(p, 1, 3000);
	label((long)arg);
	if ((long)arg % 3 == 0) {
		free(p);
		pthread_exit(arg);
	}
	return free(p), arg;
}

static void churning()
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN + 8192);
	for (long n = 0; !over; n++) {
		pthread_t t[4];
		void *back;

		for (long i = 0; i < 4; i++)
			check(pthread_create(&t[i], &small, short_life, (void *)(n + i)) == 0);
		for (long i = 0; i < 4; i++)
			check(pthread_join(t[i], &back) == 0 && back == (void *)(n + i));
	}
}

static void reap(pid_t child, int want)
{
	int status;

	check(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	      WEXITSTATUS(status) == want);
}

static void forking()
{
	static char program[] = "/bin/true";
	char *const argv[] = { program, nullptr };

	while (!over) {
		pid_t child = fork();

		if (child == 0) {
			for (int i = 0; i < 200; i++)
				free(malloc((size_t)i * 100));
			_exit(3);
		}
		reap(child, 3);
		child = 0;
		check(posix_spawn(&child, program, nullptr, nullptr, argv, environ) == 0);
		reap(child, 0);
		child = vfork();
		if (child == 0) {
			execv(program, argv);
			_exit(9);
		}
		reap(child, 0);
	}
}

static void loading(const char *plugin)
{
	while (!over) {
		void *h = dlopen(plugin, RTLD_NOW);
		auto work = h ? (void *(*)(int))dlsym(h, "plugin_work") : nullptr;

		check(work != nullptr);
		if (!work)
			break;
		for (int i = 0; i < 100; i++)
			free(work(20));
		check(dlclose(h) == 0);
	}
}

static void on_signal(int)
{
	signals++;
}

static void alternate()
{
	static char stack[65536];
	stack_t ss = {};

	ss.ss_sp = stack;
	ss.ss_size = sizeof(stack);
	check(sigaltstack(&ss, nullptr) == 0);
	while (!over) {
		raise(SIGUSR1);
		for (int i = 0; i < 1000; i++)
			free(malloc(64));
	}
	ss.ss_flags = SS_DISABLE;
	check(sigaltstack(&ss, nullptr) == 0);
}

int main(int argc, char **argv)
{
	struct sigaction sa = {};
	long seconds = argc > 1 ? strtol(argv[1], nullptr, 10) : 1;

	sa.sa_handler = on_signal;
	sa.sa_flags = SA_ONSTACK | SA_RESTART;
	sigaction(SIGUSR1, &sa, nullptr);
	std::vector<std::thread> all;
	all.emplace_back(throwing);
	all.emplace_back(throwing);
	all.emplace_back(churning);
	all.emplace_back(forking);
	all.emplace_back(loading, argv[2]);
	all.emplace_back(alternate);
	for (time_t end = time(nullptr) + seconds; time(nullptr) < end;)
		usleep(10000);
	over = true;
	for (auto &t : all)
		t.join();
	printf("%ld wrong, %s\n", wrong.load(), signals > 0 ? "signals seen" : "no signals");
	return wrong ? 1 : 0;
}
