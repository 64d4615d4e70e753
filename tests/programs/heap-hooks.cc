// heap-hooks.cc - allocates in every way C++ has, a known number of times, and waits for its input to end
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <new>

struct alignas(64) Wide {
	char c[128];
};

static void *volatile sink;

__attribute__((noinline)) static void with_new()
{
	for (int i = 0; i < 1000; i++)
		sink = new char[1001];
}

__attribute__((noinline)) static void with_aligned_new()
{
	for (int i = 0; i < 100; i++) {
		Wide *w = new Wide;
		sink = w;
		delete w;
	}
}

__attribute__((noinline)) static void with_nothrow()
{
	for (int i = 0; i < 50; i++) {
		sink = new (std::nothrow) char[3001];
		delete[] static_cast<char *>(sink);
	}
}

__attribute__((noinline)) static void with_malloc()
{
	for (int i = 0; i < 500; i++) {
		sink = malloc(2001);
		free(sink);
	}
}

__attribute__((noinline)) static void with_realloc()
{
	void *p = nullptr;
	for (int i = 1; i <= 10; i++)
		p = realloc(p, static_cast<size_t>(i) * 5001);
	sink = p;
}

int main()
{
	with_new();
	with_aligned_new();
	with_nothrow();
	with_malloc();
	with_realloc();
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
