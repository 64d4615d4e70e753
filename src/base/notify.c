/*
 * notify.c - what a library wants to tell the person, without printing
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/notify.h"

#include "base/cleanup.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 3, 0))) static void say(struct notify *n, enum notify_kind kind,
						      const char *fmt, va_list ap)
{
	AUTO(freep) char *text = NULL;

	if (!n)
		return;
	if (vasprintf(&text, fmt, ap) < 0) {
		text = NULL;
		return;
	}
	n->say(n, kind, text);
}

void notify_info(struct notify *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(n, NOTIFY_INFO, fmt, ap);
	va_end(ap);
}

void notify_warn(struct notify *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(n, NOTIFY_WARN, fmt, ap);
	va_end(ap);
}

void notify_progress(struct notify *n, const char *what, uint64_t done, uint64_t total,
		     const char *unit)
{
	if (n && n->progress)
		n->progress(n, what, done, total, unit);
}
