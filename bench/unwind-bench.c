/*
 * unwind-bench.c - what a stack costs: ours beside frame pointers, libunwind and libgcc
 *
 *	unwind-bench [FRAMES...]	default 18 68
 *
 * Recursion of the depth that was asked for, through functions with and without frame pointers,
 * then the same stack many times.  Prints a line for each way and depth:
 *
 *	WAY FRAMES NS-PER-STACK NS-PER-FRAME
 *
 * libunwind is loaded with dlopen(): linked, it would replace libgcc's unwinder.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "runtime/unwind.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unwind.h>

enum { DEEP = 128, ROUNDS = 9, STACKS = 20000 };

__thread struct sonde__tls sonde__tls;

static uint64_t pcs[DEEP];
static int (*libunwind)(void **, int);

/* One way to take a stack; returns how many frames it found. */
struct way {
	const char *name;
	size_t (*take)(void);
	unsigned stacks; /* per round: slow ones get fewer */
};

static size_t take_ours(void)
{
	return sonde__unwind(pcs, DEEP, 0);
}

/* What frame pointers could do if all code had them: the walk alone, unchecked but for order. */
static size_t take_frame_pointers(void)
{
	const uint64_t *fp = __builtin_frame_address(0);
	size_t n = 0;

	while (fp != NULL && n < DEEP) {
		const uint64_t *up = (const uint64_t *)(uintptr_t)fp[0]; /* NOLINT */

		pcs[n++] = fp[1];
		if (up <= fp)
			break;
		fp = up;
	}
	return n;
}

static size_t take_libunwind(void)
{
	return (size_t)libunwind((void **)pcs, DEEP);
}

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *c, void *ctx)
{
	size_t *n = ctx;

	if (*n == DEEP)
		return _URC_END_OF_STACK;
	pcs[(*n)++] = _Unwind_GetIP(c);
	return _URC_NO_REASON;
}

static size_t take_libgcc(void)
{
	size_t n = 0;

	_Unwind_Backtrace(on_frame, &n);
	return n;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The best of some rounds: others were disturbed. */
static void measure(const struct way *w)
{
	size_t n = w->take();
	double best = 1e18;

	for (int round = 0; round < ROUNDS; round++) {
		double start = now(), took;

		for (unsigned i = 0; i < w->stacks; i++)
			n = w->take();
		took = (now() - start) / w->stacks;
		best = took < best ? took : best;
	}
	printf("%s %zu %.1f %.2f\n", w->name, n, best, best / (double)n);
}

static void measure_all(void)
{
	static const struct way ways[] = {
		{ "sonde", take_ours, STACKS },
		{ "frame-pointers", take_frame_pointers, STACKS },
		{ "libunwind", take_libunwind, STACKS },
		{ "libgcc", take_libgcc, STACKS / 20 },
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (ways[i].take != take_libunwind || libunwind != NULL)
			measure(&ways[i]);
}

static int deeper_b(int n);
static volatile int sink;

__attribute__((noinline)) static int deeper_a(int n)
{
	char room[40];

	room[n % 40] = (char)n;
	if (n <= 0)
		measure_all();
	else
		sink = deeper_b(n - 1);
	return room[n % 40] + sink;
}

__attribute__((noinline)) static int deeper_b(int n)
{
	int a = sink, b = sink * 3;

	if (n <= 0)
		measure_all();
	else
		sink = deeper_a(n - 1);
	return a + b + sink;
}

/* As thread.c does it. */
static void know_stack(void)
{
	static struct sonde__thread self;
	pthread_attr_t attr;
	void *low;
	size_t size;

	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return;
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	self.stack_low = (uintptr_t)low;
	self.stack_high = self.stack_low + size;
	sonde__tls.self = &self;
}

int main(int argc, char **argv)
{
	void *lib = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	const size_t around = 6; /* measure_all(), main() and what called it */

	if (lib != NULL)
		*(void **)&libunwind = dlsym(lib, "unw_backtrace");
	know_stack();
	sonde__modules_refresh();
	for (int i = 1; i < argc; i++)
		deeper_a((int)(strtoul(argv[i], NULL, 10) - around));
	if (argc == 1) {
		deeper_a((int)(18 - around));
		deeper_a((int)(68 - around));
	}
	return 0;
}
