/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a term equals the mean over ranks of its values on each rank's share of the points. This
 * holds if it is linear in means and sums over points: sqrt(mean(e)) is not. */
#include "model/expr_check.h"

#include "base/err.h"

enum share {
	SHARE_SAME,          /* on all ranks: of numbers and variables */
	SHARE_OWN,           /* values at a rank's points */
	SHARE_MEANS          /* linear in means of these */
};

struct shares {
	const struct expr_scope *s;
	const struct expr *use;      /* the word of the term that the tree stands for; NULL: itself */
};

static int walk(const struct shares *c, const struct expr *e, enum share *out);

static int refuse(const struct shares *c, const struct expr *e)
{
	const struct expr *at = c->use ? c->use : e;
	return ERR(E_CONFIG, &at->loc,
	           "'%.*s' is not linear in its means, which each of %d ranks takes over its own share "
	           "of the points; minimise the means themselves, or train on one rank",
	           EXPR_TEXT(at), c->s->ranks);
}

static int walk_name(const struct shares *c, const struct expr *e, enum share *out)
{
	const struct expr_name *n = expr_find_name(c->s, e->name);
	const struct shares inner = { c->s, c->use ? c->use : e };
	*out = SHARE_OWN;
	if (n && n->what == EXPR_LET)
		return walk(&inner, n->let, out);
	if (n && n->what == EXPR_VARIABLE)
		*out = SHARE_SAME;
	return 0;
}

/* Means as factors, divisors, exponents and arguments: linear where all else is a number. */
static bool is_linear(const struct expr *e, const enum share *of)
{
	switch (e->op) {
	case EXPR_NEGATE:
	case EXPR_ADD:
	case EXPR_SUBTRACT:
	case EXPR_COMPONENT:
	case EXPR_AT: return true;
	case EXPR_MULTIPLY: return of[0] == SHARE_SAME || of[1] == SHARE_SAME;
	case EXPR_DIVIDE: return of[1] == SHARE_SAME;
	case EXPR_POWER: return e->arg[1]->op == EXPR_NUMBER && e->arg[1]->number == 1;
	case EXPR_CALL:
		return e->function == CALL_MEAN || e->function == CALL_SUM || e->function == CALL_JOIN;
	default: return false;
	}
}

static int walk(const struct shares *c, const struct expr *e, enum share *out)
{
	const bool derives = e->op == EXPR_CALL && e->function >= CALL_DERIVE &&
	                     e->function <= CALL_NORMAL;
	enum share of[EXPR_ARGUMENTS], most = SHARE_SAME;
	if (e->op == EXPR_NAME)
		return walk_name(c, e, out);
	if (e->op == EXPR_CALL && e->function == CALL_PENALTY) {
		*out = SHARE_MEANS;
		return 0;
	}
	for (int i = 0; i < (derives ? 1 : e->n); i++) {
		TRY(walk(c, e->arg[i], &of[i]));
		most = of[i] > most ? of[i] : most;
	}
	if (e->op == EXPR_MEMBER)
		most = SHARE_OWN;
	if (most == SHARE_MEANS && !derives && !is_linear(e, of))
		return refuse(c, e);
	if (e->op == EXPR_CALL && (e->function == CALL_MEAN || e->function == CALL_SUM) &&
	    most == SHARE_OWN)
		most = SHARE_MEANS;
	*out = most;
	return 0;
}

int expr_check_shares(const struct expr_scope *s, const struct expr *e)
{
	enum share share;
	return walk(&(struct shares){ s, NULL }, e, &share);
}
