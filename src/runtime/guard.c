/*
 * guard.c - when it is better not to be a guest
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/guard.h"

#include "runtime/cpu.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

static atomic_int filters_at_start = -1;

/* Each exports its entry into the process, be it a library or linked into the program. */
static const char *find_sanitizer(void)
{
	static const struct {
		const char *symbol, *why;
	} sanitizers[] = {
		{ "__asan_init", "the program is built with AddressSanitizer" },
		{ "__hwasan_init", "the program is built with HWAddressSanitizer" },
		{ "__tsan_init", "the program is built with ThreadSanitizer" },
		{ "__msan_init", "the program is built with MemorySanitizer" },
		{ "__lsan_init", "the program is built with LeakSanitizer" },
	};
	static _Atomic(const char *)
		known; /* asked once: a child of fork() must not wait for dlsym() */
	const char *why = atomic_load(&known);

	if (why)
		return *why ? why : NULL;
	sonde__tls.inside++;
	for (size_t i = 0; !why && i < sizeof(sanitizers) / sizeof(sanitizers[0]); i++)
		if (dlsym(RTLD_DEFAULT, sanitizers[i].symbol))
			why = sanitizers[i].why;
	sonde__tls.inside--;
	atomic_store(&known, why ? why : "");
	return why;
}

/*
 * The question valgrind answers to programs: instructions that change nothing, with a number where
 * valgrind looks for it.  1: it is there.
 */
static bool under_valgrind(void)
{
	uintptr_t question[6] = { 0x1001 };
	uintptr_t answer = 0;

#if defined(__x86_64__)
	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(question)
			 : "cc", "memory");
#elif defined(__aarch64__)
	register uintptr_t x3 __asm__("x3") = answer;
	register uintptr_t *x4 __asm__("x4") = question;

	__asm__ volatile("ror x12, x12, #3; ror x12, x12, #13\n\t"
			 "ror x12, x12, #51; ror x12, x12, #61\n\t"
			 "orr x10, x10, x10"
			 : "+r"(x3)
			 : "r"(x4)
			 : "cc", "memory");
	answer = x3;
#endif
	return answer != 0;
}

/* How many characters of 'word' are behind us after 'c', of which 'seen' were before. */
static size_t follow(const char *word, size_t seen, char c)
{
	if (c == word[seen])
		return seen + 1;
	return c == word[0];
}

/*
 * How many seccomp filters the process is behind (its first thread, which is what hosts filter).
 * Asked again and again while a CPU profile runs: memory that is mapped for it, and unmapped, would
 * stop the other threads every time.
 */
static int count_filters(void)
{
	static const char word[] = "\nSeccomp_filters:\t";
	long fd = sonde__syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/status",
				 O_RDONLY | O_CLOEXEC, 0, 0, 0);
	char piece[1024];
	size_t seen = 0;
	int n = 0;

	for (long got = fd < 0 ? 0 : sizeof(piece); got > 0;) {
		got = sonde__syscall(SYS_read, fd, (long)piece, sizeof(piece), 0, 0, 0);
		for (long i = 0; i < got; i++)
			if (word[seen])
				seen = follow(word, seen, piece[i]);
			else if (piece[i] >= '0' && piece[i] <= '9')
				n = n * 10 + (piece[i] - '0');
			else
				got = 0;
	}
	if (fd >= 0)
		sonde__syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	return n;
}

const char *sonde__guard_process(void)
{
	if (getauxval(AT_SECURE))
		return "the program runs with more rights than who started it";
	if (sonde__why_off(SONDE__ALL))
		return sonde__why_off(SONDE__ALL);
	if (under_valgrind())
		return "the program runs under valgrind";
	atomic_store(&filters_at_start, count_filters());
	return find_sanitizer();
}

bool sonde__guard_is_filtered(void)
{
	int before = atomic_load(&filters_at_start);

	return before >= 0 && count_filters() > before;
}

const char *sonde__guard_cpu(void)
{
	if (sonde__guard_is_filtered())
		return "the program has put itself behind a seccomp filter";
	if (!sonde__cpu_owns_signal())
		return "the program handles SIGPROF itself";
	return NULL;
}
