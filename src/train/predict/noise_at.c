/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/predict/noise_at.h"

#include "base/hash.h"
#include "base/rng.h"
#include "op/noise.h"
#include "plan/physics/physics.h"

double *noise_at(struct arena *a, const struct noise_name *n, struct noise_draw draw)
{
	const uint64_t stream = hash_name(arena_printf(a, PHYSICS_AT ".%s", n->name));
	const int64_t count = draw.realizations * n->components;
	double *v = ARENA_ARRAY(a, double, count + 1);
	if (n->law == NOISE_NORMAL)
		rng_normals(draw.seed, stream, 0, 0, count, v);
	else
		rng_uniforms(draw.seed, stream, 0, 0, count, v);
	return v;
}
