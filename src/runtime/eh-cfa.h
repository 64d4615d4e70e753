/*
 * eh-cfa.h - the programs in .eh_frame that say how each instruction changes the frame
 *
 * Only what a rule (unwind-rule.h) can say is followed: the CFA, the frame pointer and the return
 * address.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_EH_CFA_H
#define RUNTIME_EH_CFA_H

#include "runtime/eh-cursor.h"

#include <stdbool.h>
#include <stdint.h>

enum cfa_where {
	CFA_SAME,      /* as in the caller */
	CFA_UNDEFINED, /* lost; of the return address: there is no caller */
	CFA_AT,        /* stored at CFA + offset */
	CFA_AT_FP,     /* stored where the frame pointer points to */
	CFA_ELSEWHERE, /* not expressible */
};

struct cfa_register {
	enum cfa_where where;
	int64_t offset;
};

struct cfa_state {
	uint64_t reg; /* CFA = this register + offset, unless 'expression' is set */
	int64_t offset;
	const uint8_t *expression;
	uint64_t nexpression;
	struct cfa_register fp, ra;
	struct cfa_register rbx; /* x86-64 only */
};

/* What an entry shares with others (CIE). */
struct cfa_common {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra; /* number of the return address register */
	bool signal; /* a signal frame */
	struct cfa_state initial;
};

/* Takes the rule that holds from 'pc' on. */
struct cfa_sink {
	void (*row)(void *ctx, uint64_t pc, uint32_t rule);
	void *ctx;
};

/* The state before any instruction. */
void sonde__cfa_start(struct cfa_state *s);

/*
 * Runs the program under 'c' for code in [pc, end).  'sink' may be NULL: for the initial program of
 * a CIE, whose result goes to 's'.  After an instruction that makes no sense, RULE_NONE holds;
 * false then.
 */
bool sonde__cfa_run(const struct cfa_common *common, struct cfa_state *s, struct eh_cursor *c,
		    uint64_t pc, uint64_t end, const struct cfa_sink *sink);

#endif /* RUNTIME_EH_CFA_H */
