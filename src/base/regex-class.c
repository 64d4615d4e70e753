/*
 * regex-class.c - character classes, from Go's sets to PCRE2's brackets
 *
 * PCRE2's own \d, \s, [:space:] and so on mean other sets than Go's, so only ranges and
 * Unicode properties are written.  Go's tables are those of Unicode 13, Debian 12's PCRE2 has
 * Unicode 14: a character that is younger than Go's tables may match where it would not there.
 *
 * Under (?i) PCRE2 adds the other cases of ranges, not of properties; Go adds them to both.
 * The few properties where that makes a difference say so in the table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/regex-syntax.h"

#include <ctype.h>

/* Pairs of first and last character. */
struct ascii_set {
	const char *name;
	uint8_t n;
	uint8_t pairs[8];
};

static const struct ascii_set ascii_sets[] = {
	{ "d", 2, { '0', '9' } },
	{ "s", 6, { '\t', '\n', '\f', '\r', ' ', ' ' } },
	{ "w", 8, { '0', '9', 'A', 'Z', '_', '_', 'a', 'z' } },
	{ "alnum", 6, { '0', '9', 'A', 'Z', 'a', 'z' } },
	{ "alpha", 4, { 'A', 'Z', 'a', 'z' } },
	{ "ascii", 2, { 0, 0x7f } },
	{ "blank", 4, { '\t', '\t', ' ', ' ' } },
	{ "cntrl", 4, { 0, 0x1f, 0x7f, 0x7f } },
	{ "digit", 2, { '0', '9' } },
	{ "graph", 2, { '!', '~' } },
	{ "lower", 2, { 'a', 'z' } },
	{ "print", 2, { ' ', '~' } },
	{ "punct", 8, { '!', '/', ':', '@', '[', '`', '{', '~' } },
	{ "space", 4, { '\t', '\r', ' ', ' ' } },
	{ "upper", 2, { 'A', 'Z' } },
	{ "word", 8, { '0', '9', 'A', 'Z', '_', '_', 'a', 'z' } },
	{ "xdigit", 6, { '0', '9', 'A', 'F', 'a', 'f' } },
};

/*
 * Properties that differ from PCRE2's property of the same name: 'same' is how to say them, or
 * NULL if only 'folded' is of interest, which is what (?i) adds.
 */
struct odd_property {
	const char *name, *same, *folded;
};

static const struct odd_property odd_properties[] = {
	{ "C", "\\p{Cc}\\p{Cf}\\p{Co}", "" }, /* without the unassigned; surrogates never occur */
	{ "Common", NULL, "\\x{39c}\\x{3bc}" },
	{ "Greek", NULL, "\\x{b5}\\x{345}" },
	{ "Inherited", NULL, "\\x{399}\\x{3b9}\\x{1fbe}" },
	{ "L", NULL, "\\x{345}" },
	{ "Ll", NULL, "\\p{CWL}\\x{345}" },
	{ "Lt", NULL,
	  "\\x{1c4}-\\x{1cc}\\x{1f1}-\\x{1f3}\\x{1f80}-\\x{1f87}\\x{1f90}-\\x{1f97}"
	  "\\x{1fa0}-\\x{1fa7}\\x{1fb3}\\x{1fc3}\\x{1ff3}" },
	{ "Lu", NULL, "\\p{CWU}" },
	{ "M", NULL, "\\x{399}\\x{3b9}\\x{1fbe}" },
	{ "Mn", NULL, "\\x{399}\\x{3b9}\\x{1fbe}" },
};

static const char categories[] =
	"C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc "
	"Sk Sm So Z Zl Zp Zs";

static const char scripts[] =
	"Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum "
	"Bassa_Vah Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid "
	"Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian "
	"Common Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Dives_Akuru Dogra "
	"Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Georgian Glagolitic "
	"Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul Hanifi_Rohingya "
	"Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi "
	"Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kayah_Li Kharoshthi "
	"Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A "
	"Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean "
	"Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive "
	"Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean "
	"Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki "
	"Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian "
	"Old_South_Arabian Old_Turkic Oriya Osage Osmanya Pahawh_Hmong Palmyrene "
	"Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan "
	"Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng "
	"Soyombo Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet "
	"Takri Tamil Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Ugaritic Vai "
	"Wancho Warang_Citi Yezidi Yi Zanabazar_Square";

static bool is_listed(struct str name, const char *list)
{
	struct str left = str_of(list), word;

	while (str_field(&left, &word)) {
		if (str_eq(word, name))
			return true;
	}
	return false;
}

void regex_class_init(struct regex_class *c, bool fold)
{
	out_init(&c->items, 0);
	out_init(&c->rest, 0);
	c->fold = fold;
}

void regex_class_release(struct regex_class *c)
{
	out_release(&c->items);
	out_release(&c->rest);
}

void regex_quote_rune(struct out *o, uint32_t rune)
{
	if (rune < 0x80 && isalnum((int)rune))
		out_char(o, (char)rune);
	else
		out_printf(o, "\\x{%x}", rune);
}

static void put_range(struct out *o, uint32_t lo, uint32_t hi)
{
	if (lo > hi)
		return;
	regex_quote_rune(o, lo);
	if (lo == hi)
		return;
	out_char(o, '-');
	regex_quote_rune(o, hi);
}

void regex_class_range(struct regex_class *c, uint32_t lo, uint32_t hi)
{
	/* PCRE2 refuses surrogates, and no subject has them. */
	if (lo < 0xe000 && hi >= 0xd800) {
		if (lo < 0xd800)
			put_range(&c->items, lo, 0xd7ff);
		if (hi >= 0xe000)
			put_range(&c->items, 0xe000, hi);
		return;
	}
	put_range(&c->items, lo, hi);
}

static const struct ascii_set *find_ascii(struct str name)
{
	for (size_t i = 0; i < sizeof(ascii_sets) / sizeof(ascii_sets[0]); i++) {
		if (str_is(name, ascii_sets[i].name))
			return &ascii_sets[i];
	}
	return NULL;
}

static void put_set(struct out *o, const struct ascii_set *set)
{
	for (int i = 0; i < set->n; i += 2)
		put_range(o, set->pairs[i], set->pairs[i + 1]);
}

/*
 * Everything but 'set'.  Where case is ignored that is not the same as all the other ranges:
 * those would be folded, and bring letters of the set back.
 */
static void add_complement(struct regex_class *c, const struct ascii_set *set)
{
	uint32_t next = 0;

	if (c->fold) {
		out_text(&c->rest, "|[^");
		put_set(&c->rest, set);
		out_char(&c->rest, ']');
		return;
	}
	for (int i = 0; i < set->n; i += 2) {
		if (set->pairs[i] > next)
			put_range(&c->items, next, set->pairs[i] - 1u);
		next = set->pairs[i + 1] + 1u;
	}
	regex_class_range(c, next, RUNE_MAX);
}

bool regex_class_ascii(struct regex_class *c, struct str name, bool negated)
{
	const struct ascii_set *set = find_ascii(name);

	if (!set)
		return false;
	if (negated)
		add_complement(c, set);
	else
		put_set(&c->items, set);
	return true;
}

static const struct odd_property *find_odd(struct str name)
{
	for (size_t i = 0; i < sizeof(odd_properties) / sizeof(odd_properties[0]); i++) {
		if (str_is(name, odd_properties[i].name))
			return &odd_properties[i];
	}
	return NULL;
}

static void put_property(struct out *o, struct str name, char p)
{
	/* "sc:" because a bare script name means "script extensions" to PCRE2, a larger set. */
	const char *kind = is_listed(name, categories) ? "" : "sc:";

	out_printf(o, "\\%c{%s%.*s}", p, kind, STR_ARG(name));
}

static void put_odd(struct out *o, const struct odd_property *odd, bool fold)
{
	if (odd->same)
		out_text(o, odd->same);
	else
		put_property(o, str_of(odd->name), 'p');
	if (fold)
		out_text(o, odd->folded);
}

bool regex_class_property(struct regex_class *c, struct str name, bool negated)
{
	const struct odd_property *odd = find_odd(name);

	if (str_is(name, "Any")) {
		if (!negated)
			regex_class_range(c, 0, RUNE_MAX);
		return true;
	}
	if (!is_listed(name, categories) && !is_listed(name, scripts))
		return false;
	if (!odd || (!odd->same && !c->fold)) {
		put_property(&c->items, name, negated ? 'P' : 'p');
		return true;
	}
	if (!negated) {
		put_odd(&c->items, odd, c->fold);
		return true;
	}
	out_text(&c->rest, "|[^");
	put_odd(&c->rest, odd, c->fold);
	out_char(&c->rest, ']');
	return true;
}

/* The class, as alternatives of a group. */
static void write_alternatives(const struct regex_class *c, struct out *o)
{
	if (c->items.n) {
		out_char(o, '[');
		out_str(o, out_view(&c->items));
		out_char(o, ']');
	} else {
		out_text(o, "(?!)");
	}
	out_str(o, out_view(&c->rest));
}

void regex_class_write(const struct regex_class *c, bool negated, struct out *o)
{
	if (c->items.n && !c->rest.n) {
		out_text(o, negated ? "[^" : "[");
		out_str(o, out_view(&c->items));
		out_char(o, ']');
	} else if (!negated) {
		out_text(o, "(?:");
		write_alternatives(c, o);
		out_char(o, ')');
	} else {
		out_text(o, "(?:(?!");
		write_alternatives(c, o);
		out_text(o, ")\\p{Any})");
	}
}
