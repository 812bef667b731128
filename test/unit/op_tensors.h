/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For tests that run single ops on both backends: inputs and states by name, numbers compared.
 * Needs cmocka.h before it. */
#ifndef DLX_TEST_OP_TENSORS_H
#define DLX_TEST_OP_TENSORS_H

#include <math.h>

#include "graph/op.h"

static const enum backend both[] = { BACKEND_REFERENCE, BACKEND_CPU };

static inline double tolerance(enum backend b)
{
	return b == BACKEND_REFERENCE ? 1e-13 : 2e-6;
}

static inline tid input(struct graph *g, const char *name, int nd, const int64_t *d)
{
	struct shape s = shape_of(nd, d);
	tid t;
	assert_int_equal(graph_input(g, name, DTYPE_F32, &s, &t), 0);
	return t;
}
#define SCALAR(g, name) input(g, name, 0, NULL)
#define INPUT(g, name, ...)                                                     \
	input(g, name, (int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)),   \
	      (int64_t[]){ __VA_ARGS__ })

static inline tid state(struct graph *g, const char *name, int64_t n)
{
	struct shape s = shape_of(1, &n);
	tid t;
	assert_int_equal(graph_state(g, name, DTYPE_F32, &s, (struct init){ 0 }, &t), 0);
	return t;
}

static inline void check_close(const double *got, const double *want, int n, double tol)
{
	for (int i = 0; i < n; i++)
		if (!(fabs(got[i] - want[i]) <= tol * fmax(1, fabs(want[i]))))
			fail_msg("element %d: %.17g, expected %.17g", i, got[i], want[i]);
}

#endif
