/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel of op/slope.c for elements of type `real`. NAME(f) is the function f for that type;
 * LOGISTIC, TANH, EXP and DISTRIBUTION (the normal distribution function) are functions of that
 * type. Each step is a loop over a block, which compilers vectorize.
 *
 * t[k] is coefficient k of the Taylor series of a function around each x. A differential equation
 * gives each coefficient from the lower ones. */

/* s' = s - s^2 */
SIMD_INLINE void NAME(logistic)(int order, const real *x, real (*t)[BLOCK])
{
	SIMD_LOOP
	for (int j = 0; j < BLOCK; j++)
		t[0][j] = LOGISTIC(x[j]);
	for (int k = 0; k < order; k++) {
		const real share = (real)1 / (real)(k + 1);
		SIMD_LOOP
		for (int j = 0; j < BLOCK; j++)
			t[k + 1][j] = t[k][j];
		for (int i = 0; i <= k; i++)
			SIMD_LOOP
			for (int j = 0; j < BLOCK; j++)
				t[k + 1][j] -= t[i][j] * t[k - i][j];
		SIMD_LOOP
		for (int j = 0; j < BLOCK; j++)
			t[k + 1][j] *= share;
	}
}

/* P' = p, p' = -x p */
SIMD_INLINE void NAME(normal)(int order, const real *x, real (*t)[BLOCK])
{
	SIMD_LOOP
	for (int j = 0; j < BLOCK; j++) {
		t[0][j] = DISTRIBUTION(x[j]);
		t[1][j] = (real)DENSITY * EXP((real)-0.5 * x[j] * x[j]);
	}
	for (int k = 1; k < order; k++) {
		const real share = (real)1 / (real)((k + 1) * k), before = (real)(k - 1);
		SIMD_LOOP
		for (int j = 0; j < BLOCK; j++) {
			const real last = k > 1 ? t[k - 1][j] : 0;
			t[k + 1][j] = -(x[j] * (real)k * t[k][j] + before * last) * share;
		}
	}
}

/* (1 + v) / 2, v = tanh u, u a cubic: v' = (1 - v^2) u' */
SIMD_INLINE void NAME(tanh_of_cubic)(int order, const real *x, real (*t)[BLOCK])
{
	const real c = (real)SQRT_2_PI, cubic = (real)(SQRT_2_PI * GELU_CUBIC);
	real rest[SLOPE_MOST + 1][BLOCK], u[3][BLOCK];
	SIMD_LOOP
	for (int j = 0; j < BLOCK; j++) {
		t[0][j] = TANH(x[j] * (c + cubic * x[j] * x[j]));
		u[0][j] = c + 3 * cubic * x[j] * x[j];       /* coefficient k of u' */
		u[1][j] = 6 * cubic * x[j];
		u[2][j] = 3 * cubic;
	}
	for (int k = 0; k < order; k++) {
		const real share = (real)1 / (real)(k + 1);
		SIMD_LOOP
		for (int j = 0; j < BLOCK; j++) {
			rest[k][j] = k == 0;
			t[k + 1][j] = 0;
		}
		for (int i = 0; i <= k; i++)
			SIMD_LOOP
			for (int j = 0; j < BLOCK; j++)
				rest[k][j] -= t[i][j] * t[k - i][j];
		for (int i = 0; i <= k && i < 3; i++)
			SIMD_LOOP
			for (int j = 0; j < BLOCK; j++)
				t[k + 1][j] += u[i][j] * rest[k - i][j] * share;
	}
	SIMD_LOOP
	for (int j = 0; j < BLOCK; j++)
		t[0][j] += 1;
	for (int k = 0; k <= order; k++)
		SIMD_LOOP
		for (int j = 0; j < BLOCK; j++)
			t[k][j] *= (real)0.5;
}

/* The derivative of x f(x) from f's Taylor coefficients: order! (x t[order] + t[order - 1]). */
SIMD_INLINE void NAME(slope_block)(enum slope_of of, int order, const real *x, real *y)
{
	real t[SLOPE_MOST + 1][BLOCK], factorial = 1;
	if (of == SLOPE_SILU)
		NAME(logistic)(order, x, t);
	else if (of == SLOPE_GELU)
		NAME(normal)(order, x, t);
	else
		NAME(tanh_of_cubic)(order, x, t);
	for (int k = 2; k <= order; k++)
		factorial *= (real)k;
	SIMD_LOOP
	for (int j = 0; j < BLOCK; j++)
		y[j] = factorial * (x[j] * t[order][j] + t[order - 1][j]);
}

#undef real
#undef NAME
#undef LOGISTIC
#undef TANH
#undef EXP
#undef DISTRIBUTION
