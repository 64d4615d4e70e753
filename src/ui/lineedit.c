/*
 * lineedit.c - a line from a person at a terminal, with editing, history and completion
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/lineedit.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/lazy.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "ui/complete.h"
#include "ui/history.h"
#include "ui/terminal.h"

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>

static struct lazy_lib libedit = { .soname = "libedit.so.2", .package = "libedit2" };

/* The functions of libedit that are used, under their own names. */
static __typeof__(el_init) *init_editor;
static __typeof__(el_end) *end_editor;
static __typeof__(el_set) *set;
static __typeof__(el_source) *read_editrc;
static __typeof__(el_get) *get;
static __typeof__(el_gets) *get_line;
static __typeof__(el_line) *line_info;
static __typeof__(el_insertstr) *insert;
static __typeof__(el_deletestr) *delete_before;
static __typeof__(history_init) *init_history;
static __typeof__(history_end) *end_history;
static __typeof__(history) *do_history;

struct lineedit {
	EditLine *el;
	History *hist;
	const char *history; /* file, or NULL */
	const struct profile *p;
	const char *prompt;
	bool given_up; /* Ctrl-C */
};

static void load_functions(void)
{
	init_editor = (__typeof__(init_editor))lazy_sym(&libedit, "el_init");
	end_editor = (__typeof__(end_editor))lazy_sym(&libedit, "el_end");
	set = (__typeof__(set))lazy_sym(&libedit, "el_set");
	read_editrc = (__typeof__(read_editrc))lazy_sym(&libedit, "el_source");
	get = (__typeof__(get))lazy_sym(&libedit, "el_get");
	get_line = (__typeof__(get_line))lazy_sym(&libedit, "el_gets");
	line_info = (__typeof__(line_info))lazy_sym(&libedit, "el_line");
	insert = (__typeof__(insert))lazy_sym(&libedit, "el_insertstr");
	delete_before = (__typeof__(delete_before))lazy_sym(&libedit, "el_deletestr");
	init_history = (__typeof__(init_history))lazy_sym(&libedit, "history_init");
	end_history = (__typeof__(end_history))lazy_sym(&libedit, "history_end");
	do_history = (__typeof__(do_history))lazy_sym(&libedit, "history");
}

static struct lineedit *self(EditLine *el)
{
	void *l = NULL;

	get(el, EL_CLIENTDATA, &l);
	return l;
}

static char *prompt(EditLine *el)
{
	return (char *)(size_t)self(el)->prompt;
}

/* In columns, like ls(1), and never more than a screen. */
static void list(const struct completions *c)
{
	size_t width = 1, columns, rows, shown = 0;
	int screen_width, screen_height;

	terminal_size(&screen_width, &screen_height);
	for (size_t i = 0; i < c->n; i++) {
		size_t w = go_rune_count(str_of(c->words[i])) + 2;

		width = w > width ? w : width;
	}
	columns = (size_t)screen_width / width;
	columns = columns ? columns : 1;
	rows = (c->n + columns - 1) / columns;
	fputc('\n', stderr);
	for (size_t row = 0; row < rows && (int)row < screen_height - 3; row++) {
		for (size_t i = row; i < c->n; i += rows, shown++) {
			size_t pad = width - go_rune_count(str_of(c->words[i]));

			fprintf(stderr, "%s%*s", c->words[i], i + rows < c->n ? (int)pad : 0, "");
		}
		fputc('\n', stderr);
	}
	if (shown < c->n)
		fprintf(stderr, "... and %zu more\n", c->n - shown);
}

/* libedit counts characters, not bytes. */
static void replace(EditLine *el, struct str old, struct str new, const char *suffix)
{
	char *text = mem_printf("%.*s%s", STR_ARG(new), suffix);

	delete_before(el, (int)go_rune_count(old));
	insert(el, text);
	free(text);
}

static unsigned char on_tab(EditLine *el, int ch)
{
	const LineInfo *info = line_info(el);
	struct str line = { info->buffer, (size_t)(info->cursor - info->buffer) }, typed, common;
	unsigned char rc = CC_REFRESH;
	struct completions c;

	(void)ch;
	complete(self(el)->p, line, &c);
	typed = str_skip(line, c.start);
	common = (struct str){ c.n ? c.words[0] : "", completions_common(&c) };
	if (c.n == 1) {
		bool open = common.n && strchr("=/", common.p[common.n - 1]);

		replace(el, typed, common, open ? "" : " ");
	} else if (c.n && common.n > typed.n && str_find(common, typed) >= 0) {
		replace(el, typed, common, "");
	} else if (c.n) {
		list(&c);
		rc = CC_REDISPLAY;
	} else {
		rc = CC_ERROR;
	}
	completions_release(&c);
	return rc;
}

/* While a line is being typed, the terminal makes no signals of Ctrl-C and Ctrl-Z. */
static unsigned char on_interrupt(EditLine *el, int ch)
{
	(void)ch;
	self(el)->given_up = true;
	fputs("^C\n", stderr);
	return CC_NEWLINE;
}

static unsigned char on_suspend(EditLine *el, int ch)
{
	(void)el;
	(void)ch;
	raise(SIGTSTP); /* libedit catches it, and sees to the terminal before and after */
	return CC_REDISPLAY;
}

static void remember(struct str line, void *ctx)
{
	struct lineedit *l = ctx;
	char *text = mem_str(line);
	HistEvent ev;

	do_history(l->hist, &ev, H_ENTER, text);
	free(text);
}

/* libedit reads bytes beyond ASCII only as the locale's characters. */
static void use_utf8(void)
{
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "ANSI_X3.4-1968") == 0)
		setlocale(LC_CTYPE, "C.UTF-8");
}

/* The person's own ~/.editrc may change the keys, except the three that are ours. */
static void set_up(struct lineedit *l)
{
	HistEvent ev;

	do_history(l->hist, &ev, H_SETSIZE, HISTORY_LINES);
	do_history(l->hist, &ev, H_SETUNIQUE, 1);
	set(l->el, EL_CLIENTDATA, l);
	set(l->el, EL_PROMPT, prompt);
	set(l->el, EL_EDITOR, "emacs");
	set(l->el, EL_SIGNAL, 1);
	set(l->el, EL_HIST, do_history, l->hist);
	set(l->el, EL_ADDFN, "sonde-complete", "complete", on_tab);
	set(l->el, EL_ADDFN, "sonde-interrupt", "give the line up", on_interrupt);
	set(l->el, EL_ADDFN, "sonde-suspend", "stop for a while", on_suspend);
	set(l->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
	(void)read_editrc(l->el, NULL);
	set(l->el, EL_SETTY, "-d", "-isig", NULL);
	set(l->el, EL_BIND, "^I", "sonde-complete", NULL);
	set(l->el, EL_BIND, "^C", "sonde-interrupt", NULL);
	set(l->el, EL_BIND, "^Z", "sonde-suspend", NULL);
}

struct lineedit *lineedit_open(const char *path, const struct profile *p, struct err *err)
{
	struct lineedit *l;

	if (lazy_open(&libedit, err) != 0)
		return NULL;
	load_functions();
	use_utf8();
	l = mem_zeroed(1, sizeof(*l));
	*l = (struct lineedit){ .history = path, .p = p, .prompt = "" };
	l->el = init_editor("sonde", stdin, stderr, stderr);
	l->hist = init_history();
	if (!l->el || !l->hist) {
		lineedit_close(l);
		err_set(err, -EIO, "libedit cannot use this terminal");
		return NULL;
	}
	set_up(l);
	if (path)
		history_each(path, remember, l);
	return l;
}

void lineedit_close(struct lineedit *l)
{
	if (!l)
		return;
	if (l->el)
		end_editor(l->el);
	if (l->hist)
		end_history(l->hist);
	free(l);
}

int lineedit_read(struct lineedit *l, const char *text, struct str *line)
{
	const char *typed;
	int n = 0;

	l->prompt = text;
	l->given_up = false;
	fflush(stderr);
	set(l->el, EL_PREP_TERM, 1); /* libedit itself does so only after it has shown the prompt */
	typed = get_line(l->el, &n);
	if (l->given_up) {
		*line = STR("");
		return 1;
	}
	if (!typed || n <= 0)
		return 0;
	*line = (struct str){ typed, (size_t)n };
	if (line->p[line->n - 1] == '\n')
		line->n--;
	if (go_trim(*line).n) {
		remember(*line, l);
		if (l->history)
			(void)history_add(l->history, *line);
	}
	return 1;
}
