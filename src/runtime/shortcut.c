/*
 * shortcut.c - from a hook straight to the function behind it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/shortcut.h"

#if defined(SONDE__JUMP)

#include "runtime/next-lock.h"
#include "runtime/next.h"
#include "runtime/os.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

enum {
	DISTANCE = 4, /* bytes at the end of a jump */
	THROUGH = 2,  /* those before it in `jmp *distance(%rip)` */
};

/* Each has where, from itself, the distance of a jump is. */
extern const int32_t __start_sonde__jumps[] __attribute__((visibility("hidden"), weak));
extern const int32_t __stop_sonde__jumps[] __attribute__((visibility("hidden"), weak));

static const unsigned char *after(const unsigned char *distance)
{
	int32_t d;

	memcpy(&d, distance, DISTANCE);
	return distance + DISTANCE + d;
}

/*
 * Where the jump should lead, or NULL.  A bare jump proves that at its place everything is as it
 * was when the hook was called, but for registers that no function relies on.
 */
static const void *goal(const unsigned char *distance)
{
	const unsigned char *hop = after(distance), *pointer;
	const void *to;

	if (hop[0] != 0xff || hop[1] != 0x25)
		return NULL;
	pointer = after(hop + THROUGH);
	to = sonde__next_behind(pointer);
	return to ? to : sonde__next_lock_behind(pointer);
}

/* Where the file shows something else than memory has, it is not of this process (emulators). */
static void shorten(long file, const unsigned char *distance)
{
	const void *to = goal(distance);
	int64_t d = (int64_t)((uintptr_t)to - (uintptr_t)distance - DISTANCE);
	int32_t wanted = (int32_t)d;
	unsigned char seen[16];

	if (!to || wanted != d)
		return;
	if (sonde__syscall(SYS_pread64, file, (long)seen, sizeof(seen), (long)distance, 0, 0) ==
		    sizeof(seen) &&
	    memcmp(seen, distance, sizeof(seen)) == 0)
		sonde__syscall(SYS_pwrite64, file, (long)&wanted, DISTANCE, (long)distance, 0, 0);
}

void sonde__shortcuts_make(void)
{
	long file;

	if (getauxval(AT_SECURE) || sonde__thread_count() != 1)
		return;
	file = sonde__syscall(SYS_openat, AT_FDCWD, (long)"/proc/self/mem", O_RDWR | O_CLOEXEC, 0,
			      0, 0);
	if (file < 0)
		return;
	for (const int32_t *j = __start_sonde__jumps; (uintptr_t)j < (uintptr_t)__stop_sonde__jumps;
	     j++)
		shorten(file, (const unsigned char *)j + *j);
	sonde__syscall(SYS_close, file, 0, 0, 0, 0, 0);
}

#else

void sonde__shortcuts_make(void)
{
}

#endif
