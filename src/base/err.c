/*
 * err.c - what went wrong: a code for the program, a sentence for the person
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return code;
}

int err_wrap(struct err *err, int code, const char *prefix)
{
	char old[sizeof(err->msg)];

	if (!err)
		return code;
	memcpy(old, err->msg, sizeof(old));
	snprintf(err->msg, sizeof(err->msg), "%.1000s: %.3000s", prefix, old);
	return code;
}

const char *errno_text(int e, char *buf, unsigned long size)
{
	snprintf(buf, size, "%s", strerror(e));
	if (size > 1 && isupper((unsigned char)buf[0]) && !isupper((unsigned char)buf[1]))
		buf[0] = (char)tolower((unsigned char)buf[0]);
	return buf;
}
