/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Warps: transforms that give output point p the interpolated value of the input at a position
 * W(p). Consecutive warps are combined into one step, which interpolates only once: their maps W
 * are composed, from the last to the first. Private to transform*.c. */
#ifndef DLX_DATA_TRANSFORM_WARP_H
#define DLX_DATA_TRANSFORM_WARP_H

#include "data/transform_step.h"

/* Plans s, whose options begin with a struct warp_options, as a warp. It is combined with the
 * previous warp if both treat points outside the input in the same manner. E_CONFIG if labels have
 * no value there. */
int warp_plan(struct chain_state *p, struct step *s);
/* Checks the options that all warps have. */
int warp_check(const struct warp_options *o, const struct loc *loc);
/* Whether s is applied to this sample (it may be random). */
bool warp_applies(const struct step *s, const struct frame *f);

#endif
