/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An oracle for derivatives in float64: networks of dense layers and tanh evaluated on polynomials
 * of degree four in the distances from a point, whose coefficients are derivatives. They are
 * complex: a weight that is moved by i h gives the derivative of everything by this weight as the
 * imaginary part over h, to the last digits. And expressions at random. */
#ifndef DLX_TEST_EXPR_ORACLE_H
#define DLX_TEST_EXPR_ORACLE_H

#include <complex.h>
#include <string.h>

#include "base/buf.h"
#include "base/rng.h"
#include "graph/graph.h"

#define DEGREE 4
#define STEP 1e-30

typedef double complex number;

static number squared(number x)
{
	return x * x;
}

/* --- the oracle --- */

struct series {
	number c[DEGREE + 1][DEGREE + 1];    /* of a^i b^j, i + j <= DEGREE */
};

static struct series constant(number v)
{
	return (struct series){ { { v } } };
}

static struct series sum(struct series p, struct series q, number factor)
{
	for (int i = 0; i <= DEGREE; i++)
		for (int j = 0; i + j <= DEGREE; j++)
			p.c[i][j] += factor * q.c[i][j];
	return p;
}

static struct series times(struct series p, struct series q)
{
	struct series r = { 0 };
	for (int i = 0; i <= DEGREE; i++)
		for (int j = 0; i + j <= DEGREE; j++)
			for (int k = 0; i + j + k <= DEGREE; k++)
				for (int l = 0; i + j + k + l <= DEGREE; l++)
					r.c[i + k][j + l] += p.c[i][j] * q.c[k][l];
	return r;
}

/* tanh(z + h), h without a constant: s' = 1 - s^2 four times over. */
static struct series tanh_of(struct series p)
{
	const number s = ctanh(p.c[0][0]), s1 = 1 - s * s, s2 = -2 * s * s1;
	const number s3 = -2 * (s1 * s1 + s * s2), s4 = -2 * (3 * s1 * s2 + s * s3);
	struct series y = constant(s4 / 24);
	p.c[0][0] = 0;
	y = sum(constant(s3 / 6), times(y, p), 1);
	y = sum(constant(s2 / 2), times(y, p), 1);
	y = sum(constant(s1), times(y, p), 1);
	return sum(constant(s), times(y, p), 1);
}

/* d^(i + j) / da^i db^j */
static number derived(struct series p, int i, int j)
{
	static const double factorial[] = { 1, 1, 2, 6, 24 };
	return p.c[i][j] * factorial[i] * factorial[j];
}

/* The same series less the constant: that of the derivative by a (axis 0) or b. */
static struct series slope(struct series p, int axis)
{
	struct series r = { 0 };
	for (int i = 0; i < DEGREE; i++)
		for (int j = 0; i + j < DEGREE; j++)
			r.c[i][j] = axis ? (j + 1) * p.c[i][j + 1] : (i + 1) * p.c[i + 1][j];
	return r;
}

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

/* A random expression; `at` counts the numbers drawn. */
static inline void grow(struct buf *b, uint64_t *at, int depth)
{
	static const char *const leaves[] = { "x", "t", "nu", "u", "v", "k", "g", "hard", "speed", "2",
		"burgers", "real", "fake", "obs", "xi", "few.obs", "0.5" };
	static const char *const forms[] = { "(% + %)", "(% - %)", "% * %", "% / %", "-%", "%^2",
		"(% ^ %)", "tan(%)", "max(%, %, 1)", "select(%, %, %)", "d(%, x)", "d(%, t, x)", "grad(%)",
		"grad(%, t)", "div(%)", "laplacian(%, x)", "dn(%)", "norm(%)", "dot(%, %)", "mean(%)",
		"sum(%)", "join(%, %)", "(% @ inside)", "(% @ many)", "(% @ few)", "(%)[1]", "u(%, %)",
		"d(%)", "penalty(d, %, %)" };
	const double draw = rng_uniform(5, 1, 0, (*at)++);
	const char *p = depth ? forms[(int)(draw * (sizeof forms / sizeof *forms))]
	                      : leaves[(int)(draw * (sizeof leaves / sizeof *leaves))];
	for (; *p; p++)
		if (*p == '%')
			grow(b, at, (int)(rng_uniform(5, 1, 0, (*at)++) * depth));
		else
			buf_putc(b, *p);
}

#endif
