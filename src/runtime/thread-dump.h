/*
 * thread-dump.h - what every thread is doing right now
 *
 * A thread that sleeps in a system call is not disturbed: its stack is read from outside, and the
 * kernel asked afterwards whether it has slept all the time.  Others get one signal, and answer by
 * themselves; those that do not answer in time are listed as such.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_THREAD_DUMP_H
#define RUNTIME_THREAD_DUMP_H

#include "runtime/task.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct sonde__thread;

/* Frames that are no code: addresses that nothing can be at.  sonde__pseudo_name() */
enum sonde__pseudo {
	SONDE__NOT_ANSWERING = 1, /* a thread that is listed without its stack */
	SONDE__BEFORE_US,         /* nobody saw it being started */
	SONDE__PSEUDO_END
};
/* The name of such a frame, NULL for any other address. */
const char *sonde__pseudo_name(uint64_t pc);

/* How the stack of a thread was learned. */
enum sonde__answer {
	SONDE__ANSWER_NONE,    /* not in time */
	SONDE__ANSWER_BLOCKED, /* it blocks the signal it would have been asked by */
	SONDE__ANSWER_REFUSED, /* there is no signal to ask it by */
	SONDE__ANSWER_CUT,     /* from outside, but the root could not be found */
	SONDE__ANSWER_OUTSIDE,
	SONDE__ANSWER_SIGNAL,
};

struct sonde__dump_thread {
	struct sonde__task task;
	struct sonde__thread *record; /* NULL: there is none */
	enum sonde__answer answer;
	uint32_t stack;
	uint32_t creator; /* the stack that started it; 0: not known */
	uint32_t labels;  /* labels.h */
	size_t blocker;   /* 1 + number in the dump of who holds what it waits for in a cycle */
};

struct sonde__dump {
	size_t n, mapped;
	const char *refused; /* why no thread could be asked, in words; NULL: they could */
	struct sonde__fd mem;
	struct sonde__dump_thread at[];
};

/* All threads but our own; the agent calls this.  NULL: no memory. */
struct sonde__dump *sonde__dump_take(void);
void sonde__dump_free(struct sonde__dump *d);

/* What it does, in a word or two that readers of Go's dumps know. */
const char *sonde__dump_state(const struct sonde__dump_thread *t);
/* The same, as far as the kernel knows. */
const char *sonde__task_state(const struct sonde__task *t);
/* What a thread does in a function of that name, if it is one that waits; or NULL. */
const char *sonde__wait_state(const char *function);
/* Why its stack is not there, or not all of it; NULL: it is. */
const char *sonde__dump_note(const struct sonde__dump_thread *t);

/* deadlock.c: finds threads that wait for each other, and sets 'blocker' of each; how many. */
size_t sonde__dump_find_deadlocks(struct sonde__dump *d);
/* The mutex a thread waits for without end; 0: it does not. */
uint64_t sonde__dump_mutex(const struct sonde__dump_thread *t);

/*
 * thread-ask.c: asks threads by signal, all at once, and waits; threads whose 'answer' is
 * SONDE__ANSWER_NONE are asked.
 */
void sonde__dump_ask(struct sonde__dump *d);

/*
 * cpu.c, in the handler: the thread that this signal asks, after it has answered; NULL: it is not
 * about that.
 */
struct sonde__thread *sonde__dump_answer(const siginfo_t *info, const ucontext_t *uc);

/* cpu.c: the host wants the signal, none is sent any more; whether any may be under way. */
bool sonde__dump_give_way(void);
/*
 * hooks-exec.c: a signal that waits for this thread would be the end of the program it is about to
 * become: none is sent any more, and none is under way.  sonde__dump_exec_failed() if that returned
 * true, and the thread goes on.
 */
bool sonde__dump_exec_begin(void);
void sonde__dump_exec_failed(void);
/* thread.c: in a child of fork(). */
void sonde__dump_forget(void);

#endif /* RUNTIME_THREAD_DUMP_H */
