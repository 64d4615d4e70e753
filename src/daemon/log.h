/*
 * log.h - what sonded says while it works, and to whom
 *
 * Lines go to standard error, with the time; under systemd without it, and with a level that the
 * journal understands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DAEMON_LOG_H
#define DAEMON_LOG_H

enum log_level { LOG_INFO, LOG_WRONG };

/* One line, written at once; any thread. */
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * How far the work is: one line at the foot of a terminal, drawn over again and again, at most ten
 * times a second.  Where there is no terminal, nothing.  log_progress_end() takes it away.
 */
void log_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_progress_end(void);

/* Tells the service manager ("READY=1"), if there is one (sd_notify(3)). */
void service_tell(const char *state);

#endif /* DAEMON_LOG_H */
