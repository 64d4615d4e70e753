/*
 * history.c - the lines a person has typed, kept between runs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/history.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/gotext.h"
#include "base/out.h"
#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

/* A larger file is not one of ours. */
enum { MAX_BYTES = 8 << 20 };

char *history_path(const char *state_home, const char *home)
{
	if (state_home && state_home[0] == '/')
		return mem_printf("%s/sonde/history", state_home);
	if (home && home[0])
		return mem_printf("%s/.local/state/sonde/history", home);
	return NULL;
}

static void read_lines(const char *path, struct file_bytes *b)
{
	struct stat st;

	*b = (struct file_bytes){ 0 };
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		(void)file_read(path, MAX_BYTES, b, NULL);
}

void history_each(const char *path, void (*fn)(struct str line, void *ctx), void *ctx)
{
	struct file_bytes b;
	struct str rest, line;

	read_lines(path, &b);
	rest = (struct str){ b.p, b.n };
	while (str_split(&rest, '\n', &line)) {
		if (line.n)
			fn(line, ctx);
	}
	file_bytes_release(&b);
}

/* Makes the folder of 'path' and those above it, and returns it open. */
static int open_folder(const char *path)
{
	AUTO(freep) char *folder = mem_str(str_of(path));
	char *slash = folder;

	for (;;) {
		slash = strchr(slash + 1, '/');
		if (!slash)
			break;
		*slash = '\0';
		(void)mkdir(folder, 0700);
		*slash = '/';
	}
	*strrchr(folder, '/') = '\0';
	return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool is_worth_keeping(struct str line)
{
	for (size_t i = 0; i < line.n; i++) {
		if ((unsigned char)line.p[i] < ' ' && line.p[i] != '\t')
			return false;
	}
	return go_trim(line).n > 0;
}

static size_t count_lines(struct str text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == '\n';
	return n;
}

/* The file's lines, without the oldest if there would be too many with one more. */
static struct str last_lines(const struct file_bytes *b)
{
	struct str text = { b->p, b->n }, line;

	for (size_t n = count_lines(text); n >= HISTORY_LINES; n--)
		str_split(&text, '\n', &line);
	return text;
}

static int write_lines(const char *path, struct str old, struct str line)
{
	mode_t mask = umask(077);
	struct file_new f;
	int rc = file_create(&f, path, NULL);

	umask(mask);
	if (rc)
		return rc;
	out_str(&f.out, old);
	if (old.n && old.p[old.n - 1] != '\n')
		out_char(&f.out, '\n');
	out_str(&f.out, line);
	out_char(&f.out, '\n');
	return file_commit(&f, NULL, NULL);
}

int history_add(const char *path, struct str line)
{
	AUTO(closep) int folder = -1;
	struct file_bytes b;
	struct str old;
	ptrdiff_t end;
	int rc = 0;

	line = go_trim(line);
	if (!is_worth_keeping(line))
		return 0;
	folder = open_folder(path);
	if (folder < 0 || flock(folder, LOCK_EX) != 0)
		return -errno;
	read_lines(path, &b);
	old = last_lines(&b);
	end = old.n ? str_rfind_char((struct str){ old.p, old.n - 1 }, '\n') + 1 : 0;
	if (!str_eq(go_trim(str_skip(old, (size_t)end)), line))
		rc = write_lines(path, old, line);
	file_bytes_release(&b);
	return rc;
}
