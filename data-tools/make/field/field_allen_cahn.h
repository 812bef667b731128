/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Solves u_t = d u_xx - r (u^3 - u) on [-1, 1], u(-1, t) = u(1, t) = -1, u(x, 0) = x^2 cos(pi x),
 * by a spectral method. */
#ifndef DLX_DATA_TOOLS_FIELD_ALLEN_CAHN_H
#define DLX_DATA_TOOLS_FIELD_ALLEN_CAHN_H

#include <stdint.h>

struct allen_cahn {
	double diffusion, rate;
	int64_t modes;                /* number of modes, a power of two from 8 to 65536 */
	int64_t steps;                /* approximate number of time steps per unit of time */
};

/* Fills u with (nt, nx) values at equidistant x from -1 to 1 and t from 0 to `end`. E_DATA if the
 * modes do not resolve the solution. */
int allen_cahn_solve(const struct allen_cahn *a, int64_t nx, int64_t nt, double end, double *u);

#endif
