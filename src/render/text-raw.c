/*
 * text-raw.c - everything in a profile, as text
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/digits.h"
#include "base/gotext.h"
#include "base/out.h"
#include "base/pieces.h"
#include "profile/labels.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "render/render.h"
#include "report/report.h"

#define LABEL_INDENT "                "

enum {
	VALUE_WIDTH = 10,
	ID_WIDTH = 6,
};

/* Right-aligned in so many columns. */
static void print_right(struct out *o, bool is_negative, uint64_t v, size_t width)
{
	char text[1 + DIGITS_MOST] = "-";
	size_t n = (size_t)(digits_decimal(text + is_negative, v) - text);

	if (n < width)
		out_fill(o, ' ', width - n);
	out_bytes(o, text, n);
}

static void print_value(struct out *o, int64_t v)
{
	print_right(o, v < 0, v < 0 ? -(uint64_t)v : (uint64_t)v, VALUE_WIDTH);
}

static void print_types(struct out *o, const struct profile *p)
{
	struct out line;
	struct str text;

	out_init(&line, 0);
	for (uint32_t i = 0; i < p->ntypes; i++) {
		out_str(&line, profile_str(p, p->types[i].type));
		out_char(&line, '/');
		out_str(&line, profile_str(p, p->types[i].unit));
		out_text(&line, p->types[i].type == p->default_type ? "[dflt] " : " ");
	}
	text = go_trim(out_view(&line));
	out_str(o, text);
	out_char(o, '\n');
	out_release(&line);
}

/* "key:[a b]", with units "key:[1 bytes 2 bytes]"; returns how many labels that were. */
static uint32_t print_key(struct out *o, const struct profile *p, const struct label *l, uint32_t n)
{
	uint32_t i;

	out_str(o, profile_str(p, l->key));
	out_text(o, ":[");
	for (i = 0; i < n && label_same_key(&l[0], &l[i]); i++) {
		if (i)
			out_char(o, ' ');
		if (label_is_string(&l[i]))
			out_str(o, profile_str(p, l[i].str));
		else
			out_i64(o, l[i].num);
		if (!label_is_string(&l[i]) && l[i].unit != NONE) {
			out_char(o, ' ');
			out_str(o, profile_str(p, l[i].unit));
		}
	}
	out_char(o, ']');
	return i;
}

/* The labels of one kind on a line, in the order in which they print. */
static void print_labels(struct out *o, struct pieces *parts, const struct profile *p,
			 const struct label *l, uint32_t n)
{
	if (n == 0)
		return;
	pieces_clear(parts);
	for (uint32_t i = 0; i < n;) {
		i += print_key(&parts->text, p, l + i, n - i);
		pieces_end(parts);
	}
	pieces_sort(parts, 0);
	out_text(o, LABEL_INDENT);
	for (size_t i = 0; i < parts->n; i++) {
		if (i)
			out_char(o, ' ');
		out_str(o, parts->at[i]);
	}
	out_char(o, '\n');
}

static void print_sample(struct out *o, struct pieces *parts, struct stack_reader *reader, size_t i)
{
	const struct profile *p = reader->p;
	const struct sample *s = sample_at(p, i);
	struct stack_list stack = stack_read(reader, i);
	const struct label *l = p->labels + s->label;
	uint32_t strings = 0;

	for (uint32_t t = 0; t < p->ntypes; t++) {
		out_char(o, ' ');
		print_value(o, sample_values(p, i)[t]);
	}
	out_text(o, ": ");
	for (uint32_t k = 0; k < stack.n; k++) {
		out_u64(o, p->locations[stack.at[k]].id);
		out_char(o, ' ');
	}
	out_char(o, '\n');
	while (strings < s->nlabels && label_is_string(&l[strings]))
		strings++;
	print_labels(o, parts, p, l, strings);
	print_labels(o, parts, p, l + strings, s->nlabels - strings);
}

static void print_line(const struct report *r, struct out *o, const struct line *ln)
{
	const struct profile *p = r->v;
	const struct function *f = &p->functions[ln->function];

	out_str(o, profile_str(p, f->name));
	out_char(o, ' ');
	out_str(o, profile_str(p, f->file));
	out_char(o, ':');
	out_i64(o, ln->line);
	if (r->cfg.showcolumns) {
		out_char(o, ':');
		out_i64(o, ln->column);
	}
	out_text(o, " s=");
	out_i64(o, f->start_line);
	if (f->name != f->system_name) {
		out_char(o, '(');
		out_str(o, profile_str(p, f->system_name));
		out_char(o, ')');
	}
	out_char(o, '\n');
}

static void print_location(const struct report *r, struct out *o, const struct location *l)
{
	const struct profile *p = r->v;

	print_right(o, false, l->id, ID_WIDTH);
	out_text(o, ": ");
	out_hex(o, l->address);
	out_char(o, ' ');
	if (l->mapping != NONE) {
		out_text(o, "M=");
		out_u64(o, p->mappings[l->mapping].id);
		out_char(o, ' ');
	}
	if (l->is_folded)
		out_text(o, "[F] ");
	if (l->nlines == 0)
		out_char(o, '\n');
	for (uint32_t i = 0; i < l->nlines; i++) {
		if (i)
			out_text(o, "             ");
		print_line(r, o, &p->lines[l->line + i]);
	}
}

static void print_mapping(struct out *o, const struct profile *p, const struct mapping *m)
{
	out_printf(o, "%llu: ", (unsigned long long)m->id);
	out_hex(o, m->start);
	out_char(o, '/');
	out_hex(o, m->limit);
	out_char(o, '/');
	out_hex(o, m->offset);
	out_char(o, ' ');
	out_str(o, profile_str(p, m->file));
	out_char(o, ' ');
	out_str(o, profile_str(p, m->build_id));
	out_printf(o, " %s%s%s%s\n", m->has_functions ? "[FN]" : "", m->has_filenames ? "[FL]" : "",
		   m->has_line_numbers ? "[LN]" : "", m->has_inline_frames ? "[IN]" : "");
}

/* The reference cuts a duration to four characters. */
static void print_duration(struct out *o, int64_t nanos)
{
	struct out d;

	out_init(&d, 0);
	go_duration(&d, nanos);
	out_text(o, "Duration: ");
	for (struct str rest = out_view(&d); rest.n;) {
		size_t bytes;

		(void)go_rune(rest, &bytes);
		if (go_rune_count((struct str){ d.p, (size_t)(rest.p - d.p) + bytes }) > 4)
			break;
		out_bytes(o, rest.p, bytes);
		rest = str_skip(rest, bytes);
	}
	out_char(o, '\n');
	out_release(&d);
}

static void print_header(const struct report *r, struct out *o)
{
	const struct profile *p = r->v;

	for (uint32_t i = 0; i < p->ncomments; i++) {
		out_text(o, "Comment: ");
		out_str(o, profile_str(p, p->comments[i]));
		out_char(o, '\n');
	}
	if (p->doc_url && strcmp(r->cfg.dialect, "modern") == 0) {
		out_text(o, "Doc: ");
		out_str(o, profile_str(p, p->doc_url));
		out_char(o, '\n');
	}
	out_text(o, "PeriodType: ");
	out_str(o, profile_str(p, p->period_type.type));
	out_char(o, ' ');
	out_str(o, profile_str(p, p->period_type.unit));
	out_printf(o, "\nPeriod: %lld\n", (long long)p->period);
	if (p->time_nanos) {
		out_text(o, "Time: ");
		go_time(o, p->time_nanos, GO_DATE_FULL);
		out_char(o, '\n');
	}
	if (p->duration_nanos)
		print_duration(o, p->duration_nanos);
}

void render_raw_text(struct report *r, struct out *o)
{
	const struct profile *p = r->v;
	struct stack_reader reader;
	struct pieces parts;

	stack_reader_init(&reader, p);
	pieces_init(&parts);
	print_header(r, o);
	out_text(o, "Samples:\n");
	print_types(o, p);
	for (size_t i = 0; i < p->nsamples; i++)
		print_sample(o, &parts, &reader, i);
	out_text(o, "Locations\n");
	for (uint32_t i = 0; i < p->nlocations; i++)
		print_location(r, o, &p->locations[i]);
	out_text(o, "Mappings\n");
	for (uint32_t i = 0; i < p->nmappings; i++)
		print_mapping(o, p, &p->mappings[i]);
	pieces_release(&parts);
	stack_reader_release(&reader);
}
