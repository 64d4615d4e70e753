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

/*
 * What to switch on.  Members that are 0 or NULL mean the default.
 *
 * addr		where to listen: "host:port" with an IPv4 or IPv6 ([::1]:8070) address, "localhost"
 *or a name of /etc/hosts; ":port" for all addresses of the machine, which the log warns of;
 *"unix:/path" or "unix:@name".  Port 0 lets the system choose, and the log tells. NULL or "": no
 *listener, only sonde_handle().  A busy address is tried again every few seconds for as long as it
 *takes; the program is never stopped for it. token	requests need "Authorization: Bearer TOKEN";
 *others are answered with 401. sonde_handle() does not ask: who may come in is the program's
 *business there. log		"stderr" (default), "syslog", a file, or "none". heap_rate	one
 *allocation is sampled per so many bytes on average; default 524288.  1: all of them.  SONDE_OFF:
 *none. cpu_hz	ticks per second of CPU time while a CPU profile runs, up to 1000; default 100.
 * off_after_s	seconds after which the runtime switches itself off; 0: never.
 * no_index	1: no page at /debug/pprof/ (404), only the profiles.
 * preset	"enable-profiler", "pprof-addr", "profiling-config", "build-profiled" or
 *		"contention": the defaults of one of the systems in docs/RUNTIME.md; what is given
 *		beside it wins.
 */
struct sonde_options {
	size_t size;
	const char *addr;
	const char *token;
	const char *log;
	uint64_t heap_rate;
	unsigned cpu_hz;
	unsigned no_index;
	uint64_t off_after_s;
	const char *preset;
};
#define SONDE_OPTIONS .size = sizeof(struct sonde_options)
#define SONDE_OFF     UINT64_MAX

/*
 * Switches the runtime on.  NULL: as the environment says (SONDE_ADDR and the others); that is also
 * what happens without any call when SONDE_ADDR is set.  -EALREADY if it is on; -EPERM in setuid
 * programs; -EINVAL if the address makes no sense; -EAGAIN or -ENOMEM if there is no thread to be
 * had.  An address that is busy is not an error.
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
 * profiles stay right.  Heap: 0 switches sampling off.  CPU: for profiles that start later.
 */
SONDE_API uint64_t sonde_set_heap_rate(uint64_t bytes);
SONDE_API unsigned sonde_set_cpu_hz(unsigned hz);

/*
 * A request that came to the program's own server.
 *
 * method	"GET", "HEAD", "POST"
 * path		decoded, from "/debug/pprof" on; a program that has the profiles under another
 *prefix takes it off.  "/metrics" gives numbers about the runtime itself for Prometheus. query what
 *follows the '?', as it came; NULL or "": nothing content_type	of the body, NULL or "": none gone
 *asked a few times a second while a profile is being taken; anything but 0 tells that nobody is
 *waiting for the answer any more, and ends the profile.  May be NULL.
 */
struct sonde_request {
	size_t size;
	const char *method;
	const char *path;
	const char *query;
	const char *content_type;
	const void *body;
	size_t nbody;
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

#ifdef __cplusplus
}
#endif

#endif /* SONDE_H */
