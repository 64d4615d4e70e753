/*
 * terminal.h - where messages go: standard error, and how they look there
 *
 * On a terminal, errors are red (unless NO_COLOR is set), and work that takes long has a
 * line of its own that tells how far it is.  Anywhere else it is the bare text, which is what
 * the reference prints.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_TERMINAL_H
#define UI_TERMINAL_H

#include "base/notify.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct terminal {
	struct notify notify; /* hand this to whoever has something to say */

	/* Private. */
	pthread_mutex_t lock; /* sources are read in parallel, and each may speak */
	bool color;
	bool drawn;    /* the progress line is on the screen */
	uint64_t next; /* ms: when to draw the progress line again */
};

/* Reads the environment and asks the system what standard error is. */
void terminal_init(struct terminal *t);

/* Takes a progress line off the screen.  Async-signal-safe. */
void terminal_reset(struct terminal *t);

/* Whether a person can type at standard input and see what they type. */
bool terminal_is_interactive(void);

/* How many columns and rows standard error has; 80 and 24 if nobody knows. */
void terminal_size(int *columns, int *rows);

#endif /* UI_TERMINAL_H */
