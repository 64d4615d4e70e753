/*
 * preloadable.h - whether the loader would take libsonde.so into a program
 *
 * The loader ignores LD_PRELOAD for some programs without a word, and ends others.  Better to say
 * why before the program is started than to leave a person with an endpoint that never answers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_PRELOADABLE_H
#define UI_PRELOADABLE_H

struct err;

/*
 * 0 if the program at 'path' (or, for a script, the one that runs it) can have 'library'
 * preloaded.  Otherwise a negative errno and the reason in 'err':
 *
 *	-ENOEXEC	statically linked; for another machine; for another C library
 *	-EACCES		it gets rights that the caller does not have, and so no library of his
 *	-EBUSY		a sanitizer is linked into it
 *
 * A file that cannot be read, or is not understood, is left to the kernel: 0.
 */
int preloadable(const char *path, const char *library, struct err *err);

#endif /* UI_PRELOADABLE_H */
