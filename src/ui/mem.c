/*
 * mem.c - "sonde mem": who uses the memory of a pod, a control group or this machine
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/out.h"
#include "base/units.h"
#include "render/json.h"
#include "ui/mem-read.h"
#include "ui/own-command.h"
#include "ui/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FLAG_WATCH, FLAG_SORT, FLAG_COUNT, FLAG_JSON };
enum { AROUND = 8, COLUMN = 11, LEAST_MS = 100 };

static const struct arg flags[] = {
	[FLAG_WATCH] = { "watch", "time", "Look again so often: 1s", ARG_TIME },
	[FLAG_SORT] = { "sort", "column", "pss, rss, swap or pid; pss if not set", ARG_TEXT },
	[FLAG_COUNT] = { "count", "n",
			 "Show so many processes; as many as there is room for if not set",
			 ARG_NUMBER },
	[FLAG_JSON] = { "json", NULL, "As JSON", ARG_TEXT },
	{ NULL, NULL, NULL, ARG_TEXT },
};

/* --- order ------------------------------------------------------------------------------- */

static int descending(uint64_t a, uint64_t b, const struct mem_process *x,
		      const struct mem_process *y)
{
	return a != b ? (a < b) - (a > b) : (x->pid > y->pid) - (x->pid < y->pid);
}

static int by_pss(const void *a, const void *b)
{
	const struct mem_process *x = a, *y = b;

	/* Of those we may not look into, what is known is the most they can be. */
	return descending(x->no_pss ? x->rss : x->pss, y->no_pss ? y->rss : y->pss, x, y);
}

static int by_rss(const void *a, const void *b)
{
	const struct mem_process *x = a, *y = b;

	return descending(x->rss, y->rss, x, y);
}

static int by_swap(const void *a, const void *b)
{
	const struct mem_process *x = a, *y = b;

	return descending(x->swap, y->swap, x, y);
}

static int by_pid(const void *a, const void *b)
{
	const struct mem_process *x = a, *y = b;

	return descending(0, 0, x, y);
}

typedef int compare_fn(const void *a, const void *b);

static compare_fn *find_order(const char *name)
{
	static const struct {
		const char *name;
		compare_fn *fn;
	} orders[] = {
		{ "pss", by_pss }, { "rss", by_rss }, { "swap", by_swap }, { "pid", by_pid }
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (!name || strcmp(name, orders[i].name) == 0)
			return orders[i].fn;
	return NULL;
}

/* --- as text ----------------------------------------------------------------------------- */

static void write_bytes(struct out *o, uint64_t n, int width)
{
	struct out value;

	out_init(&value, 0);
	unit_print(&value, n > INT64_MAX ? INT64_MAX : (int64_t)n, STR("bytes"), UNIT_AUTO);
	out_padded(o, out_view(&value), width);
	out_release(&value);
}

static void write_share(struct out *o, const char *what, uint64_t n)
{
	out_printf(o, ", %s ", what);
	write_bytes(o, n, 0);
}

static void write_head(struct out *o, const struct mem_group *g)
{
	out_printf(o, "control group %.*s: ", STR_ARG(g->path));
	if (!g->counted) {
		out_text(o, "not counted\n");
		return;
	}
	write_bytes(o, g->current, 0);
	if (g->limit != UINT64_MAX) {
		struct percentage p = percentage((int64_t)g->current, (int64_t)g->limit);

		out_text(o, " of ");
		write_bytes(o, g->limit, 0);
		out_printf(o, " (%s)", percentage_trimmed(&p));
	}
	write_share(o, "own memory of processes", g->anon);
	write_share(o, "files", g->cache);
	out_char(o, '\n');
}

static void write_process(struct out *o, const struct mem_process *p, int columns)
{
	size_t room = (size_t)(columns > 60 ? columns - 45 : 15);

	out_printf(o, "%8d", p->pid);
	write_bytes(o, p->rss, COLUMN);
	if (p->no_pss)
		out_printf(o, "%*s%*s", COLUMN, "?", COLUMN, "?");
	else {
		write_bytes(o, p->pss, COLUMN);
		write_bytes(o, p->swap, COLUMN);
	}
	out_printf(o, "  %.*s\n", (int)(p->name.n < room ? p->name.n : room), p->name.p);
}

static void write_text(struct out *o, const struct mem_group *g, size_t most, int columns)
{
	size_t n = g->n < most ? g->n : most;

	write_head(o, g);
	out_printf(o, "%8s%*s%*s%*s  %s\n", "PID", COLUMN, "Rss", COLUMN, "Pss", COLUMN, "Swap",
		   "command");
	for (size_t i = 0; i < n; i++)
		write_process(o, &g->processes[i], columns);
	if (n < g->n)
		out_printf(o, "%8s and %zu more\n", "", g->n - n);
	out_printf(o, "%8s", "sum");
	write_bytes(o, g->rss, COLUMN);
	write_bytes(o, g->pss, COLUMN);
	write_bytes(o, g->swap, COLUMN);
	out_printf(o, "  %zu processes\n", g->n);
	if (g->unread)
		out_printf(o, "Pss of %zu processes cannot be read by this user: not in the sum\n",
			   g->unread);
}

/* --- as JSON ----------------------------------------------------------------------------- */

static void write_json(struct out *o, const struct mem_group *g, size_t most)
{
	struct json j = { .o = o };

	json_open(&j, NULL, '{');
	json_string(&j, "group", g->path);
	if (g->counted)
		json_int(&j, "current", (int64_t)g->current);
	if (g->limit != UINT64_MAX)
		json_int(&j, "limit", (int64_t)g->limit);
	json_int(&j, "anon", (int64_t)g->anon);
	json_int(&j, "files", (int64_t)g->cache);
	json_int(&j, "rss", (int64_t)g->rss);
	json_int(&j, "pss", (int64_t)g->pss);
	json_int(&j, "swap", (int64_t)g->swap);
	json_int(&j, "unread", (int64_t)g->unread);
	json_open(&j, "processes", '[');
	for (size_t i = 0; i < g->n && i < most; i++) {
		const struct mem_process *p = &g->processes[i];

		json_open(&j, NULL, '{');
		json_int(&j, "pid", p->pid);
		json_string(&j, "command", p->name);
		json_int(&j, "rss", (int64_t)p->rss);
		if (!p->no_pss) {
			json_int(&j, "pss", (int64_t)p->pss);
			json_int(&j, "swap", (int64_t)p->swap);
		}
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
}

/* --- the command ------------------------------------------------------------------------- */

static int show(const struct args *args, compare_fn *order, bool screen, struct err *err)
{
	const char *count = args->values[FLAG_COUNT], *what = args->rest[0] ? args->rest[0] : "";
	size_t most = count ? args_number(count) : SIZE_MAX;
	int columns = 200, rows = 0, rc, written;
	struct mem_group g;
	struct out o;

	rc = mem_read(what, &g, err);
	if (rc == 0 && g.n && order)
		qsort(g.processes, g.n, sizeof(*g.processes), order);
	if (isatty(STDOUT_FILENO))
		terminal_size(&columns, &rows);
	if (screen && !count)
		most = rows > AROUND ? (size_t)(rows - AROUND) : 1;
	out_init_fd(&o, STDOUT_FILENO);
	if (rc == 0 && screen)
		out_text(&o, "\033[H\033[J");
	if (rc == 0 && args->values[FLAG_JSON])
		write_json(&o, &g, most);
	else if (rc == 0)
		write_text(&o, &g, most, columns);
	mem_release(&g);
	written = own_write(&o, rc == 0 ? err : NULL);
	return rc < 0 ? rc : written;
}

static int run_mem(const struct args *args)
{
	const char *often = args->values[FLAG_WATCH];
	int64_t ns = often ? args_ns(often) : 0;
	bool screen = often && !args->values[FLAG_JSON] && isatty(STDOUT_FILENO);
	compare_fn *order = find_order(args->values[FLAG_SORT]);
	struct err err = { "" };
	struct timespec pause;
	int rc = 0;

	if (!order)
		rc = err_set(&err, -EINVAL, "cannot sort by '%s': pss, rss, swap or pid",
			     args->values[FLAG_SORT]);
	else if (args->rest[0] && args->rest[1])
		rc = err_set(&err, -EINVAL, "one process or group; see --help");
	if (rc < 0)
		return own_complain("mem", &err, OWN_WRONG_USE);
	if (ns < LEAST_MS * (int64_t)1000000)
		ns = LEAST_MS * (int64_t)1000000;
	pause = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	do
		rc = show(args, order, screen, &err);
	while (rc == 0 && often && nanosleep(&pause, NULL) == 0);
	return rc < 0 ? own_complain("mem", &err, OWN_FAILED) : OWN_OK;
}

const struct own_command own_mem = {
	.name = "mem",
	.what = "Show the memory of a control group and of each process in it",
	.usage = "usage: sonde mem [options] [PID | folder]\n"
		 "\n"
		 "Shows the memory of the control group (the pod) that a process is in, or of the "
		 "one\n"
		 "with that folder, or of our own, and of each process in it and in those below "
		 "it.\n"
		 "Rss counts what processes share once for each of them; Pss shares it out, so "
		 "that\n"
		 "only its sum means something.\n"
		 "\n"
		 "  sonde mem --watch 1s $(pidof redis-server)\n",
	.flags = flags,
	.next = "file",
	.run = run_mem,
};
