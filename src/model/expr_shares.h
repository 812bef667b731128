/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DLX_MODEL_EXPR_SHARES_H
#define DLX_MODEL_EXPR_SHARES_H

#include "model/expr_tree.h"

/* Checks a term of an objective, which has no other mistakes, when s->ranks ranks share the points:
 * it must be a linear function of means and sums over points, else E_CONFIG. Otherwise the mean of
 * the ranks' values would differ from the value on one rank. */
int expr_check_shares(const struct expr_scope *s, const struct expr *e);

#endif
