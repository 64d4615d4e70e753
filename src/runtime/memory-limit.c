/*
 * memory-limit.c - how much memory this process may have, and how near it is to that
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/memory-limit.h"

#include "runtime/fd.h"
#include "runtime/guard.h"
#include "runtime/os.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

enum { SMALL = 4096, STAT = 8192, PATH = 512 };
static const uint64_t look_again = 10000000000, none = UINT64_MAX; /* ns */

/* The group with the tightest limit, of those that this process is in. */
static struct {
	bool v1;
	char folder[PATH]; /* "": there is none */
	uint64_t limit;
} group;

static uint64_t limit_as, limit_data, next_look;

/* As text; false if there is nothing. */
static bool read_small(const char *path, char *to, size_t cap)
{
	long fd = sonde__sys_open(path, O_RDONLY, 0), n;

	if (fd < 0)
		return false;
	n = sonde__syscall(SYS_read, fd, (long)to, (long)cap - 1, 0, 0, 0);
	sonde__sys_close((int)fd);
	to[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static uint64_t read_number(const char **text)
{
	uint64_t n = 0;
	bool fits = true;

	*text += strspn(*text, " \t");
	for (; **text >= '0' && **text <= '9'; (*text)++)
		fits = fits && !__builtin_mul_overflow(n, 10, &n) &&
		       !__builtin_add_overflow(n, (uint64_t)(**text - '0'), &n);
	return fits ? n : none;
}

uint64_t sonde__limit_parse(const char *text)
{
	static const uint64_t senseless = UINT64_C(1) << 60;
	uint64_t n;

	if (*text < '0' || *text > '9')
		return none;
	n = read_number(&text);
	return n < senseless ? n : none;
}

/* Whether "memory" is among the words before the second colon. */
static bool is_memory(const char *words)
{
	size_t n;

	for (; *words && *words != ':'; words += n + (words[n] == ',')) {
		n = strcspn(words, ",:\n");
		if (n == 6 && strncmp(words, "memory", 6) == 0)
			return true;
		if (words[n] == '\n')
			return false;
	}
	return false;
}

static bool copy_path(const char *from, char *path, uint64_t cap)
{
	size_t n = strcspn(from, "\n");

	if (n == 0 || n >= cap || *from != '/')
		return false;
	memcpy(path, from, n);
	path[n] = '\0';
	return true;
}

bool sonde__cgroup_parse(const char *text, char *path, uint64_t cap, bool *v1)
{
	bool found = false;

	*v1 = false;
	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		const char *words = text + strspn(text, "0123456789");
		const char *colon = *words == ':' ? strpbrk(words + 1, ":\n") : NULL;

		if (!colon || *colon != ':')
			continue;
		if (is_memory(words + 1)) {
			*v1 = true;
			return copy_path(colon + 1, path, cap);
		}
		if (colon == words + 1)
			found = copy_path(colon + 1, path, cap);
	}
	return found;
}

static bool read_in(const char *folder, const char *name, char *to, size_t cap)
{
	char path[PATH + 64];

	return sonde__format(path, sizeof(path), "%s/%s", folder, name) < sizeof(path) &&
	       read_small(path, to, cap);
}

static void consider(const char *folder)
{
	char text[64];
	uint64_t limit;

	if (!read_in(folder, group.v1 ? "memory.limit_in_bytes" : "memory.max", text, sizeof(text)))
		return;
	limit = sonde__limit_parse(text);
	if (limit >= group.limit)
		return;
	group.limit = limit;
	sonde__format(group.folder, sizeof(group.folder), "%s", folder);
}

/*
 * The group and all above it.  In a container the path may be that of the machine, and only the
 * top of what is shown here is the container's.
 */
static void find_group(void)
{
	char text[SMALL], path[PATH], folder[PATH];
	const char *base;

	group.folder[0] = '\0';
	group.limit = none;
	if (!read_small("/proc/self/cgroup", text, sizeof(text)) ||
	    !sonde__cgroup_parse(text, path, sizeof(path), &group.v1))
		return;
	base = group.v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
	if (sonde__format(folder, sizeof(folder), "%s%s", base, path) >= sizeof(folder))
		return;
	while (strlen(folder) >= strlen(base)) {
		char *slash = strrchr(folder, '/');

		if (slash[1])
			consider(folder);
		*slash = '\0';
	}
}

static uint64_t value_of(const char *stat, const char *key)
{
	const char *at = strstr(stat, key);

	if (!at)
		return 0;
	at += strlen(key);
	return read_number(&at);
}

/* Files that were read or written are given up before anybody is killed. */
static uint64_t file_pages(void)
{
	char stat[STAT];

	if (!read_in(group.folder, "memory.stat", stat, sizeof(stat)))
		return 0;
	if (group.v1)
		return value_of(stat, "\ntotal_inactive_file ") +
		       value_of(stat, "\ntotal_active_file ");
	return value_of(stat, "\ninactive_file ") + value_of(stat, "\nactive_file ");
}

/* How full it is, in thousandths. */
static uint64_t share(uint64_t used, uint64_t limit)
{
	return limit ? (used >> 10) * 1000 / ((limit >> 10) + 1) : 0;
}

static bool add_limit(struct sonde__memory_use *u, const char *what, uint64_t limit, uint64_t used)
{
	if (limit == none || limit == 0 || used == 0)
		return false;
	if (u->what && share(used, limit) <= share(u->used, u->limit))
		return false;
	u->what = what;
	u->limit = limit;
	u->used = used;
	u->kills = false;
	return true;
}

static void add_group(struct sonde__memory_use *u)
{
	char text[64];
	uint64_t used, files;

	if (!group.folder[0] ||
	    !read_in(group.folder, group.v1 ? "memory.usage_in_bytes" : "memory.current", text,
		     sizeof(text)))
		return;
	used = sonde__limit_parse(text);
	if (used == none)
		return;
	files = used > group.limit / 2 ? file_pages() : 0;
	u->kills =
		add_limit(u, "limit of the cgroup", group.limit, used > files ? used - files : 1);
}

static uint64_t resource_limit(int which)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	sonde__syscall(SYS_prlimit64, 0, which, 0, (long)&limit, 0, 0);
	return limit.rlim_cur == RLIM_INFINITY ? none : limit.rlim_cur;
}

static void find_limits(void)
{
	find_group();
	if (sonde__guard_is_filtered())
		return;
	limit_as = resource_limit(RLIMIT_AS);
	limit_data = resource_limit(RLIMIT_DATA);
}

bool sonde__memory_use(struct sonde__memory_use *u, uint64_t now)
{
	uint64_t page = getauxval(AT_PAGESZ), field[7];
	char text[256];
	const char *p = text;

	*u = (struct sonde__memory_use){ 0 };
	if (!read_small("/proc/self/statm", text, sizeof(text)))
		return false;
	/* size resident shared text lib data dt */
	for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++)
		field[i] = read_number(&p) * page;
	u->anon = field[1] > field[2] ? field[1] - field[2] : 0;
	if (now >= next_look) {
		find_limits();
		next_look = now + look_again;
	}
	add_group(u);
	add_limit(u, "RLIMIT_AS", limit_as, field[0]);
	add_limit(u, "RLIMIT_DATA", limit_data, field[5]);
	return true;
}

/* Below the limit: in a group, there must be room for the program that stores the dump. */
static uint64_t margin_of(const struct sonde__memory_use *u)
{
	static const uint64_t room = 24 << 20;
	uint64_t margin = u->limit / 10;

	if (u->kills && margin < room)
		margin = room < u->limit / 2 ? room : u->limit / 2;
	return margin;
}

bool sonde__memory_is_near(const struct sonde__memory_use *u,
			   const struct sonde__memory_use *before)
{
	enum { SECONDS = 4 };
	uint64_t grown = 0;

	if (!u->what)
		return false;
	if (u->used >= u->limit - margin_of(u))
		return true;
	if (before->what == u->what && before->limit == u->limit && u->used > before->used)
		grown = u->used - before->used;
	return u->used > u->limit / 2 && u->used + SECONDS * grown >= u->limit;
}

uint64_t sonde__percent(uint64_t of, uint64_t n)
{
	unsigned __int128 part = (unsigned __int128)of * n / 100;

	return part < none ? (uint64_t)part : none;
}

bool sonde__heap_is_above(uint64_t inuse, uint64_t above, uint64_t last, uint64_t growth)
{
	return inuse > above &&
	       (last == 0 || (inuse > last && inuse - last > sonde__percent(last, growth)));
}
