/*
 * flame-svg.c - a flame graph as one SVG file
 *
 * The root is at the top, as in the reference's web pages.  The picture is complete as it is:
 * colours, fonts and sizes are attributes, so that it looks the same where style sheets and scripts
 * do not count, as in a mail or behind a strict content security policy.  Where they do, flame.js
 * adds search, zoom and the keyboard.  All it needs to know it reads off the frames: where they
 * are, how wide, and their titles.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "base/units.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "render/flame-assets.h"
#include "render/flame-captions.h"
#include "render/flame-colour.h"
#include "render/flame-text.h"
#include "render/render.h"
#include "render/xml.h"
#include "report/flame.h"
#include "report/legend.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>

/* Pixels. */
enum {
	MARGIN = 12,
	WIDTH = 1200,
	INNER = WIDTH - 2 * MARGIN,
	ROW = 18,      /* from frame to frame */
	LINE = 16,     /* from line to line of small text */
	PADDING = 4,   /* left and right of a frame's name */
	BASELINE = 13, /* of a frame's name, from its top */
	SWATCH = 11,
};
#define NARROWEST 0.25 /* of a frame that is drawn */
#define GAP       0.6  /* between frames side by side, if they are wider than this: */
#define GAP_FROM  2.0

enum {
	MOST_LEGEND = 8,      /* rows */
	MOST_MODULES = 8,     /* swatches */
	LONGEST_LEGEND = 160, /* characters of a line */
	LONGEST_MODULE = 40,  /* of a swatch */
	LONGEST_NAME = 4096,  /* of the name in a title */
	SHORTEST_NAME = 256,  /* what is left of it if there are too many frames */
	ALL_NAMES = 16 << 20, /* characters in all titles together */
};

#define FONT "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
#define DOT  "  \xc2\xb7  "

struct picture {
	struct report *r;
	struct out *o;
	struct flame f;
	struct captions captions;
	/* Modules whose hue is a larger one's, and which have another here. */
	struct {
		struct str module;
		unsigned int hue;
	} moved[MOST_MODULES];
	size_t nmoved;
	int y;
};

/* ------------------------------------------------------------------ text */

static struct str kept(struct picture *p, struct out *o)
{
	struct str s = xarena_str(&p->r->arena, out_view(o));

	out_release(o);
	return s;
}

static struct str visible(struct picture *p, struct str s, size_t most)
{
	struct out o;

	out_init(&o, 0);
	text_visible(&o, s, most);
	return kept(p, &o);
}

static void put_text(struct picture *p, int x, int y, const char *attributes, struct str s)
{
	out_printf(p->o, "<text x=\"%d\" y=\"%d\" %s>", x, y, attributes);
	xml_escape(p->o, s);
	out_text(p->o, "</text>\n");
}

/* A length with as many decimals as zooming needs, and no more. */
static void put_length(struct out *o, const char *name, double v)
{
	char text[40];
	int n = snprintf(text, sizeof(text), "%.4f", v);

	while (text[n - 1] == '0')
		n--;
	if (text[n - 1] == '.')
		n--;
	out_printf(o, " %s=\"%.*s\"", name, n, text);
}

/* "12,345" */
static void put_count(struct out *o, size_t v)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%zu", v);

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			out_char(o, ',');
		out_char(o, digits[i]);
	}
}

static void put_counted(struct out *o, size_t v, const char *noun)
{
	put_count(o, v);
	out_printf(o, " %s%s", noun, v == 1 ? "" : "s");
}

static void put_share(struct out *o, int64_t value, int64_t total)
{
	struct percentage share = percentage(value, total);

	out_text(o, percentage_trimmed(&share));
}

static const struct caption root_caption = { .name = { "root", 4 }, .label = { "root", 4 } };

static const struct caption *caption_of(struct picture *p, const struct flame_frame *f)
{
	return f->place == NONE ? &root_caption : captions_get(&p->captions, f->place);
}

/* ------------------------------------------------------------------ what frames are worth */

static int64_t mean_of(int64_t value, int64_t divisor)
{
	return divisor ? wrap_div(value, divisor) : value;
}

static int64_t value_of(const struct flame_frame *f)
{
	return mean_of(f->w.cum, f->w.cum_div);
}

/* A comparison says "+" of what grew; "-" comes with the number. */
static void put_value(const struct picture *p, struct out *o, int64_t v)
{
	if (p->f.compared && v > 0)
		out_char(o, '+');
	report_value(p->r, o, v);
}

static void put_value_and_share(const struct picture *p, struct out *o, int64_t v)
{
	put_value(p, o, v);
	out_text(o, " (");
	if (p->f.compared && v > 0)
		out_char(o, '+');
	put_share(o, v, p->r->total);
	out_char(o, ')');
}

/* Both sides of a comparison, where they can be told apart, or what grew and what shrank. */
static void put_sides(const struct picture *p, struct out *o, const struct flame_frame *f)
{
	int64_t more = f64_to_i64(f->more), less = f64_to_i64(f->less);

	if (!p->f.compared || p->r->selection.mean)
		return;
	out_text(o, p->f.has_base ? "\nbase " : "\ngrown ");
	report_value(p->r, o, p->f.has_base ? less : more);
	out_text(o, p->f.has_base ? ", now " : ", shrunk ");
	report_value(p->r, o, p->f.has_base ? more : less);
	if (!p->f.has_base || less == more)
		return;
	if (less == 0 || more == 0) {
		out_text(o, less == 0 ? ": new" : ": gone");
		return;
	}
	out_printf(o, ": %+.3g%%", 100 * (f->more - f->less) / f->less);
}

/* What the tooltip says: flame.js takes the first line for the name. */
static void put_title(struct picture *p, const struct flame_frame *f, const struct caption *c)
{
	int64_t own = mean_of(f->w.flat, f->w.flat_div);
	struct out o;

	out_init(&o, 0);
	put_value_and_share(p, &o, value_of(f));
	out_text(&o, p->f.has_base ? " of the base's " : " of ");
	report_value(p->r, &o, p->r->total);
	put_sides(p, &o, f);
	if (f->w.flat) {
		out_text(&o, "\nitself ");
		put_value_and_share(p, &o, own);
	}
	if (f->inlined)
		out_text(&o, "\ninlined into its caller");
	out_text(p->o, "<title>");
	xml_escape(p->o, c->name);
	out_char(p->o, '\n');
	xml_escape(p->o, out_view(&o));
	out_text(p->o, "</title>");
	out_release(&o);
}

/* ------------------------------------------------------------------ frames */

/* A comparison's sign and number come first: they are there even if the name is cut. */
static struct str label_of(struct picture *p, const struct flame_frame *f, const struct caption *c)
{
	struct out o;

	if (!p->f.compared)
		return c->label;
	out_init(&o, 0);
	put_value(p, &o, value_of(f));
	out_char(&o, ' ');
	out_str(&o, c->label);
	return kept(p, &o);
}

static void put_label_text(struct picture *p, const struct flame_frame *f, struct str label,
			   bool all, double x, int y)
{
	out_text(p->o, "<text");
	put_length(p->o, "x", x + PADDING);
	out_printf(p->o, " y=\"%d\"", y + BASELINE);
	if (f->inlined)
		out_text(p->o, " font-style=\"italic\"");
	out_char(p->o, '>');
	xml_escape(p->o, label);
	out_text(p->o, all ? "</text>" : "\xe2\x80\xa6</text>");
}

/* What flame.js cannot see: the label if it is cut, and the width if the gap takes some of it. */
static void put_data(struct picture *p, const struct flame_frame *f, struct str label, double width)
{
	if (label.n) {
		out_text(p->o, " data-label=\"");
		xml_escape(p->o, label);
		out_char(p->o, '"');
	}
	if (width > GAP_FROM)
		put_length(p->o, "data-width", width);
	if (f->inlined)
		out_text(p->o, " data-inlined=\"\"");
}

static unsigned int hue_of(const struct picture *p, struct str module)
{
	for (size_t i = 0; i < p->nmoved; i++) {
		if (str_eq(p->moved[i].module, module))
			return p->moved[i].hue;
	}
	return colour_hue(module);
}

static struct colour fill_of(const struct picture *p, const struct flame_frame *f,
			     const struct caption *c)
{
	if (p->f.compared)
		return colour_of_step(colour_step(f->more, f->less));
	return c == &root_caption ? COLOUR_ROOT : colour_of(hue_of(p, c->module), c->function);
}

static void put_box(struct out *o, double x, int y, double width, struct colour fill)
{
	out_text(o, "<rect");
	put_length(o, "x", x);
	out_printf(o, " y=\"%d\"", y);
	put_length(o, "width", width > GAP_FROM ? width - GAP : width);
	out_printf(o, " height=\"%d\" fill=\"%s\"/>", ROW - 1, fill.text);
}

static void put_frame(struct picture *p, const struct flame_frame *f)
{
	const struct caption *c = caption_of(p, f);
	double whole = p->f.frames[0].width, scale = whole > 0 ? INNER / whole : 0;
	double x = f->x * scale, width = whole > 0 ? f->width * scale : INNER;
	struct str label = label_of(p, f, c), shown;
	int y = (int)f->level * ROW;
	bool all;

	shown = text_fit(label, width - 2 * PADDING, &all);
	out_text(p->o, "<g");
	put_data(p, f, all || str_eq(label, c->name) ? STR("") : label, width);
	out_char(p->o, '>');
	put_title(p, f, c);
	put_box(p->o, x, y, width, fill_of(p, f, c));
	if (shown.n)
		put_label_text(p, f, shown, all, x, y);
	out_text(p->o, "</g>\n");
}

static void put_frames(struct picture *p)
{
	out_printf(p->o,
		   "<g class=\"frames\" transform=\"translate(%d %d)\" font-size=\"12\" "
		   "fill=\"#16191d\">\n",
		   MARGIN, p->y);
	for (size_t i = 0; i < p->f.n; i++)
		put_frame(p, &p->f.frames[i]);
	out_text(p->o, "</g>\n");
	p->y += (int)p->f.levels * ROW;
}

/* ------------------------------------------------------------------ above the frames */

#define SMALL "class=\"pale\" font-size=\"12\" fill=\"#4d545c\""

/* A row of text that is full is written, and the next one starts. */
struct row {
	struct out text;
	double width;
	int n;
};

static void end_row(struct picture *p, struct row *row)
{
	if (row->text.n) {
		put_text(p, MARGIN, p->y, SMALL, out_view(&row->text));
		p->y += LINE;
		row->n++;
	}
	row->text.n = 0;
	row->width = 0;
}

static void add_to_row(struct picture *p, struct row *row, struct str s)
{
	double w = text_width(s) + text_width(STR(DOT));

	if (row->width + w > INNER)
		end_row(p, row);
	if (row->n >= MOST_LEGEND)
		return;
	if (row->text.n)
		out_text(&row->text, str_ends(out_view(&row->text), STR(":")) ? " " : DOT);
	out_str(&row->text, s);
	row->width += w;
}

static void put_legend(struct picture *p)
{
	struct legend l = { 0 };
	struct row row = { .n = 0 };

	legend_profile(&l, p->r);
	legend_filters(&l, p->r);
	out_init(&row.text, 0);
	for (size_t i = 0; i < l.n; i++)
		add_to_row(p, &row, visible(p, str_trim(l.lines[i]), LONGEST_LEGEND));
	end_row(p, &row);
	out_release(&row.text);
}

static void put_heading(struct picture *p)
{
	const struct profile *v = p->r->v;
	struct out o;

	out_init(&o, 0);
	if (v->nmappings && v->mappings[0].file) {
		text_visible(&o, str_base(profile_str(v, v->mappings[0].file)), LONGEST_MODULE);
		out_text(&o, ": ");
	}
	text_visible(&o, p->r->sample_type.n ? p->r->sample_type : STR("samples"), LONGEST_MODULE);
	if (p->f.compared)
		out_text(&o, p->f.has_base ? ", compared with a base" : ", differences");
	p->y += 16;
	put_text(p, MARGIN, p->y,
		 "class=\"ink\" font-size=\"17\" font-weight=\"bold\" fill=\"#16191d\"",
		 out_view(&o));
	p->y += LINE + 6;
	out_release(&o);
}

static double put_swatch(struct picture *p, double x, struct colour c, struct str s)
{
	out_text(p->o, "<rect");
	put_length(p->o, "x", x);
	out_printf(p->o,
		   " y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\" stroke=\"#80868f\" "
		   "stroke-width=\"0.5\"/>",
		   p->y - SWATCH + 1, SWATCH, SWATCH, c.text);
	x += SWATCH;
	if (s.n) {
		put_text(p, (int)x + 5, p->y, SMALL, s);
		x += text_width(s) + 18;
	}
	return x;
}

/* ------------------------------------------------------------------ what colours mean */

struct module {
	struct str name;
	double own; /* of all its frames */
};

static int by_module(const void *a, const void *b)
{
	return str_cmp(((const struct module *)a)->name, ((const struct module *)b)->name);
}

static int by_own(const void *a, const void *b)
{
	const struct module *x = a, *y = b;

	if (x->own != y->own)
		return x->own > y->own ? -1 : 1;
	return str_cmp(x->name, y->name);
}

/* The modules of all frames, those with the most of their own first. */
static struct module *list_modules(struct picture *p, size_t *n)
{
	struct module *m = mem_new(p->f.n, sizeof(*m));
	size_t last = 0;

	for (size_t i = 0; i < p->f.n; i++) {
		const struct flame_frame *f = &p->f.frames[i];

		m[i] = (struct module){ caption_of(p, f)->module, (double)abs_i64(f->w.flat) };
	}
	qsort(m, p->f.n, sizeof(*m), by_module);
	for (size_t i = 1; i < p->f.n; i++) {
		if (str_eq(m[i].name, m[last].name))
			m[last].own += m[i].own;
		else
			m[++last] = m[i];
	}
	*n = last + 1;
	qsort(m, *n, sizeof(*m), by_own);
	return m;
}

/* The end of an import path says more than its beginning. */
static struct str module_name(struct picture *p, struct str m)
{
	ptrdiff_t slash;

	if (m.n <= LONGEST_MODULE)
		return visible(p, m, LONGEST_MODULE);
	slash = str_find(str_skip(m, m.n - LONGEST_MODULE), STR("/"));
	if (slash < 0)
		return visible(p, m, LONGEST_MODULE);
	m = str_skip(m, m.n - LONGEST_MODULE + (size_t)slash);
	return xarena_printf(&p->r->arena, "\xe2\x80\xa6%.*s",
			     STR_ARG(visible(p, m, LONGEST_MODULE)));
}

/* Whether it is worth a swatch. */
static bool is_named(const struct module *m)
{
	return m->name.n > 0 && m->own > 0;
}

/* The largest modules get hues of their own, as far as there are any: that of the first is taken.
 */
static void choose_hues(struct picture *p, const struct module *m, size_t n)
{
	unsigned int taken = 0;

	for (size_t i = 0, k = 0; i < n && k < MOST_MODULES; i++) {
		unsigned int usual = colour_hue(m[i].name), hue = usual;

		if (!is_named(&m[i]))
			continue;
		k++;
		for (int step = 0; step < COLOUR_HUES && taken >> hue & 1; step++)
			hue = (hue + 1) % COLOUR_HUES;
		taken |= 1u << hue;
		if (hue == usual)
			continue;
		p->moved[p->nmoved].module = m[i].name;
		p->moved[p->nmoved++].hue = hue;
	}
}

static void put_modules(struct picture *p)
{
	size_t n, shown = 0;
	struct module *m = list_modules(p, &n);
	double x = MARGIN;

	choose_hues(p, m, n);
	for (size_t i = 0; i < n && shown < MOST_MODULES; i++) {
		struct str name = module_name(p, m[i].name);

		if (!is_named(&m[i]))
			continue;
		if (x + text_width(name) > INNER)
			break;
		x = put_swatch(p, x, colour_of(hue_of(p, m[i].name), STR("")), name);
		shown++;
	}
	free(m);
	p->y += shown ? LINE + 2 : 0;
}

static void put_steps(struct picture *p)
{
	struct str less = p->f.has_base ? STR("less than in the base") : STR("less"),
		   more = STR("more");
	double x = MARGIN;

	put_text(p, MARGIN, p->y, SMALL, less);
	x += text_width(less) + 4;
	for (int i = -COLOUR_STEPS; i < COLOUR_STEPS; i++)
		x = put_swatch(p, x, colour_of_step(i), STR(""));
	(void)put_swatch(p, x, colour_of_step(COLOUR_STEPS), more);
	p->y += LINE + 2;
}

/* Also where flame.js shows what is zoomed. */
static void put_summary(struct picture *p)
{
	int64_t shown = value_of(&p->f.frames[0]);
	struct out o;

	out_init(&o, 0);
	if (p->f.nsamples == 0) {
		out_text(&o, "There are no samples with a value to show.");
	} else {
		out_text(&o, "Showing ");
		put_value_and_share(p, &o, shown);
		out_text(&o, p->f.has_base ? " of the base's " : " of ");
		report_value(p->r, &o, p->r->total);
		out_text(&o, " total");
	}
	put_text(p, MARGIN, p->y, "class=\"ink summary\" font-size=\"13\" fill=\"#16191d\"",
		 out_view(&o));
	p->y += 10;
	out_release(&o);
}

/* ------------------------------------------------------------------ below the frames */

static void put_note(struct picture *p, struct out *o)
{
	put_text(p, MARGIN, p->y, SMALL, out_view(o));
	p->y += LINE;
	out_release(o);
}

static bool has_inlined(const struct flame *f)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->frames[i].inlined)
			return true;
	}
	return false;
}

static void note_samples(struct picture *p)
{
	struct out o;

	out_init(&o, 0);
	put_counted(&o, p->f.nsamples, "sample");
	if (p->f.nsamples < p->f.nsamples_before) {
		out_text(&o, " of ");
		put_count(&o, p->f.nsamples_before);
	}
	out_text(&o, ", ");
	put_counted(&o, p->f.n - 1, "frame");
	if (p->f.compared)
		out_text(&o, "; a frame is as wide as what both sides took together");
	if (has_inlined(&p->f))
		out_text(&o, "; names in italics were inlined");
	if (p->r->selection.mean)
		out_text(&o, "; widths are sums, numbers are means");
	put_note(p, &o);
}

static void note_cuts(struct picture *p)
{
	const struct flame_cuts *cuts = &p->f.cuts;
	const char *comma = "Not drawn: ";
	struct out o;

	out_init(&o, 0);
	if (cuts->narrow) {
		out_text(&o, comma);
		put_counted(&o, cuts->narrow, "subtree");
		out_printf(&o, " narrower than %.2g%% of the width", cuts->narrowest * 100);
		if (cuts->over_the_top)
			out_text(&o, ", to keep the widest");
		comma = "; ";
	}
	if (cuts->deep) {
		out_text(&o, comma);
		out_printf(&o, "what is more than %d calls deep", FLAME_MOST_LEVELS);
		comma = "; ";
	}
	if (cuts->negative) {
		out_text(&o, comma);
		put_counted(&o, cuts->negative, "subtree");
		out_text(&o, " with a negative value");
	}
	if (o.n)
		put_note(p, &o);
	else
		out_release(&o);
}

/* ------------------------------------------------------------------ the file */

static void put_opening(struct out *o, int height)
{
	out_printf(o,
		   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		   "viewBox=\"0 0 %d %d\" font-family=\"" FONT "\">\n",
		   WIDTH, height, WIDTH, height);
}

static void put_style(struct out *o, int height)
{
	out_text(o, "<style><![CDATA[\n");
	out_text(o, flame_style);
	out_printf(
		o,
		"]]></style>\n<rect class=\"paper\" width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
		WIDTH, height);
}

static void put_body(struct picture *p)
{
	p->y = MARGIN;
	put_heading(p);
	put_legend(p);
	p->y += 4;
	if (p->f.compared)
		put_steps(p);
	else
		put_modules(p);
	p->y += 4;
	put_summary(p);
	put_frames(p);
	p->y += LINE + 2;
	note_samples(p);
	note_cuts(p);
}

static void picture_init(struct picture *p, struct report *r)
{
	size_t longest_name;

	*p = (struct picture){ .r = r };
	flame_init(&p->f, r, NARROWEST / INNER);
	longest_name = ALL_NAMES / p->f.n;
	if (longest_name > LONGEST_NAME)
		longest_name = LONGEST_NAME;
	if (longest_name < SHORTEST_NAME)
		longest_name = SHORTEST_NAME;
	captions_init(&p->captions, r, &p->f.nodes, longest_name);
}

static void picture_release(struct picture *p)
{
	captions_release(&p->captions);
	flame_release(&p->f);
}

void render_flame_svg(struct report *r, struct out *o)
{
	struct picture p;
	struct out body;
	int height;

	/* The height is known once everything has its place. */
	out_init(&body, 0);
	picture_init(&p, r);
	p.o = &body;
	put_body(&p);
	height = p.y - LINE + MARGIN;
	put_opening(o, height);
	put_style(o, height);
	out_str(o, out_view(&body));
	out_text(o, "<script><![CDATA[\n");
	out_text(o, flame_script);
	out_text(o, "]]></script>\n</svg>\n");
	out_release(&body);
	picture_release(&p);
}
