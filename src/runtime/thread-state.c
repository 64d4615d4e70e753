/*
 * thread-state.c - what a thread does, in a word or two
 *
 * The words are those of Go's dumps where there is one that fits: people know them, and so do the
 * programs that read such dumps.  None has a comma or a bracket in it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/output.h"
#include "runtime/stacks.h"
#include "runtime/thread-dump.h"

#include <string.h>
#include <sys/syscall.h>

enum { TOP = 6 }; /* frames that tell what a thread waits for */

/* Functions of the C library that wait, by how their names begin, underscores left out. */
static const struct {
	const char *begin, *state;
} waits[] = {
	{ "pthread_mutex_", "semacquire" },
	{ "mtx_", "semacquire" },
	{ "lll_lock_wait", "semacquire" },
	{ "pthread_rwlock_", "semacquire" },
	{ "sem_", "semacquire" },
	{ "new_sem_", "semacquire" },
	{ "pthread_cond_", "sync.Cond.Wait" },
	{ "cnd_", "sync.Cond.Wait" },
	{ "pthread_barrier_", "barrier wait" },
	{ "pthread_once", "once wait" },
	{ "call_once", "once wait" },
	{ "pthread_join", "thread join" },
	{ "pthread_clockjoin", "thread join" },
	{ "pthread_timedjoin", "thread join" },
	{ "pthread_tryjoin", "thread join" },
	{ "thrd_join", "thread join" },
};

const char *sonde__wait_state(const char *name)
{
	name += strspn(name, "_");
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (strncmp(name, waits[i].begin, strlen(waits[i].begin)) == 0)
			return waits[i].state;
	return NULL;
}

/* A futex is behind everything that threads wait for; the functions above tell what it is. */
static const char *futex_state(const struct sonde__dump_thread *t)
{
	const struct sonde__stack *s = t->stack ? sonde__stack(t->stack) : NULL;

	for (size_t i = 0; s && i < s->n && i < TOP; i++) {
		const char *name = sonde__name(s->pcs[i] - 1, NULL);
		const char *state = name ? sonde__wait_state(name) : NULL;

		if (state)
			return state;
	}
	return "futex wait";
}

static const char *call_state(long call)
{
	switch (call) {
	case SYS_futex:
		return "futex wait";
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
		return "sleep";
#ifdef SYS_poll
	case SYS_poll:
	case SYS_select:
	case SYS_epoll_wait:
#endif
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_io_getevents:
		return "IO wait";
#ifdef SYS_pause
	case SYS_pause:
#endif
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
		return "signal wait";
	default:
		return "syscall";
	}
}

const char *sonde__task_state(const struct sonde__task *t)
{
	if (t->blocked)
		return call_state(t->call);
	switch (t->state) {
	case 'R':
		return "runnable";
	case 'D':
		return "disk wait";
	case 'T':
	case 't':
		return "stopped";
	default:
		return "waiting";
	}
}

const char *sonde__dump_state(const struct sonde__dump_thread *t)
{
	if (t->task.blocked && t->task.call == SYS_futex)
		return futex_state(t);
	if (t->task.state == 'R' && t->answer == SONDE__ANSWER_SIGNAL)
		return "running";
	return sonde__task_state(&t->task);
}

const char *sonde__dump_note(const struct sonde__dump_thread *t)
{
	switch (t->answer) {
	case SONDE__ANSWER_NONE:
		return "did not answer in time";
	case SONDE__ANSWER_BLOCKED:
		return "runs with SIGPROF blocked and cannot be asked";
	case SONDE__ANSWER_REFUSED:
		return "there is no signal to ask it by";
	case SONDE__ANSWER_CUT:
		return "sleeps and was not disturbed; its root is not known";
	default:
		return NULL;
	}
}
