/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Solves u_t + u u_x = nu u_xx on [-1, 1], u(-1, t) = u(1, t) = 0, u(x, 0) = -sin(pi x), by the
 * Cole-Hopf transform: u is a ratio of two integrals over the real line. */
#ifndef DLX_DATA_TOOLS_FIELD_BURGERS_H
#define DLX_DATA_TOOLS_FIELD_BURGERS_H

/* Returns u(x, t) with an error of about 1e-12. nu >= 1e-3, t >= 0. */
double field_burgers(double nu, double x, double t);

#endif
