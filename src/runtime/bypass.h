/*
 * bypass.h - calls that go past our hooks, while these have nothing to do
 *
 * A hook that has nothing to do is still a jump, and there are programs that lock ten million
 * mutexes a second.  Every binary has a table of the functions that it calls in others, filled in
 * by the dynamic linker.  Where that has one of our hooks it may as well have the function behind
 * it, until there is something to do.
 *
 * Only tables for calls are changed (DT_JMPREL), one word at a time.  Addresses of functions that a
 * program compares or keeps stay what they are; calls through these come to the hooks as before, so
 * hooks must always do the right thing by themselves.
 *
 * Many tables are read-only once they are filled (RELRO).  A page of these is writable while words
 * in it are changed.  Once the program has begun it is not touched unless the kernel says that it
 * is read-only: only then is the dynamic linker done with it.  The table of the dynamic linker
 * itself is let alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_BYPASS_H
#define RUNTIME_BYPASS_H

#include <stdatomic.h>
#include <stdbool.h>

/* Lists end with no name. */
struct sonde__hooked {
	const char *name;
	const void *hook;
	const void *next; /* where the pointer to the function behind it is */
};

/*
 * In the file of a hook.  The name of the hook means whatever function of that name the program
 * gets; another name for the same place means the hook.
 */
#define OURS(function)                                                                             \
	__asm__(".set our_" #function ", " #function);                                             \
	extern const char our_##function[] __attribute__((visibility("hidden")))
#define HOOKED(function, pointer)                                                                  \
	{                                                                                          \
		.name = #function, .hook = our_##function, .next = &(pointer)                      \
	}

extern const struct sonde__hooked sonde__hooked_malloc[];    /* hooks-malloc.c */
extern const struct sonde__hooked sonde__hooked_locks[];     /* hooks-lock.c */
extern const struct sonde__hooked sonde__hooked_operators[]; /* hooks-cxx.c */

extern atomic_bool sonde__dlopen_called; /* hooks-dl.c: at least once */

/*
 * malloc() and its family, when the program begins and nothing is sampled: also where a table is
 * filled in only by the first call.  Nothing happens where that cannot be done safely.
 */
void sonde__bypass_malloc(char **environment);
/* Before anything is sampled: false if some calls cannot be led back.  Waits for the loader. */
bool sonde__bypass_malloc_end(void);

/*
 * The agent, now and then, as binaries come: mutexes and rwlocks, unless somebody wants to know of
 * them (next-lock.h), and for good those operators new and delete that end in malloc()
 * (cxx-next.h).
 */
void sonde__bypass_idle(void);
/* After somebody wants to: as sonde__bypass_malloc_end().  Behind a filter of system calls the
 * agent does it, when it next looks around. */
bool sonde__bypass_locks_end(void);

#endif /* RUNTIME_BYPASS_H */
