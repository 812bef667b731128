/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rates can be compared, and so can the time to a target, if a sample is the same work in the same
 * network: the same family, number of parameters and arithmetic, and samples of one shape. An
 * efficiency also requires that all else that determines the speed of a rank is the same, and
 * either the batch of a rank (weak scaling) or the global batch (strong scaling). */
#include "data-tools/report/obstacles.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool differ(const char *a, const char *b)
{
	return *a && *b && strcmp(a, b) != 0;
}

/* By more than what the batch's share of an update's arithmetic may be. */
static bool far_apart(double a, double b)
{
	return a > 0 && b > 0 && fmax(a, b) > 2 * fmin(a, b);
}

static bool differ_by(double a, double b, double share)
{
	return a > 0 && b > 0 && fabs(a - b) > share * fmax(a, b);
}

static const char *other_work(struct arena *a, const struct run *r, const struct run *base)
{
	if (differ(r->model, base->model))
		return arena_printf(a, "another network: '%s', not '%s'", r->model, base->model);
	if (r->parameters && base->parameters && r->parameters != base->parameters)
		return arena_printf(a, "another network: %" PRId64 " parameters, not %" PRId64,
		                    r->parameters, base->parameters);
	if (differ(r->input, base->input))
		return arena_printf(a, "other samples: %s, not %s", r->input, base->input);
	if (differ_by(r->forward_flops, base->forward_flops, 0.001))
		return arena_printf(a, "another network: %.4g flop forward for a sample, not %.4g",
		                    r->forward_flops, base->forward_flops);
	if (!(r->forward_flops > 0 && base->forward_flops > 0) &&
	    far_apart(r->sample_flops, base->sample_flops))
		return arena_printf(a, "another network: %.4g flop for a sample, not %.4g", r->sample_flops,
		                    base->sample_flops);
	return NULL;
}

static const char *other_ranks(struct arena *a, const struct run *r, const struct run *base)
{
	if (differ(r->device, base->device))
		return arena_printf(a, "device '%s', not '%s'", r->device, base->device);
	if (differ(r->precision, base->precision))
		return arena_printf(a, "computed in %s, not %s", r->precision, base->precision);
	if (r->threads != base->threads && strcmp(r->device, "cuda") != 0)
		return arena_printf(a, "%" PRId64 " threads of a rank, not %" PRId64, r->threads,
		                    base->threads);
	if (r->batch != base->batch && r->batch * base->ranks != base->batch * r->ranks)
		return arena_printf(a, "a batch of %" PRId64 " on %" PRId64 " ranks and of %" PRId64
		                    " on %" PRId64 ": the same neither for a rank nor in all", r->batch,
		                    r->ranks, base->batch, base->ranks);
	return NULL;
}

void obstacles_find(struct obstacles *out, struct arena *a, const struct run *run,
                    const struct run *base)
{
	out->work = other_work(a, run, base);
	out->ranks = out->work ? out->work : other_ranks(a, run, base);
}
