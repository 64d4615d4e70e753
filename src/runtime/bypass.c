/*
 * bypass.c - calls that go past our hooks, while these have nothing to do
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/bypass.h"

#include "runtime/agent.h"
#include "runtime/cxx-next.h"
#include "runtime/next-lock.h"
#include "runtime/next.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "runtime/unwind.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT };
#endif

enum { MAPS_MAX = 16 << 20 };

/* What is to be done to all tables. */
struct pass {
	const struct sonde__hooked *hooked;
	bool back;                  /* to the hooks */
	bool early;                 /* the program is about to begin, and has no other thread */
	bool unfilled;              /* also words that the first call would fill in */
	const atomic_uchar *unless; /* somebody wants to know: nothing is to be done any more */
	uintptr_t open;             /* a page that is writable for a moment, or 0 */
	uintptr_t page, linker;     /* the size of one; where the dynamic linker is */
	char *maps;                 /* what the kernel says of pages, once it was asked */
	size_t nmaps, mapped;
	bool asked;
	unsigned failed;
};

/* The table of one binary. */
struct table {
	uintptr_t base, low, high; /* of all of it in memory */
	const Elf64_Rela *at;
	size_t n;
	const Elf64_Sym *symbols;
	const char *strings;
	size_t nstrings;
	uintptr_t sealed, sealed_end; /* pages that are read-only when it is filled in */
};

/* Something was, once: who is about to change words says so first. */
static atomic_bool past_malloc, past_locks;

static uintptr_t behind(const struct sonde__hooked *h)
{
	uintptr_t f;

	memcpy(&f, h->next, sizeof(f));
	return f;
}

/* The dynamic linker adds the base to what it reads, but not in binaries that may not be written
 * to. */
static uintptr_t place(const struct table *t, Elf64_Addr address)
{
	return address < t->base ? address + t->base : address;
}

static void read_dynamic(struct table *t, const Elf64_Dyn *d)
{
	Elf64_Xword size = 0, kind = 0;

	for (; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_JMPREL:
			t->at = (const Elf64_Rela *)place(t, d->d_un.d_ptr);
			break;
		case DT_PLTRELSZ:
			size = d->d_un.d_val;
			break;
		case DT_PLTREL:
			kind = d->d_un.d_val;
			break;
		case DT_SYMTAB:
			t->symbols = (const Elf64_Sym *)place(t, d->d_un.d_ptr);
			break;
		case DT_STRTAB:
			t->strings = (const char *)place(t, d->d_un.d_ptr);
			break;
		case DT_STRSZ:
			t->nstrings = d->d_un.d_val;
			break;
		}
	}
	t->n = kind == DT_RELA ? size / sizeof(*t->at) : 0;
}

static bool is_inside(const struct table *t, uintptr_t at, size_t n)
{
	return at >= t->low && at < t->high && n <= t->high - at;
}

static bool read_table(const struct dl_phdr_info *info, uintptr_t page, struct table *t)
{
	const Elf64_Dyn *dynamic = NULL;

	*t = (struct table){ .base = info->dlpi_addr, .low = UINTPTR_MAX };
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *h = &info->dlpi_phdr[i];
		uintptr_t start = t->base + h->p_vaddr, end = start + h->p_memsz;

		if (h->p_type == PT_LOAD) {
			t->low = start < t->low ? start : t->low;
			t->high = end > t->high ? end : t->high;
		} else if (h->p_type == PT_DYNAMIC) {
			dynamic = (const Elf64_Dyn *)start;
		} else if (h->p_type == PT_GNU_RELRO) {
			t->sealed = start & -page;
			t->sealed_end = end & -page;
		}
	}
	if (!dynamic || !is_inside(t, (uintptr_t)dynamic, sizeof(*dynamic)))
		return false;
	read_dynamic(t, dynamic);
	return t->n && t->at && is_inside(t, (uintptr_t)t->at, t->n * sizeof(*t->at)) &&
	       is_inside(t, (uintptr_t)t->symbols, sizeof(*t->symbols)) &&
	       is_inside(t, (uintptr_t)t->strings, t->nstrings);
}

static const char *name_of(const struct table *t, const Elf64_Sym *s)
{
	return s->st_name < t->nstrings ? t->strings + s->st_name : "";
}

/* What the word should be, or 0: let it be. */
static uintptr_t instead(const struct pass *p, const struct table *t, const Elf64_Rela *r,
			 uintptr_t now)
{
	const Elf64_Sym *s = &t->symbols[ELF64_R_SYM(r->r_info)];
	bool unfilled = p->unfilled && is_inside(t, now, 1) && s->st_shndx == SHN_UNDEF;

	for (const struct sonde__hooked *h = p->hooked; h->name; h++) {
		if (p->back && now == behind(h) && strcmp(name_of(t, s), h->name) == 0)
			return (uintptr_t)h->hook;
		if (!p->back && now == (uintptr_t)h->hook)
			return behind(h);
		if (unfilled && strcmp(name_of(t, s), h->name) == 0)
			return behind(h);
	}
	return 0;
}

static uintptr_t read_hex(const char **at, const char *end)
{
	uintptr_t v = 0;

	for (; *at < end; ++*at) {
		char c = **at;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uintptr_t)(c - 'a' + 10);
		else
			break;
	}
	return v;
}

/* "low-high r--p ..." */
static bool is_read_only(const char *maps, size_t n, uintptr_t page)
{
	const char *end = maps + n;

	for (const char *at = maps; at < end;) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		uintptr_t low = read_hex(&at, end), high;

		at++;
		high = read_hex(&at, end);
		if (page >= low && page < high)
			return end - at >= 4 && memcmp(at, " r--", 4) == 0;
		at = eol ? eol + 1 : end;
	}
	return false;
}

/*
 * When the program begins, what has a table has it filled in, and that is sealed.  Later nothing is
 * begun without the kernel's word; but what was read-only once may be changed back.
 */
static bool is_sealed(struct pass *p, uintptr_t page)
{
	if (p->early)
		return true;
	if (!p->asked) {
		p->asked = true;
		p->maps = sonde__slurp("/proc/self/maps", MAPS_MAX, &p->nmaps, &p->mapped);
	}
	return p->maps ? is_read_only(p->maps, p->nmaps, page) : p->back;
}

static bool protect(uintptr_t page, size_t n, int protection)
{
	return sonde__syscall(SYS_mprotect, (long)page, (long)n, protection, 0, 0, 0) == 0;
}

/* The page that was writable until now is read-only again. */
static void seal(struct pass *p)
{
	if (p->open)
		protect(p->open, p->page, PROT_READ);
	p->open = 0;
}

/* Whether a word there can be written to now. */
static bool unseal(struct pass *p, const struct table *t, uintptr_t word)
{
	uintptr_t page = word & -p->page;

	if (page < t->sealed || page >= t->sealed_end || page == p->open)
		return true;
	seal(p);
	if (!is_sealed(p, page))
		return false;
	if (!protect(page, p->page, PROT_READ | PROT_WRITE)) {
		p->failed++;
		return false;
	}
	p->open = page;
	return true;
}

static int each_binary(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct pass *p = ctx;
	struct table t;

	(void)size;
	if (info->dlpi_addr == p->linker || !read_table(info, p->page, &t))
		return 0;
	for (size_t i = 0; i < t.n; i++) {
		const Elf64_Rela *r = &t.at[i];
		atomic_uintptr_t *word = (atomic_uintptr_t *)(t.base + r->r_offset);
		uintptr_t now, to;

		if (ELF64_R_TYPE(r->r_info) != JUMP_SLOT ||
		    !is_inside(&t, (uintptr_t)word, sizeof(*word)))
			continue;
		now = atomic_load(word);
		to = instead(p, &t, r, now);
		if (to && !(p->unless && atomic_load(p->unless)) && unseal(p, &t, (uintptr_t)word))
			atomic_compare_exchange_strong(word, &now, to);
	}
	seal(p);
	return 0;
}

static void go_through(struct pass *p)
{
	p->page = getauxval(AT_PAGESZ);
	p->linker = getauxval(AT_BASE);
	sonde__modules_walk(each_binary, p);
	sonde__unmap(p->maps, p->mapped);
}

/* Whether whoever calls one of them by name calls us. */
static bool all_are_ours(const struct sonde__hooked *h)
{
	for (; h->name; h++)
		if (dlsym(RTLD_DEFAULT, h->name) != h->hook)
			return false;
	return true;
}

static bool has_auditors(char **environment)
{
	static const char name[] = "LD_AUDIT=";

	for (; *environment; environment++)
		if (strncmp(*environment, name, sizeof(name) - 1) == 0)
			return true;
	return false;
}

/*
 * A word that is not filled in yet will have what a search from the program on finds first, unless
 * its binary was loaded to search elsewhere, or somebody listens to what is found (LD_AUDIT).  What
 * was allocated before there was an allocator must come back to us.
 */
void sonde__bypass_malloc(char **environment)
{
	struct pass p = { .hooked = sonde__hooked_malloc, .early = true };

	if (getauxval(AT_SECURE) || sonde__thread_count() != 1 || sonde__arena_was_used() ||
	    !sonde__next_behind(&sonde__next.malloc))
		return;
	p.unfilled = !atomic_load(&sonde__dlopen_called) && !has_auditors(environment) &&
		     all_are_ours(sonde__hooked_malloc);
	atomic_store(&past_malloc, true);
	go_through(&p);
}

static bool end(const atomic_bool *past, const struct sonde__hooked *hooked)
{
	struct pass p = { .hooked = hooked, .back = true };

	if (!atomic_load(past))
		return true;
	if (!sonde__agent_may_ask_loader() ||
	    (atomic_load(&sonde__sandboxed) && !sonde__thread_is_ours(sonde__tid())))
		return false;
	go_through(&p);
	return p.failed == 0;
}

bool sonde__bypass_malloc_end(void)
{
	return end(&past_malloc, sonde__hooked_malloc);
}

static void pass_locks(void)
{
	struct pass p = { .hooked = sonde__hooked_locks, .unless = &sonde__lock_flags.locks };

	atomic_store(&past_locks, true);
	go_through(&p);
}

static void pass_operators(void)
{
	struct pass p = { .hooked = sonde__hooked_operators };

	go_through(&p);
}

void sonde__bypass_idle(void)
{
	if (atomic_load(&sonde__lock_flags.locks))
		sonde__bypass_locks_end();
	else
		pass_locks();
	if (atomic_load(&sonde__cxx.mode) == SONDE__CXX_PASSES)
		pass_operators();
}

bool sonde__bypass_locks_end(void)
{
	return end(&past_locks, sonde__hooked_locks);
}
