/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Beta(alpha, alpha) by Joehnk's rejection (1964): of u^(1/alpha) and v^(1/alpha), if their sum is
 * at most 1, the first's part of it. For alpha of 4 one in 70 pairs is taken. */
#include "data/mixup.h"

#include <math.h>

#include "base/hash.h"
#include "base/rng.h"

const struct field mixup_fields[] = {
	FIELD(struct mixup_config, alpha, FT_FLOAT, .dflt = "null", .min = 0.001, .max = 4,
	      .flags = FIELD_NULLABLE | FIELD_SHORTHAND,
	      .doc = "the share of a sample has the distribution Beta(alpha, alpha); null: no mixup"),
	FIELD_END
};

bool mixup_wanted(const struct mixup_config *c)
{
	return c->alpha > 0;
}

double mixup_share(const struct mixup_config *c, uint64_t seed, int64_t epoch, int64_t batch)
{
	const uint64_t stream = hash_name("data.mixup/share") + (uint64_t)batch;
	for (uint64_t i = 0;; i += 2) {
		/* Logarithms: powers of small alphas would vanish. */
		const double u = log1p(-rng_uniform(seed, stream, (uint64_t)epoch, i)) / c->alpha;
		const double v = log1p(-rng_uniform(seed, stream, (uint64_t)epoch, i + 1)) / c->alpha;
		const double most = u > v ? u : v, sum = exp(u - most) + exp(v - most);

		if (most + log(sum) <= 0)
			return exp(u - most) / sum;
	}
}

int64_t mixup_partner(uint64_t seed, int64_t epoch, int64_t sample, int64_t n)
{
	const double u =
	    rng_uniform(seed, hash_name("data.mixup/partner"), (uint64_t)epoch, (uint64_t)sample);
	return (int64_t)(u * (double)n);
}

void mixup_blend(float *x, const float *y, int64_t n, double share)
{
	const float a = (float)share, b = (float)(1 - share);
	for (int64_t i = 0; i < n; i++)
		x[i] = a * x[i] + b * y[i];
}
