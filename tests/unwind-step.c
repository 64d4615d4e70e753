/*
 * unwind-step.c - at every instruction of unwind-subject.c: our stack beside libunwind's
 *
 *	unwind-step [--unknown-stack]
 *
 * The trap flag makes each instruction raise SIGTRAP; its handler walks the stack twice and
 * compares.  libunwind is loaded with dlopen(): linked, it would replace the functions that C++
 * exceptions use.  Prints "steps N equal N broken N" and one line for each kind of difference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "runtime/unwind.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

enum { DEEP = 128, KINDS = 400 };

void subject_run(void);
void trap_on(void);
void trap_off(void);

/* The trap flag; functions of their own, so that tables are right in the middle of them, too. */
__asm__(".text\n"
	"trap_on: .cfi_startproc\n"
	"	pushfq\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	orq $0x100, (%rsp)\n"
	"	popfq\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"trap_off: .cfi_startproc\n"
	"	pushfq\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	andq $~0x100, (%rsp)\n"
	"	popfq\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n");

__thread struct sonde__tls sonde__tls;

/* Where stacks went apart: the last frame they agree on, an example of its callers. */
struct kind {
	uint64_t from, ours, theirs, leaf, our_root, their_root;
	unsigned long n;
};

static struct {
	int (*init)(unw_cursor_t *, unw_context_t *, int);
	int (*step)(unw_cursor_t *);
	int (*get)(unw_cursor_t *, int, unw_word_t *);
} oracle;

static unsigned long nsteps, nequal;
static struct kind kinds[KINDS];
static size_t nkinds;

static void *need(void *lib, const char *name)
{
	void *p = dlsym(lib, name);

	if (p == NULL) {
		printf("no %s in libunwind\n", name);
		exit(77);
	}
	return p;
}

static void open_oracle(void)
{
	void *lib = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);

	if (lib == NULL) {
		printf("no libunwind: %s\n", dlerror());
		exit(77);
	}
	oracle.init =
		(int (*)(unw_cursor_t *, unw_context_t *, int))need(lib, "_ULx86_64_init_local2");
	oracle.step = (int (*)(unw_cursor_t *))need(lib, "_ULx86_64_step");
	oracle.get = (int (*)(unw_cursor_t *, int, unw_word_t *))need(lib, "_ULx86_64_get_reg");
}

static size_t ask_oracle(ucontext_t *uc, uint64_t *pcs)
{
	unw_cursor_t c;
	size_t n = 0;

	if (oracle.init(&c, uc, UNW_INIT_SIGNAL_FRAME) < 0)
		return 0;
	do {
		unw_word_t pc = 0;

		oracle.get(&c, UNW_REG_IP, &pc);
		if (pc == 0)
			break;
		pcs[n++] = pc;
	} while (n < DEEP && oracle.step(&c) > 0);
	return n;
}

static void note(const uint64_t *ours, size_t n, const uint64_t *theirs, size_t ntheirs)
{
	size_t f = 0, k = 0;
	struct kind d = { .n = 1, .leaf = ours[0] };

	while (f < n && f < ntheirs && ours[f] == theirs[f])
		f++;
	d.from = f > 0 ? ours[f - 1] : 0;
	d.ours = f < n ? ours[f] : 0;
	d.theirs = f < ntheirs ? theirs[f] : 0;
	d.our_root = n > 0 ? ours[n - 1] : 0;
	d.their_root = ntheirs > 0 ? theirs[ntheirs - 1] : 0;
	while (k < nkinds && kinds[k].from != d.from)
		k++;
	if (k < nkinds)
		kinds[k].n++;
	else if (nkinds < KINDS)
		kinds[nkinds++] = d;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	static uint64_t ours[DEEP], theirs[DEEP];
	size_t n = sonde__unwind_signal(context, ours, DEEP);
	size_t ntheirs = ask_oracle(context, theirs);

	(void)sig;
	(void)info;
	nsteps++;
	if (n == ntheirs && memcmp(ours, theirs, n * sizeof(ours[0])) == 0)
		nequal++;
	else
		note(ours, n, theirs, ntheirs);
}

/* FILE+OFFSET; unwind.py finds the name. */
static void print_place(const char *what, uint64_t pc)
{
	Dl_info info = { 0 };
	const char *file;

	if (pc == 0 || dladdr((void *)(uintptr_t)pc, &info) == 0) {
		printf(" %s=%s", what, pc == 0 ? "end" : "nowhere");
		return;
	}
	file = strrchr(info.dli_fname, '/') != NULL ? strrchr(info.dli_fname, '/') + 1
						    : info.dli_fname;
	printf(" %s=%s+%#lx", what, file, (unsigned long)(pc - (uintptr_t)info.dli_fbase));
}

static void print_kinds(void)
{
	for (size_t i = 0; i < nkinds; i++) {
		printf("difference %lu", kinds[i].n);
		print_place("from", kinds[i].from);
		print_place("ours", kinds[i].ours);
		print_place("theirs", kinds[i].theirs);
		print_place("leaf", kinds[i].leaf);
		print_place("our_root", kinds[i].our_root);
		print_place("their_root", kinds[i].their_root);
		printf("\n");
	}
}

/* The stack's bounds, as thread.c would know them; without: every page is asked for. */
static void know_stack(bool know)
{
	static struct sonde__thread self;
	pthread_attr_t attr;
	void *low;
	size_t size;

	if (!know || pthread_getattr_np(pthread_self(), &attr) != 0)
		return;
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	self.stack_low = (uintptr_t)low;
	self.stack_high = self.stack_low + size;
	sonde__tls.self = &self;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	open_oracle();
	know_stack(argc < 2 || strcmp(argv[1], "--unknown-stack") != 0);
	sonde__modules_refresh();
	sigaction(SIGTRAP, &sa, NULL);
	trap_on();
	subject_run();
	trap_off();
	printf("steps %lu equal %lu broken %llu\n", nsteps, nequal,
	       (unsigned long long)sonde__stats.unwind_broken);
	print_kinds();
	return 0;
}
