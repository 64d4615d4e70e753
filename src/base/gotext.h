/*
 * gotext.h - text the way Go reads and writes it
 *
 * The reference tool is a Go program, and much of what it prints is Go's own text: quoted
 * strings, shortest floating-point numbers, durations, dates, and what strconv says about a
 * bad number.  Same bytes need the same rules; they are here, and nowhere else.
 *
 * Everything is as in Go 1.19.  Text is UTF-8; a byte that is not part of valid UTF-8 counts
 * as one character, as in Go.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_GOTEXT_H
#define BASE_GOTEXT_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct err;
struct out;

/* What go_rune() gives for a byte that is not valid UTF-8. */
#define GO_RUNE_ERROR 0xfffd

/* The first character of 's', which must not be empty, and how many bytes it takes. */
uint32_t go_rune(struct str s, size_t *bytes);
/* How many characters 's' has: what Go pads by. */
size_t go_rune_count(struct str s);

/* unicode.IsPrint (Unicode 13): letters, marks, numbers, punctuation, symbols, and ' '. */
bool go_is_print(uint32_t rune);
/* unicode.IsSpace. */
bool go_is_space(uint32_t rune);

/* strings.TrimSpace. */
struct str go_trim(struct str s);
/* strings.Fields: skips white space and cuts off one word.  False if there is none left. */
bool go_field(struct str *rest, struct str *word);

/* %q: 's' in double quotes, with escapes for what is not printable. */
void go_quote(struct out *o, struct str s);
/* The same in 'buf', cut where it does not fit; for messages.  Returns 'buf'. */
const char *go_quoted(struct str s, char *buf, size_t size);

/* %v of a float64: the shortest digits that read back as 'v'. */
void go_float(struct out *o, double v);

/*
 * strconv.Atoi, ParseInt, ParseUint, ParseFloat(s, 64) and ParseBool.  'base' is 2 to 36, or 0
 * for the prefixes 0x 0o 0b 0 and underscores between digits.  Failure is -EINVAL or -ERANGE,
 * with the message strconv has for it, such as
 *
 *	strconv.Atoi: parsing "x": invalid syntax
 *
 * and '*v' as Go leaves it: 0, or the nearest value in range.
 */
int go_atoi(struct str s, int64_t *v, struct err *err);
int go_parse_int(struct str s, int base, int bits, int64_t *v, struct err *err);
int go_parse_uint(struct str s, int base, int bits, uint64_t *v, struct err *err);
int go_parse_float(struct str s, double *v, struct err *err);
int go_parse_bool(struct str s, bool *v, struct err *err);

/* time.Duration's String(): "1h15m30.918s", "1.5ms", "0s". */
void go_duration(struct out *o, int64_t nanoseconds);

enum go_layout {
	GO_DATE_2009, /* Jan 2, 2006 at 3:04pm (MST) */
	GO_DATE_2024, /* 2006-01-02 15:04:05 MST */
	GO_DATE_FULL, /* 2006-01-02 15:04:05.999999999 -0700 MST, as time.Time prints itself */
};

/*
 * The time 'nanoseconds' after 1970 in the local time zone, which is libc's: the program
 * says setenv("TZ", go_time_zone(getenv("TZ")...)) first if Go's idea of it is wanted.
 */
void go_time(struct out *o, int64_t nanoseconds, enum go_layout layout);

/*
 * What TZ must be for libc to use the time zone that Go would use if TZ were 'tz' (NULL: not
 * set).  The two differ where TZ is empty, or does not name a file.  Returns NULL if TZ must
 * not be set, and else a string: a constant, or 'buf'.
 */
const char *go_time_zone(const char *tz, char *buf, size_t size);

/* filepath.Clean, Dir and Join.  Results live in 'a', or are the argument itself. */
struct str go_path_clean(struct arena *a, struct str path);
struct str go_path_dir(struct arena *a, struct str path);
struct str go_path_join(struct arena *a, struct str dir, struct str name);

#endif /* BASE_GOTEXT_H */
