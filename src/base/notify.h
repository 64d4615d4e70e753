/*
 * notify.h - what a library wants to tell the person, without printing
 *
 * Layers below ui/ never print.  They are handed a struct notify, and say through it what the
 * reference tool would say on standard error.  A NULL struct notify is silent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_NOTIFY_H
#define BASE_NOTIFY_H

#include <stdint.h>

enum notify_kind {
	NOTIFY_INFO, /* the reference's Print */
	NOTIFY_WARN, /* its PrintErr: red on a terminal */
};

struct notify {
	/* One message; the sink adds a newline if it does not end in one. */
	void (*say)(struct notify *n, enum notify_kind kind, const char *text);
	/*
	 * Work that takes long: 'done' of 'total' (0: unknown) of 'unit' ("bytes", "s").  'what'
	 * NULL ends it.  May be NULL; called from one thread at a time.
	 */
	void (*progress)(struct notify *n, const char *what, uint64_t done, uint64_t total,
			 const char *unit);
};

void notify_info(struct notify *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void notify_warn(struct notify *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void notify_progress(struct notify *n, const char *what, uint64_t done, uint64_t total,
		     const char *unit);

#endif /* BASE_NOTIFY_H */
