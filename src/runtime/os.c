/*
 * os.c - what the runtime takes from the system: memory, time, files, locks
 *
 * System calls are made directly where the C library's wrapper would set errno, be a cancellation
 * point, or be replaced by the host (mmap() is, by some allocators).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/os.h"

#include "runtime/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

enum { PAGE = 4096, SPINS = 100 };

long sonde__syscall(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "neither x86-64 nor aarch64"
#endif
}

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

void *sonde__map(size_t bytes)
{
	size_t size = whole_pages(bytes);
	long p;

	if (size == 0 || size < bytes)
		return NULL;
	p = sonde__syscall(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p < 0 && p > -PAGE)
		return NULL;
	atomic_fetch_add_explicit(&sonde__stats.own_bytes, size, memory_order_relaxed);
	return (void *)p;
}

void sonde__unmap(void *p, size_t bytes)
{
	size_t size = whole_pages(bytes);

	if (!p || size == 0)
		return;
	sonde__syscall(SYS_munmap, (long)p, (long)size, 0, 0, 0, 0);
	atomic_fetch_sub_explicit(&sonde__stats.own_bytes, size, memory_order_relaxed);
}

void sonde__discard(void *p, size_t bytes)
{
	size_t size = whole_pages(bytes);

	sonde__syscall(SYS_madvise, (long)p, (long)size, MADV_DONTNEED, 0, 0, 0);
	atomic_fetch_sub_explicit(&sonde__stats.own_bytes, size, memory_order_relaxed);
}

void *sonde__room_take(struct sonde__room *r, size_t bytes)
{
	if (!r->at || r->used + bytes > r->chunk) {
		char *fresh = r->chunks < r->most ? sonde__map(r->chunk) : NULL;

		if (!fresh)
			return NULL;
		r->at = fresh;
		r->used = 0;
		r->chunks++;
	}
	r->used += bytes;
	return r->at + r->used - bytes;
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t sonde__now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t sonde__now_about(void)
{
	return read_clock(CLOCK_MONOTONIC_COARSE);
}

uint64_t sonde__wall(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t sonde__thread_cpu(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int sonde__tid(void)
{
	return (int)sonde__syscall(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

/* The folder has a link for every thread, and the two that all folders have. */
unsigned sonde__thread_count(void)
{
	struct stat st = { 0 };

	if (sonde__syscall(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&st, 0, 0, 0) <
	    0)
		return 0;
	return st.st_nlink > 2 ? (unsigned)st.st_nlink - 2 : 0;
}

/* 0: free; 1: held; 2: held, and somebody sleeps. */

bool sonde__trylock(struct sonde__lock *l)
{
	unsigned free = 0;

	return atomic_compare_exchange_strong_explicit(&l->state, &free, 1, memory_order_acquire,
						       memory_order_relaxed);
}

void sonde__lock(struct sonde__lock *l)
{
	for (int i = 0; i < SPINS; i++)
		if (sonde__trylock(l))
			return;
	while (atomic_exchange_explicit(&l->state, 2, memory_order_acquire) != 0)
		sonde__syscall(SYS_futex, (long)&l->state, FUTEX_WAIT_PRIVATE, 2, 0, 0, 0);
}

void sonde__unlock(struct sonde__lock *l)
{
	if (atomic_exchange_explicit(&l->state, 0, memory_order_release) == 2)
		sonde__syscall(SYS_futex, (long)&l->state, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

void sonde__futex_wait(atomic_uint *at, unsigned value, uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	sonde__syscall(SYS_futex, (long)at, FUTEX_WAIT_PRIVATE, (long)value, (long)&t, 0, 0);
}

void sonde__futex_set(atomic_uint *at, unsigned value)
{
	atomic_store(at, value);
	sonde__syscall(SYS_futex, (long)at, FUTEX_WAKE_PRIVATE, INT_MAX, 0, 0, 0);
}

/* Reads until the end or until 'cap' bytes are there; negative errno. */
static long read_all(int fd, char *to, size_t cap)
{
	size_t have = 0;

	while (have < cap) {
		long n = sonde__syscall(SYS_read, fd, (long)(to + have), (long)(cap - have), 0, 0,
					0);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return n;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (long)have;
}

/* Files of /proc do not know their size and must be read at one go: a larger buffer each time. */
char *sonde__slurp(const char *path, size_t max, size_t *size, size_t *mapped)
{
	for (size_t cap = 64 * 1024;; cap *= 4) {
		long fd = sonde__syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0,
					 0, 0);
		size_t room = cap < max ? cap : max;
		char *text;
		long n;

		if (fd < 0)
			return NULL;
		text = sonde__map(room + 1);
		n = text ? read_all((int)fd, text, room) : -ENOMEM;
		sonde__syscall(SYS_close, fd, 0, 0, 0, 0, 0);
		if (n >= 0 && ((size_t)n < room || room == max)) {
			*size = (size_t)n;
			*mapped = room + 1;
			return text;
		}
		sonde__unmap(text, room + 1);
		if (n < 0)
			return NULL;
	}
}

struct text {
	char *to;
	size_t cap, n;
};

static void put(struct text *t, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++, t->n++)
		if (t->n + 1 < t->cap)
			t->to[t->n] = s[i];
}

/* One conversion: %[0][width][.precision][l|ll|z]letter; a width or precision of * is an argument.
 */
struct conversion {
	bool zeros;
	int width, precision; /* -1: none; STAR */
	bool longs;           /* long, long long and size_t, which are one here */
	char letter;
};

#define STAR (-2)

static int read_number(const char **p)
{
	int n = 0;

	if (**p == '*') {
		(*p)++;
		return STAR;
	}
	for (; **p >= '0' && **p <= '9'; (*p)++)
		n = n * 10 + (**p - '0');
	return n;
}

static struct conversion read_conversion(const char **p)
{
	struct conversion c = { .precision = -1 };

	if (**p == '0') {
		c.zeros = true;
		(*p)++;
	}
	c.width = read_number(p);
	if (**p == '.') {
		(*p)++;
		c.precision = read_number(p);
	}
	for (; **p == 'l' || **p == 'z'; (*p)++)
		c.longs = true;
	c.letter = **p;
	if (**p)
		(*p)++;
	return c;
}

static void put_padded(struct text *t, const struct conversion *c, const char *s, size_t n)
{
	for (size_t i = n; (int)i < c->width; i++)
		put(t, c->zeros ? "0" : " ", 1);
	put(t, s, n);
}

static void put_number(struct text *t, const struct conversion *c, uint64_t value, bool negative)
{
	char digits[24];
	size_t at = sizeof(digits);
	unsigned base = c->letter == 'x' || c->letter == 'p' ? 16 : 10;

	do {
		digits[--at] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	if (negative)
		digits[--at] = '-';
	put_padded(t, c, digits + at, sizeof(digits) - at);
}

static void put_signed(struct text *t, const struct conversion *c, int64_t v)
{
	put_number(t, c, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0);
}

static void put_string(struct text *t, const struct conversion *c, const char *s)
{
	size_t n = 0;

	if (!s)
		s = "(null)";
	while ((c->precision < 0 || (int)n < c->precision) && s[n])
		n++;
	put_padded(t, c, s, n);
}

/*
 * All arguments are read in this one function, because clang-tidy 14 takes a va_list that was
 * passed on for one that nobody started. NOLINTBEGIN(clang-analyzer-valist.Uninitialized)
 */
size_t sonde__vformat(char *to, size_t cap, const char *fmt, va_list args)
{
	struct text t = { .to = to, .cap = cap };

	for (const char *p = fmt; *p;) {
		struct conversion c;
		char one;

		if (*p != '%') {
			put(&t, p++, 1);
			continue;
		}
		p++;
		c = read_conversion(&p);
		c.width = c.width == STAR ? va_arg(args, int) : c.width;
		c.precision = c.precision == STAR ? va_arg(args, int) : c.precision;
		switch (c.letter) {
		case 's':
			put_string(&t, &c, va_arg(args, const char *));
			break;
		case 'd':
		case 'i':
			put_signed(&t, &c, c.longs ? va_arg(args, long) : va_arg(args, int));
			break;
		case 'u':
		case 'x':
			put_number(&t, &c,
				   c.longs ? va_arg(args, unsigned long) : va_arg(args, unsigned),
				   false);
			break;
		case 'p':
			put(&t, "0x", 2);
			put_number(&t, &c, (uintptr_t)va_arg(args, void *), false);
			break;
		case 'c':
			one = (char)va_arg(args, int);
			put(&t, &one, 1);
			break;
		default:
			put(&t, &c.letter, c.letter ? 1 : 0);
			break;
		}
	}
	if (cap)
		to[t.n < cap ? t.n : cap - 1] = '\0';
	return t.n;
}
/* NOLINTEND(clang-analyzer-valist.Uninitialized) */

size_t sonde__format(char *to, size_t cap, const char *fmt, ...)
{
	va_list args;
	size_t n;

	va_start(args, fmt);
	n = sonde__vformat(to, cap, fmt, args);
	va_end(args);
	return n;
}
