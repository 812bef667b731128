/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks of dense layers and tanh, evaluated on series. A weight that is moved by i STEP gives the
 * derivative of everything by this weight as the imaginary part over STEP, to the last digits. */
#ifndef DLX_TEST_EXPR_ORACLE_H
#define DLX_TEST_EXPR_ORACLE_H

#include <string.h>

#include "graph/graph.h"
#include "series.h"

#define STEP 1e-30

/* --- networks: tanh(12) -> tanh(12) -> outputs, in the graph and in the oracle --- */

#define WIDTH 12
#define LAYERS 3
#define MAX_IN 20

struct network {
	const char *name;
	int inputs, outputs;
	number weight[LAYERS][WIDTH * MAX_IN], bias[LAYERS][WIDTH];
	tid weight_tid[LAYERS], bias_tid[LAYERS];
};

static int layer_in(const struct network *n, int l)
{
	return l ? WIDTH : n->inputs;
}

static int layer_out(const struct network *n, int l)
{
	return l == LAYERS - 1 ? n->outputs : WIDTH;
}

static void evaluate(const struct network *n, const struct series *in, struct series *out)
{
	struct series x[MAX_IN], y[MAX_IN];
	memcpy(x, in, sizeof *x * (size_t)n->inputs);
	for (int l = 0; l < LAYERS; l++) {
		for (int o = 0; o < layer_out(n, l); o++) {
			y[o] = constant(n->bias[l][o]);
			for (int i = 0; i < layer_in(n, l); i++)
				y[o] = sum(y[o], x[i], n->weight[l][o * layer_in(n, l) + i]);
			if (l < LAYERS - 1)
				y[o] = tanh_of(y[o]);
		}
		memcpy(x, y, sizeof x);
	}
	memcpy(out, x, sizeof *x * (size_t)n->outputs);
}

#endif
