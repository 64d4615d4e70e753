/*
 * args.h - options of our own commands, from one table each
 *
 * "--name value", "--name=value", and "--name" for those without a value; one dash does as well,
 * and a letter alone is the one option that begins with it.
 * Options stand before, between and behind other words, up to "--".  What the reference tool's
 * options are is another matter (ui/flags.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_ARGS_H
#define BASE_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct out;

enum arg_kind {
	ARG_TEXT,
	ARG_FILE,   /* a text, for completion */
	ARG_NUMBER, /* "4096", "512K": powers of 1024 */
	ARG_TIME,   /* "90s", "30m", "1h30m", "1.5s"; a number alone is seconds */
};

struct arg {
	const char *name;
	const char *value; /* what follows it, for people; NULL if nothing does */
	const char *help;  /* lines after the first are set in */
	enum arg_kind kind;
};

enum { ARGS_MOST = 32, ARGS_REPEATS = 64 };

/* What was given; values by the place of their option in the table. */
struct args {
	const struct arg *table; /* up to one without a name */
	const char *
		values[ARGS_MOST]; /* the last one; "" for those without a value; NULL: not given */
	struct {
		size_t option;
		const char *value;
	} all[ARGS_REPEATS]; /* in their order, for options that may be given more than once */
	size_t nall;
	char **rest; /* the words after the options, up to NULL */
	bool help;   /* "--help" or "-h", which every command has */
};

/* Whether what follows these 'n' words, of which the last was just found, is somebody else's. */
typedef bool args_end(char **words, size_t n);

/*
 * Reads the words from 'next' on, up to NULL, and moves those that are no options to the front.
 * 'ends' may be NULL: options stand anywhere.  -EINVAL and why: an unknown option, a value that is
 * missing or is not of its kind.
 */
int args_parse(struct args *a, const struct arg *table, char **next, args_end *ends,
	       struct err *err);

/* One line or more for every option, and for --help. */
void args_help(const struct arg *table, struct out *o);

/* What values mean, for those that args_parse() has let pass. */
uint64_t args_number(const char *value);
int64_t args_ns(const char *value);
/* Whether 'text' is a time, and which: for what comes from elsewhere. */
bool time_parse(const char *text, int64_t *ns);
bool size_parse(const char *text, uint64_t *n);

#endif /* BASE_ARGS_H */
