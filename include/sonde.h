/*
 * sonde.h - heap and CPU profiles of this process, over HTTP
 *
 * A program that is started with libsonde.so preloaded, or linked with -lsonde, needs none of this:
 * the environment switches the runtime on (SONDE_ADDR=localhost:8070; see sonde-run(1)).  This is
 * for programs that want to decide themselves, or have an HTTP server of their own.
 *
 * Two functions are enough:
 *
 *	sonde_start(&(struct sonde_options){ SONDE_OPTIONS, .addr = "localhost:8070" });
 *	...
 *	sonde_stop();
 *
 * From then on http://localhost:8070/debug/pprof/ answers as a Go program's does: heap, allocs,
 * profile, cmdline, symbol and the others, for "go tool pprof", "sonde" and everything else that
 * reads them.  To have the same under the program's own server and port, start without an address
 * and pass requests on:
 *
 *	sonde_start(&(struct sonde_options){ SONDE_OPTIONS });
 *	...
 *	if (strncmp(path, "/debug/pprof", 12) == 0)
 *		sonde_handle(&(struct sonde_request){ SONDE_REQUEST, .method = method, .path = path,
 *						      .query = query }, answer, connection);
 *
 * The runtime is a guest: it never exits, aborts or prints (but to its log), leaves errno alone,
 * does not use the program's allocator for itself, and has one thread, called "sonde", which blocks
 * all signals and exists only while the runtime is on.  Every function here may be called from any
 * thread, not from a signal handler.  Those that return int return 0, or a negative errno.
 *
 * All names start with sonde_ or SONDE_.  Later versions only add: to the end of the structures
 * (their first member tells the library which one the program was compiled with), and functions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SONDE_H
#define SONDE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SONDE_API __attribute__((visibility("default")))
#else
#define SONDE_API
#endif

/* What this header describes; sonde_version() tells what the library is, as "0.1.0". */
#define SONDE_HEADER_VERSION 1
SONDE_API const char *sonde_version(void);

/* What to switch on.  Members that are 0 or NULL mean the default. */
struct sonde_options {
	/* Set by SONDE_OPTIONS. */
	size_t size;

	/*
	 * Where to listen: "host:port" with an IPv4 or IPv6 ([::1]:8070) address, "localhost" or a
	 * name of /etc/hosts; ":port" for all addresses of the machine, which the log warns of;
	 * "unix:/path" or "unix:@name".  Port 0 lets the system choose, and the log tells.  NULL or
	 * "": no listener, only sonde_handle().  A busy address is tried again every few seconds
	 * for as long as it takes; the program is never stopped for it.
	 */
	const char *addr;

	/*
	 * Requests need "Authorization: Bearer TOKEN"; others are answered with 401.
	 * sonde_handle() does not ask: who may come in is the program's business there.
	 */
	const char *token;

	/* "stderr" (default), "syslog", a file, or "none". */
	const char *log;

	/*
	 * One allocation is sampled per so many bytes on average; default 524288.  1: all of them.
	 * SONDE_OFF: none.
	 */
	uint64_t heap_rate;

	/* Ticks per second of CPU time while a CPU profile runs, up to 1000; default 100. */
	unsigned cpu_hz;

	/* 1: no page at /debug/pprof/ (404), only the profiles. */
	unsigned no_index;

	/* Seconds after which the runtime switches itself off; 0: never. */
	uint64_t off_after_s;

	/*
	 * "enable-profiler", "pprof-addr", "profiling-config", "build-profiled" or "contention":
	 * the defaults of one of the systems in docs/RUNTIME.md; what is given beside it wins.
	 */
	const char *preset;

	/* 1: live samples of the heap carry their age; for one profile, ?age=1 does it. */
	unsigned label_age;

	/* Nanoseconds between two lines about memory in the log, at least 10 ms; 0: none. */
	uint64_t memlog_ns;

	/*
	 * One in so many waits for a mutex or rwlock is sampled, for the profile "mutex"; 1: all of
	 * them; 0: none, as in Go, unless the preset says so; SONDE_OFF: none.
	 */
	uint64_t mutex_fraction;

	/* The same for "block": one wait per so many nanoseconds of waiting. */
	uint64_t block_rate;

	/*
	 * Takes lines of the log in place of 'log', to have them among the program's own: text
	 * without a time and without its end, valid until it returns.  Called in our thread mostly,
	 * with all signals blocked, one line at a time; it must not call sonde_stop().
	 */
	void (*log_call)(void *context, const char *line);
	void *log_context;

	/*
	 * Where heap dumps are stored when memory grows (docs/RUNTIME.md): "dir:/path", "kube:" or
	 * "kube:namespace"; NULL or "": nowhere, but NULL means "kube:" for the preset
	 * "enable-profiler" in a pod.  "sonded store" does it, in a process of its own.
	 */
	const char *dump;

	/* What dumps are called: PREFIX-heap; NULL: by the name of the program. */
	const char *dump_prefix;

	/* Bytes of HeapInuse above which there is a first dump; default 330000000. */
	uint64_t dump_above;

	/* Percent above the last dump that make another one; default 10. */
	uint64_t dump_growth;
};
#define SONDE_OPTIONS .size = sizeof(struct sonde_options)
#define SONDE_OFF     UINT64_MAX

/*
 * Switches the runtime on.  NULL: as the environment says (SONDE_ADDR and the others); that is also
 * what happens without any call when SONDE_ADDR is set.  -EALREADY if it is on; -EPERM in setuid
 * programs; -EINVAL if the address makes no sense; -EAGAIN or -ENOMEM if there is no thread to be
 * had.  An address that is busy is not an error, and is tried again; but -EADDRINUSE if the
 * environment was inherited from a process that serves there: this one takes over when it has lost
 * its parent.
 *
 * Only what is allocated from then on is in the heap profile.
 */
SONDE_API int sonde_start(const struct sonde_options *options);

/*
 * Switches it off: a CPU profile that is running is ended and delivered, the listener closed, the
 * thread ended.  Takes less than a second.  Memory tables stay, for a next start.  Happens by
 * itself at exit().
 */
SONDE_API void sonde_stop(void);

/* 1 while the runtime is on, otherwise 0. */
SONDE_API int sonde_is_on(void);

/*
 * Rates, while it runs; return the former one.  What was sampled before keeps the weight it had, so
 * profiles stay right.  Heap, mutex and block: 0 switches sampling off, as it is at first for the
 * latter two.  CPU: for profiles that start later.
 */
SONDE_API uint64_t sonde_set_heap_rate(uint64_t bytes);
SONDE_API uint64_t sonde_set_mutex_fraction(uint64_t n);
SONDE_API uint64_t sonde_set_block_rate(uint64_t ns);
SONDE_API unsigned sonde_set_cpu_hz(unsigned hz);

/*
 * A line about the program's memory goes to the log at once, and then every 'ns' nanoseconds (at
 * least 10 ms); 0: no more.  Returns the former period.
 */
SONDE_API uint64_t sonde_set_memlog(uint64_t ns);

/* A request that came to the program's own server. */
struct sonde_request {
	/* Set by SONDE_REQUEST. */
	size_t size;

	/* "GET", "HEAD", "POST" */
	const char *method;

	/*
	 * Decoded, from "/debug/pprof" on; a program that has the profiles under another prefix
	 * takes it off.  "/metrics" gives numbers about the runtime itself for Prometheus.
	 */
	const char *path;

	/* What follows the '?', as it came; NULL or "": nothing. */
	const char *query;

	/* The body and its type; NULL: there is none. */
	const char *content_type;
	const void *body;
	size_t nbody;

	/*
	 * Asked a few times a second while a profile is being taken; anything but 0 tells that
	 * nobody is waiting for the answer any more, and ends the profile.  May be NULL.
	 */
	int (*gone)(void *context);
};
#define SONDE_REQUEST .size = sizeof(struct sonde_request)

struct sonde_header {
	const char *name;
	const char *value;
};

/*
 * The answer: called once, in the thread that called sonde_handle(), with a body that lives until
 * it returns; the headers end with a name that is NULL, and have no length and no date.  The answer
 * to HEAD comes with the body that GET would have: do not send it.
 */
typedef void sonde_answer(void *context, int status, const struct sonde_header *headers,
			  const void *body, size_t nbody);

/*
 * Answers a request.  Returns when the answer is complete: for a CPU profile of 30 seconds that is
 * 30 seconds later, so call it from a thread that may wait; other requests can be handled at the
 * same time.  -ENOTCONN, and no answer, if the runtime is off; -EINVAL if method or path is
 * missing.
 */
SONDE_API int sonde_handle(const struct sonde_request *request, sonde_answer *answer,
			   void *context);

/*
 * Labels: what a thread is working on.  A key and a value, which samples that the thread gives from
 * then on carry: CPU time, allocations, waits, stacks.  "-tagfocus", "-tagroot" and "-tags" of
 * "sonde" and "go tool pprof" choose by them and count them.
 *
 *	SONDE_LABEL("endpoint", "/users");
 *
 * holds until the end of the block, also when that is left by an exception, and then the thread's
 * labels are what they were before.  Threads begin with the labels of the thread that created them
 * (while the runtime is on).
 *
 * Setting takes less than a tenth of a microsecond.  The texts are
 * copied.  A thread has up to 8 labels at once; keys have up to 63 bytes; values of more than 127
 * are cut.  Values are kept for as long as the process lives, so they should be few: an endpoint,
 * a kind of job, a tenant, not a request's number.  After 4096 different values of a key it gets no
 * new ones: samples go without that label, and comments of profiles say how often.
 */

/*
 * Sets a label of this thread; a value that is NULL or "" clears it.  -EINVAL if the key is
 * missing, empty or too long; -ENOSPC if there is no room, and then there is no label with this
 * key.
 */
SONDE_API int sonde_label_set(const char *key, const char *value);
/* Takes it away; NULL takes all away. */
SONDE_API void sonde_label_clear(const char *key);

/*
 * All labels of this thread as a number, and back; it holds in any thread of the process, so work
 * that goes from one to another can take its labels along.
 */
SONDE_API unsigned sonde_label_save(void);
SONDE_API void sonde_label_restore(unsigned saved);

#if defined(__GNUC__)
static __inline__ unsigned sonde_label_enter(const char *key, const char *value)
{
	unsigned before = sonde_label_save();

	sonde_label_set(key, value);
	return before;
}

static __inline__ void sonde_label_leave(const unsigned *before)
{
	sonde_label_restore(*before);
}

#define SONDE_LABEL_JOIN(a, b) a##b
#define SONDE_LABEL_NAME(n)    SONDE_LABEL_JOIN(sonde_label_before_, n)
#define SONDE_LABEL(key, value)                                                                    \
	__attribute__((cleanup(sonde_label_leave), unused)) const unsigned SONDE_LABEL_NAME(       \
		__COUNTER__) = sonde_label_enter(key, value)
#endif

#ifdef __cplusplus
}
#endif

#endif /* SONDE_H */
