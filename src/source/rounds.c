/*
 * rounds.c - names in a folder that rounds of profiles were collected in
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "source/rounds.h"

#include "base/cleanup.h"
#include "base/xalloc.h"

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>

enum { DEPTH_MOST = 8 };

bool stamp_parse(struct str name, int64_t *seconds)
{
	char text[STAMP_BYTES];
	struct tm tm = { 0 };
	const char *end;

	if (name.n >= sizeof(text))
		return false;
	memcpy(text, name.p, name.n);
	text[name.n] = '\0';
	end = strptime(text, STAMP_FORMAT, &tm);
	if (end != text + name.n)
		end = strptime(text, STAMP_FORMAT_PLAIN, &tm);
	if (end != text + name.n)
		return false;
	*seconds = (int64_t)timegm(&tm);
	return true;
}

/* Cuts a stamp with so many characters, and the dash before it, off the end. */
static bool cut_stamp(struct str *name, size_t n, int64_t *seconds)
{
	size_t rest = name->n > n + 1 ? name->n - n : 0;

	if (rest == 0 || name->p[rest - 1] != '-' ||
	    !stamp_parse((struct str){ name->p + rest, n }, seconds))
		return false;
	name->n = rest - 1;
	return true;
}

bool round_file_parse(struct str name, struct round_file *out)
{
	static const struct str ending = { ".pprof", 6 };
	ptrdiff_t dash;

	if (!str_ends(name, ending))
		return false;
	name.n -= ending.n;
	if (!cut_stamp(&name, strlen("2020-10-01-22:08:40"), &out->seconds) &&
	    !cut_stamp(&name, strlen("20201001T220840Z"), &out->seconds))
		return false;
	dash = str_rfind_char(name, '-');
	if (dash <= 0)
		return false;
	out->component = (struct str){ name.p, (size_t)dash };
	out->kind = str_skip(name, (size_t)dash + 1);
	return out->kind.n > 0;
}

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

static void walk(const char *folder, int depth,
		 void (*found)(void *ctx, const char *path, const char *name), void *ctx)
{
	AUTO(closedirp) DIR *d = opendir(folder);
	struct stat st;

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		AUTO(freep) char *path = mem_printf("%s/%s", folder, e->d_name);

		if (e->d_name[0] == '.' || stat(path, &st) != 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MOST)
			walk(path, depth + 1, found, ctx);
		else if (S_ISREG(st.st_mode))
			found(ctx, path, e->d_name);
	}
}

void rounds_walk(const char *folder, void (*found)(void *ctx, const char *path, const char *name),
		 void *ctx)
{
	walk(folder, 0, found, ctx);
}
