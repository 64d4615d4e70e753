/*
 * family.c - whether a process was started by one that has the runtime already
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/family.h"

#include "runtime/agent.h"
#include "runtime/fd.h"
#include "runtime/http.h"
#include "runtime/os.h"

#include <dirent.h>
#include <string.h>

enum {
	GENERATIONS = 16,
	THREADS = 256, /* looked at of one process; the agent is mostly the second */
	ENVIRONMENT_MAX = 256 << 10,
};

static bool is_agent(long pid, const char *thread)
{
	char path[80], name[32];
	long fd, n;

	sonde__format(path, sizeof(path), "/proc/%ld/task/%s/comm", pid, thread);
	fd = sonde__sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return false;
	n = sonde__sys_pread((int)fd, name, sizeof(name), 0);
	sonde__sys_close((int)fd);
	return n == sizeof(SONDE__AGENT_NAME) &&
	       memcmp(name, SONDE__AGENT_NAME "\n", (size_t)n) == 0;
}

static bool has_agent(long pid)
{
	char list[2048] __attribute__((aligned(8)));
	char path[48];
	bool found = false;
	long fd, n = 1;
	int left = THREADS;

	sonde__format(path, sizeof(path), "/proc/%ld/task", pid);
	fd = sonde__sys_open(path, O_RDONLY | O_DIRECTORY, 0);
	while (fd >= 0 && !found && left > 0 && n > 0) {
		n = sonde__syscall(SYS_getdents64, fd, (long)list, sizeof(list), 0, 0, 0);
		for (long at = 0; at < n && !found && left > 0; left--) {
			const struct dirent64 *d = (const struct dirent64 *)(list + at);

			found = is_agent(pid, d->d_name);
			at += d->d_reclen;
		}
	}
	if (fd >= 0)
		sonde__sys_close((int)fd);
	return found;
}

/* Programs that show what they do in their arguments write over their environment, too. */
static bool serves_elsewhere(long pid, const char *addr)
{
	static const char switch_name[] = "SONDE_ADDR=";
	char path[48], wanted[300];
	size_t n, size, mapped;
	bool elsewhere;
	char *text;

	sonde__format(path, sizeof(path), "/proc/%ld/environ", pid);
	text = sonde__slurp(path, ENVIRONMENT_MAX, &size, &mapped);
	if (!text)
		return false;
	n = sonde__format(wanted, sizeof(wanted), "=%s", addr) + 1;
	elsewhere = memmem(text, size, switch_name, sizeof(switch_name) - 1) &&
		    !memmem(text, size, wanted, n < sizeof(wanted) ? n : sizeof(wanted));
	sonde__unmap(text, mapped);
	return elsewhere;
}

/* The fourth word of its "stat"; the second is a name, which may have anything in it. */
static long parent_of(long pid)
{
	char path[48], text[256], *word;
	int64_t parent = 0;
	long fd, n;

	sonde__format(path, sizeof(path), "/proc/%ld/stat", pid);
	fd = sonde__sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return 0;
	n = sonde__sys_pread((int)fd, text, sizeof(text) - 1, 0);
	sonde__sys_close((int)fd);
	text[n > 0 ? n : 0] = '\0';
	word = strrchr(text, ')');
	if (!word || strlen(word) < 5)
		return 0;
	word += 4;
	word[strcspn(word, " ")] = '\0';
	return sonde__parse_int(word, &parent) ? (long)parent : 0;
}

bool sonde__family_serves(const char *addr)
{
	long pid = sonde__syscall(SYS_getppid, 0, 0, 0, 0, 0, 0);

	for (int i = 0; i < GENERATIONS && pid > 0; i++) {
		if (has_agent(pid))
			return !serves_elsewhere(pid, addr);
		pid = parent_of(pid);
	}
	return false;
}
