/*
 * agent.h - switching on and off, and answering requests
 *
 * The agent is the one thread of the runtime.  Everything that takes time or memory happens there,
 * one thing after the other: requests that come over our own sockets, and those that the host's
 * server passes on.  So nothing behind it needs locks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_AGENT_H
#define RUNTIME_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes a line without its end. */
typedef void sonde__log_function(void *context, const char *line);

/* What the environment or the API asked for (docs/RUNTIME.md). */
struct sonde__config {
	char addr[256]; /* host:port, :port, unix:/path; "": no server */
	char token[128];
	char log[256];                 /* "stderr", "syslog", "none", or a file */
	sonde__log_function *log_call; /* in place of that; or NULL */
	void *log_context;
	uint64_t heap_rate;
	uint64_t mutex_fraction, block_rate; /* 0: as it is */
	unsigned cpu_hz;
	uint64_t off_after_s; /* R88; 0: never */
	uint64_t memlog_ns;   /* between two lines about memory; 0: none */
	bool index;           /* R16 */
	bool label_age;       /* live samples of the heap carry their age */
	unsigned presets;     /* those that are in force, a bit for each enum sonde__preset */
	char dump[256];       /* where heap dumps are stored: "dir:/path", "kube:"; "": nowhere */
	char dump_prefix[64]; /* "": by the name of the program */
	uint64_t dump_above;  /* bytes of HeapInuse */
	uint64_t dump_growth; /* percent */
	bool on;
	bool inherited;      /* from an environment that may have been meant for another process */
	char complaint[160]; /* about what could not be understood; for the log */
};

#define SONDE__AGENT_NAME "sonde" /* of the thread; other processes look for it */

enum {
	SONDE__HEAP_RATE = 524288,
	SONDE__CPU_HZ = 100,
	SONDE__CPU_HZ_MAX = 1000,
	SONDE__MEMLOG_NS_MIN = 10000000,
	SONDE__DUMP_ABOVE = 330000000,
	SONDE__DUMP_GROWTH = 10,
};

/* Ways of switching on that other systems have: a name for each, and what goes with it. */
enum sonde__preset {
	SONDE__ENABLE_PROFILER,
	SONDE__PPROF_ADDR,
	SONDE__PROFILING_CONFIG,
	SONDE__BUILD_PROFILED,
	SONDE__CONTENTION,
	SONDE__PRESETS
};

/* Nothing asked for, and the defaults. */
void sonde__config_init(struct sonde__config *c);
/* What a preset stands for; whether there is one of that name.  What is set later wins, but an
 * address that is set already stays. */
bool sonde__config_preset(struct sonde__config *c, const char *name);
/* Where dumps go if nothing else is said: the cluster, with that preset in a pod. */
void sonde__config_imply_dump(struct sonde__config *c, char **environment);
/* Reads the environment; whether it asks to be switched on. */
bool sonde__config_from_env(struct sonde__config *c, char **environment);

/* A time as in "60s", "1m30s", "500ms", or in seconds, as ns; false if it is none. */
bool sonde__parse_time(const char *text, uint64_t *ns);

/*
 * Starts the agent thread (and with it everything that is on).  0 or a negative errno; -EADDRINUSE
 * if a process above this one serves what this one inherited, and it waits for its turn.
 */
int sonde__agent_start(const struct sonde__config *c);
void sonde__agent_stop(void);
bool sonde__agent_is_on(void);
/* Not in a child of fork(), in which the loader's lock may be locked for ever, until that has asked
 * it something itself. */
bool sonde__agent_may_ask_loader(void);
/* Asks the agent to look at the modules again; from dlopen()/dlclose() hooks. */
void sonde__agent_wake(void);
/* What it was started with; the rate for CPU profiles may change. */
const struct sonde__config *sonde__agent_config(void);
unsigned sonde__agent_set_cpu_hz(unsigned hz);
/* As sonde__heap_set_rate(), once all calls of the program come to the hooks. */
uint64_t sonde__agent_set_heap_rate(uint64_t rate);

/* The lines that each preset's system writes when it is switched on. */
void sonde__announce_presets(const struct sonde__config *c);

/* Where lines go from now on. */
void sonde__log_open(const struct sonde__config *c);
void sonde__log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The words for an errno, without the C library's tables. */
const char *sonde__error_text(int code);

/* One request, from our own server or from the host's (sonde_handle() in sonde.h). */
struct sonde__request {
	const char *method, *path, *query; /* path from "/debug/pprof" on, decoded */
	const char *content_type;
	const char *body;
	size_t nbody;
	bool (*gone)(void *ctx); /* whether the client has gone away; may be NULL */
	void *ctx;
	const char *peer; /* for the access log */
};

struct sonde__response {
	int status;
	char headers[512]; /* lines with CRLF */
	uint8_t *body;     /* mapped; or NULL */
	size_t nbody, mapped;
};

/*
 * Fills in the response; release with sonde__response_release().  Any thread but the agent; blocks
 * while a profile runs.  -ENOTCONN if there is no agent.
 */
int sonde__handle(const struct sonde__request *rq, struct sonde__response *rs);
void sonde__response_release(struct sonde__response *rs);

#endif /* RUNTIME_AGENT_H */
