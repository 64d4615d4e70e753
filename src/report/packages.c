/*
 * packages.c - which package of the system a file belongs to
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/packages.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/xalloc.h"

#include <dirent.h>

enum { LARGEST_LIST = 16 << 20 };

/* Whether 'path' is a line of the list. */
static bool is_listed(struct str list, struct str path)
{
	while (list.n > path.n) {
		ptrdiff_t at = str_find(list, path);

		if (at < 0)
			return false;
		if ((at == 0 || list.p[at - 1] == '\n') &&
		    ((size_t)at + path.n == list.n || list.p[(size_t)at + path.n] == '\n'))
			return true;
		list = str_skip(list, (size_t)at + 1);
	}
	return false;
}

static bool has_file(const char *folder, const char *name, struct str path, struct str other)
{
	AUTO(freep) char *file = mem_printf("%s/%s", folder, name);
	struct file_bytes bytes;
	bool found;

	if (file_read(file, LARGEST_LIST, &bytes, NULL) != 0)
		return false;
	found = is_listed((struct str){ bytes.p, bytes.n }, path) ||
		is_listed((struct str){ bytes.p, bytes.n }, other);
	file_bytes_release(&bytes);
	return found;
}

/* "libc6:amd64.list" is libc6. */
static struct str debug_package(struct str list, struct arena *a)
{
	struct str package;

	list.n -= strlen(".list");
	(void)str_split(&list, ':', &package);
	if (str_is(package, "libc6"))
		return STR("libc6-dbg");
	return xarena_printf(a, "%.*s-dbgsym", STR_ARG(package));
}

struct str packages_debug(const char *folder, struct str path, struct arena *a)
{
	/* Since /lib is a link to /usr/lib, lists have either name of a file. */
	struct str other = str_starts(path, STR("/usr/")) ? str_skip(path, strlen("/usr")) : path;
	struct str found = STR("");
	const struct dirent *e;
	DIR *dir = opendir(folder);

	if (!dir)
		return found;
	for (e = readdir(dir); e && found.n == 0; e = readdir(dir)) {
		struct str name = str_of(e->d_name);

		if (str_ends(name, STR(".list")) && has_file(folder, e->d_name, path, other))
			found = debug_package(xarena_str(a, name), a);
	}
	closedir(dir);
	return found;
}
