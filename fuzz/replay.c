/*
 * replay.c - run a fuzz target over the files of its corpus, as an ordinary test
 *
 *	replay-<module> FILE-OR-FOLDER...
 *
 * Every file is one TAP case.  Its bytes are placed so that the first byte behind them lies
 * in a page that cannot be touched: a read past the end is a crash in any build, not only
 * under a sanitizer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ncases;

static void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Reads 'size' bytes of 'fd' to 'to'. */
static void read_all(int fd, uint8_t *to, size_t size, const char *path)
{
	while (size > 0) {
		ssize_t n = read(fd, to, size);

		if (n <= 0)
			die(path);
		to += n;
		size -= (size_t)n;
	}
}

static void replay_file(const char *path)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t size, room;
	uint8_t *mem;

	if (fd < 0 || fstat(fd, &st) < 0)
		die(path);
	size = (size_t)st.st_size;
	room = (size + page - 1) / page * page;
	mem = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED || mprotect(mem + room, page, PROT_NONE) < 0)
		die(path);
	read_all(fd, mem + room - size, size, path);
	close(fd);

	LLVMFuzzerTestOneInput(mem + room - size, size);
	munmap(mem, room + page);
	printf("ok %d - %s\n", ++ncases, path);
	fflush(stdout);
}

static void replay_folder(const char *path)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, alphasort);

	if (n < 0)
		die(path);
	for (int i = 0; i < n; i++) {
		char file[4096];

		if (names[i]->d_name[0] != '.') {
			snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
			replay_file(file);
		}
		free(names[i]);
	}
	free(names);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (stat(argv[i], &st) < 0)
			die(argv[i]);
		if (S_ISDIR(st.st_mode))
			replay_folder(argv[i]);
		else
			replay_file(argv[i]);
	}
	if (ncases == 0)
		printf("not ok 1 - the corpus is empty\n1..1\n");
	else
		printf("1..%d\n", ncases);
	return ncases == 0;
}
