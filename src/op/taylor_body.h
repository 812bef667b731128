/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel of op/taylor.c for elements of type `real`. NAME(f) is the function f for that type;
 * LOGISTIC, TANH, EXP, DISTRIBUTION (the normal distribution function), SOFTPLUS, SIN and COS are
 * functions of that type. Each step is a loop over a block of at most BLOCK elements, which
 * compilers vectorize and whose intermediate results stay in the first-level cache. */

/* f' = f0' - (sum over i of binomial(k, i) d[i] d[k - i]), Leibniz's rule for d[k + 1] = (f')^(k)
 * where f' = 1 - f^2 (tanh) or f - f^2 (the logistic function). */
SIMD_INLINE void NAME(riccati)(int order, int logistic, int n, real (*d)[BLOCK])
{
	for (int k = 0; k < order; k++) {
		real binomial = 1;
		SIMD_LOOP
		for (int j = 0; j < n; j++)
			d[k + 1][j] = (logistic ? d[k][j] : k == 0) - (k ? 2 : 1) * d[0][j] * d[k][j];
		for (int i = 1; i <= k / 2; i++) {
			binomial = binomial * (real)(k - i + 1) / (real)i;
			const real twice = binomial * (2 * i == k ? 1 : 2);
			SIMD_LOOP
			for (int j = 0; j < n; j++)
				d[k + 1][j] -= twice * d[i][j] * d[k - i][j];
		}
	}
}

/* d = the derivatives of x s(x) from those of s, in place: x s^(k) + k s^(k-1). */
SIMD_INLINE void NAME(times_argument)(int order, int n, const real *x, real (*d)[BLOCK])
{
	for (int k = order; k >= 0; k--)
		SIMD_LOOP
		for (int j = 0; j < n; j++)
			d[k][j] = x[j] * d[k][j] + (real)k * d[k ? k - 1 : 0][j];
}

/* P' = p, p^(k+1) = -(x p^(k) + k p^(k-1)) */
SIMD_INLINE void NAME(normal)(int order, int n, const real *x, real (*d)[BLOCK])
{
	SIMD_LOOP
	for (int j = 0; j < n; j++) {
		d[0][j] = DISTRIBUTION(x[j]);
		d[1][j] = (real)DENSITY * EXP((real)-0.5 * x[j] * x[j]);
	}
	for (int k = 0; k + 2 <= order; k++)
		SIMD_LOOP
		for (int j = 0; j < n; j++)
			d[k + 2][j] = -(x[j] * d[k + 1][j] + (real)k * d[k][j] * (real)(k > 0));
}

SIMD_INLINE void NAME(turn)(int order, int n, const real *x, real (*d)[BLOCK])
{
	real most = 0;
	for (int j = 0; j < n; j++)
		most = x[j] > most ? x[j] : -x[j] > most ? -x[j] : most;
	if (most <= (real)SIMD_TURN_MOST) {
		SIMD_LOOP
		for (int j = 0; j < n; j++) {
			d[0][j] = SIN(x[j]);
			d[1][j] = COS(x[j]);
		}
	} else {
		for (int j = 0; j < n; j++) {
			d[0][j] = (real)sin((double)x[j]);
			d[1][j] = (real)cos((double)x[j]);
		}
	}
	for (int k = 2; k <= order; k++)
		SIMD_LOOP
		for (int j = 0; j < n; j++)
			d[k][j] = -d[k - 2][j];
}

/* d[k] = f^(k)(x) for k = 0 .. order. d has room for one more row. */
SIMD_INLINE void NAME(derivatives)(enum taylor_of f, int order, int n, const real *x,
                                   real (*d)[BLOCK])
{
	if (f == TAYLOR_SIN) {
		NAME(turn)(order, n, x, d);
	} else if (f == TAYLOR_GELU) {
		NAME(normal)(order, n, x, d);
		NAME(times_argument)(order, n, x, d);
	} else if (f == TAYLOR_TANH) {
		SIMD_LOOP
		for (int j = 0; j < n; j++)
			d[0][j] = TANH(x[j]);
		NAME(riccati)(order, 0, n, d);
	} else {
		real (*s)[BLOCK] = f == TAYLOR_SOFTPLUS ? d + 1 : d;
		SIMD_LOOP
		for (int j = 0; j < n; j++)
			s[0][j] = LOGISTIC(x[j]);
		NAME(riccati)(f == TAYLOR_SOFTPLUS ? order - 1 : order, 1, n, s);
		if (f == TAYLOR_SILU)
			NAME(times_argument)(order, n, x, d);
		for (int j = 0; f == TAYLOR_SOFTPLUS && j < n; j++)
			d[0][j] = SOFTPLUS(x[j]);
	}
}

/* x, times f if there is one, and plus y unless it is the first. */
#define ADD(x) ((first ? 0 : y[j]) + (f ? f[j] * (x) : (x)))

/* Sets (first) or increments y by the product of t's coefficient and factors, and f. */
SIMD_INLINE void NAME(multiply)(const struct taylor_term *t, const real *const *stream, int n,
                                const int first, const real *f, real *restrict y)
{
	const real w = (real)t->coefficient;
	const real *a = t->n > 0 ? stream[t->factor[0]] : NULL;
	const real *b = t->n > 1 ? stream[t->factor[1]] : a, *c = t->n > 2 ? stream[t->factor[2]] : a;
	real product[BLOCK];
	if (t->n == 0) {
		SIMD_LOOP
		for (int j = 0; j < n; j++)
			y[j] = ADD(w);
	} else if (t->n == 1) {
		SIMD_LOOP
		for (int j = 0; j < n; j++)
			y[j] = ADD(w * a[j]);
	} else if (t->n == 2) {
		SIMD_LOOP
		for (int j = 0; j < n; j++)
			y[j] = ADD(w * a[j] * b[j]);
	} else if (t->n == 3) {
		SIMD_LOOP
		for (int j = 0; j < n; j++)
			y[j] = ADD(w * a[j] * b[j] * c[j]);
	} else {
		SIMD_LOOP
		for (int j = 0; j < n; j++)
			product[j] = w * a[j] * b[j] * c[j];
		for (int i = 3; i < t->n; i++) {
			const real *more = stream[t->factor[i]];
			SIMD_LOOP
			for (int j = 0; j < n; j++)
				product[j] *= more[j];
		}
		SIMD_LOOP
		for (int j = 0; j < n; j++)
			y[j] = ADD(product[j]);
	}
}
#undef ADD

/* The sum of the terms of one order, t to end - 1, times f = f^(order). */
SIMD_INLINE void NAME(add_order)(const struct taylor_term *t, const struct taylor_term *end,
                                 const real *const *stream, const real *f, int n, const int first,
                                 real *restrict y)
{
	real sum[BLOCK];
	if (t + 1 == end) {
		NAME(multiply)(t, stream, n, first, f, y);
		return;
	}
	NAME(multiply)(t, stream, n, 1, NULL, sum);
	for (t++; t < end; t++)
		NAME(multiply)(t, stream, n, 0, NULL, sum);
	SIMD_LOOP
	for (int j = 0; j < n; j++)
		y[j] = (first ? 0 : y[j]) + f[j] * sum[j];
}

/* Computes one output stream. Terms of the same order are added before they are multiplied by
 * f^(order). */
SIMD_INLINE void NAME(stream)(const struct taylor_term *t, const struct taylor_term *end,
                              const real *const *stream, real (*d)[BLOCK], int n, real *restrict y)
{
	bool first = true;
	while (t < end) {
		const struct taylor_term *next = t + 1;
		while (next < end && next->order == t->order)
			next++;
		if (first)
			NAME(add_order)(t, next, stream, d[t->order], n, 1, y);
		else
			NAME(add_order)(t, next, stream, d[t->order], n, 0, y);
		t = next;
		first = false;
	}
	for (int j = 0; first && j < n; j++)
		y[j] = 0;
}

/* Elements [at, at + n) of all streams. */
SIMD_INLINE void NAME(block)(const struct program *p, void *const *in, void *out, int64_t at, int n)
{
	const real *stream[MOST_STREAMS], *bias = p->bias ? in[1] : NULL;
	real d[TAYLOR_ORDER + 2][BLOCK], z[BLOCK];
	for (int i = 0; i < p->nstream; i++)
		stream[i] = (const real *)in[p->input[i]] + p->first[i] + at;
	for (int j = 0, left = 0; bias && j < n; j += left) {
		const int64_t column = (at + j) % p->width;
		left = (int)(p->width - column < n - j ? p->width - column : n - j);
		SIMD_LOOP
		for (int i = 0; i < left; i++)
			z[j + i] = stream[0][j + i] + bias[column + i];
	}
	NAME(derivatives)(p->f, p->order, n, bias ? z : (const real *)in[0] + at, d);
	for (int s = 0; s < p->outputs; s++)
		NAME(stream)(p->term + p->begin[s], p->term + p->begin[s + 1], stream, d, n,
		             (real *)out + s * p->elements + at);
}

#undef real
#undef NAME
#undef LOGISTIC
#undef TANH
#undef EXP
#undef DISTRIBUTION
#undef SOFTPLUS
#undef SIN
#undef COS
