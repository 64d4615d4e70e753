/*
 * eh-cfa.c - the programs in .eh_frame that say how each instruction changes the frame
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/eh-cfa.h"

#include "runtime/unwind-rule.h"

enum {
	CFA_ADVANCE = 0x40, /* the upper two bits are the instruction, the others an operand */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_SET_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_NEGATE_RA_STATE = 0x2d, /* aarch64: the return address is signed from here on */
	CFA_ARGS_SIZE = 0x2e,
	CFA_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum { OP_DEREF = 0x06, OP_BREG = 0x70 };

enum { REMEMBERED = 16 };

struct run {
	const struct cfa_common *common;
	struct cfa_state *s;
	struct eh_cursor *c;
	uint64_t pc, end;
	const struct cfa_sink *sink;
	struct cfa_state remembered[REMEMBERED];
	unsigned nremembered;
};

#if defined(__x86_64__)

/*
 * "sp + 8 + (pc % 16 >= N ? 8 : 0)": what linkers write for a procedure linkage table.  Returns N,
 * or 0 when it is something else.
 */
static unsigned plt_threshold(const uint8_t *e, uint64_t n)
{
	/* breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus */
	static const uint8_t plt[] = { 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22 };

	if (n != sizeof(plt) || e[6] < 0x31 || e[6] > 0x3f)
		return 0;
	for (size_t i = 0; i < sizeof(plt); i++)
		if (i != 6 && e[i] != plt[i])
			return 0;
	return e[6] - 0x30u;
}

/* Words below the CFA; 0: unchanged; more than any rule can say: lost. */
static uint64_t saved_words(const struct cfa_register *r)
{
	if (r->where == CFA_SAME)
		return 0;
	if (r->where == CFA_AT && r->offset < 0 && r->offset % 8 == 0)
		return -(uint64_t)r->offset / 8;
	return r->where == CFA_AT_FP ? RULE_AT_FP : UINT64_MAX;
}

/* "*(fp - n)": functions that realigned their stack. */
static uint32_t expression_rule(const struct cfa_state *s)
{
	struct eh_cursor c = { s->expression, s->expression + s->nexpression, false };
	unsigned threshold = plt_threshold(s->expression, s->nexpression);
	int64_t offset;

	if (threshold > 0)
		return rule_make(RULE_PLT, threshold * 8, 0, 0);
	if (eh_u8(&c) != OP_BREG + DWARF_FP)
		return RULE_NONE;
	offset = eh_sleb(&c);
	if (eh_u8(&c) != OP_DEREF || c.bad || c.p != c.end || offset > 0)
		return RULE_NONE;
	return rule_make(RULE_DEREF, -(uint64_t)offset, saved_words(&s->fp), RULE_RBX_LOST);
}

static uint32_t make_rule(const struct cfa_state *s)
{
	uint64_t fp = s->fp.where == CFA_UNDEFINED ? 0 : saved_words(&s->fp);
	uint64_t rbx = saved_words(&s->rbx);

	if (s->ra.where != CFA_AT || s->ra.offset != -8)
		return RULE_NONE;
	if (s->expression != NULL)
		return expression_rule(s);
	if (s->offset < 0)
		return RULE_NONE;
	switch (s->reg) {
	case DWARF_SP:
		/* gcc does not say that "leave" has restored it. */
		fp = fp == RULE_AT_FP ? 0 : fp;
		return rule_make(RULE_SP, (uint64_t)s->offset, fp, rbx);
	case DWARF_FP:
		if (fp == RULE_AT_FP)
			return RULE_NONE;
		return rule_make(RULE_FP, (uint64_t)s->offset, fp, rbx);
	case DWARF_R10:
		return rule_make(RULE_REGISTER, (uint64_t)s->offset, fp, 0);
	case DWARF_RBX:
		if (rbx == 0 || rbx >= RULE_RBX_LOST)
			return RULE_NONE;
		return rule_make(RULE_REGISTER, (uint64_t)s->offset, fp, rbx);
	default:
		return RULE_NONE;
	}
}

#else

static uint32_t make_rule(const struct cfa_state *s)
{
	uint64_t offset = (uint64_t)s->offset;
	bool on_sp = s->reg == DWARF_SP;

	if (s->expression != NULL || s->offset < 0 || (!on_sp && s->reg != DWARF_FP))
		return RULE_NONE;
	if (s->ra.where == CFA_SAME && s->fp.where == CFA_SAME && on_sp)
		return rule_make(RULE_LEAF, offset, 0);
	if (s->ra.where != CFA_AT || s->ra.offset >= 0)
		return RULE_NONE;
	if (s->fp.where == CFA_SAME && on_sp)
		return rule_make(RULE_LR, offset, -(uint64_t)s->ra.offset);
	if (s->fp.where != CFA_AT || s->fp.offset != s->ra.offset - 8)
		return RULE_NONE;
	return rule_make(on_sp ? RULE_SP : RULE_FP, offset, -(uint64_t)s->fp.offset);
}

#endif

static void put_row(struct run *r)
{
	uint32_t rule;

	if (r->sink == NULL || r->pc >= r->end)
		return;
	if (r->common->signal)
		rule = RULE_SIGNAL;
	else if (r->s->ra.where == CFA_UNDEFINED)
		rule = RULE_END;
	else
		rule = make_rule(r->s);
	r->sink->row(r->sink->ctx, r->pc, rule);
}

/* What held so far held up to here. */
static void advance(struct run *r, uint64_t units)
{
	uint64_t delta;

	if (units == 0)
		return;
	put_row(r);
	if (__builtin_mul_overflow(units, r->common->code_align, &delta) || delta > r->end - r->pc)
		delta = r->end - r->pc;
	r->pc += delta;
}

/* Other registers are read over: NULL. */
static struct cfa_register *find_register(const struct cfa_common *common, struct cfa_state *s,
					  uint64_t reg)
{
	if (reg == DWARF_FP)
		return &s->fp;
#if defined(__x86_64__)
	if (reg == DWARF_RBX)
		return &s->rbx;
#endif
	return reg == common->ra ? &s->ra : NULL;
}

static void set_register(struct run *r, uint64_t reg, enum cfa_where where, int64_t offset)
{
	struct cfa_register *to = find_register(r->common, r->s, reg);

	if (to == NULL)
		return;
	to->where = where;
	to->offset = offset;
}

static int64_t scale(const struct run *r, int64_t n)
{
	return (int64_t)((uint64_t)n * (uint64_t)r->common->data_align);
}

static void restore(struct run *r, uint64_t reg)
{
	struct cfa_state initial = r->common->initial;
	const struct cfa_register *from = find_register(r->common, &initial, reg);

	if (from != NULL)
		set_register(r, reg, from->where, from->offset);
}

static void define_cfa(struct run *r, uint64_t reg, int64_t offset)
{
	r->s->reg = reg;
	r->s->offset = offset;
	r->s->expression = NULL;
}

static void remember(struct run *r)
{
	if (r->nremembered == REMEMBERED)
		r->c->bad = true;
	else
		r->remembered[r->nremembered++] = *r->s;
}

static void recall(struct run *r)
{
	if (r->nremembered == 0)
		r->c->bad = true;
	else
		*r->s = r->remembered[--r->nremembered];
}

/* A register is stored where an expression says; "the frame pointer points there" is common. */
static void store_by_expression(struct run *r)
{
	uint64_t reg = eh_uleb(r->c);
	uint64_t n = eh_uleb(r->c);
	const uint8_t *e = eh_bytes(r->c, n);
	bool at_fp = e != NULL && n == 2 && e[0] == OP_BREG + (DWARF_FP & 31) && e[1] == 0;

	set_register(r, reg, at_fp ? CFA_AT_FP : CFA_ELSEWHERE, 0);
}

static void skip_value(struct run *r, bool expression)
{
	uint64_t reg = eh_uleb(r->c);
	uint64_t n = eh_uleb(r->c);

	if (expression)
		(void)eh_bytes(r->c, n);
	set_register(r, reg, CFA_ELSEWHERE, 0);
}

/* Where registers are; false if it is none of these. */
static bool register_instruction(struct run *r, uint8_t op)
{
	struct eh_cursor *c = r->c;
	uint64_t reg;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		reg = eh_uleb(c);
		set_register(r, reg, CFA_AT, scale(r, (int64_t)eh_uleb(c)));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		reg = eh_uleb(c);
		set_register(r, reg, CFA_AT, scale(r, eh_sleb(c)));
		return true;
	case CFA_NEGATIVE_OFFSET_EXTENDED:
		reg = eh_uleb(c);
		set_register(r, reg, CFA_AT, scale(r, (int64_t)(0 - eh_uleb(c))));
		return true;
	case CFA_RESTORE_EXTENDED:
		restore(r, eh_uleb(c));
		return true;
	case CFA_SET_UNDEFINED:
		set_register(r, eh_uleb(c), CFA_UNDEFINED, 0);
		return true;
	case CFA_SAME_VALUE:
		set_register(r, eh_uleb(c), CFA_SAME, 0);
		return true;
	case CFA_EXPRESSION:
		store_by_expression(r);
		return true;
	case CFA_REGISTER:
	case CFA_VAL_OFFSET:
	case CFA_VAL_OFFSET_SF:
		skip_value(r, false);
		return true;
	case CFA_VAL_EXPRESSION:
		skip_value(r, true);
		return true;
	default:
		return false;
	}
}

/* Where the CFA is; false if it is none of these. */
static bool cfa_instruction(struct run *r, uint8_t op)
{
	struct eh_cursor *c = r->c;
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = eh_uleb(c);
		define_cfa(r, reg, (int64_t)eh_uleb(c));
		return true;
	case CFA_DEF_CFA_SF:
		reg = eh_uleb(c);
		define_cfa(r, reg, scale(r, eh_sleb(c)));
		return true;
	case CFA_DEF_CFA_REGISTER:
		define_cfa(r, eh_uleb(c), r->s->offset);
		return true;
	case CFA_DEF_CFA_OFFSET:
		r->s->offset = (int64_t)eh_uleb(c);
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		r->s->offset = scale(r, eh_sleb(c));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		r->s->nexpression = eh_uleb(c);
		r->s->expression = eh_bytes(c, r->s->nexpression);
		return true;
	default:
		return false;
	}
}

static void other_instruction(struct run *r, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
	case CFA_NEGATE_RA_STATE: /* signatures are cut off whenever there may be one */
		break;
	case CFA_ADVANCE1:
		advance(r, eh_u8(r->c));
		break;
	case CFA_ADVANCE2:
		advance(r, eh_unsigned(r->c, 2));
		break;
	case CFA_ADVANCE4:
		advance(r, eh_unsigned(r->c, 4));
		break;
	case CFA_REMEMBER:
		remember(r);
		break;
	case CFA_RESTORE_STATE:
		recall(r);
		break;
	case CFA_ARGS_SIZE:
		(void)eh_uleb(r->c);
		break;
	default: /* CFA_SET_LOC among them: no compiler writes it */
		r->c->bad = true;
	}
}

static void instruction(struct run *r)
{
	uint8_t op = eh_u8(r->c);

	switch (op & 0xc0) {
	case CFA_ADVANCE:
		advance(r, op & 0x3f);
		break;
	case CFA_OFFSET:
		set_register(r, op & 0x3f, CFA_AT, scale(r, (int64_t)eh_uleb(r->c)));
		break;
	case CFA_RESTORE:
		restore(r, op & 0x3f);
		break;
	default:
		if (!register_instruction(r, op) && !cfa_instruction(r, op))
			other_instruction(r, op);
	}
}

void sonde__cfa_start(struct cfa_state *s)
{
	*s = (struct cfa_state){ .reg = DWARF_SP };
}

bool sonde__cfa_run(const struct cfa_common *common, struct cfa_state *s, struct eh_cursor *c,
		    uint64_t pc, uint64_t end, const struct cfa_sink *sink)
{
	struct run r;

	r.common = common;
	r.s = s;
	r.c = c;
	r.pc = pc;
	r.end = end;
	r.sink = sink;
	r.nremembered = 0;
	while (eh_more(c))
		instruction(&r);
	if (c->bad && sink != NULL && r.pc < end)
		sink->row(sink->ctx, r.pc, RULE_NONE);
	else
		put_row(&r);
	return !c->bad;
}
