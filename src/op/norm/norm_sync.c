/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each rank has a mean m and a sum of squared deviations M of its n values, combined from blocks as
 * in Chan, Golub and LeVeque (1983). Its message is (n, n m, M + n m^2) in float64. The sums of
 * these over the ranks are the moments of all values, which give the mean and M of all. So batches
 * may differ in size, and one message is enough. Second moments about zero lose no accuracy that
 * matters here: they change the variance by 2^-53 m^2, while half a unit in the last place of
 * float32 inputs changes it by 2^-24 m s (s: the standard deviation), which is more as long as m <
 * 2^29 s.
 *
 * A batch that does not count has the weight 2^-200, a power of two and therefore exact. Added to
 * any batch that counts, it vanishes; if no batch counts, the result is still the statistics of the
 * batches. */
#include "op/norm/norm_sync.h"

#include "base/err.h"
#include "comm/reducer.h"

#define NOTHING 0x1p-200

struct norm_sync norm_sync_of(const struct kargs *a, int64_t group)
{
	return (struct norm_sync){ a->sums && group >= 0 ? a->sums->statistics : NULL, (int)group,
		true };
}

double *norm_sync_memory(const struct norm_sync *t, void *alone)
{
	return t->sums ? reducer_bucket_memory(t->sums, t->group) : alone;
}

int norm_sync_meet(const struct norm_sync *t)
{
	if (!t->sums)
		return 0;
	reducer_start(t->sums, t->group);
	return reducer_wait(t->sums, t->group);
}

/* The factor that restores the true size of a total of batches that do not count. */
static double magnify(double count)
{
	return count < 0.5 ? 1 / NOTHING : 1;
}

int norm_sync_moments(const struct norm_sync *t, int64_t c, double *v, double *count)
{
	double weight = t->present ? 1 : NOTHING, n = weight * *count, up;
	if (!t->sums)
		return 0;
	double *m = norm_sync_memory(t, NULL);
	m[0] = n;
	for (int64_t j = 0; j < c; j++) {
		m[1 + j] = n * v[j];
		m[1 + c + j] = weight * v[c + j] + n * v[j] * v[j];
	}
	TRY(norm_sync_meet(t));
	up = magnify(m[0]);
	*count = m[0] * up;
	for (int64_t j = 0; j < c; j++) {
		double mean = m[1 + j] / m[0], m2 = (m[1 + c + j] - m[1 + j] * mean) * up;
		v[j] = mean;
		v[c + j] = m2 < 0 ? 0 : m2;
	}
	return 0;
}

int norm_sync_sums(const struct norm_sync *t, int64_t c, double *v, double *count)
{
	if (!t->sums)
		return 0;
	double *m = norm_sync_memory(t, NULL);
	m[0] = t->present ? *count : NOTHING * *count;
	for (int64_t j = 0; j < 2 * c; j++)
		m[1 + j] = t->present ? v[j] : 0;
	TRY(norm_sync_meet(t));
	*count = m[0] * magnify(m[0]);
	for (int64_t j = 0; j < 2 * c; j++)
		v[j] = t->present ? m[1 + j] : 0;
	return 0;
}

static double unbiased(double n)
{
	return n > 1 ? n / (n - 1) : 1;
}

double norm_sync_correction(double count, double own)
{
	return unbiased(count) / unbiased(own);
}
