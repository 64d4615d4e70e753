/*
 * unwind-subject.c - frames of every shape, to be stepped through (unwind-step.c)
 *
 * Compiled with several compilers and options by unwind.py.  Nothing here computes anything useful.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noinline, noclone))
#if defined(__clang__)
#undef KEEP
#define KEEP __attribute__((noinline))
#endif

void subject_run(void);
void subject_cxx(void);
int subject_far(int n, int (*back)(int));

static volatile int sink;

KEEP static int leaf(int a)
{
	return a * 3 + 1;
}

KEEP static int many_registers(int a, int b, int c, int d, int e, int f, int g, int h)
{
	int s = leaf(a) + leaf(b), t = leaf(c) - leaf(d), u = leaf(e) ^ leaf(f);

	for (int i = 0; i < 3; i++) {
		s += leaf(t + i) * u;
		t -= leaf(s + g) / 7;
		u ^= leaf(h + s * t);
	}
	return s + t + u + a + b + c + d + e + f;
}

KEEP static int large_frame(int n)
{
	char room[300000];

	memset(room + n, n, 64);
	sink = room[n];
	return leaf(room[n + 5]);
}

KEEP static int dynamic_frame(int n)
{
	char *room = __builtin_alloca((size_t)n * 24);

	memset(room, n, (size_t)n * 24);
	return leaf(room[n]) + many_registers(n, 1, 2, 3, 4, 5, 6, 7);
}

KEEP static int realigned_frame(int n)
{
	_Alignas(64) volatile int room[32];

	for (int i = 0; i < 32; i++)
		room[i] = leaf(i * n);
	return room[n % 32] + leaf(room[3]);
}

/* With a stack that is realigned and grows, gcc finds its frame through a saved pointer. */
KEEP static int realigned_dynamic(int n, ...)
{
	_Alignas(64) volatile int room[16];
	char *more = __builtin_alloca((size_t)n * 16);
	va_list ap;
	int s = 0;

	va_start(ap, n);
	for (int i = 0; i < n; i++)
		s += leaf(va_arg(ap, int));
	va_end(ap);
	memset(more, s, (size_t)n * 16);
	room[n % 16] = more[n];
	return s + leaf(room[n % 16]);
}

KEEP static double variable_arguments(int n, ...)
{
	va_list ap;
	double s = 0;

	va_start(ap, n);
	while (n-- > 0)
		s += va_arg(ap, double);
	va_end(ap);
	return s;
}

KEEP static int tail_callee(int n)
{
	return leaf(n) + leaf(n + 1);
}

KEEP static int tail_caller(int n)
{
	if (n > 3)
		return tail_callee(n - 1);
	return tail_callee(n + sink);
}

KEEP static int recurse(int n)
{
	int r;

	if (n == 0)
		return tail_caller(4);
	r = recurse(n - 1);
	return r + leaf(n);
}

KEEP static int early_return(int n)
{
	if (n < 0)
		return n;
	if (leaf(n) > 10)
		return many_registers(n, n, n, n, n, n, n, n);
	sink = n;
	return leaf(n) + leaf(sink);
}

KEEP static int by_switch(int n)
{
	switch (n) {
	case 0:
		return leaf(n);
	case 1:
		return tail_caller(n);
	case 2:
		return early_return(n);
	case 3:
		return recurse(2);
	case 4:
		return dynamic_frame(2);
	default:
		return n;
	}
}

static int compare(const void *a, const void *b)
{
	return leaf(*(const int *)a) - leaf(*(const int *)b);
}

static void on_signal(int sig)
{
	sink = recurse(sig % 3);
}

static void on_signal_info(int sig, siginfo_t *info, void *context)
{
	(void)context;
	sink = many_registers(sig, info->si_signo, 0, 1, 2, 3, 4, 5);
}

/* A handler on a stack of its own, interrupted code on the thread's. */
KEEP static void signals(void)
{
	static char other[65536];
	stack_t alternate = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction plain = { .sa_handler = on_signal };
	struct sigaction info = { .sa_sigaction = on_signal_info,
				  .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaction(SIGUSR1, &plain, NULL);
	sigaction(SIGUSR2, &info, NULL);
	sigaltstack(&alternate, NULL);
	raise(SIGUSR1);
	raise(SIGUSR2);
}

KEEP static void jumps(void)
{
	jmp_buf to;

	if (setjmp(to) == 0)
		longjmp(to, recurse(1) | 1);
}

/* Calls through the procedure linkage table, into the C library and back. */
KEEP static void library(void)
{
	int numbers[] = { 5, 3, 9, 1, 7 };
	char text[64];

	qsort(numbers, 5, sizeof(numbers[0]), compare);
	snprintf(text, sizeof(text), "%d %s %.3f", numbers[0], "text",
		 variable_arguments(2, 1.5, 2.5));
	sink = (int)strlen(text) + (int)strtol(text, NULL, 10) + (strstr(text, "ex") != NULL);
	free(malloc((size_t)sink + 100));
	sink = subject_far(3, leaf);
}

void subject_run(void)
{
	sink = many_registers(1, 2, 3, 4, 5, 6, 7, 8);
	sink = large_frame(7);
	sink = dynamic_frame(3);
	sink = realigned_frame(5);
	sink = realigned_dynamic(3, 1, 2, 3);
	sink = recurse(4);
	for (int i = -1; i < 6; i++)
		sink = early_return(i) + by_switch(i);
	library();
	library();
	signals();
	jumps();
	subject_cxx();
}
