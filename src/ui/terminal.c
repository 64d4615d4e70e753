/*
 * terminal.c - where messages go: standard error, and how they look there
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/terminal.h"

#include "base/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define CLEAR_LINE "\r\033[K"
#define RED        "\033[0;31m"
#define NORMAL     "\033[0m"

/* A progress line appears only for work that takes longer than this, and changes as often. */
enum { PATIENCE_MS = 300, REDRAW_MS = 100 };

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Everything in one write(), so that messages of several threads do not mix. */
static void write_out(struct out *o)
{
	struct str rest = out_view(o);

	while (rest.n) {
		ssize_t n = write(STDERR_FILENO, rest.p, rest.n);

		if (n <= 0)
			break;
		rest = str_skip(rest, (size_t)n);
	}
	out_release(o);
}

static void erase(struct terminal *t, struct out *o)
{
	if (t->drawn)
		out_text(o, CLEAR_LINE);
	t->drawn = false;
}

static void say(struct notify *n, enum notify_kind kind, const char *text)
{
	struct terminal *t = (struct terminal *)n;
	struct str s = str_of(text);
	bool red = t->color && kind == NOTIFY_WARN;
	struct out o;

	if (s.n && s.p[s.n - 1] == '\n')
		s.n--;
	out_init(&o, 0);
	pthread_mutex_lock(&t->lock);
	erase(t, &o);
	if (red)
		out_text(&o, RED);
	out_str(&o, s);
	if (red)
		out_text(&o, NORMAL);
	out_char(&o, '\n');
	write_out(&o);
	pthread_mutex_unlock(&t->lock);
}

static void out_amount(struct out *o, uint64_t v, const char *unit)
{
	if (strcmp(unit, "bytes") == 0)
		out_printf(o, "%.1f MB", (double)v / (1 << 20));
	else
		out_printf(o, "%llu %s", (unsigned long long)v, unit);
}

static void draw(struct terminal *t, const char *what, uint64_t done, uint64_t total,
		 const char *unit)
{
	struct out line, o;
	int columns, rows;

	terminal_size(&columns, &rows);
	out_init(&line, 0);
	out_printf(&line, "%s: ", what);
	out_amount(&line, done, unit);
	if (total) {
		out_text(&line, " of ");
		out_amount(&line, total, unit);
	}
	out_init(&o, 0);
	out_printf(&o, CLEAR_LINE "%.*s", columns <= (int)line.n ? columns - 1 : (int)line.n,
		   line.p);
	out_release(&line);
	write_out(&o);
	t->drawn = true;
}

static void progress(struct notify *n, const char *what, uint64_t done, uint64_t total,
		     const char *unit)
{
	struct terminal *t = (struct terminal *)n;
	uint64_t now = now_ms();
	struct out o;

	pthread_mutex_lock(&t->lock);
	if (!what) {
		out_init(&o, 0);
		erase(t, &o);
		write_out(&o);
		t->next = 0;
	} else if (t->next == 0) {
		t->next = now + PATIENCE_MS;
	} else if (now >= t->next) {
		draw(t, what, done, total, unit);
		t->next = now + REDRAW_MS;
	}
	pthread_mutex_unlock(&t->lock);
}

/* A terminal that understands more than text. */
static bool is_capable(void)
{
	const char *term = getenv("TERM");

	return term && term[0] && strcasecmp(term, "dumb") != 0;
}

void terminal_init(struct terminal *t)
{
	const char *no_color = getenv("NO_COLOR");
	bool live = isatty(STDERR_FILENO) && is_capable();

	*t = (struct terminal){
		.notify = { .say = say, .progress = live ? progress : NULL },
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.color = live && !(no_color && no_color[0]),
	};
}

void terminal_reset(struct terminal *t)
{
	if (t->drawn)
		(void)!write(STDERR_FILENO, CLEAR_LINE, sizeof(CLEAR_LINE) - 1);
}

bool terminal_is_interactive(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && is_capable();
}

void terminal_size(int *columns, int *rows)
{
	struct winsize ws = { 0 };

	(void)ioctl(STDERR_FILENO, TIOCGWINSZ, &ws);
	*columns = ws.ws_col ? ws.ws_col : 80;
	*rows = ws.ws_row ? ws.ws_row : 24;
}
