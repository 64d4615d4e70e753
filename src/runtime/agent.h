/*
 * agent.h - switching on and off, and answering requests
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_AGENT_H
#define RUNTIME_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the environment or the API asked for (docs/RUNTIME.md; design table). */
struct sonde__config {
	char addr[256]; /* host:port, :port, unix:/path; "": no server */
	char token[128];
	char log[256]; /* "stderr", "syslog", or a file */
	uint64_t heap_rate;
	unsigned cpu_hz;
	uint64_t off_after_s; /* R88; 0: never */
	bool index;           /* R16 */
	bool on;
};

bool sonde__config_from_env(struct sonde__config *c, char **environment);

/* Starts the agent thread (and with it everything that is on).  0 or a negative errno. */
int sonde__agent_start(const struct sonde__config *c);
void sonde__agent_stop(void);
/* Asks the agent to look at the modules again; from dlopen()/dlclose() hooks. */
void sonde__agent_wake(void);

void sonde__log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* One request, from our own server or from the host's (sonde_handle() in sonde.h). */
struct sonde__request {
	const char *method, *path, *query; /* path from "/debug/pprof" on */
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

/* Fills in the response; release with sonde__response_release().  Blocks while a profile runs. */
void sonde__handle(const struct sonde__request *rq, struct sonde__response *rs);
void sonde__response_release(struct sonde__response *rs);

/* fork.c: before and after, in parent and child. */
void sonde__agent_fork_prepare(void);
void sonde__agent_fork_parent(void);
void sonde__agent_fork_child(void);

#endif /* RUNTIME_AGENT_H */
