/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DLX_MODEL_EXPR_SHARES_H
#define DLX_MODEL_EXPR_SHARES_H

#include "model/expr_tree.h"

/* Of a term without other mistakes, whose points s->ranks ranks share: E_CONFIG at what is no
 * linear function of means and sums over points, since the mean of what ranks compute is then not
 * what one rank would. */
int expr_check_shares(const struct expr_scope *s, const struct expr *e);

#endif
