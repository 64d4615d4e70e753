"""A clock that a test can set, for programs that it starts: what the wall says is that of the system
and so many seconds more, as a file has it at that moment; other clocks go on.

SPDX-License-Identifier: Apache-2.0
"""
import os
import shutil
import subprocess

from tap import LIMIT, TMP, Skip

SHIM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long more(void)
{
	char text[32] = "";
	int fd = open(getenv("TEST_CLOCK"), O_RDONLY);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		abort();
	close(fd);
	return atol(text);
}

int clock_gettime(clockid_t which, struct timespec *t)
{
	int rc = (int)syscall(SYS_clock_gettime, which, t);

	if (rc == 0 && which == CLOCK_REALTIME)
		t->tv_sec += more();
	return rc;
}

time_t time(time_t *to)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	if (to)
		*to = t.tv_sec;
	return t.tv_sec;
}
"""


class Clock:
    def __init__(self):
        if not shutil.which("cc"):
            raise Skip("there is no compiler")
        self.file, source, self.shim = TMP / "clock", TMP / "clock.c", TMP / "clock.so"
        source.write_text(SHIM)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.shim, source], check=True, timeout=LIMIT)
        self.set(0)
        if "LD_PRELOAD" in os.environ:
            raise Skip("something is preloaded already")

    def set(self, seconds):
        new = self.file.with_suffix(".new")
        new.write_text(str(seconds))
        new.rename(self.file)

    def environment(self):
        # A program with a sanitizer in it wants that to be first, and does not need it to be.
        asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return {"LD_PRELOAD": str(self.shim), "TEST_CLOCK": str(self.file), "ASAN_OPTIONS": asan}
