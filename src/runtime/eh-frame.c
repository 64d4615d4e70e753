/*
 * eh-frame.c - unwind tables from .eh_frame
 *
 * Entries (FDEs) are first listed by address, then their programs run in that order, so that rows
 * come out sorted.  Where entries overlap, the first one wins.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/eh-frame.h"

#include "runtime/eh-cfa.h"
#include "runtime/os.h"
#include "runtime/sort.h"

#include <errno.h>

/* How pointers are written: what, relative to what. */
enum {
	PE_ABSOLUTE = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_TEXTREL = 0x20,
	PE_DATAREL = 0x30,
	PE_ALIGNED = 0x50,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

enum {
	PROGRAM_MAX = 256, /* bytes of a CIE's program; real ones have ten */
	ROWS_AT_FIRST = 1024,
};

/* An entry of either kind, without its length. */
struct record {
	struct eh_cursor body; /* behind the id */
	uint64_t at;           /* where its length is, in .eh_frame */
	uint64_t cie;          /* of an FDE: where its CIE is; ~0: it is a CIE itself */
};

struct cie {
	uint64_t at; /* ~0: none was read yet */
	bool good, has_data;
	uint8_t pointers; /* how FDEs write addresses */
	struct cfa_common common;
};

/* An FDE with code we want. */
struct entry {
	uint32_t pc;
	uint32_t at; /* where its length is, in .eh_frame */
};

struct builder {
	const struct sonde__eh_frame *in;
	struct cie cie; /* the last one that was used */
	struct entry *entries;
	size_t nentries, entries_mapped;
	struct sonde__row *rows;
	size_t nrows, room, rows_mapped, max;
	uint64_t end; /* rows are complete up to here */
	int rc;
};

/* Reads the length of the entry at 'at'; false at the end, or when there is no sense in it. */
static bool next_length(const uint8_t *bytes, size_t n, uint64_t at, struct eh_cursor *body)
{
	struct eh_cursor c = { bytes + at, bytes + n, false };
	uint64_t length = eh_unsigned(&c, 4);

	if (length == 0xffffffff)
		length = eh_unsigned(&c, 8);
	body->p = eh_bytes(&c, length);
	body->end = c.p;
	body->bad = c.bad;
	return !c.bad && length >= 4;
}

size_t sonde__eh_frame_length(const uint8_t *bytes, size_t n)
{
	struct eh_cursor body;
	uint64_t at = 0;

	while (next_length(bytes, n, at, &body))
		at = (uint64_t)(body.end - bytes);
	return n - at >= 4 ? at + 4 : at;
}

/* The entry at 'at', which moves on; false behind the last one. */
static bool next_record(const struct sonde__eh_frame *in, uint64_t *at, struct record *r)
{
	uint64_t id_at, id;

	if (!next_length(in->bytes, in->n, *at, &r->body))
		return false;
	r->at = *at;
	*at = (uint64_t)(r->body.end - in->bytes);
	id_at = (uint64_t)(r->body.p - in->bytes);
	id = eh_unsigned(&r->body, 4);
	r->cie = id == 0 ? ~0ull : id_at - id;
	return id <= id_at; /* otherwise it was not an entry at all */
}

static uint64_t read_value(struct eh_cursor *c, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case PE_ABSOLUTE:
	case PE_UDATA8:
	case PE_SDATA8:
		return eh_unsigned(c, 8);
	case PE_ULEB128:
		return eh_uleb(c);
	case PE_SLEB128:
		return (uint64_t)eh_sleb(c);
	case PE_UDATA2:
		return eh_unsigned(c, 2);
	case PE_UDATA4:
		return eh_unsigned(c, 4);
	case PE_SDATA2:
		return (uint64_t)eh_signed(c, 2);
	case PE_SDATA4:
		return (uint64_t)eh_signed(c, 4);
	default:
		c->bad = true;
		return 0;
	}
}

/* 'start' was read from 'from', which is at 'address' in memory. */
static uint64_t read_pointer(struct eh_cursor *c, uint8_t encoding, const uint8_t *from,
			     const struct sonde__eh_frame *in)
{
	uint64_t here = in->address + (uint64_t)(c->p - from);
	uint64_t v;

	if (encoding == PE_ALIGNED) {
		(void)eh_bytes(c, -here & 7);
		return eh_unsigned(c, 8);
	}
	v = read_value(c, encoding);
	switch (encoding & 0x70) {
	case PE_ABSOLUTE:
		return v;
	case PE_PCREL:
		return v + here;
	case PE_TEXTREL:
		return v + in->text;
	case PE_DATAREL:
		return v + in->data;
	default:
		c->bad = true;
		return 0;
	}
}

/* The letters of the augmentation that come with data. */
static void read_augmentation(struct eh_cursor *c, const char *letter,
			      const struct sonde__eh_frame *in, struct cie *cie)
{
	for (; *letter != '\0' && !c->bad; letter++) {
		uint8_t encoding;

		switch (*letter) {
		case 'L':
			(void)eh_u8(c);
			break;
		case 'P':
			encoding = eh_u8(c);
			if (encoding != PE_OMIT)
				(void)read_pointer(c, encoding & ~PE_INDIRECT, in->bytes, in);
			break;
		case 'R':
			cie->pointers = eh_u8(c);
			break;
		case 'S':
			cie->common.signal = true;
			break;
		case 'B': /* aarch64: another key for signatures */
		case 'G': /* aarch64: tagged memory */
			break;
		default:
			c->bad = true;
		}
	}
}

/* Everything up to the program; 'c' is left there. */
static void read_cie_head(struct eh_cursor *c, const struct sonde__eh_frame *in, struct cie *cie)
{
	uint8_t version = eh_u8(c);
	const char *letters = (const char *)c->p;
	struct eh_cursor data;
	const uint8_t *p;
	uint64_t n;

	while (eh_u8(c) != 0)
		;
	if (version == 4)
		(void)eh_bytes(c, 2);
	cie->common.code_align = eh_uleb(c);
	cie->common.data_align = eh_sleb(c);
	cie->common.ra = version == 1 ? eh_u8(c) : eh_uleb(c);
	if (c->bad || (version != 1 && version != 3 && version != 4)) {
		c->bad = true;
		return;
	}
	cie->has_data = letters[0] == 'z';
	if (!cie->has_data) {
		c->bad |= letters[0] != '\0';
		return;
	}
	n = eh_uleb(c);
	p = eh_bytes(c, n);
	if (p == NULL)
		return;
	data = (struct eh_cursor){ p, p + n, false };
	read_augmentation(&data, letters + 1, in, cie);
	c->bad |= data.bad;
}

static void read_cie(struct builder *b, uint64_t at)
{
	struct cie *cie = &b->cie;
	struct cfa_state *s = &cie->common.initial;
	struct record r;

	*cie = (struct cie){ .at = at };
	sonde__cfa_start(s);
	if (at >= b->in->n || !next_record(b->in, &at, &r) || r.cie != ~0ull)
		return;
	read_cie_head(&r.body, b->in, cie);
	if (r.body.bad || r.body.end - r.body.p > PROGRAM_MAX || cie->common.code_align == 0 ||
	    cie->common.ra != DWARF_RA || (cie->pointers & PE_INDIRECT) != 0)
		return;
	cie->good = sonde__cfa_run(&cie->common, s, &r.body, 0, 0, NULL);
}

/* Reads an FDE up to its program; false if it is not one with code we want. */
static bool read_fde(struct builder *b, struct record *r, uint64_t *pc, uint64_t *end)
{
	const struct sonde__eh_frame *in = b->in;
	uint64_t n;

	if (r->cie == ~0ull)
		return false;
	if (r->cie != b->cie.at)
		read_cie(b, r->cie);
	if (!b->cie.good)
		return false;
	*pc = read_pointer(&r->body, b->cie.pointers, in->bytes, in);
	n = read_value(&r->body, b->cie.pointers);
	if (b->cie.has_data)
		(void)eh_bytes(&r->body, eh_uleb(&r->body));
	if (r->body.bad || *pc < in->low || *pc >= in->high || n > in->high - *pc || n == 0)
		return false;
	*end = *pc + n;
	return true;
}

/* Lists FDEs, or only counts them where there is no room yet. */
static size_t list_entries(struct builder *b)
{
	struct record r;
	uint64_t at = 0, pc, end;
	size_t n = 0;

	while (next_record(b->in, &at, &r)) {
		if (!read_fde(b, &r, &pc, &end))
			continue;
		if (b->entries != NULL)
			b->entries[n] =
				(struct entry){ (uint32_t)(pc - b->in->low), (uint32_t)r.at };
		n++;
	}
	return n;
}

static bool is_before(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->pc < y->pc;
}

/* Linkers keep the order of the code nearly always. */
static void sort_entries(struct entry *e, size_t n)
{
	size_t i = 1;

	while (i < n && e[i - 1].pc <= e[i].pc)
		i++;
	if (i < n)
		sonde__sort(e, n, sizeof(*e), is_before);
}

/* Makes room for one more row. */
static bool reserve(struct builder *b)
{
	size_t room = b->room > 0 ? b->room * 2 : ROWS_AT_FIRST;
	struct sonde__row *rows;

	if (b->nrows < b->room)
		return true;
	if (b->nrows >= b->max) {
		b->rc = -E2BIG;
		return false;
	}
	rows = sonde__map(room * sizeof(*rows));
	if (rows == NULL) {
		b->rc = -ENOMEM;
		return false;
	}
	if (b->nrows > 0)
		memcpy(rows, b->rows, b->nrows * sizeof(*rows));
	sonde__unmap(b->rows, b->rows_mapped);
	b->rows = rows;
	b->room = room;
	b->rows_mapped = room * sizeof(*rows);
	return true;
}

static void add_row(void *ctx, uint64_t pc, uint32_t rule)
{
	struct builder *b = ctx;
	uint32_t at = (uint32_t)((pc > b->end ? pc : b->end) - b->in->low);

	if (b->nrows > 0 && b->rows[b->nrows - 1].pc == at) {
		b->rows[b->nrows - 1].rule = rule;
		return;
	}
	if (b->nrows > 0 && b->rows[b->nrows - 1].rule == rule)
		return;
	if (reserve(b))
		b->rows[b->nrows++] = (struct sonde__row){ at, rule };
}

static void run_entry(struct builder *b, uint64_t at)
{
	struct cfa_sink sink = { add_row, b };
	struct cfa_state s;
	struct record r;
	uint64_t pc, end;

	if (!next_record(b->in, &at, &r) || !read_fde(b, &r, &pc, &end) || end <= b->end)
		return;
	if (pc > b->end)
		add_row(b, b->end, RULE_NONE);
	s = b->cie.common.initial;
	(void)sonde__cfa_run(&b->cie.common, &s, &r.body, pc, end, &sink);
	b->end = end;
}

struct wanted {
	uint64_t pc;
	uint32_t rule;
};

static void keep_wanted(void *ctx, uint64_t pc, uint32_t rule)
{
	struct wanted *w = ctx;

	if (pc <= w->pc)
		w->rule = rule;
}

uint32_t sonde__eh_frame_rule(const struct sonde__eh_frame *in, uint64_t at, uint64_t pc)
{
	struct builder b = { .in = in, .cie.at = ~0ull };
	struct wanted w = { pc, RULE_NONE };
	struct cfa_sink sink = { keep_wanted, &w };
	struct cfa_state s;
	struct record r;
	uint64_t start, end;

	if (at >= in->n || !next_record(in, &at, &r) || !read_fde(&b, &r, &start, &end) ||
	    pc < start || pc >= end)
		return RULE_NONE;
	s = b.cie.common.initial;
	(void)sonde__cfa_run(&b.cie.common, &s, &r.body, start, end, &sink);
	return w.rule;
}

static void make_rows(struct builder *b)
{
	b->nentries = list_entries(b);
	if (b->nentries == 0) {
		b->rc = -ENOENT;
		return;
	}
	b->entries_mapped = b->nentries * sizeof(*b->entries);
	b->entries = sonde__map(b->entries_mapped);
	if (b->entries == NULL) {
		b->rc = -ENOMEM;
		return;
	}
	list_entries(b);
	sort_entries(b->entries, b->nentries);
	b->end = b->in->low;
	for (size_t i = 0; i < b->nentries && b->rc == 0; i++)
		run_entry(b, b->entries[i].at);
	add_row(b, b->end, RULE_NONE);
}

int sonde__table_build(struct sonde__table *t, const struct sonde__eh_frame *in, size_t max_rows)
{
	struct builder b = { .in = in, .cie.at = ~0ull, .max = max_rows };
	size_t keep;

	if (in->n > UINT32_MAX || in->high < in->low || in->high - in->low > UINT32_MAX)
		return -E2BIG;
	make_rows(&b);
	if (b.entries != NULL)
		sonde__unmap(b.entries, b.entries_mapped);
	if (b.rc < 0) {
		if (b.rows != NULL)
			sonde__unmap(b.rows, b.rows_mapped);
		return b.rc;
	}
	keep = (b.nrows * sizeof(*b.rows) + 4095) & ~(size_t)4095;
	if (keep < b.rows_mapped)
		sonde__unmap((char *)b.rows + keep, b.rows_mapped - keep);
	*t = (struct sonde__table){ .n = b.nrows, .mapped = keep, .rows = b.rows };
	return 0;
}

void sonde__table_release(struct sonde__table *t)
{
	if (t->rows != NULL)
		sonde__unmap((void *)t->rows, t->mapped);
	*t = (struct sonde__table){ 0 };
}

/* The last row that is not behind 'pc'. */
uint32_t sonde__table_rule(const struct sonde__table *t, uint64_t pc)
{
	const struct sonde__row *rows = t->rows;
	size_t n = t->n;

	if (n == 0 || pc < rows[0].pc)
		return RULE_NONE;
	while (n > 1) {
		size_t half = n / 2;

		if (rows[half].pc <= pc)
			rows += half;
		n -= half;
	}
	return rows->rule;
}

bool sonde__eh_frame_find(const uint8_t *hdr, size_t n, uint64_t address, uint64_t *eh_frame)
{
	struct sonde__eh_frame at = { .bytes = hdr, .n = n, .address = address, .data = address };
	struct eh_cursor c = { hdr, hdr + n, false };
	uint8_t version = eh_u8(&c);
	uint8_t encoding = eh_u8(&c);

	(void)eh_bytes(&c, 2); /* how a search table is written: it is not used */
	*eh_frame = read_pointer(&c, encoding, hdr, &at);
	return version == 1 && encoding != PE_OMIT && (encoding & PE_INDIRECT) == 0 && !c.bad;
}
