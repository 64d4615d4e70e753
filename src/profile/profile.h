/*
 * profile.h - a profile in memory: columns, indices, borrowed strings
 *
 * Words used throughout the tool:
 *
 *	sample		one stack with one number per sample type, and labels
 *	sample type	what a number counts: "inuse_space" in "bytes"
 *	location	an address, in a mapping, with its lines; a stack is a list of these,
 *			leaf first
 *	line		a function and a line number.  Several lines in one location are
 *			inlined calls, innermost first
 *	mapping		a piece of a binary in the process's memory; the first one is the program
 *	label		key and text, or key, number and unit, on a sample
 *
 * A 300,000-sample profile has nine million stack entries, so nothing here is an object of
 * its own: stacks, values, lines and labels are ranges of shared arrays, and everything
 * refers to everything by index.  Strings are numbered: two equal strings have the same
 * number, so comparing strings is comparing integers; number 0 is the empty string.
 *
 * A profile that came out of profile_decode(), legacy_parse() or profile_merge() keeps these
 * invariants: every index is in range; every sample has one value per sample type; ids are
 * not 0 and unique per table; a line has a function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include "base/arena.h"
#include "base/file.h"
#include "base/str.h"
#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "There is none", where an index is expected. */
#define NONE UINT32_MAX

/* The memory one profile may own: 64 GiB of address space, touched only as it is filled. */
#define PROFILE_BUDGET ((size_t)64 << 30)

struct value_type {
	uint32_t type, unit; /* strings */
};

struct mapping {
	uint64_t id;
	uint64_t start, limit, offset;
	uint32_t file, build_id; /* strings */
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct function {
	uint64_t id;
	int64_t start_line;
	uint32_t name, system_name, file; /* strings */
};

struct line {
	uint32_t function; /* index */
	int64_t line;
	int64_t column;
};

struct location {
	uint64_t id;
	uint64_t address;
	uint32_t mapping;      /* index, or NONE */
	uint32_t line, nlines; /* lines[line .. line + nlines) */
	bool is_folded;
};

/*
 * 'str' is the text of a string label, and NONE for a numeric one.  A numeric label has a
 * number and, if any label of the same key in this sample has one, a unit ('unit' is NONE
 * otherwise).  The labels of a sample are sorted: string labels by key, then numeric ones by
 * key (bytewise), values of one key in their original order.
 */
struct label {
	uint32_t key, str, unit; /* strings */
	int64_t num;
};

/*
 * Stacks and labels of samples do not overlap, but there may be gaps between them.  Once nobody is
 * going to change them, samples with the same labels may share these: profile_compact().
 */
struct sample {
	uint64_t stack; /* stacks[stack .. stack + depth): locations, leaf first */
	uint32_t depth;
	uint32_t nlabels;
	uint64_t label; /* labels[label .. label + nlabels) */
};

/*
 * The numbered strings of a profile and of all views of it: they only ever grow.  Profiles that are
 * going to be merged may share them; then no string needs to be looked up again.
 */
struct strings {
	struct str *at;
	size_t n, cap;
	struct table index;
	struct arena arena;         /* of strings that were copied */
	struct strings_bytes *kept; /* where strings are that were not copied */
	size_t users;
	/* Of view/names.c: other names of the functions of one profile, once asked for. */
	const struct profile *renamed;
	uint32_t *names;
};

struct profile {
	struct arena arena; /* owns every array below */
	struct strings *strings;
	const struct profile *origin; /* of a view: the profile it shares arrays with, else NULL */

	struct value_type *types;
	uint32_t ntypes;
	uint32_t default_type; /* string */

	struct sample *samples; /* one per row, */
	int64_t *values;        /* and ntypes of these */
	uint32_t *rows;         /* of a view that left samples out: where they are; else NULL */
	size_t nrows;           /* in that case */
	size_t nsamples;

	uint32_t *stacks;
	uint64_t nstacks;
	/* Of a view, in what its stacks differ from these: profile/stack.h puts them together. */
	const uint8_t *hidden;    /* per location: it is in none of them; or NULL */
	uint32_t *ends;           /* per row: what was added at the leaf and at the root; or NULL */
	uint32_t nleaves, nroots; /* how many each */
	struct label *labels;
	uint64_t nlabels;

	struct mapping *mappings;
	uint32_t nmappings;
	struct location *locations;
	uint32_t nlocations;
	bool in_order; /* samples, none of them zero, use all locations, first in this order */
	struct line *lines;
	uint32_t nlines;
	struct function *functions;
	uint32_t nfunctions;

	uint32_t *comments; /* strings */
	uint32_t ncomments;
	uint32_t drop_frames, keep_frames, doc_url; /* strings */
	int64_t time_nanos, duration_nanos, period;
	struct value_type period_type;
};

/* Strings of which number 0 is the empty one, for the caller to release. */
struct strings *strings_new(void);
/* What the last profile releases, or the caller of strings_new(), is freed. */
void strings_release(struct strings *s);

/* The numbers of 'n' strings, each of which is copied if it is new. */
void strings_intern(struct strings *s, const struct str *keys, size_t n, uint32_t *numbers);

/*
 * strings_adopt() is the same for strings that live as long as 's' and whose hash_bytes() are
 * known: they are not even looked at, unless another one has the same hash.  With strings_keep()
 * 's' becomes the owner of the bytes that they are in.
 */
void strings_adopt(struct strings *s, const struct str *keys, const uint64_t *hashes, size_t n,
		   uint32_t *numbers);
void strings_keep(struct strings *s, struct file_bytes bytes);

/* Makes room for 'n' new strings, while few have to move. */
void strings_expect(struct strings *s, size_t n);

/*
 * An empty profile that shares 'strings', or has its own if that is NULL.  Threads must not work on
 * profiles that share strings; see profile_fork().  Ends the program when out of memory.
 */
struct profile *profile_new(struct strings *strings);
void profile_free(struct profile *p);

/*
 * profile_view() is a profile that starts as 'p' and can be changed without changing 'p': whoever
 * changes an array puts a copy in its place first.  New strings go to the common table.  'p' must
 * outlive the view.
 */
struct profile *profile_view(const struct profile *p);

/*
 * profile_fork() is a view with strings of its own, so that another thread can work on it: what is
 * new in it and in its views is seen by nobody else.
 */
struct profile *profile_fork(const struct profile *p);

static inline void profile_freep(struct profile **p)
{
	profile_free(*p);
}

/*
 * profile_intern() gives the number of 's', whose bytes must live as long as the profile: a
 * literal, or part of strings->arena.  profile_intern_copy() copies them first.
 */
uint32_t profile_intern(struct profile *p, struct str s);
uint32_t profile_intern_copy(struct profile *p, struct str s);
/* The number of 's' if the profile has it, else NONE. */
uint32_t profile_lookup(const struct profile *p, struct str s);

static inline struct str profile_str(const struct profile *p, uint32_t s)
{
	return p->strings->at[s];
}

static inline size_t sample_row(const struct profile *p, size_t sample)
{
	return p->rows ? p->rows[sample] : sample;
}

static inline size_t profile_rows(const struct profile *p)
{
	return p->rows ? p->nrows : p->nsamples;
}

static inline struct sample *sample_at(const struct profile *p, size_t sample)
{
	return &p->samples[sample_row(p, sample)];
}

static inline int64_t *sample_values(const struct profile *p, size_t sample)
{
	return p->values + sample_row(p, sample) * p->ntypes;
}

/*
 * profile_sample_index() is the sample type that 'name' means: a number, a type's name, or, if
 * empty, the profile's default.  Negative errno and the reference's message otherwise.
 */
struct err;
int profile_sample_index(const struct profile *p, struct str name, struct err *err);

#endif /* PROFILE_PROFILE_H */
