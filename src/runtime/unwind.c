/*
 * unwind.c - walk a stack by rules from tables, or else by frame pointers
 *
 * A walk stops at anything that cannot be a stack: an address outside of it, a frame that does not
 * lie above the one before or is larger than a megabyte, a return address outside of all modules.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/unwind.h"

#include "runtime/os.h"
#include "runtime/rule-cache.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"
#include "runtime/unwind-arch.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#define FRAME_MAX (1ull << 20)
enum { PAGE = 4096, RED_ZONE = 128 };

enum step { STEP_ON, STEP_END, STEP_BROKEN };

struct walk {
	uint64_t pc, sp, fp;
	uint64_t extra;     /* x86-64: r10, aarch64: x30; valid where 'exact' is set */
	uint64_t low, high; /* loads from here cannot fault */
	uint64_t rbx;       /* x86-64; 0: lost */
	uint64_t moved;     /* what 'low' to 'high' is a copy of is so far away; 0: it is none */
	bool exact;         /* 'pc' was interrupted, and is not a return address */
};

/* Asks the kernel: of a mask that it cannot read and a bad number it complains about the mask. */
static bool ask_kernel(uint64_t address)
{
	return sonde__syscall(SYS_rt_sigprocmask, -1, (long)address, 0, 8, 0, 0) != -EFAULT;
}

bool sonde__is_readable(uint64_t address)
{
	static atomic_int trusted; /* -1: no, 1: yes */
	int t = atomic_load_explicit(&trusted, memory_order_relaxed);

	if (t == 0) {
		t = ask_kernel(UINT64_MAX - 0xfff) || !ask_kernel((uintptr_t)&address) ? -1 : 1;
		atomic_store_explicit(&trusted, t, memory_order_relaxed);
	}
	if (atomic_load_explicit(&sonde__sandboxed, memory_order_relaxed))
		return false;
	/* NULL would mean "no mask". */
	return t > 0 && address >= PAGE && ask_kernel(address);
}

/* Moves or extends the part that may be read to the page of 'address', if there is one. */
static bool widen(struct walk *w, uint64_t address)
{
	uint64_t page = address & ~(uint64_t)(PAGE - 1);

	if (address % 8 != 0 || w->moved != 0 || !sonde__is_readable(address))
		return false;
	if (page == w->high) {
		w->high += PAGE;
	} else {
		w->low = page;
		w->high = page + PAGE;
	}
	return true;
}

__attribute__((no_sanitize("address"))) static inline uint64_t word_at(uint64_t address)
{
	uint64_t v;

	/* Every caller has checked it.  Nonsense may be at odd addresses. */
	__builtin_memcpy(&v, (const void *)(uintptr_t)address, sizeof(v)); /* NOLINT */
	return v;
}

/* The word at 'address'; false if there is none that can be read. */
static inline bool load(struct walk *w, uint64_t address, uint64_t *v)
{
	if (__builtin_expect(address < w->low || address > w->high - 8 || address % 8 != 0, 0) &&
	    !widen(w, address))
		return false;
	*v = word_at(address + w->moved);
	return true;
}

/*
 * What of the stack 'sp' is on can be read: up to its end on the thread's own; elsewhere (stacks of
 * coroutines, alternate signal stacks, threads we know nothing of) each page is asked for.
 */
static void find_bounds(struct walk *w)
{
	const struct sonde__thread *self = sonde__tls.self;

	w->low = INT64_MAX;
	w->high = 8;
	if (self == NULL || w->sp < self->stack_low || w->sp >= self->stack_high)
		return;
	w->low = w->sp - self->stack_low > RED_ZONE ? w->sp - RED_ZONE : self->stack_low;
	w->high = self->stack_high;
}

static bool is_frame(const struct walk *w, uint64_t cfa)
{
	return cfa - w->sp - 1 < FRAME_MAX;
}

/* The return address and frame pointer are a pair at the frame pointer, on both architectures. */
static enum step by_frame_pointer(struct walk *w)
{
	uint64_t fp, pc;

	if (w->fp == 0)
		return STEP_END;
	if (w->fp < w->sp || !is_frame(w, w->fp + 16) || !load(w, w->fp, &fp) ||
	    !load(w, w->fp + 8, &pc))
		return STEP_BROKEN;
	w->sp = w->fp + 16;
	w->fp = fp;
	w->rbx = 0;
	w->pc = strip_signature(pc);
	w->exact = false;
	return STEP_ON;
}

static enum step by_signal_frame(struct walk *w)
{
	struct walk to = *w;

	if (!load(&to, w->sp + signal_frame.pc, &to.pc) ||
	    !load(&to, w->sp + signal_frame.fp, &to.fp) ||
	    !load(&to, w->sp + signal_frame.extra, &to.extra) ||
	    !load(&to, w->sp + signal_frame.rbx, &to.rbx) ||
	    !load(&to, w->sp + signal_frame.sp, &to.sp))
		return STEP_BROKEN;
	to.exact = true;
	if (to.moved == 0)
		find_bounds(&to);
	*w = to;
	return STEP_ON;
}

/* Code without a table may be where signal handlers return to. */
static bool is_sigreturn(uint64_t pc)
{
	if (!sonde__is_readable(pc) || !sonde__is_readable(pc + sizeof(sigreturn_code) - 8))
		return false;
	return memcmp((const void *)(uintptr_t)pc, sigreturn_code, sizeof(sigreturn_code)) == 0;
}

/* An interrupted stub of a linkage table: it has no frame, or nearly. */
static bool leave_stub(struct walk *w)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)w->pc; /* NOLINT */
	struct walk to = *w;
	int offset;

	if (!sonde__is_readable(w->pc - STUB_BEFORE) || !sonde__is_readable(w->pc + STUB_AFTER - 8))
		return false;
	offset = stub_offset(code);
	if (offset < 0)
		return false;
	to.sp += (uint64_t)offset;
#if defined(__x86_64__)
	if (!load(&to, to.sp, &to.pc))
		return false;
	to.sp += 8;
#else
	to.pc = strip_signature(w->extra);
#endif
	to.exact = false;
	*w = to;
	return true;
}

/* Nothing about this code but what it is: frame pointers, unless it is one of two known kinds. */
static enum step without_rule(struct walk *w)
{
	if (w->exact && leave_stub(w))
		return STEP_ON;
	if (!w->exact && is_sigreturn(w->pc))
		return by_signal_frame(w);
	return by_frame_pointer(w);
}

#if defined(__x86_64__)

static inline bool load_rbx(struct walk *w, uint64_t cfa, uint32_t rule)
{
	if (__builtin_expect(rule_rbx(rule) == RULE_RBX_LOST, 0)) {
		w->rbx = 0;
		return true;
	}
	return load(w, cfa - rule_rbx(rule) * 8, &w->rbx);
}

/* The CFA is known: the return address is below it, and so is what was saved. */
static inline enum step to_caller(struct walk *w, uint64_t cfa, uint32_t rule)
{
	uint64_t pc;

	if (!is_frame(w, cfa) || !load(w, cfa - 8, &pc))
		return STEP_BROKEN;
	if (rule_fp(rule) != 0 && !load(w, cfa - rule_fp(rule) * 8, &w->fp))
		return STEP_BROKEN;
	if (rule_rbx(rule) != 0 && !load_rbx(w, cfa, rule))
		return STEP_BROKEN;
	w->sp = cfa;
	w->pc = pc;
	w->exact = false;
	return STEP_ON;
}

/* From a function that realigned its stack. */
static enum step from_realigned(struct walk *w, uint64_t cfa, uint32_t rule)
{
	uint64_t fp;
	enum step s;

	if (rule_fp(rule) != RULE_AT_FP)
		return to_caller(w, cfa, rule);
	/* Above the frame it is the caller's already: gcc says nothing about "leave". */
	fp = w->fp;
	if (fp < cfa && !load(w, fp, &fp))
		return STEP_BROKEN;
	s = to_caller(w, cfa, rule_without_fp(rule));
	w->fp = fp;
	return s;
}

static enum step by_deref(struct walk *w, uint32_t rule)
{
	uint64_t cfa;

	if (!load(w, w->fp - rule_offset(rule), &cfa))
		return STEP_BROKEN;
	return from_realigned(w, cfa, rule);
}

static enum step by_register(struct walk *w, uint32_t rule)
{
	if (rule_rbx(rule) != 0)
		return to_caller(w, w->rbx + rule_offset(rule), rule);
	if (!w->exact)
		return STEP_BROKEN; /* r10 does not survive a call */
	return from_realigned(w, w->extra + rule_offset(rule), rule);
}

static enum step by_plt(struct walk *w, uint32_t rule)
{
	return to_caller(w, w->sp + (w->pc % 16 >= rule_offset(rule) / 8 ? 16 : 8), 0);
}

static enum step by_rare_rule(struct walk *w, uint32_t rule)
{
	switch (rule_kind(rule)) {
	case RULE_END:
		return STEP_END;
	case RULE_SIGNAL:
		return by_signal_frame(w);
	case RULE_PLT:
		return by_plt(w, rule);
	case RULE_DEREF:
		return by_deref(w, rule);
	case RULE_REGISTER:
		return by_register(w, rule);
	default:
		return without_rule(w);
	}
}

static inline enum step step(struct walk *w, uint32_t rule)
{
	unsigned kind = rule_kind(rule);
	uint64_t base = kind == RULE_FP ? w->fp : w->sp;

	if (__builtin_expect(kind != RULE_SP && kind != RULE_FP, 0))
		return by_rare_rule(w, rule);
	return to_caller(w, base + rule_offset(rule), rule);
}

/*
 * The loop that stacks are made of: return addresses whose rules are in the cache and of the two
 * common kinds.  Everything is in registers, and what the next frame waits for is as little as can
 * be: return address, rule, CFA.  Leaves 'w' at the first frame that needs more, and returns how
 * many it stored.
 */
static size_t common_frames(struct walk *w, uint64_t *pcs, size_t room)
{
	uint64_t pc = w->pc, sp = w->sp, fp = w->fp, rbx = w->rbx;
	const uint64_t low = w->low + 8ull * RULE_AT_FP, high = w->high;
	size_t n = 0;

	while (n < room) {
		uint64_t entry = atomic_load_explicit(cache_slot(pc), memory_order_relaxed);
		uint32_t rule = cache_rule(entry);
		uint64_t cfa = rule_offset(rule);

		if (rule_kind(rule) == RULE_SP)
			cfa += sp;
		else if (rule_kind(rule) == RULE_FP)
			cfa += fp;
		else
			break;
		if (!cache_hit(entry, pc) || cfa - sp - 1 >= FRAME_MAX || cfa < low || cfa > high ||
		    rule_rbx(rule) == RULE_RBX_LOST)
			break;
		pcs[n++] = pc;
		pc = word_at(cfa - 8);
		if (rule_fp(rule) != 0)
			fp = word_at(cfa - rule_fp(rule) * 8);
		if (rule_rbx(rule) != 0)
			rbx = word_at(cfa - rule_rbx(rule) * 8);
		sp = cfa;
	}
	w->pc = pc;
	w->sp = sp;
	w->fp = fp;
	w->rbx = rbx;
	return n;
}

#else

static size_t common_frames(struct walk *w, uint64_t *pcs, size_t room)
{
	(void)w;
	(void)pcs;
	(void)room;
	return 0;
}

/* Frame pointer and return address were saved together. */
static inline enum step to_caller(struct walk *w, uint64_t cfa, uint64_t saved)
{
	uint64_t pc;

	if (!is_frame(w, cfa) || !load(w, cfa - saved + 8, &pc) || !load(w, cfa - saved, &w->fp))
		return STEP_BROKEN;
	w->sp = cfa;
	w->pc = strip_signature(pc);
	w->exact = false;
	return STEP_ON;
}

static enum step by_leaf_rule(struct walk *w, uint32_t rule)
{
	uint64_t cfa = w->sp + rule_offset(rule), pc = w->extra;

	if (rule_kind(rule) == RULE_LR &&
	    (!is_frame(w, cfa) || !load(w, cfa - rule_saved(rule), &pc)))
		return STEP_BROKEN;
	if (rule_kind(rule) == RULE_LEAF && !w->exact)
		return STEP_BROKEN;
	w->sp = cfa;
	w->pc = strip_signature(pc);
	w->exact = false;
	return STEP_ON;
}

static inline enum step step(struct walk *w, uint32_t rule)
{
	switch (rule_kind(rule)) {
	case RULE_SP:
		return to_caller(w, w->sp + rule_offset(rule), rule_saved(rule));
	case RULE_FP:
		return to_caller(w, w->fp + rule_offset(rule), rule_saved(rule));
	case RULE_LEAF:
	case RULE_LR:
		return by_leaf_rule(w, rule);
	case RULE_SIGNAL:
		return by_signal_frame(w);
	case RULE_END:
		return STEP_END;
	default:
		return without_rule(w);
	}
}

#endif

/* The rule for where the walk is; false: outside of all modules, as far as we know any. */
static inline bool find_rule(const struct walk *w, uint32_t *rule)
{
	*rule = RULE_NONE;
	return sonde__rule_before(w->pc + w->exact, rule);
}

static void count(atomic_ullong *n)
{
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

/* Where there is no snapshot nothing can be said about return addresses. */
static bool know_modules(void)
{
	return sonde__modules() != NULL;
}

/*
 * Stores addresses from where 'w' is on, leaving out the first 'skip', and adds to '*n' how many.
 * The first of all is stored wherever it is: it was interrupted.  STEP_ON: there was no room for
 * more.
 */
static enum step walk_on(struct walk *w, uint64_t *pcs, size_t max, size_t skip, size_t *n)
{
	enum step s = STEP_ON;
	size_t frames = 0;
	uint32_t rule;

	for (; s == STEP_ON; s = step(w, rule), frames++) {
		if (frames >= skip && !w->exact)
			*n += common_frames(w, pcs + *n, max - *n);
		if (!find_rule(w, &rule) && frames > 0) {
			if (w->pc == 0)
				return STEP_END;
			if (know_modules())
				return STEP_BROKEN;
		}
		if (frames < skip)
			continue;
		if (*n == max)
			return STEP_ON;
		pcs[(*n)++] = w->pc;
	}
	return s;
}

static size_t count_rest(enum step s, size_t n)
{
	if (__builtin_expect(s != STEP_END, 0))
		count(s == STEP_ON ? &sonde__stats.truncated : &sonde__stats.unwind_broken);
	return n;
}

static size_t walk_down(struct walk *w, uint64_t *pcs, size_t max, size_t skip)
{
	size_t n = 0;
	enum step s = walk_on(w, pcs, max, skip, &n);

	return count_rest(s, n);
}

size_t sonde__unwind_signal(const ucontext_t *uc, uint64_t *pcs, size_t max)
{
	struct walk w = {
		.pc = context_register(uc, signal_frame.pc),
		.sp = context_register(uc, signal_frame.sp),
		.fp = context_register(uc, signal_frame.fp),
		.extra = context_register(uc, signal_frame.extra),
		.rbx = context_register(uc, signal_frame.rbx),
		.exact = true,
	};

	find_bounds(&w);
	return walk_down(&w, pcs, max, 0);
}

/*
 * Starts right here, in the middle of this function, where all registers belong together: the
 * first two frames are our own and our caller's.  Frame pointers are the fallback for them: that is
 * why this is compiled with.
 */
__attribute__((noinline)) size_t sonde__unwind(uint64_t *pcs, size_t max, size_t skip)
{
	struct walk w = { .exact = true };

#if defined(__x86_64__)
	__asm__ volatile("lea 0(%%rip), %0\n\t"
			 "mov %%rsp, %1\n\t"
			 "mov %%rbp, %2\n\t"
			 "mov %%rbx, %3"
			 : "=&r"(w.pc), "=&r"(w.sp), "=&r"(w.fp), "=&r"(w.rbx));
#else
	__asm__ volatile("adr %0, .\n\t"
			 "mov %1, sp\n\t"
			 "mov %2, x29"
			 : "=&r"(w.pc), "=&r"(w.sp), "=&r"(w.fp));
#endif
	find_bounds(&w);
	return walk_down(&w, pcs, max, skip + 2);
}

#if defined(__x86_64__)

/*
 * Our own functions have frame pointers, each hook ends by jumping into the first of them, and that
 * one's frame ends where the host's begins.
 */
size_t sonde__unwind_caller(const void *caller, uint64_t *pcs, size_t max)
{
	const struct sonde__thread *self = sonde__tls.self;
	uint64_t fp = (uintptr_t)__builtin_frame_address(0), last = 0;
	size_t n = 0;
	enum step s;

	if (self == NULL || fp < self->stack_low)
		return 0;
	for (int i = 0;
	     i < SONDE__OWN_FRAMES && fp > last && fp % 8 == 0 && fp + 16 < self->stack_high; i++) {
		if (word_at(fp + 8) == (uintptr_t)caller) {
			struct walk w = { .pc = (uintptr_t)caller,
					  .sp = fp + 16,
					  .fp = word_at(fp) };

			find_bounds(&w);
			s = walk_on(&w, pcs, max, 0, &n);
			return s == STEP_BROKEN ? 0 : count_rest(s, n);
		}
		last = fp;
		fp = word_at(fp);
	}
	return 0;
}

#else

size_t sonde__unwind_caller(const void *caller, uint64_t *pcs, size_t max)
{
	(void)caller;
	(void)pcs;
	(void)max;
	return 0; /* where the host's frame begins is not where ours ends */
}

#endif

/*
 * Of a thread that sleeps in a system call only two registers are known.  Most functions need no
 * more; those that find their frame by the frame pointer wait for a caller of theirs to have saved
 * it, or for their own first instructions to tell how far it is from the stack pointer.
 */
enum { NOT_KNOWN = 1 };

static bool find_frame_pointer(struct walk *w, uint32_t rule, const struct sonde__still *s)
{
	uint64_t distance, saved, pc;

	if (w->fp != NOT_KNOWN || rule_kind(rule) != RULE_FP)
		return false;
	distance = sonde__frame_distance(w->pc, s->read, s->context);
	if (distance == UINT64_MAX || !load(w, w->sp + distance, &saved) ||
	    !load(w, w->sp + distance + 8, &pc) || !sonde__calls(pc, w->pc, s->read, s->context))
		return false;
	w->fp = w->sp + distance;
	return true;
}

size_t sonde__unwind_still(const struct sonde__still *s, uint64_t *pcs, size_t max, bool *whole)
{
	struct walk w = {
		.pc = s->pc,
		.sp = s->sp,
		.fp = NOT_KNOWN,
		.extra = NOT_KNOWN,
		.low = s->sp,
		.high = s->sp + s->n,
		.moved = (uintptr_t)s->copy - s->sp,
	};
	enum step last = STEP_ON;
	size_t n = 0;
	uint32_t rule;

	while (last == STEP_ON && n < max) {
		if (!find_rule(&w, &rule) && n > 0) {
			last = w.pc == 0 ? STEP_END : STEP_BROKEN;
			break;
		}
		pcs[n++] = w.pc;
		last = rule_kind(rule) == RULE_FP && w.fp == NOT_KNOWN &&
				       !find_frame_pointer(&w, rule, s)
			       ? STEP_BROKEN
			       : step(&w, rule);
	}
	*whole = last != STEP_BROKEN;
	return n;
}
