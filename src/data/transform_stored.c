/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches that leave the loader in their stored type: the rule by which transforms of values are
 * left to the device, which computes them before the first layer (op/normalize_input.c).
 *
 * Moving points and changing the value of each point commute. So transforms of positions are done
 * first, on the stored values, and transforms of values are left to the device, all of them or
 * none. They are left if:
 *
 *   - each of them is (x - centre) * scale per channel, which no function, no statistic of the
 *     sample and no random number is, and no place is between points;
 *   - one channel at most is a mask, it stays to the end, and what is stored of it is 0 where the
 *     mask would be;
 *   - zeros that a pad puts after a step are what the steps before it make of zeros;
 *   - the stored type is no larger than float32, and something is to be done.
 *
 * Targets travel as stored where that is shorter and the batch is worth another node. */
#include <float.h>
#include <math.h>

#include "data/transform_step.h"
#include "op/normalize_input.h"

#define WORTH_A_NODE 4096       /* elements of a sample's target from which on an extra node is
                                 * worth while */
#define MASK_LEFT    (-2)       /* of a step: its mask is not among the channels at the end */

static bool is_value_step(const struct step *s)
{
	return s->scale != NULL;
}

static bool is_affine(const struct step *s)
{
	return s->op->run == affine_run;
}

static bool changes(const struct step *s, int64_t c)
{
	return s->active[c] && (s->centre[c] != 0 || s->scale[c] != 1 || s->mask != -1);
}

static bool has_effect(const struct step *s, int64_t channels)
{
	for (int64_t c = 0; c < channels; c++)
		if (changes(s, c))
			return true;
	return false;
}

/* Whether a value of channel c is 0 after the step where, and only where, it was before. */
static bool keeps_zeros(const struct step *s, int64_t c, enum dtype stored)
{
	const float least = dtype_is_float(stored) ? 1 : FLT_MIN;   /* the smallest integer is 1 */
	return !changes(s, c) || (s->mask < 0 && s->centre[c] == 0 && fabsf(s->scale[c]) >= least);
}

/* --- zeros of a pad --- */

static bool puts_zeros(const struct step *s)
{
	for (int k = 0; k < 3 && s->op->run == pad_run; k++)
		if (s->after.d[k] != s->before.d[k] && pad_is_zeros(s, k))
			return true;
	return false;
}

/* What n steps make of a stored 0 in channel c, where the mask is 0 too. */
static float of_zero(const struct step *step, int n, int64_t c)
{
	float v = 0;
	for (int i = 0; i < n; i++)
		if (is_value_step(&step[i]) && changes(&step[i], c))
			v = step[i].mask >= 0 ? 0 : (v - step[i].centre[c]) * step[i].scale[c];
	return v;
}

static bool zeros_stay(const struct step *step, int n, int64_t channels)
{
	for (int64_t c = 0; c < channels; c++) {
		const float v = of_zero(step, n, c);

		if (v != 0 || signbit(v))
			return false;
	}
	return true;
}

/* --- channels --- */

/* A value step as it acts on the channels of the end, of which c is the step's at[c]. */
static void renumber(struct arena *a, struct step *s, const int64_t *at, int64_t channels)
{
	const struct step old = *s;
	s->centre = ARENA_ARRAY(a, float, channels);
	s->scale = ARENA_ARRAY(a, float, channels);
	s->active = ARENA_ARRAY(a, bool, channels);
	s->mask = old.mask < 0 ? -1 : MASK_LEFT;
	for (int64_t c = 0; c < channels; c++) {
		s->centre[c] = old.centre[at[c]];
		s->scale[c] = old.scale[at[c]];
		s->active[c] = old.active[at[c]];
		if (old.mask == at[c])
			s->mask = (int)c;
	}
}

/* A copy of the steps whose values are for the channels that the last step outputs: the steps in
 * between may have more channels, whose values are not needed. */
static const struct step *with_last_channels(struct arena *a, const struct step *step, int n,
                                             int64_t channels)
{
	struct step *copy = arena_copy(a, step, (size_t)n * sizeof *step);
	int64_t *at = ARENA_ARRAY(a, int64_t, channels);
	for (int64_t c = 0; c < channels; c++)
		at[c] = c;
	for (int i = n - 1; i >= 0; i--) {
		if (is_value_step(&step[i]))
			renumber(a, &copy[i], at, channels);
		for (int64_t c = 0; c < channels && step[i].kept; c++)
			at[c] = step[i].kept[at[c]];
	}
	return copy;
}

/* --- the rule --- */

static bool type_travels(enum dtype t)
{
	return dtype_size(t) <= sizeof(float);
}

/* Whether step[n] can be left; *mask: the one of those before, or -1. */
static bool can_be_left(const struct step *step, int n, int64_t channels, enum dtype stored,
                        int64_t *mask)
{
	const struct step *s = &step[n];
	if (s->op->place)
		return false;
	if (!is_value_step(s))
		return !puts_zeros(s) || zeros_stay(step, n, channels);
	if (!is_affine(s))
		return false;
	if (s->mask == -1 || !has_effect(s, channels))
		return true;
	if (s->mask == MASK_LEFT)
		return false;
	if (*mask >= 0 && *mask != s->mask)
		return false;
	*mask = s->mask;
	for (int i = 0; i < n; i++)
		if (is_value_step(&step[i]) && !keeps_zeros(&step[i], s->mask, stored))
			return false;
	return true;
}

static void fill_rows(const struct step *s, int64_t channels, float *row)
{
	for (int64_t c = 0; c < channels; c++) {
		row[INPUT_CENTRE * channels + c] = s->active[c] ? s->centre[c] : 0;
		row[INPUT_SCALE * channels + c] = s->active[c] ? s->scale[c] : 1;
		row[INPUT_MASKED * channels + c] = s->active[c] && s->mask >= 0;
	}
}

bool stored_input_plan(struct arena *a, const struct step *planned, int n, int64_t channels,
                       enum dtype stored, struct transform_rest *rest)
{
	const struct step *step = with_last_channels(a, planned, n, channels);
	float *table = ARENA_ARRAY(a, float, n * INPUT_ROWS * channels + 1);
	int64_t steps = 0, mask = -1;
	if (!type_travels(stored))
		return false;
	for (int i = 0; i < n; i++) {
		if (!can_be_left(step, i, channels, stored, &mask))
			return false;
		if (is_value_step(&step[i]) && has_effect(&step[i], channels))
			fill_rows(&step[i], channels, table + steps++ * INPUT_ROWS * channels);
	}
	if (stored == DTYPE_F32 && steps == 0)
		return false;
	rest->input = stored;
	rest->values = true;
	rest->steps = steps;
	rest->mask = mask;
	rest->table = table;
	return true;
}

bool stored_only_moves(const struct step *step, int n)
{
	int i = 0;
	while (i < n && !is_value_step(&step[i]) && !step[i].op->place)
		i++;
	return i == n;
}

bool stored_only_scales(const struct step *step, int n)
{
	int i = 0;
	while (i < n && is_value_step(&step[i]))
		i++;
	return i == n;
}

int stored_keep_places(struct step *step, int n)
{
	int kept = 0;
	for (int i = 0; i < n; i++)
		if (!is_value_step(&step[i]))
			step[kept++] = step[i];
	return kept;
}

static bool fills_labels(const struct step *s)
{
	return (s->op->run == pad_run || s->op->place) && !s->target_repeats && s->before.paired;
}

/* The label that s puts outside, in the stored type. */
static uint64_t stored_fill(const struct step *s, const struct dataset_info *info)
{
	uint64_t fill = 0;
	dtype_set(info->target_dtype, &fill, 0, (double)(int32_t)s->target_fill);
	return fill;
}

/* Makes the labels that are put outside such of the stored type; false: it lacks one, or targets
 * are interpolated. */
static bool refill(struct step *step, int n, const struct dataset_info *info)
{
	for (int i = 0; i < n; i++) {
		const uint64_t fill = stored_fill(&step[i], info);

		if (step[i].op->place && step[i].target_linear && step[i].before.paired)
			return false;
		if (fills_labels(&step[i]) &&
		    dtype_get(info->target_dtype, &fill, 0) != (double)(int32_t)step[i].target_fill)
			return false;
	}
	for (int i = 0; i < n; i++)
		if (fills_labels(&step[i]))
			step[i].target_fill = (uint32_t)stored_fill(&step[i], info);
	return true;
}

void stored_target_plan(struct step *step, int n, const struct dataset_info *info,
                        const struct shape *target, struct transform_rest *rest)
{
	if (dtype_size(info->target_dtype) < dtype_size(rest->target) &&
	    shape_count(target) >= WORTH_A_NODE && refill(step, n, info))
		rest->target = info->target_dtype;
}
