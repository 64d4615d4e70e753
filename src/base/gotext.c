/*
 * gotext.c - text the way Go reads and writes it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/gotext.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* How long the UTF-8 sequence is that begins with 'c'; 0 if none does. */
static size_t sequence_length(unsigned char c)
{
	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c <= 0xdf)
		return 2;
	if (c >= 0xe0 && c <= 0xef)
		return 3;
	return c >= 0xf0 && c <= 0xf4 ? 4 : 0;
}

uint32_t go_rune(struct str s, size_t *bytes)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s.p;
	size_t n = sequence_length(p[0]);
	uint32_t r;

	*bytes = 1;
	if (n == 1)
		return p[0];
	if (n == 0 || n > s.n)
		return GO_RUNE_ERROR;
	r = p[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return GO_RUNE_ERROR;
		r = r << 6 | (p[i] & 0x3f);
	}
	if (r < smallest[n] || r > 0x10ffff || (r >= 0xd800 && r <= 0xdfff))
		return GO_RUNE_ERROR;
	*bytes = n;
	return r;
}

size_t go_rune_count(struct str s)
{
	size_t n = 0, bytes;

	for (; s.n; s = str_skip(s, bytes)) {
		go_rune(s, &bytes);
		n++;
	}
	return n;
}

bool go_is_space(uint32_t r)
{
	if (r < 0x80)
		return r == ' ' || (r >= '\t' && r <= '\r');
	return r == 0x85 || r == 0xa0 || r == 0x1680 || (r >= 0x2000 && r <= 0x200a) ||
	       r == 0x2028 || r == 0x2029 || r == 0x202f || r == 0x205f || r == 0x3000;
}

/* How many bytes of white space 's' begins with. */
static size_t leading_space(struct str s)
{
	size_t n = 0, bytes;

	while (n < s.n && go_is_space(go_rune(str_skip(s, n), &bytes)))
		n += bytes;
	return n;
}

/* How many bytes of 's' there are before white space. */
static size_t leading_word(struct str s)
{
	size_t n = 0, bytes;

	while (n < s.n && !go_is_space(go_rune(str_skip(s, n), &bytes)))
		n += bytes;
	return n;
}

struct str go_trim(struct str s)
{
	size_t end = 0;

	s = str_skip(s, leading_space(s));
	for (struct str rest = s, word; go_field(&rest, &word);)
		end = (size_t)(word.p + word.n - s.p);
	s.n = end;
	return s;
}

bool go_field(struct str *rest, struct str *word)
{
	*rest = str_skip(*rest, leading_space(*rest));
	*word = (struct str){ rest->p, leading_word(*rest) };
	*rest = str_skip(*rest, word->n);
	return word->n > 0;
}

static void quote_escape(struct out *o, uint32_t r)
{
	static const char letters[] = "abtnvfr"; /* from 7 on */

	if (r >= '\a' && r <= '\r')
		out_printf(o, "\\%c", letters[r - '\a']);
	else if (r < ' ' || r == 0x7f)
		out_printf(o, "\\x%02x", r);
	else
		out_printf(o, r < 0x10000 ? "\\u%04x" : "\\U%08x", r);
}

void go_quote(struct out *o, struct str s)
{
	size_t n;

	out_char(o, '"');
	for (; s.n; s = str_skip(s, n)) {
		uint32_t r = go_rune(s, &n);

		if (r == GO_RUNE_ERROR && n == 1)
			out_printf(o, "\\x%02x", (unsigned char)s.p[0]);
		else if (r == '"' || r == '\\')
			out_printf(o, "\\%c", (char)r);
		else if (go_is_print(r))
			out_bytes(o, s.p, n);
		else
			quote_escape(o, r);
	}
	out_char(o, '"');
}

const char *go_quoted(struct str s, char *buf, size_t size)
{
	struct out o;

	if (s.n > size)
		s.n = size;
	out_init(&o, 0);
	go_quote(&o, s);
	snprintf(buf, size, "%.*s", STR_ARG(out_view(&o)));
	out_release(&o);
	return buf;
}

/*
 * The fewest digits that read back as 'v', as printf's "%e" writes them.  (For one power of
 * two in fifty, Go finds a number of 16 digits that is not the nearest one, but still reads
 * back as 'v', where this needs 17.)
 */
static void shortest_digits(double v, char *buf, size_t size)
{
	for (int digits = 0; digits <= 16; digits++) {
		snprintf(buf, size, "%.*e", digits, v);
		if (strtod(buf, NULL) == v)
			return;
	}
}

void go_float(struct out *o, double v)
{
	char buf[40];
	int exponent, ndigits;

	if (isnan(v) || isinf(v)) {
		out_text(o, isnan(v) ? "NaN" : v < 0 ? "-Inf" : "+Inf");
		return;
	}
	shortest_digits(v, buf, sizeof(buf));
	exponent = (int)strtol(strchr(buf, 'e') + 1, NULL, 10);
	ndigits = (int)(strcspn(buf, "e") - (strchr(buf, '.') != NULL) - (buf[0] == '-'));
	if (exponent < -4 || exponent >= 6)
		out_text(o, buf);
	else
		out_printf(o, "%.*f", ndigits - 1 > exponent ? ndigits - 1 - exponent : 0, v);
}

static int number_error(const char *function, struct str s, int code, struct err *err)
{
	char quoted[2048];

	return err_set(err, code, "strconv.%s: parsing %s: %s", function,
		       go_quoted(s, quoted, sizeof(quoted)),
		       code == -ERANGE ? "value out of range" : "invalid syntax");
}

static char lower(char c)
{
	return (char)(c | ('x' - 'X'));
}

static bool is_digit(char c, bool hex)
{
	return (c >= '0' && c <= '9') || (hex && lower(c) >= 'a' && lower(c) <= 'f');
}

/* An underscore stands between digits, or between the prefix of a base and a digit. */
static bool underscores_ok(struct str s)
{
	bool hex = false, after_digit = false, after_underscore = false;

	if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
		s = str_skip(s, 1);
	if (s.n >= 2 && s.p[0] == '0' && strchr("box", lower(s.p[1]))) {
		hex = lower(s.p[1]) == 'x';
		after_digit = true;
		s = str_skip(s, 2);
	}
	for (size_t i = 0; i < s.n; i++) {
		bool digit = is_digit(s.p[i], hex), underscore = s.p[i] == '_';

		if ((underscore && !after_digit) || (after_underscore && !digit))
			return false;
		after_digit = digit;
		after_underscore = underscore;
	}
	return !after_underscore;
}

/* The base that a prefix of '*s' asks for; takes the prefix off. */
static int base_of(struct str *s)
{
	char c = s->n >= 3 ? lower(s->p[1]) : 0;

	if (s->n == 0 || s->p[0] != '0')
		return 10;
	*s = str_skip(*s, c == 'b' || c == 'o' || c == 'x' ? 2 : 1);
	return c == 'b' ? 2 : c == 'x' ? 16 : 8;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = lower(c);
	return c >= 'a' && c <= 'z' ? c - 'a' + 10 : 99;
}

static int parse_uint(struct str s, int base, int bits, uint64_t *v)
{
	uint64_t max = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	struct str digits = s;
	bool prefixes = base == 0, underscores = false;
	uint64_t n = 0;

	*v = 0;
	if (s.n == 0)
		return -EINVAL;
	if (prefixes)
		base = base_of(&digits);
	for (size_t i = 0; i < digits.n; i++) {
		int d = digit_value(digits.p[i]);

		if (prefixes && digits.p[i] == '_') {
			underscores = true;
			continue;
		}
		if (d >= base)
			return -EINVAL;
		if (__builtin_mul_overflow(n, (uint64_t)base, &n) ||
		    __builtin_add_overflow(n, (uint64_t)d, &n) || n > max) {
			*v = max;
			return -ERANGE;
		}
	}
	if (underscores && !underscores_ok(s))
		return -EINVAL;
	*v = n;
	return 0;
}

static int parse_int(struct str s, int base, int bits, int64_t *v)
{
	bool negative = s.n && s.p[0] == '-';
	uint64_t half = 1ull << (bits - 1), n;
	int rc =
		parse_uint(s.n && (s.p[0] == '+' || negative) ? str_skip(s, 1) : s, base, bits, &n);

	*v = 0;
	if (rc == -EINVAL)
		return rc;
	rc = 0;
	if (n > half - !negative) {
		n = half - !negative;
		rc = -ERANGE;
	}
	*v = (int64_t)(negative ? 0 - n : n);
	return rc;
}

int go_parse_uint(struct str s, int base, int bits, uint64_t *v, struct err *err)
{
	int rc = parse_uint(s, base, bits, v);

	return rc ? number_error("ParseUint", s, rc, err) : 0;
}

int go_parse_int(struct str s, int base, int bits, int64_t *v, struct err *err)
{
	int rc = parse_int(s, base, bits, v);

	return rc ? number_error("ParseInt", s, rc, err) : 0;
}

int go_atoi(struct str s, int64_t *v, struct err *err)
{
	int rc = parse_int(s, 10, 64, v);

	return rc ? number_error("Atoi", s, rc, err) : 0;
}

/* Skips digits and underscores; true if there was a digit. */
static bool skip_digits(struct str *s, bool hex)
{
	bool digits = false;

	for (; s->n && (is_digit(s->p[0], hex) || s->p[0] == '_'); *s = str_skip(*s, 1))
		digits = digits || s->p[0] != '_';
	return digits;
}

/* Whether Go reads all of 's' as a number with digits. */
static bool is_float(struct str s)
{
	bool hex, digits;

	if (s.n && memchr(s.p, '_', s.n) && !underscores_ok(s))
		return false;
	if (s.n && (s.p[0] == '+' || s.p[0] == '-'))
		s = str_skip(s, 1);
	hex = s.n > 2 && s.p[0] == '0' && lower(s.p[1]) == 'x';
	if (hex)
		s = str_skip(s, 2);
	digits = skip_digits(&s, hex);
	if (s.n && s.p[0] == '.') {
		s = str_skip(s, 1);
		digits = skip_digits(&s, hex) || digits;
	}
	if (!digits || (hex && s.n == 0))
		return false;
	if (s.n == 0)
		return true;
	if (lower(s.p[0]) != (hex ? 'p' : 'e'))
		return false;
	s = str_skip(s, 1);
	if (s.n && (s.p[0] == '+' || s.p[0] == '-'))
		s = str_skip(s, 1);
	return s.n && s.p[0] != '_' && skip_digits(&s, false) && s.n == 0;
}

static bool is_word(struct str s, const char *word)
{
	return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* "inf" and "infinity", with or without a sign, and "nan", in any case. */
static bool special_float(struct str s, double *v)
{
	bool negative = s.n && s.p[0] == '-';
	struct str bare = negative || (s.n && s.p[0] == '+') ? str_skip(s, 1) : s;

	*v = is_word(s, "nan") ? (double)NAN : negative ? -HUGE_VAL : HUGE_VAL;
	return is_word(s, "nan") || is_word(bare, "inf") || is_word(bare, "infinity");
}

int go_parse_float(struct str s, double *v, struct err *err)
{
	char *digits, *to;

	if (special_float(s, v))
		return 0;
	*v = 0;
	if (!is_float(s))
		return number_error("ParseFloat", s, -EINVAL, err);
	digits = to = mem_new(s.n + 1, 1);
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] != '_')
			*to++ = s.p[i];
	}
	*to = '\0';
	*v = strtod(digits, NULL);
	free(digits);
	return isinf(*v) ? number_error("ParseFloat", s, -ERANGE, err) : 0;
}

int go_parse_bool(struct str s, bool *v, struct err *err)
{
	static const char *const words[] = { "0",     "1",    "f",     "t",    "F",     "T",
					     "false", "true", "FALSE", "TRUE", "False", "True" };

	*v = false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (str_is(s, words[i])) {
			*v = i % 2;
			return 0;
		}
	}
	return number_error("ParseBool", s, -EINVAL, err);
}

/* 'v' / 10^digits without trailing zeros, and without the point if nothing follows it. */
static void fraction(struct out *o, uint64_t v, int digits)
{
	uint64_t unit = 1, whole;

	for (int i = 0; i < digits; i++)
		unit *= 10;
	whole = v / unit;
	v -= whole * unit;
	out_u64(o, whole);
	if (v == 0)
		return;
	for (; v % 10 == 0; digits--)
		v /= 10;
	out_printf(o, ".%0*llu", digits, (unsigned long long)v);
}

void go_duration(struct out *o, int64_t nanoseconds)
{
	const uint64_t us = 1000, ms = 1000 * us, s = 1000 * ms, minute = 60 * s;
	uint64_t u = nanoseconds < 0 ? 0 - (uint64_t)nanoseconds : (uint64_t)nanoseconds;

	if (nanoseconds < 0)
		out_char(o, '-');
	if (u > 0 && u < s) {
		fraction(o, u, u < us ? 0 : u < ms ? 3 : 6);
		out_text(o, u < us ? "ns" : u < ms ? "µs" : "ms");
		return;
	}
	if (u >= 60 * minute) {
		out_u64(o, u / (60 * minute));
		out_char(o, 'h');
	}
	if (u >= minute) {
		out_u64(o, u / minute % 60);
		out_char(o, 'm');
	}
	fraction(o, u % minute, 9);
	out_char(o, 's');
}

static void zone_offset(struct out *o, long seconds)
{
	long minutes = seconds / 60;

	out_char(o, minutes < 0 ? '-' : '+');
	minutes = labs(minutes);
	out_printf(o, "%02ld%02ld", minutes / 60, minutes % 60);
}

/* A zone need not have a name, but must print as something. */
static void zone_name(struct out *o, const struct tm *tm)
{
	if (tm->tm_zone && tm->tm_zone[0])
		out_text(o, tm->tm_zone);
	else
		zone_offset(o, tm->tm_gmtoff);
}

void go_time(struct out *o, int64_t nanoseconds, enum go_layout layout)
{
	static const char months[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	const int64_t second = 1000000000;
	int64_t part = nanoseconds % second;
	time_t t = nanoseconds / second - (part < 0);
	struct tm tm;

	part += part < 0 ? second : 0;
	localtime_r(&t, &tm);
	if (layout == GO_DATE_2009) {
		out_printf(o, "%s %d, %04d at %d:%02d%s (", months[tm.tm_mon], tm.tm_mday,
			   tm.tm_year + 1900, tm.tm_hour % 12 ? tm.tm_hour % 12 : 12, tm.tm_min,
			   tm.tm_hour < 12 ? "am" : "pm");
		zone_name(o, &tm);
		out_char(o, ')');
		return;
	}
	out_printf(o, "%04d-%02d-%02d %02d:%02d:", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
		   tm.tm_hour, tm.tm_min);
	out_text(o, tm.tm_sec < 10 ? "0" : "");
	fraction(o, (uint64_t)(tm.tm_sec * second + (layout == GO_DATE_FULL ? part : 0)), 9);
	if (layout == GO_DATE_FULL) {
		out_char(o, ' ');
		zone_offset(o, tm.tm_gmtoff);
	}
	out_char(o, ' ');
	zone_name(o, &tm);
}

static bool is_zone_file(const char *path)
{
	char magic[4] = "";
	FILE *f = fopen(path, "re");
	bool ok;

	if (!f)
		return false;
	ok = fread(magic, 1, sizeof(magic), f) == sizeof(magic) && memcmp(magic, "TZif", 4) == 0;
	fclose(f);
	return ok;
}

const char *go_time_zone(const char *tz, char *buf, size_t size)
{
	static const char *const folders[] = { "/usr/share/zoneinfo/", "/usr/share/lib/zoneinfo/",
					       "/usr/lib/locale/TZ/" };
	static const char utc[] = "UTC0";

	if (!tz)
		return is_zone_file("/etc/localtime") ? NULL : utc;
	if (tz[0] == ':')
		tz++;
	if (tz[0] == '\0' || strcmp(tz, "UTC") == 0 || strlen(tz) + 32 > size)
		return utc;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(buf, size, ":%s%s", tz[0] == '/' ? "" : folders[i], tz);
		if (is_zone_file(buf + 1))
			return buf;
	}
	return utc;
}

/* Takes the last element off the 'n' bytes at 'p', of which the first 'keep' must stay. */
static size_t parent(const char *p, size_t n, size_t keep)
{
	while (n > keep && p[n - 1] != '/')
		n--;
	return n > keep ? n - 1 : keep;
}

struct str go_path_clean(struct arena *a, struct str path)
{
	bool rooted = path.n && path.p[0] == '/';
	size_t n = rooted, keep = rooted;
	struct str part;
	char *p;

	if (path.n == 0)
		return STR(".");
	p = xarena(a, path.n + 1, 1);
	p[0] = path.p[0];
	while (str_split(&path, '/', &part)) {
		bool up = str_is(part, "..");

		if (part.n == 0 || str_is(part, ".") || (up && rooted && n == keep))
			continue;
		if (up && n > keep) {
			n = parent(p, n, keep);
			continue;
		}
		if (n > rooted)
			p[n++] = '/';
		memcpy(p + n, part.p, part.n);
		n += part.n;
		if (up)
			keep = n;
	}
	return n ? (struct str){ p, n } : STR(".");
}

struct str go_path_dir(struct arena *a, struct str path)
{
	return go_path_clean(a, (struct str){ path.p, (size_t)(str_rfind_char(path, '/') + 1) });
}

struct str go_path_join(struct arena *a, struct str dir, struct str name)
{
	struct str both;
	char *p;

	if (dir.n == 0 || name.n == 0) {
		both = dir.n ? dir : name;
		return both.n ? go_path_clean(a, both) : both;
	}
	p = xarena(a, dir.n + 1 + name.n, 1);
	memcpy(p, dir.p, dir.n);
	p[dir.n] = '/';
	memcpy(p + dir.n + 1, name.p, name.n);
	return go_path_clean(a, (struct str){ p, dir.n + 1 + name.n });
}
