/*
 * text.c - stacks in the text forms of profiles
 *
 * Frames are in columns as Go's tabwriter makes them: cells end in tabs, and those of a block are
 * as wide as the widest, in steps of eight.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/os.h"
#include "runtime/output.h"
#include "runtime/profiles.h"
#include "runtime/stacks.h"
#include "runtime/thread-dump.h"
#include "runtime/unwind.h"

#include <string.h>

enum { TAB = 8 };

/* Where a frame is, and what is there. */
struct frame {
	uint64_t pc;
	char address[24], offset[24];
	const char *name, *file; /* "" if not known; the binary, where there is no line */
	uint32_t line;
};

static uint64_t place_of(const struct sonde__stack *st, size_t i)
{
	return st->pcs[i] - (i > 0 || !st->leaf_is_pc);
}

static void find_place(struct frame *f)
{
	const struct sonde__module *m = sonde__module_at(f->pc);
	struct sonde__line at;

	if (sonde__line(f->pc, &at)) {
		f->file = at.file;
		f->line = at.line;
	} else if (m && m->path) {
		f->file = m->path;
	}
}

static struct frame look_up(const struct sonde__stack *st, size_t i)
{
	struct frame f = { .pc = place_of(st, i), .file = "" };
	const char *pseudo = sonde__pseudo_name(f.pc);
	uint64_t start = 0;

	f.name = pseudo ? pseudo : sonde__name(f.pc, &start);
	if (!pseudo)
		find_place(&f);
	sonde__format(f.address, sizeof(f.address), "0x%llx", (unsigned long long)f.pc);
	if (f.name && !pseudo)
		sonde__format(f.offset, sizeof(f.offset), "+0x%llx",
			      (unsigned long long)(f.pc - start));
	if (!f.name)
		f.name = "";
	return f;
}

/* As wide as the widest cell and a space, up to a tab stop. */
static size_t wider(size_t width, size_t cell)
{
	size_t need = (cell + 1 + TAB - 1) / TAB * TAB;

	return need > width ? need : width;
}

static void fill(struct sonde__buf *b, size_t cell, size_t width)
{
	for (; cell < width; cell = (cell / TAB + 1) * TAB)
		sonde__buf_add(b, "\t", 1);
}

static void add_frame(struct sonde__buf *b, const struct frame *f, const size_t widths[2])
{
	sonde__buf_text(b, "#\t");
	sonde__buf_text(b, f->address);
	fill(b, strlen(f->address), widths[0]);
	sonde__buf_text(b, f->name);
	sonde__buf_text(b, f->offset);
	if (f->file[0]) {
		fill(b, strlen(f->name) + strlen(f->offset), widths[1]);
		sonde__buf_text(b, f->file);
		if (f->line)
			sonde__buf_format(b, ":%u", f->line);
	}
	sonde__buf_text(b, "\n");
}

void sonde__text_want(struct sonde__buf *pcs, uint32_t id)
{
	const struct sonde__stack *st = sonde__stack(id);

	for (size_t i = 0; st && i < st->n; i++) {
		uint64_t pc = place_of(st, i);

		if (!sonde__pseudo_name(pc))
			sonde__buf_add(pcs, &pc, sizeof(pc));
	}
}

void sonde__text_find(struct sonde__buf *pcs)
{
	sonde__lines_find((const uint64_t *)(void *)pcs->p, pcs->n / sizeof(uint64_t));
	sonde__buf_release(pcs);
}

void sonde__text_addresses(struct sonde__buf *b, uint32_t id)
{
	const struct sonde__stack *st = sonde__stack(id);

	/* Readers take all of them for return addresses. */
	for (size_t i = 0; st && i < st->n; i++)
		sonde__buf_format(b, " 0x%llx",
				  (unsigned long long)st->pcs[i] + (i == 0 && st->leaf_is_pc));
	sonde__buf_text(b, "\n");
}

void sonde__text_frames(struct sonde__buf *b, uint32_t id)
{
	const struct sonde__stack *st = sonde__stack(id);
	size_t n = st ? st->n : 0, widths[2] = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct frame f = look_up(st, i);

		widths[0] = wider(widths[0], strlen(f.address));
		widths[1] = wider(widths[1], strlen(f.name) + strlen(f.offset));
	}
	for (size_t i = 0; i < n; i++) {
		struct frame f = look_up(st, i);

		add_frame(b, &f, widths);
	}
	if (n == 0)
		sonde__buf_text(b, "#\t0x0\n");
	sonde__buf_text(b, "\n");
}

void sonde__text_stack(struct sonde__buf *b, uint32_t id)
{
	sonde__text_addresses(b, id);
	sonde__text_frames(b, id);
}

/* Lines as in /proc/self/maps, below the heading that readers of such texts look for. */
void sonde__text_mappings(struct sonde__buf *b)
{
	const struct sonde__modules *all = sonde__modules();

	sonde__buf_text(b, "--- Memory map: ---\n");
	for (size_t i = 0; all && i < all->n; i++) {
		const struct sonde__module *m = &all->at[i];

		if (!m->path || m->path[0] != '/')
			continue;
		sonde__buf_format(b, "%08llx-%08llx r-xp %08llx 00:00 0 ",
				  (unsigned long long)m->start, (unsigned long long)m->end,
				  (unsigned long long)m->offset);
		sonde__buf_text(b, m->path);
		sonde__buf_text(b, "\n");
	}
}

static void dump_name(struct sonde__buf *b, const struct frame *f)
{
	sonde__buf_text(b, f->name[0] ? f->name : f->address);
}

/* Readers want a line, and take 0 for one that is not known. */
static void dump_place(struct sonde__buf *b, const struct frame *f)
{
	sonde__buf_text(b, "\n\t");
	sonde__buf_text(b, f->file[0] ? f->file : "??");
	sonde__buf_format(b, ":%u %s\n", f->line, f->offset[0] ? f->offset : "+0x0");
}

void sonde__text_dump(struct sonde__buf *b, uint32_t id)
{
	const struct sonde__stack *st = sonde__stack(id);

	for (size_t i = 0; st && i < st->n; i++) {
		struct frame f = look_up(st, i);

		dump_name(b, &f);
		sonde__buf_text(b, "(...)");
		dump_place(b, &f);
	}
}

void sonde__text_created_by(struct sonde__buf *b, uint32_t id)
{
	const struct sonde__stack *st = id ? sonde__stack(id) : NULL;
	struct frame f;

	if (!st || st->n == 0)
		return;
	f = look_up(st, 0);
	sonde__buf_text(b, "created by ");
	dump_name(b, &f);
	dump_place(b, &f);
}
