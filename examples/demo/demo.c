/*
 * demo.c - a service with three faults: it leaks, it burns time, and it fights over a lock
 *
 * "make run" starts it and looks for them.  They are called remember_session(), check_password()
 * and write_audit_log().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SESSION = 32 << 10, MOST = 16000, CLERKS = 3 };

static pthread_mutex_t audit_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long accepted, written;

/* The leak: a session is never forgotten. */
__attribute__((noinline)) static void remember_session(void)
{
	static char *sessions[MOST];
	static size_t n;

	if (n == MOST) /* half a gigabyte is enough for a demonstration */
		return;
	sessions[n] = malloc(SESSION);
	if (sessions[n])
		memset(sessions[n++], 1, SESSION);
}

/* The burner. */
__attribute__((noinline)) static unsigned check_password(unsigned user)
{
	volatile unsigned hash = user;

	for (int i = 0; i < 10000000; i++)
		hash = hash * 31 + 7;
	return hash;
}

/* The lock: held while somebody waits for a disk. */
__attribute__((noinline)) static void write_audit_log(void)
{
	pthread_mutex_lock(&audit_lock);
	usleep(10000);
	pthread_mutex_unlock(&audit_lock);
	written++;
}

static void read_audit_log(void)
{
	pthread_mutex_lock(&audit_lock);
	pthread_mutex_unlock(&audit_lock);
}

static void *log_in(void *unused)
{
	for (unsigned user = 0;; user++) {
		accepted += check_password(user) != 0;
		usleep(10000);
	}
	return unused;
}

static void *audit(void *unused)
{
	for (;;) {
		write_audit_log();
		usleep(5000);
	}
	return unused;
}

static void *read_along(void *unused)
{
	for (;;) {
		read_audit_log();
		usleep(5000);
	}
	return unused;
}

static void start(void *(*what)(void *))
{
	pthread_t t;

	if (pthread_create(&t, NULL, what, NULL) == 0)
		pthread_detach(t);
}

int main(void)
{
	start(log_in);
	start(audit);
	for (int i = 0; i < CLERKS; i++)
		start(read_along);
	for (;;) {
		for (int i = 0; i < 8; i++)
			remember_session();
		usleep(50000);
	}
}
