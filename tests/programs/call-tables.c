/*
 * call-tables.c - where the calls of a program and its libraries lead, asked from inside
 *
 * Reads commands, a line each, and answers each with lines and "done":
 *
 *	ways NAME		for each binary that calls NAME through a table: its name, the
 *				library that the word leads to ("itself": it is not filled in yet),
 *				and the rights of its page
 *	load PATH		a library, which stays
 *	call PATH FUNCTION	of that library, which stays, too
 *	rate N			one sample per so many bytes from now on
 *	allocate N		malloc() so often, in a function of that name
 *	fight PATH MS		two threads want one mutex all the time, in that library
 *	churn PATH MS		two threads load and unload it all the time, and lock in it
 *	filter			whoever protects memory from now on is killed, but for threads
 *				that are there already
 *
 * With an argument, so many threads allocate and free all the time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char *volatile kept[1 << 16];
static const char *asked;
static double until;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "low-high rights ..." */
static void rights_of(uintptr_t at, char rights[5])
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], *p;

	memset(rights, 0, 5);
	while (maps && fgets(line, sizeof(line), maps)) {
		uintptr_t low = strtoul(line, &p, 16), high = strtoul(p + 1, &p, 16);

		if (at >= low && at < high)
			memcpy(rights, p + 1, 4);
	}
	if (maps)
		fclose(maps);
}

static void print_way(const char *binary, void *own, void **word)
{
	Dl_info to = { 0 };
	char rights[5];

	rights_of((uintptr_t)word, rights);
	if (!dladdr(*word, &to))
		to.dli_fname = "nowhere";
	printf("%s %s %s\n", last_part(binary),
	       to.dli_fbase == own ? "itself" : last_part(to.dli_fname), rights);
}

static int each(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const ElfW(Dyn) *d = NULL;
	const ElfW(Rela) *r = NULL;
	const ElfW(Sym) *symbols = NULL;
	const char *strings = NULL;
	size_t n = 0;
	Dl_info own = { 0 };

	(void)size;
	(void)ctx;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	if (!d || strstr(info->dlpi_name, "vdso"))
		return 0;
	dladdr(d, &own);
	for (; d->d_tag; d++) {
		if (d->d_tag == DT_JMPREL)
			r = (void *)d->d_un.d_ptr;
		if (d->d_tag == DT_PLTRELSZ)
			n = d->d_un.d_val / sizeof(*r);
		if (d->d_tag == DT_SYMTAB)
			symbols = (void *)d->d_un.d_ptr;
		if (d->d_tag == DT_STRTAB)
			strings = (void *)d->d_un.d_ptr;
	}
	for (size_t i = 0; i < n; i++)
		if (strcmp(strings + symbols[ELF64_R_SYM(r[i].r_info)].st_name, asked) == 0)
			print_way(info->dlpi_name[0] ? info->dlpi_name : "program", own.dli_fbase,
				  (void **)(info->dlpi_addr + r[i].r_offset));
	return 0;
}

static void *allocate_forever(void *unused)
{
	char *volatile some[64] = { 0 };

	for (unsigned i = 0;; i = (i + 1) % 64) {
		free(some[i]);
		some[i] = malloc(100);
	}
	return unused;
}

__attribute__((noinline)) static void allocate(long n)
{
	for (long i = 0; i < n; i++)
		kept[i % (1 << 16)] = malloc(1000);
}

static void *fight(void *function)
{
	while (now() < until)
		((void (*)(void))function)();
	return NULL;
}

static void *churn(void *path)
{
	while (now() < until) {
		void *library = dlopen(path, RTLD_NOW);
		void (*lock)(void) = (void (*)(void))(uintptr_t)dlsym(library, "lock_briefly");

		for (int i = 0; i < 100; i++)
			lock();
		dlclose(library);
	}
	return NULL;
}

static void two(void *(*function)(void *), void *argument, const char *ms)
{
	pthread_t threads[2];

	until = now() + strtod(ms, NULL) / 1000;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, function, argument);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void set_rate(uint64_t bytes)
{
	uint64_t (*set)(uint64_t) =
		(uint64_t(*)(uint64_t))(uintptr_t)dlsym(RTLD_DEFAULT, "sonde_set_heap_rate");

	set(bytes);
}

static void filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		printf("no filter: %s\n", strerror(errno));
}

static void obey(const char *command, char *what, const char *how)
{
	if (strcmp(command, "ways") == 0) {
		asked = what;
		dl_iterate_phdr(each, NULL);
	} else if (strcmp(command, "load") == 0) {
		dlopen(what, RTLD_NOW);
	} else if (strcmp(command, "call") == 0) {
		((void (*)(void))(uintptr_t)dlsym(dlopen(what, RTLD_NOW), how))();
	} else if (strcmp(command, "rate") == 0) {
		set_rate(strtoull(what, NULL, 10));
	} else if (strcmp(command, "allocate") == 0) {
		allocate(strtol(what, NULL, 10));
	} else if (strcmp(command, "fight") == 0) {
		two(fight, dlsym(dlopen(what, RTLD_NOW), "lock_for_long"), how);
	} else if (strcmp(command, "churn") == 0) {
		two(churn, what, how);
	} else if (strcmp(command, "filter") == 0) {
		filter();
	}
	printf("done\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[512];

	for (long i = argc > 1 ? strtol(argv[1], NULL, 10) : 0; i > 0; i--) {
		pthread_t thread;

		pthread_create(&thread, NULL, allocate_forever, NULL);
	}
	while (fgets(line, sizeof(line), stdin)) {
		char *rest = line, *command = strsep(&rest, " \n");
		char *what = strsep(&rest, " \n"), *how = strsep(&rest, " \n");

		obey(command, what ? what : "", how ? how : "0");
	}
	return 0;
}
