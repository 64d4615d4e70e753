/*
 * fuzz-profile.c - profile.proto bytes, through every report
 *
 * The first byte chooses options; the rest is a profile.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/out.h"
#include "profile/decode.h"
#include "profile/labels.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "render/render.h"
#include "report/report.h"
#include "view/prune.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const enum report_kind kinds[] = { REPORT_TEXT,      REPORT_TREE,   REPORT_TRACES,
					  REPORT_TAGS,      REPORT_RAW,    REPORT_DOT,
					  REPORT_CALLGRIND, REPORT_PROTO,  REPORT_TOPPROTO,
					  REPORT_FOLDED,    REPORT_PEEK,   REPORT_STACKS,
					  REPORT_FLAME,     REPORT_DISASM, REPORT_WEBLIST };

static struct config config_for(uint8_t choice)
{
	static const char *const granularity[] = { "functions", "lines", "addresses",
						   "filefunctions" };

	return (struct config){ .output = "",
				.call_tree = choice & 1,
				.unit = choice & 2 ? "minimum" : "auto",
				.source_path = "/nowhere",
				.trim_path = "",
				.mean = choice & 4,
				.sample_index = "",
				.divide_by = choice & 8 ? 3 : 1,
				.sort = choice & 16 ? "cum" : "flat",
				.tagroot = choice & 32 ? "bytes,key" : "",
				.tagleaf = "",
				.drop_negative = choice & 64,
				.nodecount = choice & 128 ? 2 : -1,
				.nodefraction = 0.005,
				.edgefraction = 0.001,
				.trim = true,
				.focus = choice & 1 ? "a|b" : "",
				.ignore = "",
				.prune_from = choice & 8 ? "m" : "",
				.hide = choice & 2 ? "x" : "",
				.show = "",
				.show_from = choice & 4 ? "m" : "",
				.tagfocus = choice & 16 ? "1:" : "",
				.tagignore = "",
				.tagshow = choice & 32 ? "k" : "",
				.taghide = "",
				.granularity = granularity[choice & 3],
				.format = "text",
				.dialect = "go1.19",
				.names = choice & 1 ? "default" : "3",
				.merge_names = choice & 4 };
}

static void render(struct report *r, struct out *o, uint8_t choice)
{
	switch (r->kind) {
	case REPORT_TEXT:
		(choice & 1 ? render_top_json : render_top_text)(r, o);
		break;
	case REPORT_TREE:
	case REPORT_PEEK:
		(void)(choice & 1 ? render_tree_csv : render_tree_text)(r, o, NULL);
		break;
	case REPORT_TRACES:
		render_traces_text(r, o);
		break;
	case REPORT_TAGS:
		(choice & 1 ? render_tags_csv : render_tags_text)(r, o);
		break;
	case REPORT_RAW:
		render_raw_text(r, o);
		break;
	case REPORT_DOT:
		render_dot(r, o);
		break;
	case REPORT_CALLGRIND:
		render_callgrind(r, o);
		break;
	case REPORT_PROTO:
		render_proto(r, o);
		break;
	case REPORT_TOPPROTO:
		render_topproto(r, o);
		break;
	case REPORT_FOLDED:
		render_folded(r, o);
		break;
	case REPORT_STACKS:
		(void)render_stacks_text(r, o, NULL);
		break;
	case REPORT_DISASM:
		(void)render_disasm_text(r, o, NULL);
		break;
	case REPORT_WEBLIST:
		(void)render_weblist(r, o, NULL);
		break;
	case REPORT_FLAME:
		render_flame_svg(r, o);
		break;
	default:
		break;
	}
}

static void report(const struct profile *p, uint8_t choice)
{
	struct config cfg = config_for(choice);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bool param = kinds[i] == REPORT_PEEK || kinds[i] == REPORT_STACKS ||
			     kinds[i] == REPORT_DISASM || kinds[i] == REPORT_WEBLIST;
		struct report *r;
		struct out o;

		if (report_new(&r, p, kinds[i], param ? "m" : NULL, &cfg, NULL, NULL) != 0)
			continue;
		out_init(&o, 64 << 20);
		render(r, &o, choice);
		out_release(&o);
		report_free(r);
	}
}

/* With a head start, or without: that must not matter. */
static int decode(struct str bytes, bool ahead, struct profile **p)
{
	struct head_start *h = ahead ? head_start_new(NULL) : NULL;
	int rc;

	for (size_t i = 1; ahead && i <= 3; i++)
		head_start_feed(h, bytes.p, bytes.n * i / 3, bytes.n);
	rc = profile_decode(bytes, NULL, h, p, NULL);
	head_start_free(h);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p;

	if (size < 1)
		return 0;
	if (decode((struct str){ (const char *)data + 1, size - 1 }, data[0] & 0x40, &p) != 0)
		return 0;
	if (profile_combine(&p, 1, &p, NULL) != 0)
		return 0;
	prune_uninteresting(p);
	labels_settle(p);
	report(p, data[0]);
	profile_free(p);
	return 0;
}
