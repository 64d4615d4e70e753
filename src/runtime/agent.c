/*
 * agent.c - our one thread: when it starts, what it does, how it ends
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/agent.h"

#include "runtime/aside.h"
#include "runtime/autodump.h"
#include "runtime/bypass.h"
#include "runtime/contention.h"
#include "runtime/cpu.h"
#include "runtime/family.h"
#include "runtime/fd.h"
#include "runtime/fork.h"
#include "runtime/guard.h"
#include "runtime/heap.h"
#include "runtime/job.h"
#include "runtime/memlog.h"
#include "runtime/os.h"
#include "runtime/profiles.h"
#include "runtime/rule-cache.h"
#include "runtime/runtime.h"
#include "runtime/server.h"
#include "runtime/thread.h"
#include "runtime/trace.h"
#include "runtime/unwind.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static const uint64_t ms = 1000000;
enum {
	STACK = 256 << 10,
	GONE_MS = 200,  /* between two questions whether a caller is still there */
	DRAIN_MS = 700, /* for clients to take their answers when we end */
	STOP_MS = 950,  /* for the agent to end */
	LOOK_FIRST_MS = 10,
	LOOK_LAST_MS = 30000,
	CMDLINE_MAX = 64 << 10,
};

/* A request of the host's server: lives on the stack of the thread that waits for it. */
struct mounted {
	struct mounted *next;
	struct sonde__job job;
	atomic_uint done; /* futex */
	atomic_bool gone;
	bool started;
};

enum { OFF, STARTING, ON, STOPPING };

static struct {
	struct sonde__lock lock; /* guards 'state' and 'arrived' */
	int state;
	pid_t pid;
	pthread_t thread;
	atomic_uint ended;        /* futex: 1 when the agent is about to return */
	struct sonde__fd wake[2]; /* a byte written to the second wakes the agent */
	atomic_bool stop, look;
	struct sonde__config config;
	struct mounted *arrived; /* by the callers, newest first */
	struct mounted *taken;   /* of the agent */
	uint64_t off_at, next_poll, cpu_before;
	uint64_t next_look, pause;
	atomic_bool orphan; /* a child of a process that has an agent */
	bool alone;         /* when it forked, the program had one thread only, beside ours */
	bool forked; /* a child, which may have inherited the loader's lock, locked for ever */
	long parent; /* the process it came from */
	char *cmdline;
	size_t ncmdline, mapped_cmdline;
} agent;

const struct sonde__config *sonde__agent_config(void)
{
	return &agent.config;
}

unsigned sonde__agent_set_cpu_hz(unsigned hz)
{
	unsigned before = agent.config.cpu_hz;

	if (hz >= 1 && hz <= SONDE__CPU_HZ_MAX)
		agent.config.cpu_hz = hz;
	return before ? before : SONDE__CPU_HZ;
}

/* Frees that go past us would leave what they free alive for ever: rather nothing is sampled. */
uint64_t sonde__agent_set_heap_rate(uint64_t rate)
{
	if (rate && !sonde__bypass_malloc_end()) {
		sonde__say_off(SONDE__HEAP, "some of the program's calls of malloc() and free() "
					    "cannot be led to the hooks any more");
		rate = 0;
	}
	return sonde__heap_set_rate(rate);
}

const char *sonde__cmdline(size_t *n)
{
	*n = agent.ncmdline;
	return agent.cmdline;
}

static void wake(void)
{
	if (sonde__fd_is_ours(&agent.wake[1]))
		sonde__sys_send(agent.wake[1].fd, "", 1);
}

void sonde__agent_wake(void)
{
	atomic_store(&agent.look, true);
	if (!sonde__modules()) /* there is no agent yet that will */
		sonde__rules_forget();
	if (!atomic_load(&sonde__sandboxed))
		wake();
}

bool sonde__agent_may_ask_loader(void)
{
	return !agent.forked;
}

bool sonde__agent_is_on(void)
{
	return agent.state == ON && agent.pid == sonde__sys_getpid();
}

/* Requests of the host's server. */

static void take_arrived(void)
{
	struct mounted *m, *next;

	sonde__lock(&agent.lock);
	m = agent.arrived;
	agent.arrived = NULL;
	sonde__unlock(&agent.lock);
	for (; m; m = next) {
		next = m->next;
		m->next = agent.taken;
		agent.taken = m;
	}
}

/* One step of one request; true when it is complete. */
static bool work_on(struct mounted *m, uint64_t now, bool hurry)
{
	if (!m->started) {
		m->started = true;
		sonde__job_start(&m->job);
	} else if (atomic_load(&m->gone)) {
		sonde__job_cancel(&m->job);
	} else if (m->job.until && (hurry || now >= m->job.until)) {
		sonde__job_finish(&m->job);
	}
	if (m->job.until && hurry)
		sonde__job_finish(&m->job);
	return m->job.until == 0;
}

static void work_on_mounted(bool hurry)
{
	uint64_t now = sonde__now();

	take_arrived();
	for (struct mounted **at = &agent.taken; *at;) {
		struct mounted *m = *at;

		if (!work_on(m, now, hurry)) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		sonde__job_log(&m->job);
		/* From here on it is the caller's again. */
		sonde__futex_set(&m->done, 1);
	}
}

static void hand_over(struct mounted *m)
{
	while (!atomic_load(&m->done)) {
		sonde__futex_wait(&m->done, 0, GONE_MS * ms);
		if (m->job.rq.gone && !atomic_load(&m->gone) && m->job.rq.gone(m->job.rq.ctx)) {
			atomic_store(&m->gone, true);
			wake();
		}
	}
}

int sonde__handle(const struct sonde__request *rq, struct sonde__response *rs)
{
	struct mounted m = { .job.rq = *rq };
	bool on;

	sonde__lock(&agent.lock);
	on = sonde__agent_is_on();
	if (on) {
		m.next = agent.arrived;
		agent.arrived = &m;
	}
	sonde__unlock(&agent.lock);
	if (!on)
		return -ENOTCONN;
	wake();
	hand_over(&m);
	*rs = m.job.rs;
	return 0;
}

/* The loop. */

static uint64_t deadline(void)
{
	uint64_t until = agent.off_at ? agent.off_at : UINT64_MAX;

	for (const struct mounted *m = agent.taken; m; m = m->next)
		if (m->job.until && m->job.until < until)
			until = m->job.until;
	if (sonde__job_needs_polling() && agent.next_poll < until)
		until = agent.next_poll;
	if (agent.next_look < until)
		until = agent.next_look;
	if (sonde__memlog_next() < until)
		until = sonde__memlog_next();
	if (sonde__autodump_next() < until)
		until = sonde__autodump_next();
	if (sonde__trace_next() < until)
		until = sonde__trace_next();
	return until;
}

static uint64_t left_until(uint64_t until)
{
	uint64_t now = sonde__now();

	if (until == UINT64_MAX)
		return until;
	return until > now ? until - now : 0;
}

static bool open_wake(void)
{
	int pair[2];
	bool fine;

	if (sonde__syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			   (long)pair, 0, 0) < 0)
		return false;
	fine = sonde__fd_take(&agent.wake[0], pair[0]);
	return sonde__fd_take(&agent.wake[1], pair[1]) && fine;
}

static void close_wake(void)
{
	sonde__fd_close(&agent.wake[0]);
	sonde__fd_close(&agent.wake[1]);
}

/* What is there to be read; or a new pair, if the program has closed ours. */
static void empty_wake(void)
{
	char some[64];

	if (!sonde__fd_is_ours(&agent.wake[0]) || !sonde__fd_is_ours(&agent.wake[1])) {
		close_wake();
		open_wake();
		return;
	}
	while (sonde__sys_recv(agent.wake[0].fd, some, sizeof(some), 0) == (long)sizeof(some))
		;
}

static void poll_cpu(void)
{
	uint64_t now = sonde__now();

	if (!sonde__job_needs_polling() || now < agent.next_poll)
		return;
	agent.next_poll = now + sonde__cpu_poll();
}

static void account(void)
{
	uint64_t cpu = sonde__thread_cpu();

	atomic_fetch_add_explicit(&sonde__stats.own_ns, cpu - agent.cpu_before,
				  memory_order_relaxed);
	agent.cpu_before = cpu;
}

/*
 * We hear of a library a moment before it is there, and of files that the program closes not at
 * all: so look again, soon at first, then less and less often.  The child of a fork() has what its
 * parent had, and asks the loader when it has used it itself.
 */
static void look_around(void)
{
	uint64_t now = sonde__now();

	if (atomic_exchange(&agent.look, false)) {
		/* What was seen so far was seen in what was loaded so far. */
		agent.next_poll = 0;
		poll_cpu();
		agent.pause = LOOK_FIRST_MS * ms;
		agent.forked = false;
	} else if (now < agent.next_look) {
		return;
	}
	if (!agent.forked) {
		sonde__modules_refresh();
		sonde__bypass_idle();
	}
	agent.next_look = now + agent.pause;
	agent.pause = agent.pause * 4 < LOOK_LAST_MS * ms ? agent.pause * 4 : LOOK_LAST_MS * ms;
}

static void wait_and_work(void)
{
	struct pollfd fds[SONDE__POLL_FDS];
	uint64_t until = deadline();
	size_t n = 1;

	fds[0] = (struct pollfd){ .fd = agent.wake[0].fd, .events = POLLIN };
	n += sonde__server_wait(fds + 1, &until);
	account();
	if (sonde__sys_poll(fds, n, left_until(until)) < 0)
		n = 0;
	empty_wake();
	look_around();
	sonde__server_work(fds, n);
	work_on_mounted(false);
	poll_cpu();
	sonde__trace_poll();
	sonde__memlog_work(sonde__now());
	sonde__autodump_work(sonde__now());
}

static bool time_is_up(void)
{
	if (!agent.off_at || sonde__now() < agent.off_at)
		return false;
	sonde__log("switched off after %llu seconds, as asked",
		   (unsigned long long)agent.config.off_after_s);
	return true;
}

/* Refuses new requests, answers what is there. */
static void wind_up(void)
{
	sonde__lock(&agent.lock);
	agent.state = STOPPING;
	sonde__unlock(&agent.lock);
	sonde__heap_set_rate(0);
	work_on_mounted(true);
	sonde__contention_set_rate(SONDE__MUTEX, 0);
	sonde__contention_set_rate(SONDE__BLOCK, 0);
	sonde__server_close(sonde__now() + DRAIN_MS * ms);
	sonde__autodump_end();
	sonde__aside_stop();
}

static void *run_agent(void *unused)
{
	(void)unused;
	sonde__tls.inside = 1;
	sonde__thread_is_agent();
	agent.cpu_before = sonde__thread_cpu();
	sonde__aside_await();
	sonde__threads_scan();
	if (agent.config.complaint[0])
		sonde__log("%s", agent.config.complaint);
	sonde__announce_presets(&agent.config);
	sonde__server_begin();
	while (!atomic_load(&agent.stop) && !time_is_up())
		wait_and_work();
	wind_up();
	account();
	sonde__futex_set(&agent.ended, 1);
	return NULL;
}

static int create_thread(size_t stack)
{
	pthread_attr_t attr;
	int rc;

	if (pthread_attr_init(&attr) != 0)
		return ENOMEM;
	if (stack)
		pthread_attr_setstacksize(&attr, stack);
	rc = pthread_create(&agent.thread, &attr, run_agent, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}

/* No signal of the host is ever handled on our thread. */
static int start_thread(void)
{
	sigset_t all, before;
	char name[16] = "";
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	sonde__tls.inside++;
	if (agent.config.memlog_ns || agent.config.dump[0])
		sonde__aside_start();
	/* A thread has the name of its maker: a process we start at once must find it so. */
	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, SONDE__AGENT_NAME);
	rc = create_thread(STACK);
	if (rc == EINVAL) /* a program with very much thread-local data */
		rc = create_thread(0);
	prctl(PR_SET_NAME, name);
	sonde__tls.inside--;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -rc;
}

static bool has_one_thread(void)
{
	unsigned n = atomic_load(&sonde__sandboxed) ? 0 : sonde__thread_count();

	return n > 0 && n <= 1 + (agent.state == ON);
}

static void fork_prepare(void)
{
	sonde__lock(&agent.lock);
	agent.alone = has_one_thread();
	/* The child may lose its parent before it can ask who that is. */
	agent.parent = sonde__sys_getpid();
}

static void fork_parent(void)
{
	sonde__unlock(&agent.lock);
}

static int start(const struct sonde__config *c, bool ask_loader);

/*
 * A program that goes into the background is the child of one that ends at once.  There is no hook
 * for that; but a program that allocates comes by here, and may then have lost its parent.
 */
static void take_over(void)
{
	struct sonde__config c = agent.config;

	if (sonde__syscall(SYS_getppid, 0, 0, 0, 0, 0, 0) == agent.parent ||
	    !atomic_exchange(&agent.orphan, false))
		return;
	atomic_store(&sonde__heap_watcher, NULL);
	start(&c, false);
}

/* There is no agent in the child, and what it had open is not the child's to keep. */
static void fork_child(void)
{
	sonde__server_forget();
	sonde__aside_forget();
	sonde__autodump_forget();
	sonde__memstats_forget();
	sonde__profiles_forget();
	close_wake();
	agent.arrived = NULL;
	agent.taken = NULL;
	if (agent.state == ON &&
	    (agent.config.addr[0] || agent.config.memlog_ns || agent.config.dump[0]))
		atomic_store(&agent.orphan, true);
	if (atomic_load(&agent.orphan))
		atomic_store(&sonde__heap_watcher, take_over);
	agent.state = OFF;
	agent.forked = !agent.alone;
	atomic_store(&agent.look, false);
	sonde__unlock(&agent.lock);
}

static const struct sonde__fork_part fork_part = { fork_prepare, fork_parent, fork_child };

/* The arguments as they are now: programs write over them later. */
static void keep_cmdline(void)
{
	if (agent.cmdline)
		return;
	agent.cmdline = sonde__slurp("/proc/self/cmdline", CMDLINE_MAX, &agent.ncmdline,
				     &agent.mapped_cmdline);
	if (agent.cmdline && agent.ncmdline && agent.cmdline[agent.ncmdline - 1] == '\0')
		agent.ncmdline--;
	if (!agent.cmdline)
		agent.cmdline = (char *)(uintptr_t) "";
}

/*
 * A process above this one serves: this one is left alone, until it is on its own and the next
 * sampled allocation takes over.  It may be any command of a script, so it makes no tables for the
 * few stacks it will see.
 */
static void stand_by(void)
{
	sonde__threads_start();
	agent.parent = sonde__syscall(SYS_getppid, 0, 0, 0, 0, 0, 0);
	atomic_store(&agent.orphan, true);
	atomic_store(&sonde__heap_watcher, take_over);
}

/* Whether the address, if any, is ours to ask for. */
static int get_address(const struct sonde__config *c)
{
	if (sonde__server_init(c) != -EADDRINUSE || !c->inherited || !sonde__family_serves(c->addr))
		return 0;
	sonde__server_close(0);
	return -EADDRINUSE;
}

static void prepare(const struct sonde__config *c)
{
	atomic_store(&agent.orphan, false);
	agent.pid = sonde__sys_getpid();
	agent.taken = NULL;
	agent.off_at = c->off_after_s ? sonde__now() + c->off_after_s * 1000 * ms : 0;
	agent.next_poll = 0;
	agent.next_look = 0;
	agent.pause = LOOK_FIRST_MS * ms;
	atomic_store(&agent.ended, 0);
	atomic_store(&agent.stop, false);
	sonde__log_open(c);
	sonde__memlog_set(c->memlog_ns);
	keep_cmdline();
	sonde__autodump_set(c);
	sonde__threads_start();
}

/* Gets the place of the agent: nobody else starts it at the same time. */
static bool claim(void)
{
	bool free;

	sonde__lock(&agent.lock);
	/* The one that switched itself off has only to be forgotten. */
	if (agent.state == STOPPING && atomic_load(&agent.ended))
		agent.state = OFF;
	free = agent.state == OFF;
	if (free)
		agent.state = STARTING;
	sonde__unlock(&agent.lock);
	return free;
}

static void settle(int state)
{
	sonde__lock(&agent.lock);
	agent.state = state;
	sonde__unlock(&agent.lock);
}

/* Whether this is a process to be a guest in. */
static bool is_welcome(const struct sonde__config *c)
{
	const char *why = sonde__guard_process();

	if (!why)
		return true;
	sonde__say_off(SONDE__ALL, why);
	sonde__log_open(c);
	sonde__log("off: %s", why);
	return false;
}

static void measure_waits(const struct sonde__config *c)
{
	if (c->mutex_fraction)
		sonde__contention_set_rate(SONDE__MUTEX, c->mutex_fraction);
	if (c->block_rate)
		sonde__contention_set_rate(SONDE__BLOCK, c->block_rate);
}

/*
 * 'ask_loader': before anything is sampled.  A hook must not wait for the loader's lock, and leaves
 * that to the agent.
 */
static int start(const struct sonde__config *c, bool ask_loader)
{
	int rc;

	if (!is_welcome(c))
		return -EPERM;
	if (!claim())
		return -EALREADY;
	agent.config = *c;
	sonde__fork_join(SONDE__FORK_AGENT, &fork_part);
	rc = get_address(c);
	if (rc == 0 && !sonde__fd_is_ours(&agent.wake[1]) && !open_wake())
		rc = -EMFILE;
	if (rc == 0) {
		prepare(c);
		if (ask_loader && !agent.forked)
			sonde__modules_refresh();
		sonde__agent_set_heap_rate(c->heap_rate);
		measure_waits(c);
		settle(ON);
		rc = start_thread();
	}
	if (rc < 0 && rc != -EADDRINUSE) {
		sonde__server_close(0);
		sonde__heap_set_rate(0);
	}
	if (rc == -EADDRINUSE) {
		stand_by();
		sonde__agent_set_heap_rate(c->heap_rate);
	}
	if (rc < 0)
		settle(OFF);
	return rc;
}

int sonde__agent_start(const struct sonde__config *c)
{
	return start(c, true);
}

void sonde__agent_stop(void)
{
	uint64_t until = sonde__now() + STOP_MS * ms;

	/* It will find out by itself, or end with the program. */
	if (atomic_load(&sonde__sandboxed)) {
		atomic_store(&agent.stop, true);
		return;
	}
	if (agent.pid != sonde__sys_getpid() || agent.state == OFF || agent.state == STARTING)
		return;
	atomic_store(&agent.stop, true);
	wake();
	while (!atomic_load(&agent.ended) && sonde__now() < until)
		sonde__futex_wait(&agent.ended, 0, 50 * ms);
	if (!atomic_load(&agent.ended))
		return;
	pthread_join(agent.thread, NULL);
	settle(OFF);
}
