/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Some elements of a tensor, and what they should be. */
#ifndef DLX_GRAPH_PICKS_H
#define DLX_GRAPH_PICKS_H

#include "base/types.h"

#define PICK_MOST 64             /* places of an axis */

/* The elements at every combination of these places, in row-major order. */
struct picks {
	int nd;
	int n[MAXD];                 /* places of each axis, ascending */
	int64_t at[MAXD][PICK_MOST];
};

/* What an element should be, in double precision. */
struct expected {
	double value;
	double size;                 /* the sum of its terms without their signs, which rounding errors
	                              * are relative to */
	double rounded;              /* what a kernel may round to the result's type before it adds the
	                              * last terms: the sum of such values without their signs */
};

static inline int64_t picks_count(const struct picks *p)
{
	int64_t n = 1;
	for (int d = 0; d < p->nd; d++)
		n *= p->n[d];
	return n;
}

/* Where element i of the picked ones is, by axis. */
static inline void picks_index(const struct picks *p, int64_t i, int64_t *index)
{
	for (int d = p->nd - 1; d >= 0; d--) {
		index[d] = p->at[d][i % p->n[d]];
		i /= p->n[d];
	}
}

#endif
