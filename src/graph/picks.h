/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Selected elements of a tensor and their expected values, for spot checks of a kernel. */
#ifndef DLX_GRAPH_PICKS_H
#define DLX_GRAPH_PICKS_H

#include "base/types.h"

#define PICK_MOST 64             /* most indices picked along an axis */

/* The picked elements are those at every combination of the indices at[axis][], in row-major
 * order. */
struct picks {
	int nd;
	int n[MAXD];                 /* number of picked indices of each axis, which are ascending in
	                              * at[] */
	int64_t at[MAXD][PICK_MOST];
};

/* The expected value of an element, in double precision, with the scales of its rounding errors. */
struct expected {
	double value;
	double size;                 /* the sum of the absolute values of its terms: rounding errors are
	                              * relative to it */
	double rounded;              /* the sum of the absolute values of partial sums that a kernel may
	                              * round to the result's type before it adds the last terms */
};

static inline int64_t picks_count(const struct picks *p)
{
	int64_t n = 1;
	for (int d = 0; d < p->nd; d++)
		n *= p->n[d];
	return n;
}

/* The index along each axis of the i-th picked element. */
static inline void picks_index(const struct picks *p, int64_t i, int64_t *index)
{
	for (int d = p->nd - 1; d >= 0; d--) {
		index[d] = p->at[d][i % p->n[d]];
		i /= p->n[d];
	}
}

#endif
