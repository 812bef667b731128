/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Polynomials of degree four in the distances a, b from a point, whose coefficients are
 * derivatives: the oracle of tests of expressions. They are complex, so that a weight that is moved
 * by i h gives derivatives by it. */
#ifndef TEST_SERIES_H
#define TEST_SERIES_H

#include <complex.h>

#define DEGREE 4

typedef double complex number;

static inline number squared(number x)
{
	return x * x;
}

struct series {
	number c[DEGREE + 1][DEGREE + 1];    /* of a^i b^j, i + j <= DEGREE */
};

static inline struct series constant(number v)
{
	return (struct series){ { { v } } };
}

static inline struct series sum(struct series p, struct series q, number factor)
{
	for (int i = 0; i <= DEGREE; i++)
		for (int j = 0; i + j <= DEGREE; j++)
			p.c[i][j] += factor * q.c[i][j];
	return p;
}

static inline struct series times(struct series p, struct series q)
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
static inline struct series tanh_of(struct series p)
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
static inline number derived(struct series p, int i, int j)
{
	static const double factorial[] = { 1, 1, 2, 6, 24 };
	return p.c[i][j] * factorial[i] * factorial[j];
}

/* The same series less the constant: that of the derivative by a (axis 0) or b. */
static inline struct series slope(struct series p, int axis)
{
	struct series r = { 0 };
	for (int i = 0; i < DEGREE; i++)
		for (int j = 0; i + j < DEGREE; j++)
			r.c[i][j] = axis ? (j + 1) * p.c[i][j + 1] : (i + 1) * p.c[i + 1][j];
	return r;
}

#endif
