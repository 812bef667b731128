/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Solves -c d/dx (k du/dx) = f on an interval with u = 0 at both ends, by two integrations: c k u'
 * = C - F, with F the integral of f, and C such that u is 0 at the right end. */
#ifndef DLX_DATA_TOOLS_FIELD_LINE_H
#define DLX_DATA_TOOLS_FIELD_LINE_H

#include <stdint.h>

/* k, f and u have n >= 4 values at points with spacing `step`, including both ends. factor: c.
 * scratch: 2 n values. Integrals are of fourth order. */
void field_line_solve(int64_t n, double step, double factor, const double *k, const double *f,
                      double *scratch, double *u);

#endif
