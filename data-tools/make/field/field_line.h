/* SPDX-License-Identifier: BSD-3-Clause
 *
 * -c d/dx (k du/dx) = f on an interval, u = 0 at both ends, without a system of equations: c k u' =
 * C - F with F the integral of f, and C such that u is 0 at the end. */
#ifndef DLX_DATA_TOOLS_FIELD_LINE_H
#define DLX_DATA_TOOLS_FIELD_LINE_H

#include <stdint.h>

/* n >= 4 values at points `step` apart, both ends included; scratch: 2 n. Integrals are of fourth
 * order. */
void field_line_solve(int64_t n, double step, double factor, const double *k, const double *f,
                      double *scratch, double *u);

#endif
