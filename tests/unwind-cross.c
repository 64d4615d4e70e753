/*
 * unwind-cross.c - our stacks beside libgcc's, on a processor that may not be this one
 *
 * A timer interrupts work of many shapes; its handler takes the stack as we do it, from the
 * interrupted registers, and as libgcc does, from the handler on.  libgcc's ends with ours.  Needs
 * nothing but the C library, so that it runs under qemu.  Prints TAP.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "runtime/unwind.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unwind.h>

enum { DEEP = 128, WANTED = 2000 };

__thread struct sonde__tls sonde__tls;

static volatile unsigned sink;
static volatile sig_atomic_t nsamples, nequal, nshown;
static uint64_t root; /* in the program's first function */
static int ncases, nfailed;

static void check(bool good, const char *text)
{
	nfailed += !good;
	printf("%sok %d - %s\n", good ? "" : "not ", ++ncases, text);
}

struct trace {
	uintptr_t pcs[DEEP];
	size_t n;
};

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *c, void *ctx)
{
	struct trace *t = ctx;

	if (t->n == DEEP)
		return _URC_END_OF_STACK;
	t->pcs[t->n++] = _Unwind_GetIP(c);
	return _URC_NO_REASON;
}

/*
 * libgcc's stack has the handler and the kernel's frame first, and may have a 0 at its end.  It
 * gives up at once in stubs of linkage tables, where we must reach the program's first function.
 */
static bool same_end(struct trace *theirs, const uint64_t *ours, size_t n)
{
	size_t first = 0;

	while (theirs->n > 0 && theirs->pcs[theirs->n - 1] == 0)
		theirs->n--;
	while (first < theirs->n && theirs->pcs[first] != ours[0])
		first++;
	if (theirs->n - first == 1 && ours[n - 1] == root)
		return true;
	if (theirs->n - first != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (theirs->pcs[first + i] != ours[i])
			return false;
	return true;
}

static void show(const struct trace *theirs, const uint64_t *ours, size_t n)
{
	const struct sonde__module *m = sonde__module_at(ours[0]);

	printf("# ours (%s+%#lx):", m != NULL ? m->path : "?",
	       (unsigned long)(m != NULL ? ours[0] - m->bias : 0));
	for (size_t i = 0; i < n; i++)
		printf(" %lx", (unsigned long)ours[i]);
	printf("\n# theirs:");
	for (size_t i = 0; i < theirs->n; i++)
		printf(" %lx", (unsigned long)theirs->pcs[i]);
	printf("\n");
}

static void on_timer(int sig, siginfo_t *info, void *uc)
{
	struct trace theirs = { .n = 0 };
	uint64_t ours[DEEP];
	size_t n = sonde__unwind_signal(uc, ours, DEEP);

	(void)sig;
	(void)info;
	_Unwind_Backtrace(on_frame, &theirs);
	nsamples = nsamples + 1;
	if (same_end(&theirs, ours, n)) {
		nequal = nequal + 1;
	} else if (nshown < 5) {
		nshown = nshown + 1;
		show(&theirs, ours, n);
	}
}

__attribute__((noinline)) static unsigned leaf(unsigned n)
{
	for (unsigned i = 0; i < 50; i++)
		n = n * 1103515245 + 12345;
	return n;
}

__attribute__((noinline)) static unsigned large(unsigned n)
{
	volatile char room[20000];

	room[n % 20000] = (char)n;
	return leaf(n) + (unsigned)room[n % 20000];
}

__attribute__((noinline)) static unsigned dynamic(unsigned n)
{
	volatile char *room = __builtin_alloca(n % 100 + 16);

	room[n % 16] = (char)n;
	return leaf(n) + (unsigned)room[n % 16];
}

__attribute__((noinline)) static unsigned recurse(unsigned n)
{
	unsigned r = n % 16 == 0 ? large(n) + dynamic(n) : recurse(n - 1);

	return r + leaf(n);
}

static int compare(const void *a, const void *b)
{
	unsigned x = leaf(*(const unsigned *)a), y = leaf(*(const unsigned *)b);

	return (x > y) - (x < y);
}

static void work(void)
{
	unsigned numbers[32];

	for (unsigned i = 0; i < 32; i++)
		numbers[i] = i * 7919 % 32;
	qsort(numbers, 32, sizeof(numbers[0]), compare);
	sink += recurse(15 + numbers[3]);
}

static void run_timer(void)
{
	struct sigaction sa = { .sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct itimerval on = { { 0, 500 }, { 0, 500 } }, off = { 0 };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &on, NULL);
	while (nsamples < WANTED)
		work();
	setitimer(ITIMER_REAL, &off, NULL);
}

static uint64_t pcs[DEEP];
static size_t npcs;

__attribute__((noinline)) static void hook(void)
{
	npcs = sonde__unwind(pcs, DEEP, 0);
	__asm__ volatile("");
}

static int compare_and_hook(const void *a, const void *b)
{
	hook();
	return compare(a, b);
}

/* From a call: libgcc's stack, from our caller's caller on. */
static void check_call(void)
{
	unsigned numbers[] = { 2, 1 };
	struct trace theirs = { .n = 0 };

	qsort(numbers, 2, sizeof(numbers[0]), compare_and_hook);
	_Unwind_Backtrace(on_frame, &theirs);
	while (theirs.n > 0 && theirs.pcs[theirs.n - 1] == 0)
		theirs.n--;
	/* Both end with what called this function. */
	check(npcs > theirs.n && theirs.n > 2 &&
		      memcmp(pcs + npcs - theirs.n + 2, theirs.pcs + 2,
			     (theirs.n - 2) * sizeof(pcs[0])) == 0,
	      "a call from the C library back into the program");
}

static void *in_thread(void *unused)
{
	(void)unused;
	hook();
	__asm__ volatile("");
	return NULL;
}

static void check_thread(void)
{
	unsigned long long broken = sonde__stats.unwind_broken;
	pthread_t t;

	pthread_create(&t, NULL, in_thread, NULL);
	pthread_join(t, NULL);
	check(npcs >= 2 && sonde__stats.unwind_broken == broken, "a thread ends where it began");
}

int main(void)
{
	struct trace warm = { .n = 0 };
	const struct sonde__modules *m;

	setvbuf(stdout, NULL, _IOLBF, 0);
	_Unwind_Backtrace(on_frame, &warm); /* loads libgcc_s */
	check(sonde__modules_refresh(), "modules are found");
	m = sonde__modules();
	check(m->at[m->main].path[0] == '/', "the program has a path");
	check_call();
	root = pcs[npcs - 1];
	check_thread();
	run_timer();
	printf("# %d of %d stacks are equal\n", (int)nequal, (int)nsamples);
	check(nequal >= nsamples * 0.99, "stacks at random instructions");
	printf("1..%d\n", ncases);
	return nfailed > 0;
}
