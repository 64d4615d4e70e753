/*
 * query.c - what stands in paths and queries: escapes, numbers, names
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/http.h"
#include "runtime/os.h"

#include <string.h>

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool sonde__unescape(char *text, bool plus)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		int high, low;

		if (*p == '+' && plus) {
			*to++ = ' ';
			continue;
		}
		if (*p != '%') {
			*to++ = *p;
			continue;
		}
		high = hex(p[1]);
		low = high < 0 ? -1 : hex(p[2]);
		if (low < 0)
			return false;
		/* Nothing here has a NUL in its name: the text would seem to end there. */
		*to++ = high * 16 + low ? (char)(high * 16 + low) : '\x01';
		p += 2;
	}
	*to = '\0';
	return true;
}

bool sonde__query_get(const char *query, const char *key, char *to, size_t cap)
{
	size_t nkey = strlen(key);

	while (query && *query) {
		size_t n = strcspn(query, "&");
		size_t nname = strcspn(query, "&=");
		size_t nvalue = nname < n ? n - nname - 1 : 0;

		/* Go ignores pairs with a ';', and those with a broken escape. */
		if (nname == nkey && memcmp(query, key, nkey) == 0 && !memchr(query, ';', n)) {
			if (nvalue >= cap)
				nvalue = cap - 1;
			memcpy(to, query + n - (nname < n ? n - nname - 1 : 0), nvalue);
			to[nvalue] = '\0';
			if (sonde__unescape(to, true))
				return true;
		}
		query += n + (query[n] == '&');
	}
	to[0] = '\0';
	return false;
}

bool sonde__parse_int(const char *text, int64_t *value)
{
	bool negative = *text == '-';
	uint64_t n = 0;

	*value = 0;
	text += *text == '-' || *text == '+';
	if (*text == '\0')
		return false;
	for (const char *p = text; *p; p++)
		if (*p < '0' || *p > '9')
			return false;
	for (; *text; text++) {
		n = n * 10 + (uint64_t)(*text - '0');
		if (n > (uint64_t)INT64_MAX) {
			*value = negative ? INT64_MIN : INT64_MAX;
			return false;
		}
	}
	*value = negative ? -(int64_t)n : (int64_t)n;
	return true;
}

/* The base a number says it has; '*skip' characters of prefix. */
static unsigned base_of(const char *text, size_t n, size_t *skip)
{
	*skip = 0;
	if (n < 2 || text[0] != '0')
		return 10;
	*skip = 2;
	switch (text[1] | 0x20) {
	case 'x':
		return 16;
	case 'o':
		return 8;
	case 'b':
		return 2;
	default:
		*skip = 1;
		return 8;
	}
}

uint64_t sonde__parse_address(const char *text, size_t n)
{
	size_t i;
	unsigned base = base_of(text, n, &i);
	uint64_t v = 0;

	if (i == n)
		return 0;
	for (; i < n; i++) {
		int d = hex(text[i]);

		if (d < 0 || (unsigned)d >= base || v > (UINT64_MAX - (unsigned)d) / base)
			return 0;
		v = v * base + (unsigned)d;
	}
	return v;
}

bool sonde__parse_seconds(const char *text, uint64_t *ns)
{
	const uint64_t second = 1000000000;
	uint64_t n = 0, unit = second;
	bool any = false;

	for (; *text >= '0' && *text <= '9'; text++, any = true)
		n = n < second ? n * 10 + (uint64_t)(*text - '0') : n;
	n *= second;
	if (*text == '.')
		for (text++; *text >= '0' && *text <= '9'; text++, any = true) {
			unit /= 10;
			n += unit * (uint64_t)(*text - '0');
		}
	*ns = n;
	return any && *text == '\0';
}

/* Drops the last part of the 'n' bytes of a clean path. */
static size_t parent(const char *path, size_t n)
{
	while (n > 0 && path[n - 1] != '/')
		n--;
	return n > 0 ? n - 1 : 0;
}

void sonde__clean_path(const char *path, char *to)
{
	size_t n = 0, len = strlen(path);
	bool slash = len == 0 || path[len - 1] == '/';

	for (const char *p = path; *p;) {
		size_t part = strcspn(p, "/");

		if (part == 2 && p[0] == '.' && p[1] == '.') {
			n = parent(to, n);
		} else if (part > 0 && !(part == 1 && p[0] == '.')) {
			to[n++] = '/';
			memcpy(to + n, p, part);
			n += part;
		}
		p += part + (p[part] == '/');
	}
	if (slash || n == 0)
		to[n++] = '/';
	to[n] = '\0';
}

const char *sonde__http_status(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 301:
		return "Moved Permanently";
	case 400:
		return "Bad Request";
	case 401:
		return "Unauthorized";
	case 404:
		return "Not Found";
	case 413:
		return "Request Entity Too Large";
	case 431:
		return "Request Header Fields Too Large";
	case 503:
		return "Service Unavailable";
	default:
		return "Internal Server Error";
	}
}

/* Year, month and day of a day since 1970, in the calendar of the Gregorian reform. */
static void civil(int64_t day, int *year, int *month, int *mday)
{
	int64_t z = day + 719468;
	int64_t era = z / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;

	*mday = (int)(doy - (153 * mp + 2) / 5 + 1);
	*month = (int)(mp < 10 ? mp + 3 : mp - 9);
	*year = (int)(yoe + era * 400) + (*month <= 2);
}

void sonde__http_date(uint64_t wall_ns, char to[32])
{
	static const char days[] = "ThuFriSatSunMonTueWed";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	uint64_t s = wall_ns / 1000000000u;
	unsigned left = (unsigned)(s % 86400);
	int year, month, mday;

	civil((int64_t)(s / 86400), &year, &month, &mday);
	sonde__format(to, 32, "%.*s, %02d %.*s %d %02u:%02u:%02u GMT", 3, days + s / 86400 % 7 * 3,
		      mday, 3, months + (month - 1) * 3, year, left / 3600, left / 60 % 60,
		      left % 60);
}

void sonde__stamp(uint64_t wall_ns, char to[32])
{
	uint64_t s = wall_ns / 1000000000u;
	unsigned left = (unsigned)(s % 86400);
	int year, month, mday;

	civil((int64_t)(s / 86400), &year, &month, &mday);
	sonde__format(to, 32, "%d-%02d-%02dT%02u:%02u:%02uZ", year, month, mday, left / 3600,
		      left / 60 % 60, left % 60);
}
