/* SPDX-License-Identifier: BSD-3-Clause
 *
 * u_t + u u_x = nu u_xx on [-1, 1], u(-1, t) = u(1, t) = 0, u(x, 0) = -sin(pi x), by the transform
 * of Cole and Hopf: u is a ratio of two integrals over the real line. */
#ifndef DLX_DATA_TOOLS_FIELD_BURGERS_H
#define DLX_DATA_TOOLS_FIELD_BURGERS_H

/* u(x, t) to about 1e-12; nu is 1e-3 at least, t not negative. */
double field_burgers(double nu, double x, double t);

#endif
