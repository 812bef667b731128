/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Validations of several runs compared: which is the best, and which is hopeless. */
#ifndef DLX_CLI_SWEEP_MEDIAN_H
#define DLX_CLI_SWEEP_MEDIAN_H

#include "cli/sweep/sweep_desk.h"

#define SWEEP_MEDIAN_LEAST 3     /* other runs that must have come as far */

/* Adds a validation; one of the same step is replaced, those of later steps are removed. */
void sweep_row_add(struct sweep_row *r, int64_t step, double value, bool rises);
/* The run with the best value, the first of equal ones; -1: none has a value. */
int sweep_best(const struct sweep_row *row, int n, bool rises);
/* The median rule (Golovin et al., Google Vizier, KDD 2017): whether the best value of run `of` up
 * to this step is worse than the median of the others' means up to it. False if fewer than
 * SWEEP_MEDIAN_LEAST others have come as far. */
bool sweep_hopeless(const struct sweep_row *row, int n, int of, int64_t step, bool rises);

#endif
