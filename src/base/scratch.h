/*
 * scratch.h - temporary files, to be removed however the program ends
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_SCRATCH_H
#define BASE_SCRATCH_H

/* Remembers a file.  Any thread may call it.  What does not fit is not remembered. */
void scratch_add(const char *path);

/* The file is gone, or is to stay after all. */
void scratch_forget(const char *path);

/* Removes and forgets all files.  Async-signal-safe. */
void scratch_remove(void);

#endif /* BASE_SCRATCH_H */
