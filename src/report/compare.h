/*
 * compare.h - what changed between two profiles, and whether that is more than chance
 *
 * Both sides are in one profile: samples of the old one carry the label "pprof::base", as
 * -diff_base leaves them, and are negative.  So all filters apply to both.  A side may be several
 * profiles (the label "sonde::profile" numbers them from 1 on); how much those differ from each
 * other then counts, too, and without them only that they are samples.
 *
 * For every function, and for what it has by itself and with all it calls, the chance is found that
 * a difference like this one appears where nothing has changed (significance.h).  That is done for
 * hundreds of functions, so some would look changed by chance alone: only those count of which at
 * most one in twenty is expected to be false (Benjamini and Hochberg).  Functions that have too few
 * events to show any difference are not among those asked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct err;
struct report;

/* What makes amounts of both sides comparable. */
enum compare_by {
	COMPARE_AUTO,    /* see below */
	COMPARE_AMOUNTS, /* as they are: per profile */
	COMPARE_TIME,    /* as if both had lasted equally long */
	COMPARE_SHARES,  /* as if both had the same total */
	COMPARE_TYPICAL, /* as if most functions had stayed the same */
};

enum compare_verdict {
	COMPARE_FEW,    /* too few events to say anything */
	COMPARE_CHANCE, /* may be chance */
	COMPARE_LESS,
	COMPARE_MORE,
};

/* "COMPARE_FEW": "too few", ... */
const char *compare_verdict_text(enum compare_verdict v);

enum { COMPARE_PROFILES_MOST = 64 };

/* What the merged profile no longer tells of its parts. */
struct compare_side {
	bool base;        /* it is of the old side */
	int64_t duration; /* ns; 0: unknown */
	int64_t period;   /* 0: that of the merged profile */
};

struct compare_sides {
	struct compare_side profiles[COMPARE_PROFILES_MOST];
	size_t n;
	enum compare_by by;
	const double *ratios; /* of -normalize: what new values were multiplied with, per type */
};

struct compare_value {
	int64_t before, after; /* what is shown: 'after' is scaled */
	double events[2];      /* that were sampled */
	double chance, q;      /* of a difference by chance; 1 where COMPARE_FEW */
	enum compare_verdict verdict;
};

struct compare_row {
	struct str name;
	struct compare_value flat, cum;
};

struct compare {
	struct compare_row *rows; /* in the report's arena; the largest difference first */
	size_t n;
	struct compare_value total;
	int64_t whole[2]; /* of which rows are parts: the total, scaled as they are */
	size_t profiles[2];
	int64_t duration[2]; /* of all of a side; 0: unknown */
	enum compare_by by;  /* what it came to */
	double scale;        /* what 'after' was multiplied with */
	double spread;       /* by which share of themselves numbers vary within a side; 0: none */
	size_t asked;        /* how many numbers were compared */
	const char *events;  /* what they are called */
};

/*
 * Lives as long as the report.  A side may have nothing, as after filters.  'sides' may be NULL:
 * there is one profile each, of unknown duration; -EINVAL if then the profile has only one side.
 */
int compare_init(struct compare *c, struct report *r, const struct compare_sides *sides,
		 struct err *err);

/* How many rows, and whether the total, have changed by more than chance. */
size_t compare_count(const struct compare *c, enum compare_verdict verdict);

#endif /* REPORT_COMPARE_H */
