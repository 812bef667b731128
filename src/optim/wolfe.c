/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The search along a line. `low` and `high` follow Nocedal & Wright: low fulfils the condition of
 * decrease, its slope points towards high, and no evaluated step that fulfils the condition has a
 * lower loss. So the interval between them contains steps that fulfil both conditions. As in the
 * search of More and Thuente (1994) the interval is halved where interpolation does not shrink it
 * by a third in two evaluations. */
#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "optim/wolfe.h"

#define DECREASE 1e-4
#define CURVATURE 0.9
#define EVALUATIONS 40            /* most evaluations of one search */
#define GROWTH 4                  /* growth factor of the step as long as there is no interval */
#define MARGIN 0.1                /* least distance of an interpolated step from both ends, as a
                                   * fraction of the interval */
#define BACK 0.25                 /* fraction of the distance to a point where the loss is not
                                   * finite */

void wolfe_begin(struct wolfe *w, double loss, double slope, double step, double rounding)
{
	*w = (struct wolfe){ .start = { 0, loss, slope }, .low = { 0, loss, slope }, .step = step,
		                 .width = INFINITY, .before = INFINITY,
		                 .allowance = rounding * fabs(loss) };
}

/* The minimum of the cubic that fits both losses and slopes; NaN if it has none. If rounding makes
 * the losses indistinguishable, they carry no information, and the result is the zero of the
 * linearly interpolated slope. */
static double interpolate(const struct wolfe *w, struct wolfe_point p, struct wolfe_point q)
{
	double gap = q.step - p.step;
	if (fabs(q.loss - p.loss) <= w->allowance)
		return p.step - p.slope * gap / (q.slope - p.slope);
	double mean = p.slope + q.slope - 3 * (q.loss - p.loss) / gap;
	double root = sqrt(mean * mean - p.slope * q.slope) * (gap < 0 ? -1 : 1);
	return q.step - gap * (q.slope + root - mean) / (q.slope - p.slope + 2 * root);
}

static double between(double x, double lo, double hi)
{
	return fmin(fmax(x, fmin(lo, hi)), fmax(lo, hi));
}

/* The next length beyond low, which was the last one evaluated; `before` was low until then. */
static void grow(struct wolfe *w, struct wolfe_point before)
{
	double gap = w->low.step - before.step, step = interpolate(w, before, w->low);
	double far = w->low.step + GROWTH * gap;
	w->step = step > w->low.step ? between(step, w->low.step + MARGIN * gap, far) : far;
}

static void shrink(struct wolfe *w)
{
	double gap = w->high.step - w->low.step, width = fabs(gap);
	double step = interpolate(w, w->low, w->high);
	if (!isfinite(w->high.loss))
		step = w->low.step + BACK * gap;
	else if (isnan(step) || width > 0.66 * w->before)
		step = w->low.step + 0.5 * gap;
	w->step = between(step, w->low.step + MARGIN * gap, w->high.step - MARGIN * gap);
	w->before = w->width;
	w->width = width;
}

/* Whether the interval still has lengths that differ from its ends by more than rounding. */
static bool can_shrink(const struct wolfe *w)
{
	double width = fabs(w->high.step - w->low.step);
	return width > 4 * DBL_EPSILON * fmax(w->high.step, w->low.step) && width > DBL_MIN;
}

static enum wolfe_next give_up(const struct wolfe *w)
{
	return w->low.step > 0 && w->low.loss < w->start.loss ? WOLFE_BEST : WOLFE_FAILED;
}

enum wolfe_next wolfe_report(struct wolfe *w, double loss, double slope)
{
	bool finite = isfinite(loss) && isfinite(slope);
	struct wolfe_point now = { w->step, finite ? loss : INFINITY, finite ? slope : 0 };
	struct wolfe_point before = w->low;
	double enough = w->start.loss + DECREASE * now.step * w->start.slope + w->allowance;
	w->evaluations++;
	if (now.loss > enough || now.loss > w->low.loss + w->allowance) {
		w->high = now;
		w->interval = 1;
	} else if (fabs(now.slope) <= -CURVATURE * w->start.slope) {
		w->low = now;
		return WOLFE_FOUND;
	} else {
		double towards = w->interval ? w->high.step - w->low.step : 1;
		if (now.slope * towards >= 0) {
			w->high = w->low;
			w->interval = 1;
		}
		w->low = now;
	}
	if (w->evaluations >= EVALUATIONS || (w->interval && !can_shrink(w)))
		return give_up(w);
	if (w->interval)
		shrink(w);
	else
		grow(w, before);
	return isfinite(w->step) ? WOLFE_EVALUATE : give_up(w);
}
