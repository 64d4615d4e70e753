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
	const char *name, *file;
};

static struct frame look_up(const struct sonde__stack *st, size_t i)
{
	struct frame f = { .pc = st->pcs[i] - (i > 0 || !st->leaf_is_pc) };
	const char *pseudo = sonde__pseudo_name(f.pc);
	const struct sonde__module *m = pseudo ? NULL : sonde__module_at(f.pc);
	uint64_t start = 0;

	f.name = pseudo ? pseudo : sonde__name(f.pc, &start);
	f.file = m && m->path ? m->path : "";
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
	}
	sonde__buf_text(b, "\n");
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

/* "name(...)" and the file it is in; there are no lines in symbol tables. */
static void dump_frame(struct sonde__buf *b, const struct frame *f)
{
	if (f->name[0])
		sonde__buf_text(b, f->name);
	else
		sonde__buf_text(b, f->address);
}

void sonde__text_dump(struct sonde__buf *b, uint32_t id)
{
	const struct sonde__stack *st = sonde__stack(id);

	for (size_t i = 0; st && i < st->n; i++) {
		struct frame f = look_up(st, i);

		dump_frame(b, &f);
		sonde__buf_text(b, "(...)\n\t");
		sonde__buf_text(b, f.file[0] ? f.file : "??");
		sonde__buf_format(b, ":0 %s\n", f.offset[0] ? f.offset : "+0x0");
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
	dump_frame(b, &f);
	sonde__buf_text(b, "\n\t");
	sonde__buf_text(b, f.file[0] ? f.file : "??");
	sonde__buf_format(b, ":0 %s\n", f.offset[0] ? f.offset : "+0x0");
}
