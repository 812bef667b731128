/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One op on one device with values given by the test: a sample string (graph/op.h) names the shapes
 * and attributes, the test overwrites what the sample drew, runs, and reads the outputs and the
 * gradients of sum(out[0]). */
#ifndef DLX_TEST_OP_CASE_H
#define DLX_TEST_OP_CASE_H

#include "cases.h"
#include "backend/exec.h"
#include "op/lib/sample.h"

struct op_run {
	struct sample s;
	struct device *dev;
	struct exec *exec;
	struct store *store;
	void *arena;
	tid dx; /* gradient of input 0, or NONE */
};

/* Builds `op` from the sample text on device `dev`; channels_last: inputs of 3 axes and more arrive
 * so. Fails the test on error. */
void op_run_init(struct op_run *r, const char *dev, const char *op, const char *text,
                 bool channels_last);
void op_run_release(struct op_run *r);
void op_run_set(struct op_run *r, int input, const double *values); /* row-major */
int op_run_go(struct op_run *r); /* arena filled with NaN before */
/* Row-major elements of output i, of the gradient of input 0; in memory that lives until
 * op_run_release. */
double *op_run_out(struct op_run *r, int i);
double *op_run_gradient(struct op_run *r);
/* Compares n values, within tolerance of the largest. */
void assert_close(const double *have, const double *want, int n, double tolerance);
/* The newest error's text, or "". */
const char *error_text(void);
/* Building op from text fails with this code; error_text() tells. */
void assert_refused(const char *op, const char *text, int code);

#endif
