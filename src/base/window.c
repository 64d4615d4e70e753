/*
 * window.c - a file mapped into memory, which others may cut short meanwhile
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/window.h"

#include "base/err.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 256 }; /* at a time: one that is too many is not made */

/* What 'start' is between being taken and being there: no page is at that address. */
enum { TAKEN = 1 };

struct window {
	atomic_uintptr_t start; /* 0: free */
	size_t n;
	atomic_bool cut;
};

static struct window windows[MOST];
static struct sigaction before;
static size_t page;

/* ------------------------------------------------------------------ the signal */

static struct window *find(uintptr_t at)
{
	for (size_t i = 0; i < MOST; i++) {
		struct window *w = &windows[i];
		uintptr_t start = w->start;

		if (start > TAKEN && at >= start && at - start < w->n)
			return w;
	}
	return NULL;
}

/* What is behind a page that is gone is gone, too. */
static bool put_zeros(struct window *w, uintptr_t at)
{
	size_t from = (at - w->start) / page * page;
	void *p = mmap((void *)(w->start + from), w->n - from, PROT_READ,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	w->cut = true;
	return p != MAP_FAILED;
}

/* Only calls mmap(), which is a system call and nothing else, and what POSIX allows here. */
static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	int saved = errno;
	struct window *w = info->si_code > 0 ? find((uintptr_t)info->si_addr) : NULL;
	bool mended = w && put_zeros(w, (uintptr_t)info->si_addr);

	(void)context;
	errno = saved;
	if (mended)
		return;
	sigaction(sig, &before, NULL); /* it happens again, */
	if (info->si_code <= 0)
		raise(sig); /* or someone has sent it */
}

/* Each time: somebody else may have taken the signal since. */
static void watch(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct sigaction sa = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO }, old;

	pthread_mutex_lock(&lock);
	page = (size_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, &sa, &old);
	if (!(old.sa_flags & SA_SIGINFO) || old.sa_sigaction != on_bus_error)
		before = old;
	pthread_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------ windows */

static struct window *take_free(void)
{
	for (size_t i = 0; i < MOST; i++) {
		uintptr_t none = 0;

		if (atomic_compare_exchange_strong(&windows[i].start, &none, TAKEN))
			return &windows[i];
	}
	return NULL;
}

struct window *window_open(int fd, size_t n, bool all)
{
	struct window *w = take_free();
	void *p;

	if (!w)
		return NULL;
	watch();
	p = mmap(NULL, n, PROT_READ, MAP_PRIVATE | (all ? MAP_POPULATE : 0), fd, 0);
	w->n = n;
	w->cut = false;
	w->start = p == MAP_FAILED ? 0 : (uintptr_t)p;
	return p == MAP_FAILED ? NULL : w;
}

void *window_bytes(const struct window *w)
{
	return (void *)w->start;
}

/* Pages that are zeros now are so again. */
void window_pass(const struct window *w, size_t from, size_t to)
{
	from = (from + page - 1) / page * page;
	to = to / page * page;
	if (from < to)
		madvise((void *)(w->start + from), to - from, MADV_DONTNEED);
}

void window_close(struct window *w)
{
	void *p;

	if (!w)
		return;
	p = window_bytes(w);
	w->start = TAKEN; /* another one may soon be where it was */
	munmap(p, w->n);
	w->start = 0;
}

int window_check(const struct window *w, const char *path, struct err *err)
{
	if (!w || !w->cut)
		return 0;
	return err_set(err, -EIO, "read %s: file became shorter while it was read", path);
}
