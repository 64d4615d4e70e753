/*
 * mem-read.h - the memory of a control group, and of the processes in it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_MEM_READ_H
#define UI_MEM_READ_H

#include "base/arena.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* One process, as /proc/PID/smaps_rollup has it; in bytes. */
struct mem_process {
	int pid;
	struct str name; /* its command line, or the kernel's name for it */
	uint64_t rss, pss, swap;
	bool no_pss; /* we may not look: only 'rss' is known */
};

/* A control group; in bytes. */
struct mem_group {
	struct arena a;       /* owns what is below */
	struct str path;      /* "/kubepods/burstable/pod.../..." */
	struct str folder;    /* where its files are */
	bool counted;         /* the system counts it: not the topmost one */
	uint64_t current;     /* memory.current */
	uint64_t limit;       /* memory.max; UINT64_MAX: none */
	uint64_t anon, cache; /* of it: the processes' own, and files */
	struct mem_process *processes;
	size_t n;
	uint64_t rss, pss, swap; /* sums */
	size_t unread;           /* processes without 'pss' */
};

/*
 * Reads the group that 'what' names: a PID (the group it is in), a folder of the control group
 * file system, or "" for our own.  Processes that end meanwhile are not in it.  Release it with
 * mem_release(), also after a failure.
 */
int mem_read(const char *what, struct mem_group *g, struct err *err);
void mem_release(struct mem_group *g);

/* Parts of it, for tests: the numbers of smaps_rollup; false if there are none. */
bool mem_parse_rollup(struct str text, struct mem_process *p);

/*
 * Where files of the group 'path' are, by the text of /proc/self/mountinfo: "" if nowhere.
 * 'unified' is version 2 of them, else the mount that counts memory.
 */
struct str mem_find_mount(struct str mountinfo, bool unified, struct str path, struct arena *a);

/* The path of a group in the text of /proc/PID/cgroup; "" if it is not there. */
struct str mem_find_path(struct str text, bool unified);

#endif /* UI_MEM_READ_H */
