/*
 * cxx-next.c - operators new and delete behind our hooks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/cxx-next.h"

#include "runtime/caller-stack.h"
#include "runtime/heap.h"
#include "runtime/live.h"
#include "runtime/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>

struct sonde__cxx sonde__cxx;

/* This thread is finding out; operators of the C++ library call each other, through us. */
static __thread bool looking __attribute__((tls_model("initial-exec")));

static const char *const new_names[SONDE__NEWS] = {
	"_Znwm",
	"_Znam",
	"_ZnwmRKSt9nothrow_t",
	"_ZnamRKSt9nothrow_t",
	"_ZnwmSt11align_val_t",
	"_ZnamSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t",
	"_ZnamSt11align_val_tRKSt9nothrow_t",
};

static const char *const delete_names[SONDE__DELETES] = {
	"_ZdlPv",
	"_ZdaPv",
	"_ZdlPvm",
	"_ZdaPvm",
	"_ZdlPvRKSt9nothrow_t",
	"_ZdaPvRKSt9nothrow_t",
	"_ZdlPvSt11align_val_t",
	"_ZdaPvSt11align_val_t",
	"_ZdlPvmSt11align_val_t",
	"_ZdaPvmSt11align_val_t",
	"_ZdlPvSt11align_val_tRKSt9nothrow_t",
	"_ZdaPvSt11align_val_tRKSt9nothrow_t",
};

/* A C++ library that came with a plugin is not behind us in the order of lookup, but it is there.
 */
static void *find(const char *name)
{
	static const char *const libraries[] = { "libstdc++.so.6", "libc++abi.so.1" };
	void *f = sonde__next_symbol(name);

	for (size_t i = 0; !f && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		void *handle = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);

		f = handle ? dlsym(handle, name) : NULL;
	}
	return f;
}

/* A function of the C++ runtime that is linked into the module of 'caller'. */
static void *find_beside(const void *caller, const char *name)
{
	struct link_map *module = NULL;
	Dl_info info;

	if (!dladdr1(caller, &info, (void **)&module, RTLD_DL_LINKMAP) || !module)
		return NULL;
	return dlsym(module, name);
}

/*
 * Without a next operator: what the C++ standard asks for.  Gives up and returns NULL only where
 * there is no C++ runtime that could throw.
 */
static void *over_malloc(size_t size, size_t alignment, bool throws, const void *caller)
{
	for (;;) {
		void *p = alignment ? memalign(alignment, size) : malloc(size ? size : 1);
		void (*(*get_handler)(void))(void);
		void (*handler)(void);
		void (*bad_alloc)(void);

		if (p)
			return p;
		get_handler =
			(void (*(*)(void))(void))find_beside(caller, "_ZSt15get_new_handlerv");
		handler = get_handler ? get_handler() : NULL;
		if (handler) {
			handler();
			continue;
		}
		bad_alloc = (void (*)(void))find_beside(caller, "_ZSt17__throw_bad_allocv");
		if (throws && bad_alloc)
			bad_alloc();
		return NULL;
	}
}

static void *new_plain(size_t size, size_t b, size_t c)
{
	(void)b;
	(void)c;
	return over_malloc(size, 0, true, __builtin_return_address(0));
}

static void *new_nothrow(size_t size, size_t b, size_t c)
{
	(void)b;
	(void)c;
	return over_malloc(size, 0, false, __builtin_return_address(0));
}

static void *new_aligned(size_t size, size_t alignment, size_t c)
{
	(void)c;
	return over_malloc(size, alignment, true, __builtin_return_address(0));
}

static void *new_aligned_nothrow(size_t size, size_t alignment, size_t c)
{
	(void)c;
	return over_malloc(size, alignment, false, __builtin_return_address(0));
}

static sonde__new_fn *const own_new[SONDE__NEWS] = {
	new_plain,   new_plain,   new_nothrow,         new_nothrow,
	new_aligned, new_aligned, new_aligned_nothrow, new_aligned_nothrow,
};

static void own_delete(void *p, size_t b, size_t c)
{
	(void)b;
	(void)c;
	free(p);
}

static void hide(void *f)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (dladdr1(f, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol && info.dli_saddr == f)
		sonde__caller_hide(f, symbol->st_size);
}

/* Whether this operator new leads to one of our hooks, which changes what we put there. */
static bool reaches_hooks(enum sonde__new kind)
{
	static const uint64_t much = 1 << 30;
	static const size_t alignment = 64;
	bool aligned = kind >= SONDE__NEW_ALIGNED;
	uint64_t saved = sonde__tls.until;
	bool reached;
	void *p;

	sonde__tls.until = much;
	p = sonde__cxx.new[kind](1, alignment, alignment);
	reached = sonde__tls.until != much;
	sonde__cxx.delete[aligned ? SONDE__DELETE_ALIGNED : SONDE__DELETE](p, alignment, 0);
	sonde__tls.until = saved;
	return reached;
}

static enum sonde__cxx_mode find_mode(void)
{
	enum sonde__cxx_mode mode = SONDE__CXX_PASSES;

	for (int i = 0; i < SONDE__NEWS; i++) {
		sonde__cxx.counts[i] = !reaches_hooks(i);
		if (sonde__cxx.counts[i])
			mode = SONDE__CXX_COUNTS;
	}
	return mode;
}

static void resolve(void)
{
	int saved = errno;
	enum sonde__cxx_mode mode;

	looking = true;
	sonde__tls.inside++;
	for (int i = 0; i < SONDE__NEWS; i++) {
		sonde__new_fn *f = (sonde__new_fn *)find(new_names[i]);

		if (f)
			hide((void *)f);
		sonde__cxx.new[i] = f ? f : own_new[i];
	}
	for (int i = 0; i < SONDE__DELETES; i++) {
		sonde__delete_fn *f = (sonde__delete_fn *)find(delete_names[i]);

		sonde__cxx.delete[i] = f ? f : own_delete;
	}
	mode = find_mode();
	sonde__tls.inside--;
	looking = false;
	atomic_store_explicit(&sonde__cxx.mode, mode, memory_order_release);
	errno = saved;
}

/* Two threads may both look, and find the same. */
static bool counts(void)
{
	if (looking)
		return false;
	if (atomic_load_explicit(&sonde__cxx.mode, memory_order_acquire) == SONDE__CXX_UNKNOWN)
		resolve();
	return sonde__cxx.mode == SONDE__CXX_COUNTS;
}

void *sonde__slow_new(size_t size, size_t b, size_t c, enum sonde__new kind)
{
	uint64_t rate = counts() && sonde__cxx.counts[kind] ? sonde__heap_decide(size) : 0;
	void *p = sonde__cxx.new[kind](size, b, c);

	if (rate && p)
		sonde__heap_record(p, size, rate, __builtin_return_address(0));
	return p;
}

void sonde__slow_delete(void *p, size_t b, size_t c, enum sonde__delete kind)
{
	if (counts() && sonde__live_knows(p))
		sonde__heap_forget(p);
	sonde__cxx.delete[kind](p, b, c);
}
