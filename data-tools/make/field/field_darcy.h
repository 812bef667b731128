/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Solves -div(k grad u) = f on the unit square by finite volumes. Values are at the centres of
 * cells, and the permeability of a face is the harmonic mean of that of its two cells. The system
 * is symmetric positive definite, and solved by conjugate gradients. */
#ifndef DLX_DATA_TOOLS_FIELD_DARCY_H
#define DLX_DATA_TOOLS_FIELD_DARCY_H

#include <stdbool.h>
#include <stdint.h>

enum darcy_edge { DARCY_LEFT, DARCY_RIGHT, DARCY_BOTTOM, DARCY_TOP, DARCY_EDGES };

struct darcy_condition {
	bool flux;                    /* true: value is k du/dn, with n the outward normal; false: value
	                               * is u */
	double value;
};

struct darcy {
	int64_t n;                    /* cells along a side */
	struct darcy_condition edge[DARCY_EDGES];
	double *memory, *east, *north, *diagonal, *pivot, *r, *z, *p, *q;
};

/* Prepares d, whose n and edge must be set. At least one edge must have no flux condition. */
void darcy_init(struct darcy *d);
void darcy_release(struct darcy *d);
/* Solves for u. k, f, u: (n, n), rows in the direction of increasing y. E_DATA if conjugate
 * gradients do not converge. */
int darcy_solve(struct darcy *d, const double *k, const double *f, double *u);
/* Computes to = A v with the system matrix of the last darcy_solve. */
void darcy_apply(const struct darcy *d, const double *v, double *to);

#endif
