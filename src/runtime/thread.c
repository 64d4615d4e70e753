/*
 * thread.c - the threads of the host: who they are, and when they end
 *
 * Records are made in chunks that double in size, and never given back, so that a signal handler
 * can find one by its number at any time.  A thread that was started through our hook ends with a
 * destructor of ours.  All others (the first one, those from before our time, those the C library
 * starts by itself) are 'loose': a scan finds out that they are gone, and until then a new thread
 * may turn up with the same tid.
 *
 * To the kernel a thread is there some time before it runs into our hook, and some time after it
 * has left our destructor.  A scan must not take it for another one: of those that it finds it
 * keeps in mind which may be one that is about to begin, and it knows who has just left.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/thread.h"

#include "runtime/buf.h"
#include "runtime/cpu.h"
#include "runtime/creators.h"
#include "runtime/fork.h"
#include "runtime/heap.h"
#include "runtime/measure.h"
#include "runtime/os.h"
#include "runtime/stack-bounds.h"
#include "runtime/task.h"
#include "runtime/thread-dump.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/syscall.h>

enum {
	FIRST_CHUNK = 32, /* a power of two */
	CHUNKS = 16,      /* two million threads at once */
	LEAVING = 1024,   /* threads that end at once, a power of two */
};
/* From the last destructor to the end of a thread; its tid is not used again before. */
static const uint64_t leaving_ns = 5000000000;

enum { AGENT, ASIDE, OURS };

__thread struct sonde__tls sonde__tls __attribute__((tls_model("initial-exec")));

static struct sonde__lock lock;
static _Atomic(struct sonde__thread *) all;
static _Atomic(struct sonde__thread *) chunks[CHUNKS];
static struct sonde__thread *free_ones;
static uint32_t nrecords;
static unsigned nloose;
static uint64_t nreserved; /* ever */
static struct {
	int tid;
	uint64_t at;
} left[LEAVING]; /* those who were the last to leave */
static uint64_t nleft;

static atomic_int on_pid;         /* the process whose threads we follow; 0: none */
static atomic_int our_tids[OURS]; /* of our own threads, which are not followed */
static pthread_key_t key;
static bool has_key;
static _Atomic(const struct sonde__tls *) first_tls; /* of the first thread; NULL: not known */

static int process(void)
{
	return (int)sonde__syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

/* Its labels are there before it has a record. */
__attribute__((constructor)) static void find_first_tls(void)
{
	if (sonde__tid() == process())
		atomic_store(&first_tls, &sonde__tls);
}

/* Chunk k has FIRST_CHUNK << k records. */
static unsigned chunk_of(uint32_t number, uint32_t *offset)
{
	uint32_t n = number / FIRST_CHUNK + 1;
	unsigned k = 31 - (unsigned)__builtin_clz(n);

	*offset = number - ((1u << k) - 1) * FIRST_CHUNK;
	return k;
}

struct sonde__thread *sonde__thread_at(uint32_t number)
{
	uint32_t offset;
	unsigned k;
	struct sonde__thread *chunk;

	if (number >= ((1u << CHUNKS) - 1) * FIRST_CHUNK)
		return NULL;
	k = chunk_of(number, &offset);
	chunk = atomic_load_explicit(&chunks[k], memory_order_acquire);
	return chunk ? chunk + offset : NULL;
}

struct sonde__thread *sonde__threads(void)
{
	return atomic_load_explicit(&all, memory_order_acquire);
}

static uint64_t seed(uint32_t number)
{
	uint64_t x = sonde__now() + (uint64_t)number * 0x9e3779b97f4a7c15u + (uintptr_t)&number;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	x ^= x >> 31;
	return x ? x : 1;
}

static struct sonde__thread *make_record(void)
{
	uint32_t offset;
	unsigned k = chunk_of(nrecords, &offset);
	struct sonde__thread *t;

	if (k >= CHUNKS)
		return NULL;
	if (!atomic_load(&chunks[k])) {
		t = sonde__map(((size_t)FIRST_CHUNK << k) * sizeof(*t));
		if (!t)
			return NULL;
		atomic_store_explicit(&chunks[k], t, memory_order_release);
	}
	t = atomic_load(&chunks[k]) + offset;
	t->number = nrecords++;
	t->random = seed(t->number);
	t->fd = -1;
	t->next = atomic_load(&all);
	atomic_store_explicit(&all, t, memory_order_release);
	return t;
}

/* From here on to sonde__self(): under the lock. */

static struct sonde__thread *take(int tid)
{
	struct sonde__thread *t = free_ones;

	if (t)
		free_ones = t->next_free;
	else
		t = make_record();
	if (!t)
		return NULL;
	t->stack_low = 0;
	t->stack_high = 0;
	t->start = NULL;
	t->creator = 0;
	t->reserved = false;
	t->order = 0;
	t->restless = false;
	t->runs = 0;
	t->ran = 0;
	atomic_store(&t->tls, NULL);
	t->goodbyes = 0;
	atomic_store(&t->tid, tid);
	return t;
}

static void set_loose(struct sonde__thread *t, bool loose)
{
	nloose += (unsigned)loose - (unsigned)t->loose;
	t->loose = loose;
}

static void give_back(struct sonde__thread *t)
{
	set_loose(t, false);
	atomic_store(&t->tid, 0);
	t->next_free = free_ones;
	free_ones = t;
}

static struct sonde__thread *find_loose(int tid)
{
	if (nloose == 0)
		return NULL;
	for (struct sonde__thread *t = sonde__threads(); t; t = t->next)
		if (t->loose && atomic_load(&t->tid) == tid)
			return t;
	return NULL;
}

struct sonde__thread *sonde__self(void)
{
	struct sonde__thread *t = sonde__tls.self;
	int tid;

	if (t || sonde__tls.ended)
		return t;
	tid = sonde__tid();
	sonde__lock(&lock);
	t = find_loose(tid);
	if (!t)
		t = take(tid);
	if (t) {
		set_loose(t, true);
		t->order = 0;
	}
	sonde__unlock(&lock);
	if (t)
		sonde__thread_find_stack(t, (uintptr_t)__builtin_frame_address(0));
	if (t)
		atomic_store(&t->tls, &sonde__tls);
	sonde__tls.self = t;
	return t;
}

/*
 * The thread-local variables of a thread are at the top of the mapping that holds its stack, also
 * where the host gave it the memory.  Only the first thread has them elsewhere.
 */
void sonde__thread_find_stack(struct sonde__thread *t, uintptr_t sp)
{
	struct sonde__range r;
	uintptr_t top = (uintptr_t)&sonde__tls & ~(uintptr_t)15;

	if (t->stack_high)
		return;
	if (sonde__main_stack(&r) && sp >= r.low && sp < r.high) {
		t->stack_low = r.low;
		t->stack_high = r.high;
	} else if (sonde__range_around(top, &r) && sp >= r.low && sp < top) {
		t->stack_low = r.low;
		t->stack_high = top;
	}
}

struct sonde__thread *sonde__thread_reserve(void *(*start)(void *), void *arg)
{
	struct sonde__thread *t;

	sonde__lock(&lock);
	t = take(SONDE__UNBORN);
	if (t) {
		t->reserved = true;
		t->order = ++nreserved;
		t->start = start;
		t->arg = arg;
	}
	sonde__unlock(&lock);
	return t;
}

/*
 * A loose thread with this tid is gone, since there is a new one; or a scan was quicker than that.
 * In one step, so that no scan finds it without a record: 't', which may be NULL, has it then.
 */
static void pass_on(int tid, struct sonde__thread *t)
{
	struct sonde__thread *old;

	sonde__lock(&lock);
	old = find_loose(tid);
	if (old) {
		set_loose(old, false);
		atomic_store(&old->tid, SONDE__UNBORN);
	}
	if (t)
		atomic_store(&t->tid, tid);
	sonde__unlock(&lock);
	if (!old)
		return;
	sonde__cpu_thread_gone(old);
	sonde__lock(&lock);
	give_back(old);
	sonde__unlock(&lock);
}

void sonde__thread_begin(struct sonde__thread *t, uintptr_t low, uintptr_t high)
{
	t->stack_low = low;
	t->stack_high = high;
	atomic_store(&t->tls, &sonde__tls);
	pass_on(sonde__tid(), t);
	sonde__tls.self = t;
	sonde__tls.inside++;
	if (!has_key || pthread_setspecific(key, t) != 0) {
		sonde__lock(&lock);
		set_loose(t, true);
		sonde__unlock(&lock);
	}
	sonde__tls.inside--;
	sonde__cpu_thread_begin(t);
}

void sonde__thread_end(struct sonde__thread *t)
{
	bool leaves = t == sonde__tls.self;

	if (leaves) {
		sonde__lock_abandon();
		sonde__cpu_thread_end(t);
		sonde__tls.self = NULL;
		sonde__tls.ended = 1;
	}
	sonde__lock(&lock);
	if (leaves) {
		left[nleft % LEAVING].tid = atomic_load(&t->tid);
		left[nleft++ % LEAVING].at = sonde__now();
	}
	give_back(t);
	sonde__unlock(&lock);
}

/* Destructors run in rounds as long as there are any; ours asks for all rounds, to be the last. */
static void say_goodbye(void *self)
{
	struct sonde__thread *t = self;

	if (t != sonde__tls.self)
		return;
	if (++t->goodbyes < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(key, t) == 0)
		return;
	sonde__thread_end(t);
}

bool sonde__thread_is_ours(int tid)
{
	for (int i = 0; i < OURS; i++)
		if (tid == atomic_load(&our_tids[i]))
			return true;
	return false;
}

static void is_not_followed(int which)
{
	struct sonde__thread *t = sonde__tls.self;

	atomic_store(&our_tids[which], sonde__tid());
	sonde__tls.self = NULL;
	sonde__tls.ended = 1;
	if (!t)
		return;
	sonde__cpu_thread_gone(t);
	sonde__lock(&lock);
	give_back(t);
	sonde__unlock(&lock);
}

void sonde__thread_is_agent(void)
{
	is_not_followed(AGENT);
}

void sonde__thread_is_aside(void)
{
	is_not_followed(ASIDE);
}

/* What the kernel says is there; those that we know are struck out: 0. */
struct tasks {
	struct sonde__buf tids; /* int */
	struct sonde__index by_tid;
};

static int *task_at(const struct tasks *l, size_t i)
{
	return (int *)(void *)l->tids.p + i;
}

static size_t task_count(const struct tasks *l)
{
	return l->tids.n / sizeof(int);
}

static uint32_t hash_tid(int tid)
{
	return (uint32_t)tid * 0x9e3779b1u;
}

static void list_task(int tid, void *context)
{
	struct tasks *l = context;
	int *more = sonde__thread_is_ours(tid) ? NULL : sonde__buf_more(&l->tids, sizeof(*more));

	if (!more)
		return;
	*more = tid;
	sonde__index_put(&l->by_tid, hash_tid(tid), (uint32_t)task_count(l));
}

static void strike_out(const struct tasks *l, int tid)
{
	uint32_t hash = hash_tid(tid), id;

	for (size_t at = hash; (id = sonde__index_next(&l->by_tid, hash, &at)) != 0;)
		if (*task_at(l, id - 1) == tid)
			*task_at(l, id - 1) = 0;
}

static void strike_out_known(const struct tasks *l)
{
	uint64_t now = sonde__now();

	for (const struct sonde__thread *t = sonde__threads(); t; t = t->next)
		if (atomic_load(&t->tid) > 0)
			strike_out(l, atomic_load(&t->tid));
	for (size_t i = 0; i < LEAVING; i++)
		if (left[i].tid && now - left[i].at < leaving_ns)
			strike_out(l, left[i].tid);
}

static bool add_found(int tid)
{
	struct sonde__thread *t = take(tid);

	if (!t)
		return false;
	set_loose(t, true);
	t->order = nreserved;
	if (tid == process())
		atomic_store(&t->tls, atomic_load(&first_tls));
	return true;
}

/* Who is there is asked first: who has come to us by itself since then is known by now. */
static bool add_strangers(const struct tasks *l)
{
	bool any = false;

	sonde__lock(&lock);
	strike_out_known(l);
	for (size_t i = 0; i < task_count(l); i++)
		if (*task_at(l, i))
			any |= add_found(*task_at(l, i));
	sonde__unlock(&lock);
	return any;
}

static void free_the_dead(void)
{
	int pid = process();

	for (struct sonde__thread *t = sonde__threads(); t; t = t->next) {
		int tid = atomic_load(&t->tid);

		if (tid <= 0 || !t->loose)
			continue;
		if (sonde__syscall(SYS_tgkill, pid, tid, 0, 0, 0, 0) == -ESRCH)
			pass_on(tid, NULL);
	}
}

void sonde__threads_scan(void)
{
	struct tasks l = { 0 };

	sonde__tasks(list_task, &l);
	if (add_strangers(&l))
		sonde__ranges_refresh();
	sonde__buf_release(&l.tids);
	sonde__index_release(&l.by_tid);
	free_the_dead();
}

uint64_t sonde__threads_unseen(void)
{
	uint64_t n = 0, unborn = 0, doubtful = 0, first = UINT64_MAX;

	sonde__lock(&lock);
	for (const struct sonde__thread *t = sonde__threads(); t; t = t->next) {
		if (!t->reserved || atomic_load(&t->tid) != SONDE__UNBORN)
			continue;
		unborn++;
		first = t->order < first ? t->order : first;
	}
	for (const struct sonde__thread *t = sonde__threads(); t; t = t->next) {
		if (t->reserved || atomic_load(&t->tid) <= 0)
			continue;
		n++;
		doubtful += t->order >= first;
	}
	sonde__unlock(&lock);
	return n - (doubtful < unborn ? doubtful : unborn);
}

static void before_fork(void)
{
	sonde__lock(&lock);
}

static void in_parent(void)
{
	sonde__unlock(&lock);
}

/* Only the thread that forked is there; it has a new number. */
static void in_child(void)
{
	struct sonde__thread *self = sonde__tls.self;

	for (struct sonde__thread *t = sonde__threads(); t; t = t->next) {
		if (t != self && atomic_load(&t->tid) != 0)
			give_back(t);
	}
	if (self) {
		atomic_store(&self->tid, sonde__tid());
		self->reserved = false;
	}
	atomic_store(&first_tls, &sonde__tls);
	for (int i = 0; i < OURS; i++)
		atomic_store(&our_tids[i], 0);
	atomic_store(&on_pid, 0);
	sonde__dump_forget();
	sonde__creators_forget();
	sonde__unlock(&lock);
}

static const struct sonde__fork_part fork_part = {
	.prepare = before_fork,
	.parent = in_parent,
	.child = in_child,
};

/* The heap is there before anything is switched on; from here on its locks matter. */
static const struct sonde__fork_part heap_part = {
	.prepare = sonde__heap_lock,
	.parent = sonde__heap_unlock,
	.child = sonde__heap_unlock,
};

bool sonde__threads_on(void)
{
	int pid = atomic_load_explicit(&on_pid, memory_order_relaxed);

	return pid != 0 && pid == process();
}

void sonde__threads_start(void)
{
	if (sonde__threads_on())
		return;
	sonde__fork_join(SONDE__FORK_THREADS, &fork_part);
	sonde__fork_join(SONDE__FORK_HEAP, &heap_part);
	if (!has_key)
		has_key = pthread_key_create(&key, say_goodbye) == 0;
	sonde__ranges_refresh();
	atomic_store(&on_pid, process());
}
