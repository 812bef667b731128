/* SPDX-License-Identifier: BSD-3-Clause
 *
 * -div(k grad u) = f on the unit square by finite volumes: cells' middles hold the values, and a
 * face's permeability is the harmonic mean of its two cells'. The system is symmetric and positive,
 * and solved by conjugate gradients. */
#ifndef DLX_DATA_TOOLS_FIELD_DARCY_H
#define DLX_DATA_TOOLS_FIELD_DARCY_H

#include <stdbool.h>
#include <stdint.h>

enum darcy_edge { DARCY_LEFT, DARCY_RIGHT, DARCY_BOTTOM, DARCY_TOP, DARCY_EDGES };

struct darcy_condition {
	bool flux;                    /* value is k du/dn, n outwards; else it is u */
	double value;
};

struct darcy {
	int64_t n;                    /* cells along a side */
	struct darcy_condition edge[DARCY_EDGES];
	double *memory, *east, *north, *diagonal, *pivot, *r, *z, *p, *q;
};

/* d has n and edge, at least one of which is no flux. */
void darcy_init(struct darcy *d);
void darcy_release(struct darcy *d);
/* k, f, u: (n, n), rows are y, upwards. E_DATA if conjugate gradients do not end. */
int darcy_solve(struct darcy *d, const double *k, const double *f, double *u);
/* to = A v of the system that darcy_solve made last. */
void darcy_apply(const struct darcy *d, const double *v, double *to);

#endif
