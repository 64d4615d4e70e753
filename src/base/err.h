/*
 * err.h - what went wrong: a code for the program, a sentence for the person
 *
 * Functions that can fail return 0 or a negative errno and fill in a struct err
 * that the caller supplies (or NULL).  Messages are lower case, without a full
 * stop, unless the reference tool prints them otherwise.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

struct err {
	char msg[4096];
};

/*
 * err_set() writes the sentence and returns 'code', so that a failing function
 * can end with "return err_set(err, -EINVAL, ...)".  A sentence that does not fit
 * is cut.  '%m' in 'fmt' is strerror(errno).
 */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* err_wrap() puts "<prefix>: " in front of the sentence already there; returns 'code'. */
int err_wrap(struct err *err, int code, const char *prefix);

/*
 * errno_text() is the text of errno value 'e' as the reference tool prints it: the
 * C library's words with a lower-case first letter ("no such file or directory").
 */
const char *errno_text(int e, char *buf, unsigned long size);

#endif /* BASE_ERR_H */
